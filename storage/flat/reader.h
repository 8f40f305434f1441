/* SPDX-License-Identifier: Apache-2.0 */
/* reader: finding a key in a table's memory without a lock, in this process or another.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   HGI_READER_TRIES before it gives up on writers that are all the time in its way.
 * Errors:   HGI_READER_TORN; no memory for the copy is a miss.
 * Not here: who maps the memory (table/table, client/local), what a stale answer is good for
 *           (server/cache). */
#ifndef HGI_STORAGE_FLAT_READER_H
#define HGI_STORAGE_FLAT_READER_H

#include "base/bytes.h"
#include "storage/flat/bucket.h"
#include "storage/flat/heat.h"

#define HGI_READER_TRIES 32u

/* What is copied out of the front once may be believed later. */
struct hgi_reader {
    struct hgi_memory memory;
    struct hgi_front *front;
    uint32_t shard_count;
    struct hgi_hash_key hash_key;
    struct hgi_heat heat;
};

enum hgi_found {
    HGI_MISS,
    HGI_FRESH,
    HGI_STALE,
    HGI_KEPT, /* past its stale_ttl: for callers whose load failed, and nobody else */
};

/* What a lookup found besides the value. */
struct hgi_found_entry {
    enum hg_outcome outcome;
    uint64_t born;
    bool is_softened; /* a soft invalidation made it stale */
    int64_t age_ms;
    int64_t ttl_ms;
    int64_t load_ms;
    int64_t ttl_left_ms;        /* until it is stale, for any reader; 0 when it is */
    int64_t stale_left_ms;      /* until it may not be served at all */
    int64_t refresh_after_ms;   /* boot time before which no refresh should start; 0 = none */
    int64_t refresh_backoff_ms; /* the pause that set it */
    bool is_refused;            /* what made it was a refusal: no old value stands in for that */
};

/* One read of a key, and where what it finds goes. */
struct hgi_lookup {
    struct hg_slice key;
    uint64_t hash;
    int64_t max_age_ms; /* < 0: the entry's own ttl decides */
    size_t value_max;   /* longer values are a miss */
    const struct hgi_now *now;
    struct hg_bytes *ret_value; /* replaced; NULL: not wanted, and then it counts as no read */
    struct hgi_found_entry *ret_entry;
};

/* What clears and invalidations of its tags make of an item. */
struct hgi_standing {
    bool is_dead;     /* cleared, or covered by a hard invalidation of one of its tags */
    bool is_softened; /* marked stale by a soft invalidation of its key or of one of its tags */
};

struct hgi_standing hgi_reader_judge(const struct hgi_memory *memory, const struct hgi_front *front,
                                     const struct hgi_front_shard *shard,
                                     const struct hgi_view *view);

enum hgi_reader_verdict {
    HGI_READER_ANSWERED,
    HGI_READER_OVER, /* a miss, and an entry that may be given back */
    HGI_READER_TORN, /* a miss that is none: ask those who write */
};

static inline uint64_t hgi_reader_hash(const struct hgi_reader *reader, struct hg_slice key)
{
    return hgi_hash(&reader->hash_key, key);
}

static inline const struct hgi_front_shard *hgi_reader_shard(const struct hgi_reader *reader,
                                                             uint64_t hash)
{
    return &reader->front->shards[hgi_front_shard_of(hash, reader->shard_count)];
}

/* On HGI_MISS *ret_entry is untouched and what is in the value's bytes is nothing. */
enum hgi_reader_verdict hgi_reader_look(const struct hgi_reader *reader,
                                        const struct hgi_lookup *lookup, enum hgi_found *ret_found);
/* What a view that a writer holds still comes to for the lookup. */
enum hgi_reader_verdict hgi_reader_look_at(const struct hgi_reader *reader,
                                           const struct hgi_lookup *lookup, uint32_t place,
                                           const struct hgi_view *view, enum hgi_found *ret_found);
/* The keys' hashes, and what looking for each will look at on its way here. */
void hgi_reader_fetch(const struct hgi_reader *reader, const struct hg_slice *keys, size_t count,
                      uint64_t *ret_hashes);

#endif
