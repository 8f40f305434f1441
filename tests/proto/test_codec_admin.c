/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of single messages of Admin, Health and auth values; what holds for all is in
 * test_codec. */
#include "hg_test.h"

#include "codec_scene.h"

START_TEST(reports_come_back_in_order)
{
    struct hgi_msg_clear_reply reply;

    set_up();
    ck_assert_int_eq(hgi_clear_reply_decode(hex(hgi_golden_clear_reply), &arena, &reply, sentence),
                     HG_OK);
    ck_assert_uint_eq(reply.report_count, 2);
    ck_assert_slice_eq(reply.reports[0].cache, "c1");
    ck_assert_uint_eq(reply.reports[0].generation, 21);
    ck_assert_uint_eq(reply.reports[0].dropped, 22);
    ck_assert_uint_eq(reply.reports[0].fenced, 23);
    ck_assert_uint_eq(reply.reports[0].released, 24);
    ck_assert_slice_eq(reply.reports[1].cache, "c2");
    ck_assert_uint_eq(reply.reports[1].dropped, 25);
    tear_down();
}
END_TEST

START_TEST(a_cache_brings_its_policy)
{
    struct hgi_msg_caches caches;
    const struct hgi_msg_cache_info *cache;

    set_up();
    ck_assert_int_eq(
        hgi_list_caches_reply_decode(hex(hgi_golden_list_caches_reply), &arena, &caches, sentence),
        HG_OK);
    cache = &caches.caches[0];
    ck_assert_uint_eq(cache->generation, 38);
    ck_assert_slice_eq(cache->on_error, "elect");
    ck_assert_uint_eq(cache->jitter_percent, 39);
    ck_assert_uint_eq(cache->stale_if_error_ms, 40);
    ck_assert_uint_eq(cache->error_backoff_ms, 41);
    ck_assert_slice_eq(cache->refresh_ahead, "20%");
    ck_assert(cache->is_alone);
    ck_assert_slice_eq(caches.caches[1].name, "n2");
    ck_assert(!caches.caches[1].is_alone);
    tear_down();
}
END_TEST

START_TEST(a_cache_with_an_unknown_mode_is_refused)
{
    struct hgi_msg_caches caches;

    set_up();
    ck_assert_int_eq(hgi_list_caches_reply_decode(hex("0a022805"), &arena, &caches, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "mode is 5; it must be 0 to 4");
    tear_down();
}
END_TEST

START_TEST(nested_counters_keep_their_cache)
{
    struct hgi_msg_stats stats;

    set_up();
    ck_assert_int_eq(hgi_stats_reply_decode(hex(hgi_golden_stats_reply), &arena, &stats, sentence),
                     HG_OK);
    ck_assert_uint_eq(stats.cache_count, 2);
    ck_assert_slice_eq(stats.caches[0].cache, "c");
    ck_assert_uint_eq(stats.caches[0].counter_count, 2);
    ck_assert_slice_eq(stats.caches[0].counters[1].name, "miss");
    ck_assert_uint_eq(stats.caches[0].counters[1].value, 82);
    ck_assert_uint_eq(stats.caches[1].counter_count, 0);
    ck_assert_uint_eq(stats.server_count, 1);
    ck_assert_slice_eq(stats.server[0].name, "requests");
    tear_down();
}
END_TEST

/* Many small parts are what the budget is hardest on: a large installation must still fit. */
START_TEST(statistics_of_300_caches_fit_their_budget)
{
    enum { CACHES = 300, COUNTERS = 40 };
    static struct hgi_msg_cache_stats caches[CACHES];
    static struct hgi_msg_counter counters[COUNTERS];
    static struct hgi_msg_cache_info infos[CACHES];
    struct hgi_msg_stats stats = {.caches = caches, .cache_count = CACHES};
    struct hgi_msg_caches list = {infos, CACHES};

    set_up();
    for (size_t i = 0; i < COUNTERS; i++) {
        counters[i].name = hg_slice_text("counter_name");
        counters[i].value = 100 * i;
    }
    for (size_t i = 0; i < CACHES; i++) {
        caches[i].cache = hg_slice_text("cache");
        caches[i].counters = counters;
        caches[i].counter_count = COUNTERS;
        infos[i].name = hg_slice_text("cache");
        infos[i].key_type = hg_slice_text("bytes");
        infos[i].value_type = hg_slice_text("bytes");
        infos[i].ttl_ms = 60000;
    }
    ck_assert(hgi_stats_reply_encode(&stats, &bytes));
    hgi_arena_reset(&arena, hgi_arena_budget(bytes.len));
    ck_assert_msg(hgi_stats_reply_decode(hgi_bytes_slice(&bytes), &arena, &stats, sentence) ==
                      HG_OK,
                  "%s", sentence);
    ck_assert_uint_eq(stats.caches[CACHES - 1].counters[COUNTERS - 1].value, 100 * (COUNTERS - 1));
    bytes.len = 0;
    ck_assert(hgi_list_caches_reply_encode(&list, &bytes));
    hgi_arena_reset(&arena, hgi_arena_budget(bytes.len));
    ck_assert_msg(hgi_list_caches_reply_decode(hgi_bytes_slice(&bytes), &arena, &list, sentence) ==
                      HG_OK,
                  "%s", sentence);
    ck_assert_uint_eq(list.caches[CACHES - 1].ttl_ms, 60000);
    tear_down();
}
END_TEST

START_TEST(a_loader_comes_back_field_by_field)
{
    struct hgi_msg_loaders reply;
    const struct hgi_msg_loader_info *loader;

    set_up();
    ck_assert_int_eq(
        hgi_list_loaders_reply_decode(hex(hgi_golden_list_loaders_reply), &arena, &reply, sentence),
        HG_OK);
    ck_assert_uint_eq(reply.loader_count, 2);
    loader = &reply.loaders[0];
    ck_assert_slice_eq(loader->name, "keys");
    ck_assert_slice_eq(loader->plugin, "/p.so");
    ck_assert_slice_eq(loader->version, "1.2");
    ck_assert_slice_eq(loader->state, "running");
    ck_assert_uint_eq(loader->abi, 1);
    ck_assert_int_eq(loader->pid, 41);
    ck_assert_uint_eq(loader->started_count, 42);
    ck_assert_uint_eq(loader->deaths, 43);
    ck_assert_uint_eq(loader->in_flight, 44);
    ck_assert_uint_eq(loader->queued, 45);
    ck_assert_slice_eq(loader->message, "why");
    ck_assert_slice_eq(reply.loaders[1].state, "failed");
    tear_down();
}
END_TEST

START_TEST(a_service_name_with_a_nul_is_not_cut_short)
{
    struct hgi_msg_name service;

    set_up();
    ck_assert_int_eq(hgi_health_request_decode(hex("0a03610062"), &arena, &service, sentence),
                     HG_OK);
    ck_assert(hgi_slice_equal(service.name, hg_slice_of("a\0b", 3)));
    tear_down();
}
END_TEST

START_TEST(a_health_that_nobody_knows_is_refused)
{
    struct hgi_msg_health health;

    set_up();
    ck_assert_int_eq(hgi_health_reply_decode(hex("0801"), &arena, &health, sentence), HG_OK);
    ck_assert_int_eq(health.status, HGI_HEALTH_SERVING);
    ck_assert_int_eq(hgi_health_reply_decode(hex("0804"), &arena, &health, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "status is 4; it must be 0 to 3");
    tear_down();
}
END_TEST

START_TEST(an_auth_value_comes_back_field_by_field)
{
    struct hg_auth auth;

    set_up();
    ck_assert_int_eq(hgi_auth_decode(hex(hgi_golden_auth_value), &arena, &auth, sentence), HG_OK);
    ck_assert_slice_eq(auth.user_id, "u");
    ck_assert_slice_eq(auth.api_key_id, "k");
    ck_assert(auth.allowed);
    ck_assert_uint_eq(auth.scope_count, 2);
    ck_assert_slice_eq(auth.scopes[1], "write");
    ck_assert_uint_eq(auth.attribute_count, 2);
    ck_assert_slice_eq(auth.attributes[1].name, "region");
    ck_assert_slice_eq(auth.attributes[1].value, "eu");
    ck_assert_int_eq(auth.not_after_ms, 1893456000000);
    tear_down();
}
END_TEST

START_TEST(an_auth_value_has_at_most_256_scopes_and_256_attributes)
{
    static struct hg_slice scopes[HGI_AUTH_SCOPES_MAX + 1];
    static struct hg_attribute attributes[HGI_AUTH_ATTRIBUTES_MAX + 1];
    struct hg_auth auth = {.scopes = scopes, .attributes = attributes};
    struct hg_auth back;

    set_up();
    for (size_t i = 0; i <= HGI_AUTH_SCOPES_MAX; i++) {
        scopes[i] = hg_slice_text("s");
        attributes[i].name = hg_slice_text("n");
    }
    auth.scope_count = HGI_AUTH_SCOPES_MAX;
    auth.attribute_count = HGI_AUTH_ATTRIBUTES_MAX;
    ck_assert(hgi_auth_encode(&auth, &bytes));
    ck_assert_int_eq(hgi_auth_decode(hgi_bytes_slice(&bytes), &arena, &back, sentence), HG_OK);
    ck_assert_uint_eq(back.scope_count, 256);
    ck_assert_uint_eq(back.attribute_count, 256);

    auth.scope_count++;
    bytes.len = 0;
    ck_assert(hgi_auth_encode(&auth, &bytes));
    ck_assert_int_eq(hgi_auth_decode(hgi_bytes_slice(&bytes), &arena, &back, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "257 scopes in one auth value; at most 256 are allowed");
    auth.scope_count--;
    auth.attribute_count++;
    bytes.len = 0;
    ck_assert(hgi_auth_encode(&auth, &bytes));
    ck_assert_int_eq(hgi_auth_decode(hgi_bytes_slice(&bytes), &arena, &back, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "257 attributes in one auth value; at most 256 are allowed");
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec_admin", 20, reports_come_back_in_order, a_cache_brings_its_policy,
          a_cache_with_an_unknown_mode_is_refused, nested_counters_keep_their_cache,
          statistics_of_300_caches_fit_their_budget, a_loader_comes_back_field_by_field,
          a_service_name_with_a_nul_is_not_cut_short, a_health_that_nobody_knows_is_refused,
          an_auth_value_comes_back_field_by_field,
          an_auth_value_has_at_most_256_scopes_and_256_attributes)
