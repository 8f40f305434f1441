/* SPDX-License-Identifier: Apache-2.0 */
/* schema: what is in the file: its tables, its statements, a row and its checksum.
 * Owns:     nothing.
 * Threads:  one at a time.
 * Limits:   times of a row at most HGI_ROW_TIME_MAX; keys of 1 to HGI_KEY_CANONICAL_MAX bytes;
 * HGI_TAGS_MAX tags.
 * Errors:   a file that is not ours is a state, a row that is not whole an enum.
 * Not here: transactions (snapshot), sqlite's own words (sqlite). */
#ifndef HGI_STORAGE_SNAPSHOT_SCHEMA_H
#define HGI_STORAGE_SNAPSHOT_SCHEMA_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "storage/snapshot/sqlite.h"
#include "storage/table/table.h"
#include "storage/table/tag.h"

#define HGI_SCHEMA_APPLICATION 0x48474154 /* "HGAT" */
#define HGI_SCHEMA_VERSION     3000       /* major * 1000 + minor */
#define HGI_ROW_TIME_MAX       (INT64_C(1) << 53)
#define HGI_ROW_AGE_MAX        (INT64_C(1) << 46) /* an item tells ages apart up to twice that */
#define HGI_SCHEMA_WHY_MAX     256u

/* The statements, in the order of hgi_schema_statements. */
enum hgi_statement {
    HGI_SQL_META_READ,
    HGI_SQL_META_WRITE,
    HGI_SQL_CACHES_READ,
    HGI_SQL_CACHE_WRITE,
    HGI_SQL_CACHES_UNUSED_DELETE,
    HGI_SQL_ROW_WRITE,
    HGI_SQL_ROW_FORGET,
    HGI_SQL_ROW_DELETE,
    HGI_SQL_ROWS_SCAN,
    HGI_SQL_TAGS_SCAN,
    HGI_SQL_ROWS_DROP,
    HGI_SQL_ROWS_COUNT,
    HGI_SQL_PORTION_END,
    HGI_SQL_PORTION_PURGE,
    HGI_SQL_STATEMENT_COUNT
};

extern const char *const hgi_schema_statements[HGI_SQL_STATEMENT_COUNT];

enum hgi_schema_state {
    HGI_SCHEMA_OURS,
    HGI_SCHEMA_EMPTY,
    HGI_SCHEMA_UNUSABLE, /* damaged, foreign, or of another version */
    HGI_SCHEMA_FAILED,   /* could not be read; hgi_db_text says why */
    HGI_SCHEMA_BUSY,
};

/* Whether the file is ours and whole; ret_why (HGI_SCHEMA_WHY_MAX bytes) says why it is UNUSABLE.
 */
enum hgi_schema_state hgi_schema_check(struct hgi_db *db, char *ret_why);
/* The file's own record: the key of all checksums, and what outlives the rows. */
struct hgi_meta {
    struct hgi_hash_key key;
    uint64_t high_water;
    int64_t saved_ms;
};

/* Fills an empty file in one transaction: the tables and the record. Both switch the log to WAL and
 * prepare the statements. */
HG_NODISCARD enum hgi_db_result hgi_schema_create(struct hgi_db *db, const struct hgi_meta *meta);
HG_NODISCARD enum hgi_db_result hgi_schema_use(struct hgi_db *db);

HG_NODISCARD enum hgi_db_result hgi_meta_write(struct hgi_db *db, const struct hgi_meta *meta);
/* UNUSABLE: missing, its own checksum is wrong, or no generation would be left after it. */
HG_NODISCARD enum hgi_db_result hgi_meta_read(struct hgi_db *db, struct hgi_meta *ret_meta);

/* A row. Times are lengths in milliseconds except the two instants on the wall clock. */
struct hgi_row {
    struct hg_slice key;
    struct hg_slice value;
    struct hg_slice tags; /* as hgi_row_tags_set wrote them */
    struct hg_slice etag; /* at most HG_ETAG_MAX bytes */
    int64_t outcome;
    int64_t born;
    int64_t saved_ms; /* wall clock when it was written */
    int64_t age_ms;   /* then */
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t expires_ms;      /* wall clock, 0 = none */
    int64_t expires_left_ms; /* until then, on the boot clock when it was written */
    int64_t over_ms;         /* wall clock: the row is of no use after it */
};

enum hgi_row_state {
    HGI_ROW_USABLE,
    HGI_ROW_OVER,  /* its time is over, or it was saved in this clock's future */
    HGI_ROW_WRONG, /* no row that we would write */
};

/* Borrows the entry's key, value and etag; its tags are for hgi_row_tags_set. False: the entry is
 * over.
 */
HG_NODISCARD bool hgi_row_of_entry(const struct hgi_entry *entry, const struct hgi_now *now,
                                   struct hgi_row *ret_row);
/* The entry as this boot sees it; borrows the row's bytes, and ret_tags (HGI_TAGS_MAX of them). */
HG_NODISCARD enum hgi_row_state hgi_row_to_entry(const struct hgi_row *row,
                                                 const struct hgi_now *now,
                                                 struct hg_slice *ret_tags,
                                                 struct hgi_entry *ret_entry);

/* The column `tags`: each name with its length in two bytes before it. `bytes` is overwritten, and
 * borrowed by the row. False: no memory. */
HG_NODISCARD bool hgi_row_tags_set(struct hgi_row *row, const struct hgi_entry *entry,
                                   struct hg_bytes *bytes);
/* Borrows `column`. False: it is not one that we would write. */
HG_NODISCARD bool hgi_row_tags_get(struct hg_slice column, struct hg_slice *ret_tags,
                                   size_t *ret_count);

HG_NODISCARD enum hgi_db_result hgi_row_write(struct hgi_db *db, int64_t cache_id,
                                              const struct hgi_row *row, int64_t checksum);
/* One step of HGI_SQL_ROWS_SCAN; the row borrows until the next step. */
HG_NODISCARD enum hgi_db_result hgi_row_next(struct hgi_db *db, int64_t *ret_id,
                                             int64_t *ret_cache_id, struct hgi_row *ret_row,
                                             int64_t *ret_checksum);

/* Keyed checksums: they cover every column, lengths first, and the cache by its name. `scratch` is
 * overwritten. False: no memory. */
HG_NODISCARD bool hgi_row_checksum(const struct hgi_hash_key *key, struct hg_slice cache,
                                   const struct hgi_row *row, struct hg_bytes *scratch,
                                   int64_t *ret_checksum);
HG_NODISCARD bool hgi_cache_checksum(const struct hgi_hash_key *key, int64_t id,
                                     struct hg_slice name, uint64_t cleared,
                                     struct hg_bytes *scratch, int64_t *ret_checksum);

#endif
