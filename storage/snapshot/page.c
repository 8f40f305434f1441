/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <string.h>

#include "base/check.h"

#define HEAD_MAX (HGI_PAGE_HEAD_ROW + 8u * HGI_TAGS_MAX)

/* Numbers lie in one byte order, so that a file can move between machines. */
static unsigned char *put_word(unsigned char *at, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(number >> (8 * i));
    }
    return at + bytes;
}

static uint64_t word_at(const unsigned char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number |= (uint64_t)at[i] << (8 * i);
    }
    return number;
}

void hgi_page_init(struct hgi_page *page)
{
    hgi_bytes_init(&page->head, &hgi_heap);
    hgi_bytes_init(&page->rows, &hgi_heap);
    page->count = 0;
}

void hgi_page_deinit(struct hgi_page *page)
{
    hgi_bytes_deinit(&page->head);
    hgi_bytes_deinit(&page->rows);
}

void hgi_page_reset(struct hgi_page *page)
{
    if (page->rows.len > 0) {
        explicit_bzero(page->rows.data, page->rows.len);
    }
    page->head.len = 0;
    page->rows.len = 0;
    page->count = 0;
}

/* Keys and tags of all caches share one space of digests: names of caches are in them. */
uint64_t hgi_page_key_digest(const struct hgi_seal *seal, uint64_t cache, struct hg_slice key)
{
    return cache + hgi_seal_digest(seal, HGI_SEAL_OF_KEY, key);
}

uint64_t hgi_page_tag_digest(const struct hgi_seal *seal, uint64_t cache, struct hg_slice tag)
{
    return cache + hgi_seal_digest(seal, HGI_SEAL_OF_TAG, tag);
}

uint64_t hgi_page_tag(const struct hgi_page_row *row, size_t i)
{
    return word_at(row->tags + 8 * i, 8);
}

/* Room for one more row, and for what stands before the first. */
static bool make_room(struct hgi_page *page, size_t size)
{
    if (page->head.len == 0) {
        static const unsigned char lead[HGI_PAGE_HEAD_LEAD];

        if (!hgi_bytes_append(&page->head, hg_slice_of(lead, sizeof(lead)))) {
            return false;
        }
    }
    return hgi_bytes_reserve(&page->head, HEAD_MAX) && hgi_bytes_reserve(&page->rows, size + 1);
}

/* What a row is bound to: its cache, and all that the head says of it. */
struct bound {
    unsigned char bytes[8 + HEAD_MAX];
    size_t len;
};

static struct hg_slice bound_of(struct bound *bound, uint64_t cache, struct hg_slice head)
{
    put_word(bound->bytes, cache, 8);
    memcpy(bound->bytes + 8, head.data, head.len);
    bound->len = 8 + head.len;
    return hg_slice_of(bound->bytes, bound->len);
}

bool hgi_page_add(struct hgi_page *page, struct hgi_seal *seal, uint64_t cache,
                  const struct hgi_row *row, const struct hgi_entry *entry)
{
    size_t len = hgi_row_size(row);
    size_t size = len + hgi_seal_overhead(seal);
    unsigned char *head_begin;
    unsigned char *head;
    unsigned char *at;
    struct bound bound;

    if (!make_room(page, size + HGI_ROW_NUMBERS_MAX)) {
        return false;
    }
    head = head_begin = page->head.data + page->head.len;
    at = page->rows.data + page->rows.len;
    len = hgi_row_write(row, at + hgi_seal_lead(seal));
    size = len + hgi_seal_overhead(seal);
    head = put_word(head, hgi_page_key_digest(seal, cache, row->key), 8);
    head = put_word(head, (uint64_t)row->born, 8);
    head = put_word(head, (uint64_t)row->over_ms, 8);
    head = put_word(head, size, 4);
    head = put_word(head, entry->tag_count, 1);
    for (size_t i = 0; i < entry->tag_count; i++) {
        head = put_word(head, hgi_page_tag_digest(seal, cache, entry->tags[i]), 8);
    }
    hgi_seal_close(seal,
                   bound_of(&bound, cache, hg_slice_of(head_begin, (size_t)(head - head_begin))),
                   at, len);
    page->head.len = (size_t)(head - page->head.data);
    page->rows.len += size;
    page->count++;
    return true;
}

bool hgi_page_add_mark(struct hgi_page *page, uint64_t digest, uint64_t born)
{
    unsigned char *head;

    if (!make_room(page, 0)) {
        return false;
    }
    head = page->head.data + page->head.len;
    head = put_word(head, digest, 8);
    head = put_word(head, born, 8);
    head = put_word(put_word(head, 0, 8), 0, 4 + 1);
    page->head.len = (size_t)(head - page->head.data);
    page->count++;
    return true;
}

bool hgi_page_copy(struct hgi_page *page, const struct hgi_page_row *row, struct hg_slice rows)
{
    HGI_BUG_ON(row->at + row->size > rows.len);
    if (!make_room(page, row->size) || !hgi_bytes_append(&page->head, row->head) ||
        !hgi_bytes_append(&page->rows,
                          hg_slice_of((const unsigned char *)rows.data + row->at, row->size))) {
        return false;
    }
    page->count++;
    return true;
}

struct hg_slice hgi_page_close(struct hgi_page *page, const struct hgi_seal *seal, uint64_t cache,
                               int64_t id)
{
    unsigned char *at = page->head.data + 8;

    HGI_BUG_ON(page->count == 0);
    at = put_word(at, cache, 8);
    put_word(at, (uint64_t)id, 8);
    put_word(page->head.data,
             hgi_seal_digest(seal, HGI_SEAL_OF_BYTES,
                             hg_slice_of(page->head.data + 8, page->head.len - 8)),
             8);
    return hgi_bytes_slice(&page->head);
}

bool hgi_page_open(const struct hgi_seal *seal, uint64_t cache, int64_t id, struct hg_slice head,
                   struct hgi_page_walk *ret_walk)
{
    const unsigned char *bytes = head.data;
    struct hgi_page_walk walk;
    struct hgi_page_walk ahead;
    struct hgi_page_row row;

    if (head.len < HGI_PAGE_HEAD_LEAD + HGI_PAGE_HEAD_ROW || word_at(bytes + 8, 8) != cache ||
        word_at(bytes + 16, 8) != (uint64_t)id ||
        word_at(bytes, 8) !=
            hgi_seal_digest(seal, HGI_SEAL_OF_BYTES, hg_slice_of(bytes + 8, head.len - 8))) {
        return false;
    }
    walk = (struct hgi_page_walk){.at = bytes + HGI_PAGE_HEAD_LEAD,
                                  .left = head.len - HGI_PAGE_HEAD_LEAD};
    ahead = walk;
    while (hgi_page_next(&ahead, &row)) {
        walk.count++;
        walk.size += row.size;
    }
    *ret_walk = walk;
    return ahead.left == 0 && walk.count <= HGI_PAGE_ROWS_MAX;
}

bool hgi_page_next(struct hgi_page_walk *walk, struct hgi_page_row *ret_row)
{
    const unsigned char *at = walk->at;
    size_t tag_count;
    size_t len;

    if (walk->left < HGI_PAGE_HEAD_ROW) {
        return false;
    }
    tag_count = at[28];
    len = HGI_PAGE_HEAD_ROW + 8 * tag_count;
    if (tag_count > HGI_TAGS_MAX || len > walk->left) {
        return false;
    }
    *ret_row = (struct hgi_page_row){
        .digest = word_at(at, 8),
        .born = word_at(at + 8, 8),
        .over_ms = (int64_t)word_at(at + 16, 8),
        .tags = at + HGI_PAGE_HEAD_ROW,
        .tag_count = tag_count,
        .head = hg_slice_of(at, len),
        .at = walk->rows_at,
        .size = (size_t)word_at(at + 24, 4),
    };
    walk->rows_at += ret_row->size;
    walk->at += len;
    walk->left -= len;
    return true;
}

bool hgi_page_read(const struct hgi_seal *seal, uint64_t cache, const struct hgi_page_row *row,
                   struct hg_slice rows, struct hg_bytes *scratch, struct hgi_row *ret_row)
{
    struct hg_slice plain;
    struct bound bound;

    if (row->at > rows.len || row->size > rows.len - row->at ||
        !hgi_seal_open(seal, bound_of(&bound, cache, row->head),
                       hg_slice_of((const unsigned char *)rows.data + row->at, row->size), scratch,
                       &plain) ||
        !hgi_row_read(plain, ret_row)) {
        return false;
    }
    ret_row->born = (int64_t)row->born;
    ret_row->over_ms = row->over_ms;
    return true;
}
