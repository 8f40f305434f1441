/* SPDX-License-Identifier: Apache-2.0 */
/* inside: what the files of this room share.
 * Owns:     struct hgi_snapshot.
 * Threads:  one at a time.
 * Limits:   none of its own.
 * Errors:   hgi_snapshot_fail turns a database's failure into the room's status and sentence.
 * Not here: anything another room may see (snapshot.h). */
#ifndef HGI_STORAGE_SNAPSHOT_INSIDE_H
#define HGI_STORAGE_SNAPSHOT_INSIDE_H

#include "storage/snapshot/digests.h"
#include "storage/snapshot/page.h"
#include "storage/snapshot/place.h"
#include "storage/snapshot/schema.h"
#include "storage/snapshot/snapshot.h"

/* A row of the table `caches`, kept in memory while it is known to be what the disk has. */
struct hgi_snapshot_cache {
    char *name; /* owned */
    size_t name_len;
    int64_t id;
    uint64_t digest; /* of its name */
    uint64_t cleared;
    bool is_sound;  /* its checksum was right; else its rows cannot be trusted */
    bool has_older; /* of a walk over the pages: one of this cache stays, before the present */
    int64_t doubted_until; /* restore's: pages up to this number are not believed */
};

/* What must happen to the file before it is used again. */
enum hgi_snapshot_fate {
    HGI_FATE_KEEP,
    HGI_FATE_REMOVE,     /* a sync was lost */
    HGI_FATE_QUARANTINE, /* found damaged */
};

/* One walk over all pages, a portion with each commit that does not wait for the disk. */
struct hgi_purge {
    bool is_wanted;  /* something is to be taken out that the present walk may not find */
    bool is_walking; /* the fields below are of use */
    int64_t at;      /* the page looked at last */
    int64_t until;
    int64_t forgotten_until;      /* records that go when the walk has ended */
    uint64_t walks;               /* that came to their end */
    int64_t began_ms;             /* boot clock */
    struct hgi_digests forgotten; /* what they say: digest to generation */
};

struct hgi_snapshot {
    struct hgi_place place;
    bool is_beside;    /* its file is not in its place: nobody reads it, and it goes with this */
    struct hgi_db *db; /* NULL: given up, made anew by the next begin */
    enum hgi_snapshot_fate fate;
    struct hgi_digest_key key; /* if there is one */
    bool has_key;
    enum hgi_seal_mode mode; /* of a file that is begun */
    struct hgi_seal seal;
    struct hgi_meta meta;  /* as it is on disk */
    struct hgi_meta draft; /* as the present transaction will write it */
    int64_t last_page;
    int64_t last_forgotten;
    bool is_begun;
    enum hgi_snapshot_sync sync;
    struct hgi_snapshot_cache *caches;
    size_t cache_count;
    bool are_caches_known; /* false after a rollback: read again */
    struct hgi_page page;  /* rows of the present transaction that are not yet written */
    int64_t page_cache;    /* whose, and the digest of its name */
    uint64_t page_cache_digest;
    struct hgi_page refit; /* what is left of another */
    struct hg_bytes fates; /* one enum hgi_row_fate a row of the page that is looked at */
    struct hgi_purge purge;
    uint64_t renewals;
    uint64_t files; /* that have taken the place since it was opened */
    struct hg_bytes scratch;
    struct hg_bytes tags; /* of the row being written */
};

/* With nothing open. NULL: no memory. */
struct hgi_snapshot *hgi_snapshot_create(void);
/* Of a file that is begun: keys of its own. What was handed out before stays handed out. */
void hgi_snapshot_begin_record(struct hgi_snapshot *snapshot);
void hgi_snapshot_set_key(struct hgi_snapshot *snapshot,
                          const struct hgi_snapshot_options *options);
/* The file that is open is of a version before: writes it anew and puts that in its place. Not OK:
 * it cannot be read; else *ret_status and ret_sentence say what became of the new one. In both
 * cases the old one is what it was, unless all is OK. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_migrate(struct hgi_snapshot *snapshot, int64_t version,
                                                     struct hgi_snapshot_opened *opened,
                                                     enum hg_status *ret_status,
                                                     char *ret_sentence);
/* Learns the last numbers of pages and records. UNUSABLE: there are not as many as the file's own
 * record says, which is no better than a damaged one. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_count(struct hgi_snapshot *snapshot, char *ret_why);
/* Rolls back; gives the file up if it must not be used again. Always UNAVAILABLE. */
enum hg_status hgi_snapshot_fail(struct hgi_snapshot *snapshot, enum hgi_db_result result,
                                 const char *what, char *ret_sentence);
/* Reads the table `caches` if it is not known. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_read_caches(struct hgi_snapshot *snapshot);
void hgi_snapshot_forget_caches(struct hgi_snapshot *snapshot);
/* NULL: it has no row in the file. */
struct hgi_snapshot_cache *hgi_snapshot_find_cache(struct hgi_snapshot *snapshot,
                                                   struct hg_slice name);
/* NULL: there is none, or its checksum is wrong. */
struct hgi_snapshot_cache *hgi_snapshot_cache_at(const struct hgi_snapshot *snapshot, int64_t id);
void hgi_snapshot_note_generation(struct hgi_snapshot *snapshot, uint64_t generation);

/* Writes the page that is being filled, if there is anything in it. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_flush(struct hgi_snapshot *snapshot);
/* Whether anything that was put can be in the file. */
static inline bool hgi_snapshot_has_rows(const struct hgi_snapshot *snapshot)
{
    return snapshot->draft.pages > 0 || snapshot->page.count > 0;
}

/* ---- invalidations that are on record ---- */

/* Reads the records up to `until`. UNUSABLE: one is damaged, and what it covers is not known. */
HG_NODISCARD enum hgi_db_result hgi_forgotten_read(struct hgi_snapshot *snapshot, int64_t until,
                                                   struct hgi_digests *ret_forgotten);
HG_NODISCARD enum hgi_db_result hgi_forgotten_delete(struct hgi_snapshot *snapshot, int64_t until);
/* Whether a clear or a record covers the row. */
bool hgi_forgotten_covers(const struct hgi_digests *forgotten,
                          const struct hgi_snapshot_cache *cache, const struct hgi_page_row *row);

/* ---- pages that lose rows ---- */

enum hgi_row_fate {
    HGI_ROW_KEEP,
    HGI_ROW_DROP, /* and so is all that is older of its key */
    HGI_ROW_HIDE, /* its bytes go; it still hides what is older of its key */
};

/* What becomes of the page whose head was opened as `walk`, by snapshot->fates: it stays as it is,
 * goes, or is written anew with what is left. `rows` may be empty if none of its rows is kept. Ends
 * `statement`, from which head and rows are borrowed. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_refit(struct hgi_snapshot *snapshot,
                                                   const struct hgi_snapshot_cache *cache,
                                                   int64_t id, struct hgi_page_walk walk,
                                                   struct hg_slice rows,
                                                   enum hgi_statement statement);
/* The next portion of the walk, or a new walk if that is wanted or due. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_purge(struct hgi_snapshot *snapshot,
                                                   const struct hgi_now *now);
/* Begins again from the first page, with the next commit. */
void hgi_snapshot_restart_purge(struct hgi_snapshot *snapshot);

#endif
