/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/cache.h"
#include "shelf.h"

#define TTL_MS 3600000

struct self {
    struct hgi_cache *cache;
    struct hgi_now now;
};

/* No load is ever begun: every read is a hit. */
static void start_nothing(void *context, const struct hgi_load_order *order)
{
    (void)context;
    (void)order;
}

static void cancel_nothing(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    (void)context;
    (void)cache;
    (void)load_id;
}

static void close_cache(void *context)
{
    struct self *self = context;

    if (self->cache) {
        hgi_cache_stop(self->cache, &self->now);
        hgi_cache_destroy(&self->cache);
    }
    hgi_free(&hgi_heap, self);
}

static void *open_cache(uint32_t records)
{
    struct self *self = hgi_alloc(&hgi_heap, sizeof(*self));
    struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .ttl_ms = TTL_MS,
        .stale_ttl_ms = TTL_MS,
        .negative_ttl_ms = TTL_MS,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 1000,
        .max_entries = (size_t)records * 2 + 4096,
        .max_bytes = ((size_t)records * 2 + 4096) * 1024,
        .max_loads = 16,
        .queue_max = 16,
        .waiters_max = 16,
    };
    struct hgi_executor executor = {.start = start_nothing, .cancel = cancel_nothing};
    struct hgi_cache_options options = {.name = "bench",
                                        .policy = &policy,
                                        .executor = &executor,
                                        .start_generation = 1,
                                        .seed = 1};

    if (!self) {
        return NULL;
    }
    self->now = hgi_clock_now();
    self->cache = hgi_cache_create(&hgi_heap, &options);
    if (!self->cache) {
        close_cache(self);
        return NULL;
    }
    return self;
}

static bool put(void *context, uint32_t number)
{
    struct shelf_record record = shelf_record_of(number);
    struct self *self = context;
    struct hgi_put put_ = {.key = hg_slice_of(record.key, sizeof(record.key)),
                           .outcome = HG_VALUE,
                           .value = hg_slice_of(record.value, sizeof(record.value))};
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    return hgi_cache_put(self->cache, &put_, &self->now, &entry, sentence) == HG_OK;
}

/* One read and what came of it. */
struct asking {
    struct hgi_call call;
    const struct ops *ops;
    size_t index;
    bool is_right;
};

static void done(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct asking *asking = (struct asking *)call; /* the call comes first */

    asking->is_right =
        answer->status == HG_OK && answer->outcome == HG_VALUE &&
        ops_value_is(asking->ops, asking->index, answer->value.data, answer->value.len);
}

static size_t get(void *context, const struct ops *ops, size_t from, size_t count,
                  struct hg_bytes *scratch)
{
    struct self *self = context;
    size_t right = 0;

    for (size_t i = from; i < from + count; i++) {
        struct asking asking = {
            .call = {.key = ops_key(ops, i), .mode = HG_MODE_FRESH, .max_age_ms = -1, .done = done},
            .ops = ops,
            .index = i};

        hgi_cache_read(self->cache, &asking.call, scratch, &self->now);
        right += asking.is_right;
    }
    return right;
}

const struct shelf_kind shelf_cache = {"get_or_load", open_cache, close_cache, put, get};
