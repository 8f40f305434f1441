/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "tag.h"

#define TAGS_PER_ENTRY 4u /* room in a batch; one with more tags is full sooner */

bool hgi_batch_init(struct hgi_batch *batch, const struct hgi_allocator *allocator,
                    size_t entries_max, size_t bytes_max)
{
    memset(batch, 0, sizeof(*batch));
    batch->allocator = allocator;
    batch->entries = hgi_alloc(allocator, entries_max * sizeof(*batch->entries));
    batch->bytes = hgi_alloc(allocator, bytes_max);
    batch->tags_max = entries_max * TAGS_PER_ENTRY + HGI_TAGS_MAX;
    batch->tags = hgi_alloc(allocator, batch->tags_max * sizeof(*batch->tags));
    if (!batch->entries || !batch->bytes || !batch->tags) {
        hgi_batch_deinit(batch);
        return false;
    }
    batch->entries_max = entries_max;
    batch->bytes_max = bytes_max;
    return true;
}

void hgi_batch_reset(struct hgi_batch *batch)
{
    explicit_bzero(batch->bytes, batch->bytes_len);
    batch->bytes_len = 0;
    batch->tag_count = 0;
    batch->count = 0;
}

void hgi_batch_deinit(struct hgi_batch *batch)
{
    if (batch->bytes) {
        hgi_batch_reset(batch);
    }
    hgi_free(batch->allocator, batch->bytes);
    hgi_free(batch->allocator, batch->tags);
    hgi_free(batch->allocator, batch->entries);
    memset(batch, 0, sizeof(*batch));
}

static struct hg_slice keep(struct hgi_batch *batch, struct hg_slice slice)
{
    unsigned char *at = batch->bytes + batch->bytes_len;

    if (slice.len) {
        memcpy(at, slice.data, slice.len);
        batch->bytes_len += slice.len;
    }
    return hg_slice_of(at, slice.len);
}

bool hgi_batch_add(struct hgi_batch *batch, const struct hgi_entry *entry)
{
    size_t size = entry->key.len + entry->value.len + entry->etag.len;
    struct hg_slice *tags = batch->tags + batch->tag_count;
    struct hgi_entry *copy;

    for (size_t i = 0; i < entry->tag_count; i++) {
        size += entry->tags[i].len;
    }
    if (batch->count == batch->entries_max || size > batch->bytes_max - batch->bytes_len ||
        entry->tag_count > batch->tags_max - batch->tag_count) {
        return false;
    }
    copy = &batch->entries[batch->count++];
    *copy = *entry;
    copy->key = keep(batch, entry->key);
    copy->value = keep(batch, entry->value);
    copy->etag = keep(batch, entry->etag);
    copy->tags = tags;
    for (size_t i = 0; i < entry->tag_count; i++) {
        tags[i] = keep(batch, entry->tags[i]);
    }
    batch->tag_count += entry->tag_count;
    return true;
}
