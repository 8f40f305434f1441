/* SPDX-License-Identifier: Apache-2.0 */
/* Files of versions before this one, which had a row of sqlite's for each key: read as the program
 * of their time wrote them, written anew beside, and put in their place. Until then the old file is
 * what it was, so a kill at any moment leaves one of the two. */
#include "snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_ROWS  4096u
#define PORTION_BYTES (8u << 20)
#define NUMBERS       9u /* of a row, under its checksum */

enum { OLD_META, OLD_CACHES, OLD_ROWS, OLD_COUNT };

/* By its cache, for a page is of one. `+`: in the order of the file. */
#define ROWS_OF(etag)                                                                              \
    "SELECT outcome, born, saved_ms, age_ms, ttl_ms, stale_ttl_ms, expires_ms, expires_left_ms, "  \
    "over_ms, checksum, key, tags, " etag ", value FROM rows WHERE +cache = ?1 ORDER BY id"

static const char *const statements[] = {
    [OLD_META] = "SELECT key, high_water, saved_ms, checksum FROM meta WHERE id = 1",
    [OLD_CACHES] = "SELECT id, name, cleared, checksum FROM caches WHERE id > ?1 ORDER BY id "
                   "LIMIT 1",
    [OLD_ROWS] = ROWS_OF("etag"),
};
static const char *const statements_without_etags[] = {
    [OLD_META] = "SELECT key, high_water, saved_ms, checksum FROM meta WHERE id = 1",
    [OLD_CACHES] = "SELECT id, name, cleared, checksum FROM caches WHERE id > ?1 ORDER BY id "
                   "LIMIT 1",
    [OLD_ROWS] = ROWS_OF("x''"),
};

struct migration {
    struct hgi_db *db; /* the old file's */
    bool has_etags;
    struct hgi_hash_key key; /* of its checksums; it lies in the file */
    uint64_t high_water;
    struct hgi_now then; /* when it was last saved; nothing has aged since */
    struct hgi_snapshot *beside;
    uint64_t rows;
    size_t portion_rows;
    size_t portion_bytes;
    struct hg_bytes name; /* of the present cache, and its clear */
    uint64_t cleared;
    struct hg_bytes scratch; /* under a checksum */
    struct hg_slice tags[HGI_TAGS_MAX];
    /* Why it ends, if it does: by the old file, or by the new one, which has a sentence. */
    enum hgi_db_result result;
    enum hg_status status;
    char *sentence;
};

/* ---- its checksums ---- */

static bool append_numbers(struct hg_bytes *bytes, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count * 8; i++) {
        unsigned char byte = (unsigned char)((uint64_t)numbers[i / 8] >> (8 * (i % 8)));

        if (!hgi_bytes_append(bytes, hg_slice_of(&byte, 1))) {
            return false;
        }
    }
    return true;
}

static bool append_sized(struct hg_bytes *bytes, struct hg_slice slice)
{
    int64_t len = (int64_t)slice.len;

    return append_numbers(bytes, &len, 1) && hgi_bytes_append(bytes, slice);
}

static int64_t checksum_of(const struct migration *old)
{
    uint64_t hash = hgi_hash(&old->key, hgi_bytes_slice(&old->scratch));
    int64_t checksum;

    memcpy(&checksum, &hash, sizeof(checksum));
    return checksum;
}

/* ---- its record ---- */

static enum hgi_db_result read_meta(struct migration *old)
{
    struct hgi_db *db = old->db;
    enum hgi_db_result result = hgi_db_query(db, OLD_META, NULL, 0);
    bool is_whole = false;
    int64_t numbers[2];
    struct hg_slice key;

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, OLD_META);
    }
    if (result != HGI_DB_ROW) {
        return result == HGI_DB_OK ? hgi_db_damaged(db, "its own record is missing") : result;
    }
    key = hgi_db_bytes(db, OLD_META, 0);
    numbers[0] = hgi_db_number(db, OLD_META, 1);
    numbers[1] = hgi_db_number(db, OLD_META, 2);
    old->scratch.len = 0;
    if (key.len == sizeof(old->key.bytes)) {
        memcpy(old->key.bytes, key.data, key.len);
        if (!append_numbers(&old->scratch, numbers, HGI_COUNT_OF(numbers))) {
            result = hgi_db_no_memory(db);
        } else {
            is_whole = checksum_of(old) == hgi_db_number(db, OLD_META, 3) &&
                       (uint64_t)numbers[0] < HGI_GENERATION_BEGIN_MAX;
        }
    }
    hgi_db_end(db, OLD_META);
    if (result == HGI_DB_FAILED) {
        return result;
    }
    old->high_water = (uint64_t)numbers[0];
    old->then = (struct hgi_now){.wall_ms = numbers[1]};
    return is_whole ? HGI_DB_OK : hgi_db_damaged(db, "its own record is not what was written");
}

/* ---- its rows ---- */

/* The row that the statement stands on. */
static struct hgi_row read_row(struct hgi_db *db)
{
    return (struct hgi_row){
        .outcome = hgi_db_number(db, OLD_ROWS, 0),
        .born = hgi_db_number(db, OLD_ROWS, 1),
        .saved_ms = hgi_db_number(db, OLD_ROWS, 2),
        .age_ms = hgi_db_number(db, OLD_ROWS, 3),
        .ttl_ms = hgi_db_number(db, OLD_ROWS, 4),
        .stale_ttl_ms = hgi_db_number(db, OLD_ROWS, 5),
        .expires_ms = hgi_db_number(db, OLD_ROWS, 6),
        .expires_left_ms = hgi_db_number(db, OLD_ROWS, 7),
        .over_ms = hgi_db_number(db, OLD_ROWS, 8),
        .key = hgi_db_bytes(db, OLD_ROWS, 10),
        .tags = hgi_db_bytes(db, OLD_ROWS, 11),
        .etag = hgi_db_bytes(db, OLD_ROWS, 12),
        .value = hgi_db_bytes(db, OLD_ROWS, 13),
    };
}

/* What its checksum is over. False: no memory. */
static bool append_row(struct migration *old, const struct hgi_row *row)
{
    const int64_t numbers[NUMBERS] = {
        row->outcome,      row->born,       row->saved_ms,        row->age_ms, row->ttl_ms,
        row->stale_ttl_ms, row->expires_ms, row->expires_left_ms, row->over_ms};

    old->scratch.len = 0;
    return append_numbers(&old->scratch, numbers, NUMBERS) &&
           append_sized(&old->scratch, hgi_bytes_slice(&old->name)) &&
           append_sized(&old->scratch, row->key) && append_sized(&old->scratch, row->tags) &&
           (!old->has_etags || append_sized(&old->scratch, row->etag)) &&
           append_sized(&old->scratch, row->value);
}

static bool begin(struct migration *old)
{
    old->portion_rows = 0;
    old->portion_bytes = 0;
    old->status = hgi_snapshot_begin(old->beside, HGI_SNAPSHOT_BEHIND, &old->then, old->sentence);
    return old->status == HG_OK;
}

static bool commit(struct migration *old)
{
    old->status = hgi_snapshot_commit(old->beside, old->high_water, &old->then, old->sentence);
    return old->status == HG_OK;
}

/* One row, if it is whole and of use. */
static bool take_row(struct migration *old)
{
    struct hgi_row row = read_row(old->db);
    struct hgi_entry entry;

    if (!append_row(old, &row)) {
        old->result = hgi_db_no_memory(old->db);
        return false;
    }
    if (checksum_of(old) != hgi_db_number(old->db, OLD_ROWS, 9) || row.born < 0 ||
        (uint64_t)row.born > old->high_water || (uint64_t)row.born < old->cleared ||
        hgi_row_to_entry(&row, &old->then, old->tags, &entry) != HGI_ROW_USABLE) {
        return true;
    }
    old->status = hgi_snapshot_put(old->beside, hgi_bytes_slice(&old->name), &entry, &old->then,
                                   old->sentence);
    old->rows++;
    old->portion_rows++;
    old->portion_bytes += row.value.len;
    if (old->status == HG_OK &&
        (old->portion_rows >= PORTION_ROWS || old->portion_bytes >= PORTION_BYTES)) {
        return commit(old) && begin(old);
    }
    return old->status == HG_OK;
}

static bool take_rows(struct migration *old, int64_t cache_id)
{
    struct hgi_bound id = hgi_bound_number(cache_id);

    old->result = hgi_db_query(old->db, OLD_ROWS, &id, 1);
    while (old->result == HGI_DB_OK &&
           (old->result = hgi_db_next(old->db, OLD_ROWS)) == HGI_DB_ROW) {
        old->result = HGI_DB_OK;
        if (!take_row(old)) {
            break;
        }
    }
    hgi_db_end(old->db, OLD_ROWS);
    return old->result == HGI_DB_OK && old->status == HG_OK;
}

/* ---- its caches ---- */

/* The next after *id: its name and its clear. *ret_is_sound: these are what was written. False:
 * that was the last, or old->result says why not. */
static bool next_cache(struct migration *old, int64_t *id, bool *ret_is_sound)
{
    struct hgi_bound after = hgi_bound_number(*id);
    struct hgi_db *db = old->db;
    int64_t numbers[2];
    bool has_memory;

    old->result = hgi_db_query(db, OLD_CACHES, &after, 1);
    if (old->result == HGI_DB_OK) {
        old->result = hgi_db_next(db, OLD_CACHES);
    }
    if (old->result != HGI_DB_ROW) {
        return false;
    }
    old->result = HGI_DB_OK;
    numbers[0] = *id = hgi_db_number(db, OLD_CACHES, 0);
    numbers[1] = hgi_db_number(db, OLD_CACHES, 2);
    old->cleared = (uint64_t)numbers[1];
    old->scratch.len = 0;
    has_memory = hgi_bytes_set(&old->name, hgi_db_bytes(db, OLD_CACHES, 1)) &&
                 append_numbers(&old->scratch, numbers, HGI_COUNT_OF(numbers)) &&
                 append_sized(&old->scratch, hgi_bytes_slice(&old->name));
    *ret_is_sound = has_memory && checksum_of(old) == hgi_db_number(db, OLD_CACHES, 3);
    hgi_db_end(db, OLD_CACHES);
    if (!has_memory) {
        old->result = hgi_db_no_memory(db);
    }
    return has_memory;
}

/* Rows of a cache whose clear is damaged cannot be trusted. */
static bool take_caches(struct migration *old)
{
    int64_t id = INT64_MIN;
    bool is_sound;

    while (next_cache(old, &id, &is_sound)) {
        if (!is_sound) {
            continue;
        }
        old->status = hgi_snapshot_clear(old->beside, hgi_bytes_slice(&old->name), old->cleared,
                                         old->sentence);
        if (old->status != HG_OK || !take_rows(old, id)) {
            return false;
        }
    }
    return old->result == HGI_DB_OK;
}

/* ---- all of it ---- */

static bool write_beside(struct migration *old, struct hgi_snapshot *snapshot)
{
    snapshot->meta.high_water = old->high_water;
    snapshot->meta.saved_ms = old->then.wall_ms;
    old->status = hgi_snapshot_open_beside(snapshot, &old->beside, old->sentence);
    return old->status == HG_OK && begin(old) && take_caches(old) && commit(old);
}

enum hgi_db_result hgi_snapshot_migrate(struct hgi_snapshot *snapshot, int64_t version,
                                        struct hgi_snapshot_opened *opened,
                                        enum hg_status *ret_status, char *ret_sentence)
{
    struct migration old = {
        .db = snapshot->db, .has_etags = version >= HGI_SCHEMA_ETAGS, .sentence = ret_sentence};
    int64_t rows = 0;

    hgi_bytes_init(&old.name, &hgi_heap);
    hgi_bytes_init(&old.scratch, &hgi_heap);
    old.result =
        hgi_db_prepare(old.db, old.has_etags ? statements : statements_without_etags, OLD_COUNT);
    if (old.result == HGI_DB_OK) {
        old.result = hgi_db_read_number(old.db, "SELECT count(*) FROM rows", &rows);
    }
    if (old.result == HGI_DB_OK) {
        old.result = read_meta(&old);
    }
    if (old.result == HGI_DB_OK && write_beside(&old, snapshot)) {
        old.status = hgi_snapshot_replace(snapshot, &old.beside, ret_sentence);
    }
    hgi_snapshot_close(&old.beside);
    hgi_bytes_deinit(&old.name);
    hgi_bytes_deinit(&old.scratch);
    opened->migrated_from = (uint32_t)version;
    opened->migrated_rows = old.rows;
    opened->left_rows = (uint64_t)rows - old.rows;
    *ret_status = old.status;
    return old.result;
}
