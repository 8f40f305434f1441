/* SPDX-License-Identifier: Apache-2.0 */
/* row: an entry as it lies on disk, and back.
 * Owns:     nothing.
 * Threads:  one at a time.
 * Limits:   times at most HGI_ROW_TIME_MAX; keys of 1 to HGI_KEY_CANONICAL_MAX bytes; HGI_TAGS_MAX
 *           tags.
 * Errors:   a row that is not whole is an enum.
 * Not here: how rows are kept from harm (seal), where they lie (page). */
#ifndef HGI_STORAGE_SNAPSHOT_ROW_H
#define HGI_STORAGE_SNAPSHOT_ROW_H

#include "base/bytes.h"
#include "base/clock.h"
#include "storage/table/table.h"
#include "storage/table/tag.h"

#define HGI_ROW_TIME_MAX (INT64_C(1) << 53)
#define HGI_ROW_AGE_MAX  (INT64_C(1) << 46) /* an item tells ages apart up to twice that */
/* What a row takes besides its key, value, tags and etag, at most. */
#define HGI_ROW_NUMBERS_MAX 100u

/* Times are lengths in milliseconds except the two instants on the wall clock. */
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
 * over. */
HG_NODISCARD bool hgi_row_of_entry(const struct hgi_entry *entry, const struct hgi_now *now,
                                   struct hgi_row *ret_row);
/* The entry as this boot sees it; borrows the row's bytes, and ret_tags (HGI_TAGS_MAX of them). */
HG_NODISCARD enum hgi_row_state hgi_row_to_entry(const struct hgi_row *row,
                                                 const struct hgi_now *now,
                                                 struct hg_slice *ret_tags,
                                                 struct hgi_entry *ret_entry);

/* The row's tags: each name with its length in two bytes before it. `bytes` is overwritten, and
 * borrowed by the row. False: no memory. */
HG_NODISCARD bool hgi_row_tags_set(struct hgi_row *row, const struct hgi_entry *entry,
                                   struct hg_bytes *bytes);
/* Borrows `column`. False: it is not one that we would write. */
HG_NODISCARD bool hgi_row_tags_get(struct hg_slice column, struct hg_slice *ret_tags,
                                   size_t *ret_count);

/* Its bytes: all of it but born and over_ms, which a page's head has. size: of key, value, tags and
 * etag; with HGI_ROW_NUMBERS_MAX that is room enough. Returns how many bytes were written. */
size_t hgi_row_size(const struct hgi_row *row);
size_t hgi_row_write(const struct hgi_row *row, unsigned char *into);
/* Borrows `bytes`; born and over_ms are 0. False: it is not one that we would write. */
HG_NODISCARD bool hgi_row_read(struct hg_slice bytes, struct hgi_row *ret_row);

#endif
