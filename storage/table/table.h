/* SPDX-License-Identifier: Apache-2.0 */
/* table: entries in memory: who is fresh, who is over, who must go.
 * Owns:     copies of keys and values; its shards and their locks.
 * Threads:  any. Lookups take no lock; every other call takes one shard's at a time (clear, stats:
 *           one after the other). No thread of its own, no clock: `now` comes in.
 * Limits:   entries and bytes as created or set; negatives (ABSENT, DENIED) at most 1/8 of each.
 * Errors:   outcomes are enums; an insert that finds no memory drops the older entry rather than
 * keep it.
 * Not here: loading, generations' numbers, who may store what (server/cache).
 */
#ifndef HGI_STORAGE_TABLE_TABLE_H
#define HGI_STORAGE_TABLE_TABLE_H

#include "base/metric.h"
#include "storage/flat/reader.h"
#include "storage/table/region.h"

/* As many bits as an item has for it. Generations begin above the clock's microseconds (that is the
 * year 2255) and above what was recorded, and with room for those that follow. */
#define HGI_BORN_MAX             ((UINT64_C(1) << 53) - 1)
#define HGI_GENERATION_BEGIN_MAX (HGI_BORN_MAX - (UINT64_C(1) << 40))

/* One entry, as it goes in and as it is copied out for the snapshot. Slices are borrowed. */
struct hgi_entry {
    struct hg_slice key;
    struct hg_slice value;
    enum hg_outcome outcome; /* VALUE, ABSENT or DENIED */
    uint64_t born;           /* generation at which its load began */
    int64_t published_ms;    /* boot time; age counts from here */
    int64_t ttl_ms;          /* fresh while age <= ttl_ms */
    int64_t stale_ttl_ms;    /* servable while age <= stale_ttl_ms; negatives: equal to ttl_ms */
    const struct hg_slice *tags; /* names it shares with others; at most HGI_TAGS_MAX (tag.h) */
    size_t tag_count;
    struct hg_slice etag; /* how its loader knows it again (hgi_table_read_old); empty: none */
    int64_t keep_ms; /* given only to callers whose load failed, while age <= keep_ms; less than
                        stale_ttl_ms counts as that */
    int64_t load_ms; /* how long its load took */
    int64_t expires_wall_ms; /* hard end on the wall clock, 0 = none */
    int64_t expires_boot_ms; /* the same instant on the boot clock as known when it was published */
};

/* A value that its loader may confirm instead of giving it anew (RFC 9110 section 13.1). */
struct hgi_old {
    uint64_t serial; /* names it among all values its key has had; 0: there is none */
    struct hg_slice value;
    struct hg_slice etag;
};

enum hgi_insert {
    HGI_STORED,
    HGI_SUPERSEDED, /* an entry or a clear is newer; nothing was changed */
    HGI_NOT_STORED, /* too large for the bounds, or no memory; an older entry of the key is gone */
};

struct hgi_table_bounds {
    size_t max_entries;
    size_t max_bytes;
};

/* The longest that entries may live: values, and negatives. */
struct hgi_table_lifetimes {
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t keep_ms;
    int64_t negative_ttl_ms;
};

struct hgi_table_stats {
    uint64_t entries;   /* not yet cleared or removed; expired ones count until they are swept */
    uint64_t negatives; /* of them ABSENT or DENIED */
    uint64_t unsaved;   /* of all that are held, to be saved */
    uint64_t
        bytes; /* keys, values and what holding them costs; cleared ones until they are reaped */
};

struct hgi_table;

/* `metrics` is borrowed and outlives the table (evicted, expired). NULL: no memory. */
HG_NODISCARD struct hgi_table *hgi_table_create(const struct hgi_allocator *allocator,
                                                const struct hgi_table_bounds *bounds,
                                                struct hgi_metrics *metrics);
/* The same in memory of somebody else's, in which others may read it (flat/reader): at least
 * hgi_table_memory_size, and there until the table is destroyed. NULL: also, it cannot be had. */
HG_NODISCARD struct hgi_table *hgi_table_create_in(const struct hgi_allocator *allocator,
                                                   const struct hgi_table_bounds *bounds,
                                                   struct hgi_metrics *metrics,
                                                   const struct hgi_backing *backing);
size_t hgi_table_memory_size(const struct hgi_table_bounds *bounds);
/* Whether the memory it was made with is enough for them. */
bool hgi_table_takes_bounds(const struct hgi_table *table, const struct hgi_table_bounds *bounds);
/* Others than it was made with, which it takes; evicts until what is there fits. One at a time. */
void hgi_table_set_bounds(struct hgi_table *table, const struct hgi_table_bounds *bounds);
/* Cuts the lifetimes of all that is there. Writers wait while their shard is gone through. */
void hgi_table_shorten(struct hgi_table *table, const struct hgi_table_lifetimes *most);
/* Other readers have counted too: a part of their heat, from byte `at` on. */
void hgi_table_warm(struct hgi_table *table, size_t at, const unsigned char *counts, size_t size);
void hgi_table_destroy(struct hgi_table **table);

/* Copies the value into `ret_value` (replaced; owned by the caller, wiped at its deinit; NULL: not
 * wanted) and describes the entry. max_age_ms < 0: the entry's own ttl decides. A negative is FRESH
 * or a MISS, never STALE. Out of memory for the copy: MISS. On MISS ret_entry is untouched, and
 * what is in ret_value is nothing. Takes no lock, but where writers are all the time in its way. */
HG_NODISCARD enum hgi_found hgi_table_lookup(struct hgi_table *table, struct hg_slice key,
                                             int64_t max_age_ms, const struct hgi_now *now,
                                             struct hg_bytes *ret_value,
                                             struct hgi_found_entry *ret_entry);

/* Several reads of one table wait for memory together: fetch all their keys, then look each up by
 * the hash it was given. */
void hgi_table_fetch(struct hgi_table *table, const struct hg_slice *keys, size_t count,
                     uint64_t *ret_hashes);
uint64_t hgi_table_hash(const struct hgi_table *table, struct hg_slice key);
HG_NODISCARD enum hgi_found hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash,
                                                    struct hg_slice key, int64_t max_age_ms,
                                                    const struct hgi_now *now,
                                                    struct hg_bytes *ret_value,
                                                    struct hgi_found_entry *ret_entry);

/* So many entries are to come soon: room is made for finding them, at once instead of in steps. */
void hgi_table_expect(struct hgi_table *table, size_t entries);
/* Stores a copy, evicting as needed; O(1). Marks it as not yet saved unless `is_saved`. */
enum hgi_insert hgi_table_insert(struct hgi_table *table, const struct hgi_entry *entry,
                                 bool is_saved);

/* Copies the key's value and etag into `ret_bytes` (replaced, wiped at its deinit), from which
 * ret_old borrows; also one past its stale_ttl that has not been swept. Does not count as a read.
 * False: there is no value, or no memory. */
HG_NODISCARD bool hgi_table_read_old(struct hgi_table *table, struct hg_slice key,
                                     const struct hgi_now *now, struct hg_bytes *ret_bytes,
                                     struct hgi_old *ret_old);
/* Confirms the value with that serial: it is as if born, published and loaded anew as `inout_entry`
 * says, whose value, tags and etag are not looked at; an earlier expires_at that it has stays, and
 * inout_entry is told of it. ret_value (NULL: not wanted) gets a copy; the one at rest is not
 * copied. False, and nothing is changed: it is gone or invalidated since `born`, or no memory. */
HG_NODISCARD bool hgi_table_rearm(struct hgi_table *table, uint64_t serial,
                                  const struct hgi_now *now, struct hgi_entry *inout_entry,
                                  struct hg_bytes *ret_value);

/* Drops the key's entry unless it was born after `born`. True: there was a live one. */
bool hgi_table_remove(struct hgi_table *table, struct hg_slice key, uint64_t born);

/* The same for an entry that a newer answer, itself not kept, has made wrong: whoever saves the
 * table must not let it come back (hgi_table_take_discarded). */
void hgi_table_discard(struct hgi_table *table, struct hg_slice key, uint64_t born);
/* True, once: entries were discarded, or found no room for what replaced them, since the last call.
 * What was saved of the table before is to be written anew. */
HG_NODISCARD bool hgi_table_take_discarded(struct hgi_table *table);
/* Marks the key's entry stale from here on, unless it was born after `born`; a negative is dropped.
 * True: there was a live one. */
bool hgi_table_soften(struct hgi_table *table, struct hg_slice key, uint64_t born);
/* Every entry that has the tag and is born before `generation` is gone, or stale, from here on; one
 * store, however many they are. */
void hgi_table_invalidate_tag(struct hgi_table *table, struct hg_slice tag, uint64_t generation,
                              bool is_soft);
/* The number of the tag's last invalidation of either kind. */
uint64_t hgi_table_tag_number(struct hgi_table *table, struct hg_slice tag);
/* Every entry born before `generation` is gone from here on, in O(shards); memory comes back by
 * sweep. Returns how many live entries that were. */
uint64_t hgi_table_clear(struct hgi_table *table, uint64_t generation);

/* Sets the pause before the next refresh of the key, and why, if its entry is still the one born at
 * `born`. */
void hgi_table_set_refresh_after(struct hgi_table *table, struct hg_slice key, uint64_t born,
                                 int64_t refresh_after_ms, int64_t refresh_backoff_ms,
                                 bool is_refused);

/* Gives back expired and cleared entries; looks at about `budget` entries of one shard, going on
 * where it stopped there. Returns how many went. */
size_t hgi_table_sweep(struct hgi_table *table, const struct hgi_now *now, size_t budget);

void hgi_table_stats(struct hgi_table *table, struct hgi_table_stats *ret_stats);

/* A bounded copy of entries for the snapshot. bytes_max must hold the largest key, value and tags.
 */
struct hgi_batch {
    struct hgi_entry *entries;
    size_t count;
    size_t entries_max;
    struct hg_slice *tags; /* of all entries, one after the other */
    size_t tag_count;
    size_t tags_max;
    unsigned char *bytes;
    size_t bytes_len;
    size_t bytes_max;
    const struct hgi_allocator *allocator;
};

HG_NODISCARD bool hgi_batch_init(struct hgi_batch *batch, const struct hgi_allocator *allocator,
                                 size_t entries_max, size_t bytes_max);
void hgi_batch_deinit(struct hgi_batch *batch);
/* Empties and wipes it. */
void hgi_batch_reset(struct hgi_batch *batch);
/* Copies the entry in; false: full. */
HG_NODISCARD bool hgi_batch_add(struct hgi_batch *batch, const struct hgi_entry *entry);

/* Fills the batch with entries not yet saved and counts them as saved; softened ones are left out.
 * False: there are none left. */
HG_NODISCARD bool hgi_table_take_unsaved(struct hgi_table *table, struct hgi_batch *ret_batch);
/* After a failed save, or to write everything anew. */
void hgi_table_mark_unsaved(struct hgi_table *table);

#endif
