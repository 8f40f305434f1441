/* SPDX-License-Identifier: Apache-2.0 */
/* What a C program has at hand: GLib's hash table behind a mutex, an end for each entry, and the
 * value copied out under the lock, as ours is. */
#include <glib.h>
#include <stdlib.h>

#include "base/clock.h"
#include "shelf.h"

#define TTL_MS 3600000

struct item {
    char key[RECORD_KEY_LEN + 1];
    int64_t end_ms;
    size_t len;
    unsigned char value[];
};

struct self {
    GMutex lock;
    GHashTable *items;
    int64_t now_ms;
};

static void *open_ghash(uint32_t records)
{
    struct self *self = calloc(1, sizeof(*self));

    (void)records;
    if (self) {
        g_mutex_init(&self->lock);
        self->items = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free);
        self->now_ms = hgi_clock_now().boot_ms;
    }
    return self;
}

static void close_ghash(void *context)
{
    struct self *self = context;

    g_hash_table_destroy(self->items);
    g_mutex_clear(&self->lock);
    free(self);
}

static bool put(void *context, uint32_t number)
{
    struct shelf_record record = shelf_record_of(number);
    struct self *self = context;
    struct item *item = malloc(sizeof(*item) + sizeof(record.value));

    if (!item) {
        return false;
    }
    memcpy(item->key, record.key, sizeof(record.key));
    item->key[sizeof(record.key)] = 0;
    item->end_ms = self->now_ms + TTL_MS;
    item->len = sizeof(record.value);
    memcpy(item->value, record.value, sizeof(record.value));
    g_mutex_lock(&self->lock);
    g_hash_table_replace(self->items, item->key, item);
    g_mutex_unlock(&self->lock);
    return true;
}

static size_t get(void *context, const struct ops *ops, size_t from, size_t count,
                  struct hg_bytes *scratch)
{
    struct self *self = context;
    char key[RECORD_KEY_LEN + 1];
    size_t right = 0;

    key[RECORD_KEY_LEN] = 0;
    for (size_t i = from; i < from + count; i++) {
        const struct item *item;

        memcpy(key, ops_key(ops, i).data, RECORD_KEY_LEN);
        g_mutex_lock(&self->lock);
        item = g_hash_table_lookup(self->items, key);
        if (item && item->end_ms > self->now_ms &&
            hgi_bytes_set(scratch, hg_slice_of(item->value, item->len))) {
            right += ops_value_is(ops, i, scratch->data, scratch->len);
        }
        g_mutex_unlock(&self->lock);
    }
    return right;
}

const struct shelf_kind shelf_ghash = {"mutex + GHashTable", open_ghash, close_ghash, put, get};
