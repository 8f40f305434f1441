/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/metric.h"
#include "shelf.h"
#include "storage/table/table.h"

#define TTL_MS 3600000
#define BATCH  16u

struct self {
    struct hgi_table *table;
    struct hgi_metrics metrics;
    struct hgi_now now; /* a server reads the clock once for each message, not for each key */
    _Atomic uint64_t born;
};

static void close_table(void *context)
{
    struct self *self = context;

    if (self->table) {
        hgi_table_destroy(&self->table);
    }
    hgi_free(&hgi_heap, self);
}

static void *open_table(uint32_t records)
{
    /* Room to spare: nothing is evicted, whatever the shards' shares. */
    struct hgi_table_bounds bounds = {(size_t)records * 2 + 4096,
                                      ((size_t)records * 2 + 4096) * 1024};
    struct self *self = hgi_alloc(&hgi_heap, sizeof(*self));

    if (!self) {
        return NULL;
    }
    self->now = hgi_clock_now();
    self->table = hgi_table_create(&hgi_heap, &bounds, &self->metrics);
    if (!self->table) {
        close_table(self);
        return NULL;
    }
    return self;
}

static bool put(void *context, uint32_t number)
{
    struct shelf_record record = shelf_record_of(number);
    struct self *self = context;
    struct hgi_entry entry = {
        .key = hg_slice_of(record.key, sizeof(record.key)),
        .value = hg_slice_of(record.value, sizeof(record.value)),
        .outcome = HG_VALUE,
        .born = atomic_fetch_add(&self->born, 1) + 1,
        .published_ms = self->now.boot_ms,
        .ttl_ms = TTL_MS,
        .stale_ttl_ms = TTL_MS,
    };

    /* SUPERSEDED: another writer was later with the same record. */
    return hgi_table_insert(self->table, &entry, false) != HGI_NOT_STORED;
}

static size_t get(void *context, const struct ops *ops, size_t from, size_t count,
                  struct hg_bytes *scratch)
{
    struct self *self = context;
    struct hgi_found_entry found;
    size_t right = 0;

    for (size_t i = from; i < from + count; i++) {
        right += hgi_table_lookup(self->table, ops_key(ops, i), -1, &self->now, scratch, &found) ==
                     HGI_FRESH &&
                 ops_value_is(ops, i, scratch->data, scratch->len);
    }
    return right;
}

/* As a batch is answered: the memory of all its keys is fetched first. */
static size_t get_batch(void *context, const struct ops *ops, size_t from, size_t count,
                        struct hg_bytes *scratch)
{
    struct self *self = context;
    struct hg_slice keys[BATCH];
    uint64_t hashes[BATCH];
    size_t right = 0;

    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = count - i < BATCH ? count - i : BATCH;

        for (size_t k = 0; k < n; k++) {
            keys[k] = ops_key(ops, from + i + k);
        }
        hgi_table_fetch(self->table, keys, n, hashes);
        for (size_t k = 0; k < n; k++) {
            struct hgi_found_entry found;

            right += hgi_table_lookup_hashed(self->table, hashes[k], keys[k], -1, &self->now,
                                             scratch, &found) == HGI_FRESH &&
                     ops_value_is(ops, from + i + k, scratch->data, scratch->len);
        }
    }
    return right;
}

const struct shelf_kind shelf_table = {"table", open_table, close_table, put, get};
const struct shelf_kind shelf_table_batch = {"table, batch", open_table, close_table, put,
                                             get_batch};
