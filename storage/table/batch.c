/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

bool hgi_batch_init(struct hgi_batch *batch, const struct hgi_allocator *allocator,
                    size_t entries_max, size_t bytes_max)
{
    memset(batch, 0, sizeof(*batch));
    batch->allocator = allocator;
    batch->entries = hgi_alloc(allocator, entries_max * sizeof(*batch->entries));
    batch->bytes = hgi_alloc(allocator, bytes_max);
    if (!batch->entries || !batch->bytes) {
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
    batch->count = 0;
}

void hgi_batch_deinit(struct hgi_batch *batch)
{
    if (batch->bytes) {
        hgi_batch_reset(batch);
    }
    hgi_free(batch->allocator, batch->bytes);
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
    size_t size = entry->key.len + entry->value.len;
    struct hgi_entry *copy;

    if (batch->count == batch->entries_max || size > batch->bytes_max - batch->bytes_len) {
        return false;
    }
    copy = &batch->entries[batch->count++];
    *copy = *entry;
    copy->key = keep(batch, entry->key);
    copy->value = keep(batch, entry->value);
    return true;
}
