/* SPDX-License-Identifier: Apache-2.0 */
/* shelf: something in this process that holds records: ours, or what it is measured against.
 * Owns:     what open made, until close.
 * Threads:  get from any; put from any where there is a lock inside.
 * Limits:   the records it was opened for.
 * Errors:   open: NULL when memory is out; put: false. A wrong answer is one that is not counted.
 * Not here: clocks and threads (race). Each kind has its own loop, so that no call stands between. */
#ifndef BENCH_SHELF_H
#define BENCH_SHELF_H

#include "base/bytes.h"
#include "ops.h"

struct shelf_kind {
    const char *name;
    void *(*open)(uint32_t records);
    void (*close)(void *self);
    bool (*put)(void *self, uint32_t number);
    /* Reads ops from..from+count-1, copying each value out; returns how many were right. */
    size_t (*get)(void *self, const struct ops *ops, size_t from, size_t count,
                  struct hg_bytes *scratch);
};

struct shelf {
    const struct shelf_kind *kind;
    void *self;
};

extern const struct shelf_kind shelf_table;       /* hgi_table_lookup, one by one */
extern const struct shelf_kind shelf_table_batch; /* the same table, 16 keys at a time */
extern const struct shelf_kind shelf_cache;       /* hgi_cache_read: get_or_load */
extern const struct shelf_kind shelf_ghash;       /* a mutex and a GHashTable */
extern const struct shelf_kind shelf_bare;        /* an array: what memory alone costs */
extern const struct shelf_kind shelf_chained;     /* the same, one read after the other */

/* The record as it is put. */
struct shelf_record {
    unsigned char key[RECORD_KEY_LEN];
    unsigned char value[RECORD_VALUE_LEN];
};

static inline struct shelf_record shelf_record_of(uint32_t number)
{
    struct shelf_record record;

    record_key(number, sizeof(record.key), record.key);
    record_value(number, sizeof(record.value), record.value);
    return record;
}

/* Opens it and puts all its records; false: no memory. */
HG_NODISCARD bool shelf_fill(struct shelf *shelf, const struct shelf_kind *kind, uint32_t records);
void shelf_close(struct shelf *shelf);

#endif
