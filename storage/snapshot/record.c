/* SPDX-License-Identifier: Apache-2.0 */
/* The file's own record and the checksums of its small tables, as schema.h declares them. */
#include "schema.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "storage/table/table.h"

#define NUMBERS_MAX 8u

/* Numbers go into a checksum in one byte order, so that a file can move between machines. */
static int64_t checksum_of(const struct hgi_seal *seal, const uint64_t *numbers, size_t count)
{
    unsigned char bytes[NUMBERS_MAX * 8];
    uint64_t digest;
    int64_t checksum;

    for (size_t i = 0; i < count * 8; i++) {
        bytes[i] = (unsigned char)(numbers[i / 8] >> (8 * (i % 8)));
    }
    digest = hgi_seal_digest(seal, HGI_SEAL_OF_BYTES, hg_slice_of(bytes, count * 8));
    memcpy(&checksum, &digest, sizeof(checksum)); /* sqlite's integers are signed */
    return checksum;
}

static int64_t meta_checksum(const struct hgi_seal *seal, const struct hgi_meta *meta)
{
    const uint64_t numbers[] = {(uint64_t)meta->mode, meta->high_water, (uint64_t)meta->saved_ms,
                                (uint64_t)meta->pages, (uint64_t)meta->forgotten};

    return checksum_of(seal, numbers, HGI_COUNT_OF(numbers));
}

/* Shows that a key is the one the file was begun with, and nothing else. */
static int64_t proof_of(const struct hgi_seal *seal)
{
    static const uint64_t numbers[] = {HGI_SCHEMA_APPLICATION};

    return checksum_of(seal, numbers, HGI_COUNT_OF(numbers));
}

enum hgi_db_result hgi_meta_write(struct hgi_db *db, const struct hgi_meta *meta,
                                  const struct hgi_seal *seal)
{
    const struct hgi_bound values[] = {
        hgi_bound_number((int64_t)meta->mode),
        hgi_bound_bytes(hg_slice_of(meta->salt, sizeof(meta->salt))),
        hgi_bound_number(proof_of(seal)),
        hgi_bound_number((int64_t)meta->high_water),
        hgi_bound_number(meta->saved_ms),
        hgi_bound_number(meta->pages),
        hgi_bound_number(meta->forgotten),
        hgi_bound_number(meta_checksum(seal, meta)),
    };

    return hgi_db_run(db, HGI_SQL_META_WRITE, values, HGI_COUNT_OF(values));
}

/* What the statement has, with its two checksums. False: it has no shape that we would write. */
static bool take(struct hgi_db *db, struct hgi_meta *ret_meta, int64_t *ret_proof,
                 int64_t *ret_checksum)
{
    int64_t mode = hgi_db_number(db, HGI_SQL_META_READ, 0);
    struct hg_slice salt = hgi_db_bytes(db, HGI_SQL_META_READ, 1);
    struct hgi_meta meta = {
        .mode = (enum hgi_seal_mode)mode,
        .high_water = (uint64_t)hgi_db_number(db, HGI_SQL_META_READ, 3),
        .saved_ms = hgi_db_number(db, HGI_SQL_META_READ, 4),
        .pages = hgi_db_number(db, HGI_SQL_META_READ, 5),
        .forgotten = hgi_db_number(db, HGI_SQL_META_READ, 6),
    };

    if (salt.len != sizeof(meta.salt) || mode < HGI_SEAL_OWN || mode > HGI_SEAL_SECRET) {
        return false;
    }
    memcpy(meta.salt, salt.data, salt.len);
    *ret_proof = hgi_db_number(db, HGI_SQL_META_READ, 2);
    *ret_checksum = hgi_db_number(db, HGI_SQL_META_READ, 7);
    *ret_meta = meta;
    return true;
}

enum hgi_db_result hgi_meta_read(struct hgi_db *db, const struct hgi_digest_key *key,
                                 struct hgi_meta *ret_meta, struct hgi_seal *ret_seal,
                                 char *ret_why)
{
    static const char damaged[] = "its own record is damaged";
    struct hgi_meta meta;
    int64_t proof = 0;
    int64_t checksum = 0;
    bool is_whole;
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_META_READ, NULL, 0);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_META_READ);
    }
    if (result != HGI_DB_ROW && result != HGI_DB_OK) {
        return result;
    }
    is_whole = result == HGI_DB_ROW && take(db, &meta, &proof, &checksum);
    hgi_db_end(db, HGI_SQL_META_READ);
    if (!is_whole) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, damaged);
        return HGI_DB_UNUSABLE;
    }
    if (meta.mode != HGI_SEAL_OWN && !key) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 "it was written under a key_file, and none is configured");
        return HGI_DB_UNUSABLE;
    }
    hgi_seal_init(ret_seal, meta.mode, meta.mode == HGI_SEAL_OWN ? NULL : key, meta.salt);
    if (proof != proof_of(ret_seal)) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 meta.mode == HGI_SEAL_OWN ? damaged : "it was written under another key_file");
        return HGI_DB_UNUSABLE;
    }
    if (checksum != meta_checksum(ret_seal, &meta) || meta.high_water >= HGI_GENERATION_BEGIN_MAX) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, damaged);
        return HGI_DB_UNUSABLE;
    }
    *ret_meta = meta;
    return HGI_DB_OK;
}

int64_t hgi_cache_checksum(const struct hgi_seal *seal, int64_t id, struct hg_slice name,
                           uint64_t cleared)
{
    const uint64_t numbers[] = {(uint64_t)id, cleared,
                                hgi_seal_digest(seal, HGI_SEAL_OF_CACHE, name)};

    return checksum_of(seal, numbers, HGI_COUNT_OF(numbers));
}

int64_t hgi_forgotten_checksum(const struct hgi_seal *seal, int64_t id, uint64_t digest,
                               uint64_t generation)
{
    const uint64_t numbers[] = {(uint64_t)id, digest, generation, 1};

    return checksum_of(seal, numbers, HGI_COUNT_OF(numbers));
}
