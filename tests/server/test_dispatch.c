/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and who asked. The askers are the test's own, so that one can go at any instant. */
#include "server/rpc/dispatch.h"

#include "base/bytes.h"
#include "base/check.h"
#include "hg_test.h"
#include "lasting.h"
#include "proto/codec.h"

struct peer {
    struct hgi_asker asker;
    size_t reply_count;
    void (*on_reply)(void); /* NULL, or what happens meanwhile */
};

static void count_reply(struct hgi_asker *asker, const struct hgi_sp_route *route,
                        const struct hgi_pieces *body)
{
    struct peer *peer = HGI_CONTAINER(asker, struct peer, asker);

    (void)route;
    (void)body;
    peer->reply_count++;
    if (peer->on_reply) {
        peer->on_reply();
    }
}

enum { FIRST, SECOND, THIRD, CONN_COUNT };

static struct peer peers[CONN_COUNT];
static struct hgi_registry *registry;
static struct hgi_cache *cache;
static struct hgi_dispatch *dispatch;

static void setup(void)
{
    static const struct hgi_limits limits = {.value_max_bytes = 1024, .message_max_bytes = 8192};
    const struct hgi_policy policy = lasting_policy();
    const struct hgi_cache_options options = {
        .name = "c", .policy = &policy, .start_generation = 1, .seed = 1};
    struct hgi_registered registered = {.key_type = HGI_KEYS_BYTES, .value_type = HG_TYPE_BYTES};
    struct hgi_services services = {.limits = &limits, .epoch = 1};
    const struct hgi_peer owner = {.access = HGI_ACCESS_OWNER, .is_ipc = true};

    for (size_t i = 0; i < CONN_COUNT; i++) {
        peers[i] = (struct peer){.reply_count = 0};
        hgi_asker_init(&peers[i].asker, &owner, count_reply);
    }
    cache = hgi_cache_create(&hgi_heap, &options);
    registry = hgi_registry_create(&hgi_heap);
    ck_assert(cache && registry);
    registered.cache = cache;
    ck_assert(hgi_registry_add(registry, &registered));
    services.registry = registry;
    dispatch = hgi_dispatch_create(&services);
    ck_assert_ptr_nonnull(dispatch);
}

static void teardown(void)
{
    struct hgi_now now = hgi_clock_now();

    for (size_t i = 0; i < CONN_COUNT; i++) {
        hgi_dispatch_gone(dispatch, &peers[i].asker);
    }
    hgi_registry_stop(registry, &now);
    ck_assert(hgi_dispatch_wait_idle(dispatch, 0));
    hgi_dispatch_destroy(&dispatch);
    hgi_registry_destroy(&registry);
}

/* Asks to lead the load of "k". */
static void ask_to_lead(struct peer *peer)
{
    const struct hgi_msg_get get = {.cache = hg_slice_text("c"),
                                    .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")},
                                    .max_age_ms = -1,
                                    .lead = true};
    struct hgi_request request = {.method = HGI_METHOD_GET_OR_LOAD};
    struct hgi_sp_route route = hgi_sp_route_of(1);
    struct hg_bytes payload;
    struct hg_bytes body;

    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&body, &hgi_heap);
    ck_assert(hgi_get_request_encode(&get, &payload));
    request.payload = hgi_bytes_slice(&payload);
    ck_assert(hgi_request_encode(&request, &body));
    hgi_dispatch_request(dispatch, &peer->asker, &route, hgi_bytes_slice(&body));
    hgi_bytes_deinit(&body);
    hgi_bytes_deinit(&payload);
}

static void invalidate(void)
{
    const struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")};
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_report report;
    struct hg_slice slice;
    struct hgi_key key;

    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &typed, &key, sentence), HG_OK);
    slice = hgi_key_slice(&key);
    hgi_cache_invalidate(cache, &slice, 1, &now, &report);
}

static uint64_t lease_count(void)
{
    struct hgi_cache_stats stats;

    hgi_cache_stats(cache, &stats);
    return stats.in_flight;
}

START_TEST(the_lease_of_a_connection_that_goes_is_the_next_ones)
{
    setup();
    ask_to_lead(&peers[FIRST]);
    ask_to_lead(&peers[SECOND]);
    ck_assert_uint_eq(peers[FIRST].reply_count, 1);
    ck_assert_uint_eq(peers[SECOND].reply_count, 0);
    hgi_dispatch_gone(dispatch, &peers[FIRST].asker);
    ck_assert_uint_eq(peers[SECOND].reply_count, 1);
    ck_assert_uint_eq(lease_count(), 1);
    hgi_dispatch_gone(dispatch, &peers[SECOND].asker);
    ck_assert_uint_eq(lease_count(), 0);
    teardown();
}
END_TEST

static void third_goes(void)
{
    hgi_dispatch_gone(dispatch, &peers[THIRD].asker);
}

/* Sent back to look, it is in no flight, so nobody finds it; then it waits for the second one. */
START_TEST(who_goes_while_its_call_looks_again_keeps_no_lease)
{
    setup();
    ask_to_lead(&peers[FIRST]);
    ask_to_lead(&peers[SECOND]);
    ask_to_lead(&peers[THIRD]);
    peers[SECOND].on_reply = third_goes;
    invalidate(); /* of the two that are sent back the second one leads */
    ck_assert_uint_eq(peers[SECOND].reply_count, 1);
    ck_assert_uint_eq(lease_count(), 1);
    hgi_dispatch_gone(dispatch, &peers[SECOND].asker);
    ck_assert_uint_eq(lease_count(), 0);
    teardown();
}
END_TEST

START_TEST(an_asker_has_an_id_of_its_own_that_tells_its_process)
{
    const struct hgi_peer peer = {.access = HGI_ACCESS_OWNER, .is_ipc = true, .pid = 4711};
    struct hgi_asker one;
    struct hgi_asker two;

    hgi_asker_init(&one, &peer, count_reply);
    hgi_asker_init(&two, &peer, count_reply);
    ck_assert_uint_ne(one.id, two.id);
    ck_assert_uint_eq(hgi_asker_pid_of_id(one.id), 4711);
    ck_assert_uint_eq(hgi_asker_pid_of_id(two.id), 4711);
}
END_TEST

HGI_SUITE("server.dispatch", 20, an_asker_has_an_id_of_its_own_that_tells_its_process,
          the_lease_of_a_connection_that_goes_is_the_next_ones,
          who_goes_while_its_call_looks_again_keeps_no_lease)
