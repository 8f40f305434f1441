/* SPDX-License-Identifier: Apache-2.0 */
/* Invalidations: rows by key, and rows by the names they share. */
#include "snapshot.h"

#include <stdlib.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_ROWS 512u /* found before they are deleted */

enum hg_status hgi_snapshot_forget(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                   const struct hg_slice *keys, size_t key_count,
                                   uint64_t generation, char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, cache_name);

    HGI_BUG_ON(!snapshot->is_begun);
    /* A cache that was never entered has no rows. */
    for (size_t i = 0; cache && i < key_count; i++) {
        enum hgi_db_result result = hgi_db_run(
            snapshot->db, HGI_SQL_ROW_FORGET,
            (const struct hgi_bound[]){hgi_bound_number(cache->id), hgi_bound_bytes(keys[i]),
                                       hgi_bound_number((int64_t)generation)},
            3);

        if (result != HGI_DB_OK) {
            return hgi_snapshot_fail(
                snapshot, result, "cannot record the invalidation in the snapshot", ret_sentence);
        }
    }
    hgi_snapshot_note_generation(snapshot, generation);
    return HG_OK;
}

/* By name; of one name the latest first. */
static int compare_tags(const void *a, const void *b)
{
    const struct hgi_snapshot_tag *left = a;
    const struct hgi_snapshot_tag *right = b;
    int order = hgi_slice_compare(left->name, right->name);

    return order ? order
                 : (left->generation < right->generation) - (left->generation > right->generation);
}

static int compare_name(const void *name, const void *tag)
{
    return hgi_slice_compare(*(const struct hg_slice *)name,
                             ((const struct hgi_snapshot_tag *)tag)->name);
}

/* Leaves each name once, with its latest number; ret_latest: of them all. */
static size_t sort_tags(struct hgi_snapshot_tag *tags, size_t tag_count, uint64_t *ret_latest)
{
    size_t kept = 0;

    *ret_latest = 0;
    qsort(tags, tag_count, sizeof(*tags), compare_tags);
    for (size_t i = 0; i < tag_count; i++) {
        if (tags[i].generation > *ret_latest) {
            *ret_latest = tags[i].generation;
        }
        if (kept == 0 || !hgi_slice_equal(tags[kept - 1].name, tags[i].name)) {
            tags[kept++] = tags[i];
        }
    }
    return kept;
}

/* A row whose tags cannot be read is covered too: nobody knows what it has. */
static bool is_covered(struct hg_slice column, uint64_t born, const struct hgi_snapshot_tag *tags,
                       size_t tag_count)
{
    struct hg_slice names[HGI_TAGS_MAX];
    size_t name_count = 0;

    if (!hgi_row_tags_get(column, names, &name_count)) {
        return true;
    }
    for (size_t i = 0; i < name_count; i++) {
        const struct hgi_snapshot_tag *tag =
            bsearch(&names[i], tags, tag_count, sizeof(*tags), compare_name);

        if (tag && born < tag->generation) {
            return true;
        }
    }
    return false;
}

struct tag_walk {
    const struct hgi_snapshot_tag *tags;
    size_t tag_count;
    uint64_t latest;
    int64_t cache_id;
    int64_t last_id; /* the row looked at last */
    int64_t found[PORTION_ROWS];
    size_t found_count;
};

/* Looks on until `found` is full. */
static enum hgi_db_result find_tagged(struct hgi_db *db, struct tag_walk *walk)
{
    enum hgi_db_result result =
        hgi_db_query(db, HGI_SQL_TAGS_SCAN,
                     (const struct hgi_bound[]){hgi_bound_number(walk->last_id),
                                                hgi_bound_number(walk->cache_id),
                                                hgi_bound_number((int64_t)walk->latest)},
                     3);

    walk->found_count = 0;
    if (result != HGI_DB_OK) {
        return result;
    }
    while ((result = hgi_db_next(db, HGI_SQL_TAGS_SCAN)) == HGI_DB_ROW) {
        walk->last_id = hgi_db_number(db, HGI_SQL_TAGS_SCAN, 0);
        if (!is_covered(hgi_db_bytes(db, HGI_SQL_TAGS_SCAN, 2),
                        (uint64_t)hgi_db_number(db, HGI_SQL_TAGS_SCAN, 1), walk->tags,
                        walk->tag_count)) {
            continue;
        }
        walk->found[walk->found_count++] = walk->last_id;
        if (walk->found_count == PORTION_ROWS) {
            hgi_db_end(db, HGI_SQL_TAGS_SCAN);
            return HGI_DB_OK;
        }
    }
    return result;
}

enum hg_status hgi_snapshot_forget_tags(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                        struct hgi_snapshot_tag *tags, size_t tag_count,
                                        char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, cache_name);
    enum hgi_db_result result = HGI_DB_OK;
    struct tag_walk walk = {.tags = tags, .last_id = INT64_MIN};

    HGI_BUG_ON(!snapshot->is_begun);
    walk.tag_count = sort_tags(tags, tag_count, &walk.latest);
    walk.found_count = PORTION_ROWS;
    /* A cache that was never entered has no rows. */
    while (cache && result == HGI_DB_OK && walk.found_count == PORTION_ROWS) {
        walk.cache_id = cache->id;
        result = find_tagged(snapshot->db, &walk);
        for (size_t i = 0; result == HGI_DB_OK && i < walk.found_count; i++) {
            result = hgi_db_run(snapshot->db, HGI_SQL_ROW_DELETE,
                                (const struct hgi_bound[]){hgi_bound_number(walk.found[i])}, 1);
        }
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot record the invalidation in the snapshot",
                                 ret_sentence);
    }
    hgi_snapshot_note_generation(snapshot, walk.latest);
    return HG_OK;
}
