/* SPDX-License-Identifier: Apache-2.0 */
/* The floor: an index read at a random place and the entry it points to, nothing else. What a table
 * costs above it is its own; what both cost more with size is memory. Bare, the processor works on
 * several reads at once; chained, each must have its value before it knows the next. */
#include <stdlib.h>

#include "shelf.h"

#define ENTRY_BYTES 192u /* header, key, value: three cache lines */
#define VALUE_AT    76u

struct self {
    uint32_t records;
    uint32_t *places;
    unsigned char *entries;
};

static void close_bare(void *context)
{
    struct self *self = context;

    free(self->places);
    free(self->entries);
    free(self);
}

static void *open_bare(uint32_t records)
{
    struct self *self = calloc(1, sizeof(*self));

    if (!self) {
        return NULL;
    }
    self->records = records;
    self->places = calloc(records, sizeof(*self->places));
    self->entries = aligned_alloc(64, (size_t)records * ENTRY_BYTES);
    if (!self->places || !self->entries) {
        close_bare(self);
        return NULL;
    }
    return self;
}

static bool put(void *context, uint32_t number)
{
    struct shelf_record record = shelf_record_of(number);
    struct self *self = context;
    /* Somewhere else than its neighbours, as by a hash. */
    uint32_t place = (uint32_t)((uint64_t)number * UINT64_C(2654435761) % self->records);

    self->places[number] = place;
    memcpy(self->entries + (size_t)place * ENTRY_BYTES, record.key, sizeof(record.key));
    memcpy(self->entries + (size_t)place * ENTRY_BYTES + VALUE_AT, record.value,
           sizeof(record.value));
    return true;
}

static inline size_t read_on(const struct self *self, const struct ops *ops, size_t from,
                             size_t count, struct hg_bytes *scratch, bool is_chained)
{
    size_t right = 0;

    if (!hgi_bytes_reserve(scratch, RECORD_VALUE_LEN)) {
        return 0;
    }
    for (size_t i = from; i < from + count; i++) {
        const unsigned char *entry =
            self->entries + (size_t)self->places[ops->numbers[i]] * ENTRY_BYTES;

        if (memcmp(entry, ops_key(ops, i).data, RECORD_KEY_LEN) == 0) {
            memcpy(scratch->data, entry + VALUE_AT, RECORD_VALUE_LEN);
            right += ops_value_is(ops, i, scratch->data, RECORD_VALUE_LEN);
        }
        if (is_chained) {
            i += scratch->data[0] >> 7; /* 0: no value has such a byte, but who knows */
        }
    }
    return right;
}

static size_t get_bare(void *context, const struct ops *ops, size_t from, size_t count,
                       struct hg_bytes *scratch)
{
    return read_on(context, ops, from, count, scratch, false);
}

static size_t get_chained(void *context, const struct ops *ops, size_t from, size_t count,
                          struct hg_bytes *scratch)
{
    return read_on(context, ops, from, count, scratch, true);
}

const struct shelf_kind shelf_bare = {"bare memory", open_bare, close_bare, put, get_bare};
const struct shelf_kind shelf_chained = {"chained memory", open_bare, close_bare, put, get_chained};
