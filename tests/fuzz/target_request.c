/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of every kind through the real dispatch, services and caches: a few peers ask, loads
 * end, time comes round, peers go. The askers are ours. Every request is answered exactly once, and
 * nothing is left at the end.
 *
 * An input is steps: a byte that says which, and with some a length and so many bytes. */
#include <string.h>

#include "base/kind.h"
#include "fuzz.h"
#include "proto/codec.h"
#include "server/rpc/conn.h"
#include "server/rpc/dispatch.h"

#define STEPS_MAX 64
#define LOADS_MAX 256

enum { OWNER, OTHER, READER, CONN_COUNT };

struct load {
    struct hgi_cache *cache;
    uint64_t load_id;
    bool is_ended;
};

static struct hgi_asker askers[CONN_COUNT];
static size_t asked;
static size_t answered;
static struct load loads[LOADS_MAX];
static size_t load_count;
static struct hgi_registry *registry;
static struct hgi_dispatch *dispatch;

/* A reply is one that our client understands. */
static void take_reply(struct hgi_asker *asker, const struct hgi_sp_route *route,
                       const struct hgi_pieces *body)
{
    struct hgi_arena arena;
    struct hg_bytes whole;
    struct hgi_reply reply;

    (void)asker;
    (void)route;
    answered++;
    HGI_BUG_ON(answered > asked);
    fuzz_memory_may_fail(false); /* the client has memory */
    hgi_bytes_init(&whole, &hgi_heap);
    HGI_BUG_ON(!hgi_pieces_append(body, &whole));
    hgi_arena_init(&arena, hgi_arena_budget(whole.len));
    HGI_BUG_ON(hgi_reply_decode(hgi_bytes_slice(&whole), &arena, &reply) != HG_OK);
    HGI_BUG_ON(reply.status != HG_OK && reply.message.len == 0 && !fuzz_has_failed());
    hgi_arena_deinit(&arena);
    hgi_bytes_deinit(&whole);
    fuzz_memory_may_fail(true);
}

static void start_load(void *context, const struct hgi_load_order *order)
{
    (void)context;
    HGI_BUG_ON(load_count == LOADS_MAX);
    loads[load_count++] = (struct load){order->cache, order->load_id, false};
}

static void cancel_load(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    (void)context;
    (void)cache;
    (void)load_id; /* it ends when a step, or the end, ends it */
}

static void connect_peer(size_t which)
{
    static const struct hgi_peer kinds[CONN_COUNT] = {
        [OWNER] = {.access = HGI_ACCESS_OWNER, .is_ipc = true, .uid = 1000, .pid = 1},
        [OTHER] = {.access = HGI_ACCESS_OWNER, .is_ipc = true, .uid = 1001, .pid = 2},
        [READER] = {.access = HGI_ACCESS_DATA},
    };

    hgi_asker_init(&askers[which], &kinds[which], take_reply);
}

static void add_cache(const char *name, enum hgi_key_type keys, enum hg_value_type values,
                      bool has_loader)
{
    const struct hgi_policy policy = {.mode = HG_MODE_REVALIDATE,
                                      .ttl_ms = 60000,
                                      .stale_ttl_ms = 120000,
                                      .negative_ttl_ms = 5000,
                                      .load_timeout_ms = 60000,
                                      .wait_budget_ms = 60000,
                                      .max_entries = 16,
                                      .max_bytes = 65536,
                                      .max_loads = 4,
                                      .queue_max = 16,
                                      .waiters_max = 16};
    const struct hgi_executor executor = {.start = start_load, .cancel = cancel_load};
    const struct hgi_cache_options options = {.name = name,
                                              .policy = &policy,
                                              .executor = has_loader ? &executor : NULL,
                                              .start_generation = 1,
                                              .seed = 1};
    const struct hgi_registered registered = {.cache = hgi_cache_create(&hgi_heap, &options),
                                              .key_type = keys,
                                              .value_type = values,
                                              .loader = has_loader ? "l" : NULL};

    HGI_BUG_ON(!registered.cache || !hgi_registry_add(registry, &registered));
}

static void begin(void)
{
    static const struct hgi_limits limits = {.value_max_bytes = 1024, .message_max_bytes = 8192};
    static struct hgi_transport_metrics transport;
    struct hgi_services services = {
        .limits = &limits, .epoch = 122, .own_uid = 1000, .transport = &transport};

    asked = answered = load_count = 0;
    registry = hgi_registry_create(&hgi_heap);
    HGI_BUG_ON(!registry);
    add_cache("c", HGI_KEYS_BYTES, HG_TYPE_BYTES, true);
    add_cache("p", HGI_KEYS_BYTES, HG_TYPE_JSON, false);
    add_cache("a", HGI_KEYS_AUTH, HG_TYPE_AUTH, true);
    add_cache("u", HGI_KEYS_USER_API_KEY, HG_TYPE_BYTES, false);
    add_cache("f", HGI_KEYS_API_KEY_FEATURE, HG_TYPE_BYTES, false);
    services.registry = registry;
    dispatch = hgi_dispatch_create(&services);
    HGI_BUG_ON(!dispatch);
    for (size_t i = 0; i < CONN_COUNT; i++) {
        connect_peer(i);
    }
}

/* The oldest load that runs; false: none does. */
static bool end_load(struct hg_slice value, enum hg_status status, bool is_lost)
{
    const struct hgi_result result = {
        .status = status, .outcome = HG_VALUE, .value = value, .message = hg_slice_text("failed")};
    const struct hgi_now now = hgi_clock_now();

    for (size_t i = 0; i < load_count; i++) {
        if (loads[i].is_ended) {
            continue;
        }
        loads[i].is_ended = true;
        hgi_cache_load_sent(loads[i].cache, loads[i].load_id, 7, &now);
        if (is_lost) {
            hgi_cache_load_lost(loads[i].cache, loads[i].load_id, &now);
        } else {
            hgi_cache_load_done(loads[i].cache, loads[i].load_id, &result, &now);
        }
        return true;
    }
    return false;
}

static void finish(void)
{
    struct hgi_now now = hgi_clock_now();

    for (size_t i = 0; i < CONN_COUNT; i++) {
        hgi_dispatch_gone(dispatch, &askers[i]);
    }
    hgi_dispatch_drain(dispatch);
    hgi_registry_stop(registry, &now);
    while (end_load(hg_slice_text(""), HG_CANCELLED, false)) {
    }
    hgi_dispatch_tick(dispatch, &now);
    HGI_BUG_ON(!hgi_dispatch_wait_idle(dispatch, 0));
    HGI_BUG_ON(answered != asked);
    hgi_dispatch_destroy(&dispatch);
    hgi_registry_destroy(&registry);
}

static void step(struct hg_slice *input, uint32_t id)
{
    struct hgi_now now = hgi_clock_now();
    uint64_t what = fuzz_number(input, 1);
    size_t which = what % CONN_COUNT;

    if (what < 200) {
        struct hgi_sp_route route = hgi_sp_route_of(id);

        asked++;
        hgi_dispatch_request(dispatch, &askers[which], &route, fuzz_sized(input));
    } else if (what < 225) {
        (void)end_load(fuzz_sized(input), HG_OK, false);
    } else if (what < 235) {
        (void)end_load(hg_slice_of(NULL, 0), HG_UNAVAILABLE, false);
    } else if (what < 240) {
        (void)end_load(hg_slice_of(NULL, 0), HG_OK, true);
    } else if (what < 248) {
        hgi_dispatch_tick(dispatch, &now);
        hgi_registry_tick(registry, &now);
    } else {
        hgi_dispatch_gone(dispatch, &askers[which]);
        connect_peer(which);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);

    begin();
    fuzz_memory_may_fail(true);
    for (uint32_t i = 1; input.len && i <= STEPS_MAX; i++) {
        step(&input, i);
    }
    finish();
    fuzz_memory_may_fail(false);
    return 0;
}
