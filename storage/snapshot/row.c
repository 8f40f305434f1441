/* SPDX-License-Identifier: Apache-2.0 */
/* The file's records as schema.h declares them: meta, caches, rows, and their checksums. */
#include "schema.h"

#include <string.h>

#include "base/check.h"
#include "base/kind.h"

#define TAG_NAME_MAX (1u + HG_KEY_MAX) /* a byte of kind and a user (server/cache/tagging) */

/* Numbers go into a checksum in one byte order, so that a file can move between machines. */
static void put_number(unsigned char **at, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        *(*at)++ = (unsigned char)(number >> (8 * i));
    }
}

static int64_t checksum_of(const struct hgi_hash_key *key, struct hg_slice bytes)
{
    uint64_t hash = hgi_hash(key, bytes);
    int64_t checksum;

    memcpy(&checksum, &hash, sizeof(checksum)); /* sqlite's integers are signed */
    return checksum;
}

static bool append_sized(struct hg_bytes *scratch, struct hg_slice bytes)
{
    unsigned char len[8];
    unsigned char *at = len;

    put_number(&at, bytes.len);
    return hgi_bytes_append(scratch, hg_slice_of(len, sizeof(len))) &&
           hgi_bytes_append(scratch, bytes);
}

static int64_t meta_checksum(const struct hgi_meta *meta)
{
    unsigned char bytes[2 * 8];
    unsigned char *at = bytes;

    put_number(&at, meta->high_water);
    put_number(&at, (uint64_t)meta->saved_ms);
    return checksum_of(&meta->key, hg_slice_of(bytes, sizeof(bytes)));
}

enum hgi_db_result hgi_meta_write(struct hgi_db *db, const struct hgi_meta *meta)
{
    const struct hgi_bound values[] = {
        hgi_bound_bytes(hg_slice_of(meta->key.bytes, sizeof(meta->key.bytes))),
        hgi_bound_number((int64_t)meta->high_water),
        hgi_bound_number(meta->saved_ms),
        hgi_bound_number(meta_checksum(meta)),
    };

    return hgi_db_run(db, HGI_SQL_META_WRITE, values, HGI_COUNT_OF(values));
}

enum hgi_db_result hgi_meta_read(struct hgi_db *db, struct hgi_meta *ret_meta)
{
    struct hgi_meta meta = {0};
    struct hg_slice key;
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_META_READ, NULL, 0);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_META_READ);
    }
    if (result != HGI_DB_ROW) {
        return result == HGI_DB_OK ? HGI_DB_UNUSABLE : result;
    }
    result = HGI_DB_UNUSABLE;
    key = hgi_db_bytes(db, HGI_SQL_META_READ, 0);
    if (key.len == sizeof(meta.key.bytes)) {
        memcpy(meta.key.bytes, key.data, key.len);
        meta.high_water = (uint64_t)hgi_db_number(db, HGI_SQL_META_READ, 1);
        meta.saved_ms = hgi_db_number(db, HGI_SQL_META_READ, 2);
        if (meta_checksum(&meta) == hgi_db_number(db, HGI_SQL_META_READ, 3) &&
            meta.high_water < HGI_GENERATION_BEGIN_MAX) {
            *ret_meta = meta;
            result = HGI_DB_OK;
        }
    }
    hgi_db_end(db, HGI_SQL_META_READ);
    return result;
}

bool hgi_cache_checksum(const struct hgi_hash_key *key, int64_t id, struct hg_slice name,
                        uint64_t cleared, struct hg_bytes *scratch, int64_t *ret_checksum)
{
    unsigned char numbers[2 * 8];
    unsigned char *at = numbers;

    put_number(&at, (uint64_t)id);
    put_number(&at, cleared);
    scratch->len = 0;
    if (!hgi_bytes_append(scratch, hg_slice_of(numbers, sizeof(numbers))) ||
        !append_sized(scratch, name)) {
        return false;
    }
    *ret_checksum = checksum_of(key, hgi_bytes_slice(scratch));
    return true;
}

bool hgi_row_checksum(const struct hgi_hash_key *key, struct hg_slice cache,
                      const struct hgi_row *row, struct hg_bytes *scratch, int64_t *ret_checksum)
{
    const int64_t columns[] = {
        row->outcome,      row->born,       row->saved_ms,        row->age_ms, row->ttl_ms,
        row->stale_ttl_ms, row->expires_ms, row->expires_left_ms, row->over_ms};
    unsigned char numbers[sizeof(columns)];
    unsigned char *at = numbers;

    for (size_t i = 0; i < HGI_COUNT_OF(columns); i++) {
        put_number(&at, (uint64_t)columns[i]);
    }
    scratch->len = 0;
    if (!hgi_bytes_append(scratch, hg_slice_of(numbers, sizeof(numbers))) ||
        !append_sized(scratch, cache) || !append_sized(scratch, row->key) ||
        !append_sized(scratch, row->tags) || !append_sized(scratch, row->etag) ||
        !append_sized(scratch, row->value)) {
        return false;
    }
    *ret_checksum = checksum_of(key, hgi_bytes_slice(scratch));
    return true;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool hgi_row_of_entry(const struct hgi_entry *entry, const struct hgi_now *now,
                      struct hgi_row *ret_row)
{
    struct hgi_row row = {
        .key = entry->key,
        .value = entry->value,
        .etag = entry->etag,
        .outcome = (int64_t)entry->outcome,
        .born = (int64_t)entry->born,
        .saved_ms = now->wall_ms,
        .age_ms = now->boot_ms > entry->published_ms ? now->boot_ms - entry->published_ms : 0,
        .ttl_ms = at_most(entry->ttl_ms, HGI_ROW_TIME_MAX),
        .stale_ttl_ms = at_most(entry->stale_ttl_ms, HGI_ROW_TIME_MAX),
    };
    int64_t left_ms;

    if (row.age_ms > row.stale_ttl_ms) {
        return false;
    }
    left_ms = row.stale_ttl_ms - row.age_ms;
    if (entry->expires_wall_ms != 0) {
        row.expires_ms = at_most(entry->expires_wall_ms, HGI_ROW_TIME_MAX);
        row.expires_left_ms = at_most(entry->expires_boot_ms, HGI_ROW_TIME_MAX) - now->boot_ms;
        if (row.expires_left_ms <= 0 || row.expires_ms <= now->wall_ms) {
            return false;
        }
        left_ms = at_most(left_ms, row.expires_left_ms);
        left_ms = at_most(left_ms, row.expires_ms - now->wall_ms);
    }
    row.over_ms = now->wall_ms + left_ms;
    *ret_row = row;
    return true;
}

static bool is_time(int64_t ms)
{
    return ms >= 0 && ms <= HGI_ROW_TIME_MAX;
}

/* The checksum finds damage; this refuses what a right checksum could still carry, so that the
 * sums below cannot overflow whoever wrote the file. */
static bool is_well_formed(const struct hgi_row *row)
{
    return (row->outcome == HG_VALUE || row->outcome == HG_ABSENT || row->outcome == HG_DENIED) &&
           row->key.len >= 1 && row->key.len <= HGI_KEY_CANONICAL_MAX &&
           row->etag.len <= HG_ETAG_MAX && row->born >= 0 && (uint64_t)row->born <= HGI_BORN_MAX &&
           is_time(row->saved_ms) && is_time(row->age_ms) && is_time(row->ttl_ms) &&
           is_time(row->stale_ttl_ms) && is_time(row->expires_ms) &&
           is_time(row->expires_left_ms) && row->ttl_ms <= row->stale_ttl_ms;
}

bool hgi_row_tags_set(struct hgi_row *row, const struct hgi_entry *entry, struct hg_bytes *bytes)
{
    bytes->len = 0;
    for (size_t i = 0; i < entry->tag_count; i++) {
        const unsigned char len[2] = {(unsigned char)(entry->tags[i].len >> 8),
                                      (unsigned char)entry->tags[i].len};

        HGI_BUG_ON(entry->tags[i].len > TAG_NAME_MAX);
        if (!hgi_bytes_append(bytes, hg_slice_of(len, sizeof(len))) ||
            !hgi_bytes_append(bytes, entry->tags[i])) {
            return false;
        }
    }
    row->tags = hgi_bytes_slice(bytes);
    return true;
}

bool hgi_row_tags_get(struct hg_slice column, struct hg_slice *ret_tags, size_t *ret_count)
{
    const unsigned char *at = column.data;
    size_t left = column.len;
    size_t count = 0;

    while (left > 0) {
        size_t len;

        if (left < 2 || count == HGI_TAGS_MAX) {
            return false;
        }
        len = (size_t)at[0] << 8 | at[1];
        if (len == 0 || len > TAG_NAME_MAX || len > left - 2) {
            return false;
        }
        ret_tags[count++] = hg_slice_of(at + 2, len);
        at += 2 + len;
        left -= 2 + len;
    }
    *ret_count = count;
    return true;
}

enum hgi_row_state hgi_row_to_entry(const struct hgi_row *row, const struct hgi_now *now,
                                    struct hg_slice *ret_tags, struct hgi_entry *ret_entry)
{
    struct hgi_entry entry = {.tags = ret_tags};
    int64_t down_ms;

    if (!is_well_formed(row) || !hgi_row_tags_get(row->tags, ret_tags, &entry.tag_count)) {
        return HGI_ROW_WRONG;
    }
    if (!is_time(now->wall_ms) || now->wall_ms < row->saved_ms) {
        return HGI_ROW_OVER;
    }
    down_ms = now->wall_ms - row->saved_ms;
    if (row->age_ms + down_ms > at_most(row->stale_ttl_ms, HGI_ROW_AGE_MAX)) {
        return HGI_ROW_OVER;
    }
    if (row->expires_ms != 0) {
        int64_t left_ms = at_most(row->expires_left_ms - down_ms, row->expires_ms - now->wall_ms);

        if (left_ms <= 0) {
            return HGI_ROW_OVER;
        }
        entry.expires_wall_ms = row->expires_ms;
        entry.expires_boot_ms = now->boot_ms + left_ms;
    }
    entry.key = row->key;
    entry.value = row->value;
    entry.etag = row->etag;
    entry.outcome = (enum hg_outcome)row->outcome;
    entry.born = (uint64_t)row->born;
    entry.published_ms = now->boot_ms - row->age_ms - down_ms;
    entry.ttl_ms = row->ttl_ms;
    entry.stale_ttl_ms = row->stale_ttl_ms;
    *ret_entry = entry;
    return HGI_ROW_USABLE;
}

enum hgi_db_result hgi_row_write(struct hgi_db *db, int64_t cache_id, const struct hgi_row *row,
                                 int64_t checksum)
{
    const struct hgi_bound values[] = {
        hgi_bound_number(cache_id),        hgi_bound_bytes(row->key),
        hgi_bound_number(row->outcome),    hgi_bound_number(row->born),
        hgi_bound_number(row->saved_ms),   hgi_bound_number(row->age_ms),
        hgi_bound_number(row->ttl_ms),     hgi_bound_number(row->stale_ttl_ms),
        hgi_bound_number(row->expires_ms), hgi_bound_number(row->expires_left_ms),
        hgi_bound_number(row->over_ms),    hgi_bound_number(checksum),
        hgi_bound_bytes(row->tags),        hgi_bound_bytes(row->etag),
        hgi_bound_bytes(row->value),
    };

    return hgi_db_run(db, HGI_SQL_ROW_WRITE, values, HGI_COUNT_OF(values));
}

enum hgi_db_result hgi_row_next(struct hgi_db *db, int64_t *ret_id, int64_t *ret_cache_id,
                                struct hgi_row *ret_row, int64_t *ret_checksum)
{
    enum hgi_db_result result = hgi_db_next(db, HGI_SQL_ROWS_SCAN);

    if (result != HGI_DB_ROW) {
        return result;
    }
    *ret_id = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 0);
    *ret_cache_id = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 1);
    *ret_row = (struct hgi_row){
        .key = hgi_db_bytes(db, HGI_SQL_ROWS_SCAN, 2),
        .outcome = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 3),
        .born = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 4),
        .saved_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 5),
        .age_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 6),
        .ttl_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 7),
        .stale_ttl_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 8),
        .expires_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 9),
        .expires_left_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 10),
        .over_ms = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 11),
        .tags = hgi_db_bytes(db, HGI_SQL_ROWS_SCAN, 13),
        .etag = hgi_db_bytes(db, HGI_SQL_ROWS_SCAN, 14),
        .value = hgi_db_bytes(db, HGI_SQL_ROWS_SCAN, 15),
    };
    *ret_checksum = hgi_db_number(db, HGI_SQL_ROWS_SCAN, 12);
    return HGI_DB_ROW;
}
