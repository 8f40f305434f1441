/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include <string.h>

#include "base/check.h"
#include "base/kind.h"

#define TAG_NAME_MAX   (1u + HG_KEY_MAX) /* a byte of kind and a user (server/cache/tagging) */
#define NUMBER_COUNT   10u
#define NUMBER_LEN_MAX 10u

_Static_assert(NUMBER_COUNT *NUMBER_LEN_MAX <= HGI_ROW_NUMBERS_MAX, "room for the numbers");

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

size_t hgi_row_size(const struct hgi_row *row)
{
    return row->key.len + row->tags.len + row->etag.len + row->value.len;
}

/* Seven bits a byte, the low ones first; the last byte has its top bit clear. */
static unsigned char *put_number(unsigned char *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    *at++ = (unsigned char)number;
    return at;
}

static unsigned char *put_bytes(unsigned char *at, struct hg_slice bytes)
{
    if (bytes.len > 0) {
        memcpy(at, bytes.data, bytes.len);
    }
    return at + bytes.len;
}

size_t hgi_row_write(const struct hgi_row *row, unsigned char *into)
{
    const int64_t numbers[] = {row->outcome,      row->saved_ms,   row->age_ms,         row->ttl_ms,
                               row->stale_ttl_ms, row->expires_ms, row->expires_left_ms};
    unsigned char *at = into;

    for (size_t i = 0; i < HGI_COUNT_OF(numbers); i++) {
        at = put_number(at, (uint64_t)numbers[i]);
    }
    at = put_number(at, row->key.len);
    at = put_number(at, row->tags.len);
    at = put_number(at, row->etag.len);
    at = put_bytes(at, row->key);
    at = put_bytes(at, row->tags);
    at = put_bytes(at, row->etag);
    at = put_bytes(at, row->value);
    return (size_t)(at - into);
}

/* False: it does not end, or has more bits than a number. */
static bool get_number(struct hg_slice *left, uint64_t *ret_number)
{
    const unsigned char *at = left->data;
    uint64_t number = 0;

    for (size_t i = 0; i < left->len && i < NUMBER_LEN_MAX; i++) {
        number |= (uint64_t)(at[i] & 0x7f) << (7 * i);
        if (at[i] < 0x80) {
            *left = hg_slice_of(at + i + 1, left->len - i - 1);
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static bool get_bytes(struct hg_slice *left, uint64_t len, struct hg_slice *ret_bytes)
{
    const unsigned char *at = left->data;

    if (len > left->len) {
        return false;
    }
    *ret_bytes = hg_slice_of(at, (size_t)len);
    *left = hg_slice_of(at + len, left->len - (size_t)len);
    return true;
}

bool hgi_row_read(struct hg_slice bytes, struct hgi_row *ret_row)
{
    struct hgi_row row = {0};
    int64_t *const numbers[] = {&row.outcome,        &row.saved_ms,     &row.age_ms,
                                &row.ttl_ms,         &row.stale_ttl_ms, &row.expires_ms,
                                &row.expires_left_ms};
    uint64_t lens[3];

    for (size_t i = 0; i < HGI_COUNT_OF(numbers); i++) {
        uint64_t number;

        if (!get_number(&bytes, &number)) {
            return false;
        }
        *numbers[i] = (int64_t)number;
    }
    for (size_t i = 0; i < HGI_COUNT_OF(lens); i++) {
        if (!get_number(&bytes, &lens[i])) {
            return false;
        }
    }
    if (!get_bytes(&bytes, lens[0], &row.key) || !get_bytes(&bytes, lens[1], &row.tags) ||
        !get_bytes(&bytes, lens[2], &row.etag)) {
        return false;
    }
    row.value = bytes;
    *ret_row = row;
    return true;
}
