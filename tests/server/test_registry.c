/* SPDX-License-Identifier: Apache-2.0 */
/* The set of caches: found by name, in the order they were added, each of them once. */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "engine.h"
#include "server/cache/registry.h"
#include "server/cache/veil.h"

static struct hgi_registered cache_named(const struct hgi_allocator *allocator, const char *name)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_cache_options options = {.name = name, .policy = &policy};
    struct hgi_registered registered = {
        .cache = hgi_cache_create(allocator, &options),
        .key_type = HGI_KEYS_BYTES,
        .value_type = HG_TYPE_JSON,
        .loader = "rows",
    };

    ck_assert_ptr_nonnull(registered.cache);
    return registered;
}

START_TEST(a_cache_is_found_by_its_whole_name_only)
{
    struct hgi_test_allocator memory;
    struct hgi_registry *registry;
    struct hgi_registered auth;
    struct hgi_registered feature;
    const struct hgi_registered *found;

    hgi_test_allocator_init(&memory);
    registry = hgi_registry_create(&memory.allocator);
    ck_assert_ptr_nonnull(registry);
    ck_assert_ptr_null(hgi_registry_find(registry, hg_slice_text("auth")));
    auth = cache_named(&memory.allocator, "auth");
    feature = cache_named(&memory.allocator, "feature");
    ck_assert(hgi_registry_add(registry, &auth));
    ck_assert(hgi_registry_add(registry, &feature));
    found = hgi_registry_find(registry, hg_slice_of("authority", 4));
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_eq(found->cache, auth.cache);
    ck_assert_int_eq(found->key_type, HGI_KEYS_BYTES);
    ck_assert_int_eq(found->value_type, HG_TYPE_JSON);
    ck_assert_str_eq(found->loader, "rows");
    ck_assert_ptr_null(hgi_registry_find(registry, hg_slice_text("aut")));
    ck_assert_ptr_null(hgi_registry_find(registry, hg_slice_text("auth2")));
    ck_assert_ptr_null(hgi_registry_find(registry, hg_slice_text("")));
    ck_assert_uint_eq(hgi_registry_count(registry), 2);
    ck_assert_ptr_eq(hgi_registry_at(registry, 0)->cache, auth.cache);
    ck_assert_ptr_eq(hgi_registry_at(registry, 1)->cache, feature.cache);
    hgi_registry_destroy(&registry);
    ck_assert_ptr_null(registry);
    hgi_registry_destroy(&registry);
    ck_assert_uint_eq(memory.out_count, 0); /* the caches went with it */
}
END_TEST

START_TEST(a_typed_key_is_known_as_its_cache_knows_keys)
{
    const struct hgi_digest_key master = {.bytes = "a key that only tests should use"};
    const struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("key")};
    const struct hg_key wrong = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("key")};
    struct hgi_policy policy = engine_policy();
    struct hgi_cache_options options = {.name = "secret", .policy = &policy};
    struct hgi_registered registered = cache_named(&hgi_heap, "open");
    struct hgi_key canonical;
    struct hgi_key key;
    struct hgi_key load_key = {.len = 1};
    char sentence[HGI_SENTENCE_MAX];

    ck_assert_int_eq(hgi_registered_key(&registered, &typed, &canonical, &load_key, sentence),
                     HG_OK);
    ck_assert_uint_eq(load_key.len, 0);
    ck_assert(!hgi_veil_is_on(hgi_key_slice(&canonical)));
    ck_assert_int_eq(hgi_registered_key(&registered, &wrong, &key, NULL, sentence),
                     HG_INVALID_ARGUMENT);
    hgi_cache_destroy(&registered.cache);
    options.veil_master = &master;
    registered.cache = hgi_cache_create(&hgi_heap, &options);
    ck_assert_ptr_nonnull(registered.cache);
    ck_assert_int_eq(hgi_registered_key(&registered, &typed, &key, &load_key, sentence), HG_OK);
    ck_assert(hgi_veil_is_on(hgi_key_slice(&key)));
    ck_assert(hgi_slice_equal(hgi_key_slice(&load_key), hgi_key_slice(&canonical)));
    ck_assert_int_eq(hgi_registered_key(&registered, &typed, &load_key, NULL, sentence), HG_OK);
    ck_assert(hgi_slice_equal(hgi_key_slice(&load_key), hgi_key_slice(&key)));
    ck_assert_int_eq(hgi_registered_key(&registered, &wrong, &key, NULL, sentence),
                     HG_INVALID_ARGUMENT);
    hgi_cache_destroy(&registered.cache);
}
END_TEST

START_TEST(a_taken_name_and_one_cache_too_many_are_refused_and_stay_the_callers)
{
    struct hgi_registry *registry = hgi_registry_create(&hgi_heap);
    struct hgi_registered one_more = cache_named(&hgi_heap, "c0");
    char name[16];

    ck_assert_ptr_nonnull(registry);
    for (unsigned i = 0; i < HGI_CACHES_MAX; i++) {
        struct hgi_registered registered;

        snprintf(name, sizeof(name), "c%u", i);
        registered = cache_named(&hgi_heap, name);
        ck_assert(hgi_registry_add(registry, &registered));
        if (i == 0) {
            ck_assert(!hgi_registry_add(registry, &one_more)); /* the name is taken */
            ck_assert_uint_eq(hgi_registry_count(registry), 1);
        }
    }
    hgi_cache_destroy(&one_more.cache);
    one_more = cache_named(&hgi_heap, "new");
    ck_assert(!hgi_registry_add(registry, &one_more));
    ck_assert_uint_eq(hgi_registry_count(registry), HGI_CACHES_MAX);
    hgi_cache_destroy(&one_more.cache);
    hgi_registry_destroy(&registry);
}
END_TEST

START_TEST(a_registry_without_memory_is_none)
{
    struct hgi_test_allocator memory;

    hgi_test_allocator_init(&memory);
    memory.fail_at = 1;
    ck_assert_ptr_null(hgi_registry_create(&memory.allocator));
    ck_assert_uint_eq(memory.out_count, 0);
}
END_TEST

START_TEST(ticking_and_stopping_reach_every_cache)
{
    struct hgi_registry *registry = hgi_registry_create(&hgi_heap);
    struct engine *engines[2];
    struct engine_call *timed[2];
    struct engine_call *parked[2];

    ck_assert_ptr_nonnull(registry);
    for (int i = 0; i < 2; i++) {
        struct hgi_registered registered = {.key_type = HGI_KEYS_BYTES};
        struct engine *e = engines[i] = engine_create(NULL);

        registered.cache = e->cache;
        timed[i] = engine_read_with(e, "timed", HG_MODE_FRESH, -1, 100);
        parked[i] = engine_get(e, "parked");
        if (i == 0) {
            ck_assert(hgi_registry_add(registry, &registered));
        }
    }
    engines[0]->now.boot_ms += 100;
    hgi_registry_tick(registry, &engines[0]->now);
    ck_assert_refused(timed[0], HG_DEADLINE_EXCEEDED);
    ck_assert_waiting(timed[1]); /* it is not in the registry */
    hgi_registry_stop(registry, &engines[0]->now);
    ck_assert_refused(parked[0], HG_UNAVAILABLE);
    ck_assert_waiting(parked[1]);
    engine_error(engines[0], 0, HG_CANCELLED, "stopped");
    engine_error(engines[0], 1, HG_CANCELLED, "stopped");
    hgi_registry_destroy(&registry); /* took the first engine's cache along */
    ck_assert_uint_eq(engines[0]->memory.out_count, 0);
    hgi_bytes_deinit(&engines[0]->scratch);
    free(engines[0]);
    engine_destroy(engines[1]);
}
END_TEST

HGI_SUITE("server.registry", 60, a_cache_is_found_by_its_whole_name_only,
          a_typed_key_is_known_as_its_cache_knows_keys,
          a_taken_name_and_one_cache_too_many_are_refused_and_stay_the_callers,
          a_registry_without_memory_is_none, ticking_and_stopping_reach_every_cache)
