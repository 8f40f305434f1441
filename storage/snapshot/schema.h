/* SPDX-License-Identifier: Apache-2.0 */
/* schema: what is in the file: its tables, its statements, its own record.
 * Owns:     nothing.
 * Threads:  one at a time.
 * Limits:   none of its own.
 * Errors:   a file that is not ours, or not whole, is a state.
 * Not here: transactions (snapshot), rows (page, row), sqlite's own words (sqlite). */
#ifndef HGI_STORAGE_SNAPSHOT_SCHEMA_H
#define HGI_STORAGE_SNAPSHOT_SCHEMA_H

#include "storage/snapshot/seal.h"
#include "storage/snapshot/sqlite.h"

#define HGI_SCHEMA_APPLICATION 0x48474154 /* "HGAT" */
#define HGI_SCHEMA_VERSION     4000       /* major * 1000 + minor */
#define HGI_SCHEMA_ETAGS       3000       /* had a row a key; since this one with etags */
#define HGI_SCHEMA_TAGS        2000 /* the first with tags: rows before cannot be told apart */
#define HGI_SCHEMA_WHY_MAX     256u

/* The statements, in the order of hgi_schema_statements. */
enum hgi_statement {
    HGI_SQL_META_READ,
    HGI_SQL_META_WRITE,
    HGI_SQL_COUNTS_READ,
    HGI_SQL_CACHES_READ,
    HGI_SQL_CACHE_WRITE,
    HGI_SQL_CACHES_UNUSED_DELETE,
    HGI_SQL_FORGOTTEN_WRITE,
    HGI_SQL_FORGOTTEN_READ,
    HGI_SQL_FORGOTTEN_DELETE,
    HGI_SQL_PAGE_WRITE,
    HGI_SQL_PAGE_DELETE,
    HGI_SQL_PAGE_NEXT,
    HGI_SQL_HEADS_SCAN,
    HGI_SQL_HEADS_SIZE,
    HGI_SQL_PAGES_DROP,
    HGI_SQL_ROWS_COUNT,
    HGI_SQL_STATEMENT_COUNT
};

extern const char *const hgi_schema_statements[HGI_SQL_STATEMENT_COUNT];

enum hgi_schema_state {
    HGI_SCHEMA_OURS,
    HGI_SCHEMA_EMPTY,
    HGI_SCHEMA_OLDER,    /* whole, and of a version that migrate takes over */
    HGI_SCHEMA_UNUSABLE, /* damaged, foreign, or of another version */
    HGI_SCHEMA_FAILED,   /* could not be read; hgi_db_text says why */
    HGI_SCHEMA_BUSY,
};

/* Whether the file is ours and whole; ret_why (HGI_SCHEMA_WHY_MAX bytes) says why it is UNUSABLE.
 */
enum hgi_schema_state hgi_schema_check(struct hgi_db *db, char *ret_why);
HG_NODISCARD enum hgi_db_result hgi_schema_version(struct hgi_db *db, int64_t *ret_version);
/* Its two halves: header, version and tables; and how sqlite's pages hang together, which takes the
 * time that reading all of them takes. */
enum hgi_schema_state hgi_schema_look(struct hgi_db *db, char *ret_why);
enum hgi_schema_state hgi_schema_check_structure(struct hgi_db *db, char *ret_why);
/* What a state is to who wants to read the file: ours or not. */
HG_NODISCARD enum hgi_db_result hgi_schema_verdict(enum hgi_schema_state state, char *ret_why);
/* The file's own record: how its keys are made, and what outlives the rows. */
struct hgi_meta {
    enum hgi_seal_mode mode;
    unsigned char salt[HGI_SEAL_SALT_BYTES];
    uint64_t high_water;
    int64_t saved_ms;
    int64_t pages; /* how many rows the table has */
    int64_t forgotten;
};

/* Fills an empty file in one transaction: the tables and the record. `journal`: a mode of sqlite's.
 * use switches to WAL; both prepare the statements. */
HG_NODISCARD enum hgi_db_result hgi_schema_create(struct hgi_db *db, const char *journal,
                                                  const struct hgi_meta *meta,
                                                  const struct hgi_seal *seal);
HG_NODISCARD enum hgi_db_result hgi_schema_use(struct hgi_db *db);

HG_NODISCARD enum hgi_db_result hgi_meta_write(struct hgi_db *db, const struct hgi_meta *meta,
                                               const struct hgi_seal *seal);
/* Derives ret_seal from `key` (NULL: there is none) and what the record says. UNUSABLE: ret_why
 * (HGI_SCHEMA_WHY_MAX bytes) says that it is damaged, that no
 * generation would be left after it, or that it is of another key. */
HG_NODISCARD enum hgi_db_result hgi_meta_read(struct hgi_db *db, const struct hgi_digest_key *key,
                                              struct hgi_meta *ret_meta, struct hgi_seal *ret_seal,
                                              char *ret_why);

/* Of a row of `caches` and of one of `forgotten`. */
int64_t hgi_cache_checksum(const struct hgi_seal *seal, int64_t id, struct hg_slice name,
                           uint64_t cleared);
int64_t hgi_forgotten_checksum(const struct hgi_seal *seal, int64_t id, uint64_t digest,
                               uint64_t generation);

#endif
