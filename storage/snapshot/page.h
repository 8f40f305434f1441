/* SPDX-License-Identifier: Apache-2.0 */
/* page: many rows as two columns of one sqlite row: what is known of each, and their sealed bytes.
 * Owns:     the bytes of a page that is being filled; wiped by reset and deinit.
 * Threads:  one at a time.
 * Limits:   HGI_PAGE_BYTES, and then whatever the last row brings; HGI_TAGS_MAX tags a row.
 * Errors:   no memory is false; bytes that are not what was written are false.
 * Not here: when pages are written, and which rows are dead (commit, purge, restore).
 *
 * The head says of each row, in order: the digest of its key, when it was born, when it is over,
 * how long its bytes are, and the digests of its tags. It is under a checksum of its own, so that
 * who invalidates or removes rows need not read them. A row whose bytes are empty is a mark: it has
 * no value, and hides older rows of its key. */
#ifndef HGI_STORAGE_SNAPSHOT_PAGE_H
#define HGI_STORAGE_SNAPSHOT_PAGE_H

#include "storage/snapshot/row.h"
#include "storage/snapshot/seal.h"

#define HGI_PAGE_BYTES    (64u << 10)
#define HGI_PAGE_ROWS_MAX 0xffffu
/* Of a head: a row without tags, and what stands before the first. */
#define HGI_PAGE_HEAD_ROW  29u
#define HGI_PAGE_HEAD_LEAD 24u

struct hgi_page {
    struct hg_bytes head;
    struct hg_bytes rows;
    size_t count;
};

void hgi_page_init(struct hgi_page *page);
void hgi_page_deinit(struct hgi_page *page);
void hgi_page_reset(struct hgi_page *page);
static inline bool hgi_page_is_full(const struct hgi_page *page)
{
    return page->head.len + page->rows.len >= HGI_PAGE_BYTES;
}

/* What the head says of one row. */
struct hgi_page_row {
    uint64_t digest; /* of its cache and key */
    uint64_t born;
    int64_t over_ms;
    const unsigned char *tags; /* digests of cache and tag; hgi_page_tag */
    size_t tag_count;
    struct hg_slice head; /* all of the above, as it stands there */
    size_t at;            /* where its bytes begin */
    size_t size;
};

uint64_t hgi_page_key_digest(const struct hgi_seal *seal, uint64_t cache, struct hg_slice key);
uint64_t hgi_page_tag_digest(const struct hgi_seal *seal, uint64_t cache, struct hg_slice tag);
uint64_t hgi_page_tag(const struct hgi_page_row *row, size_t i);

/* `cache` is the digest of its name. The row's tags are those of `entry`, and row->tags. */
HG_NODISCARD bool hgi_page_add(struct hgi_page *page, struct hgi_seal *seal, uint64_t cache,
                               const struct hgi_row *row, const struct hgi_entry *entry);
/* A mark for the key. */
HG_NODISCARD bool hgi_page_add_mark(struct hgi_page *page, uint64_t digest, uint64_t born);
/* The same row again, from another page of its cache. */
HG_NODISCARD bool hgi_page_copy(struct hgi_page *page, const struct hgi_page_row *row,
                                struct hg_slice rows);
/* The head as it is written, under the page's number. */
struct hg_slice hgi_page_close(struct hgi_page *page, const struct hgi_seal *seal, uint64_t cache,
                               int64_t id);

struct hgi_page_walk {
    const unsigned char *at;
    size_t left;
    size_t rows_at;
    size_t count; /* of rows in all */
    size_t size;  /* of their bytes in all */
};

/* False: the head is not what was written for this page of this cache. */
HG_NODISCARD bool hgi_page_open(const struct hgi_seal *seal, uint64_t cache, int64_t id,
                                struct hg_slice head, struct hgi_page_walk *ret_walk);
/* False: that was the last. */
bool hgi_page_next(struct hgi_page_walk *walk, struct hgi_page_row *ret_row);
/* The row's bytes, opened; borrows `rows`, or `scratch` if they are encrypted. False: they are not
 * what was written. */
HG_NODISCARD bool hgi_page_read(const struct hgi_seal *seal, uint64_t cache,
                                const struct hgi_page_row *row, struct hg_slice rows,
                                struct hg_bytes *scratch, struct hgi_row *ret_row);

#endif
