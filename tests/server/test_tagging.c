/* SPDX-License-Identifier: Apache-2.0 */
/* Tags, users (first parts) and soft invalidation, through the engine. */
#include <stdio.h>

#include "base/kind.h"
#include "engine.h"
#include "server/cache/tagging.h"

static struct hgi_key key_of(const char *user, const char *api_key)
{
    struct hg_key typed = {
        .kind = HG_KEY_USER_API_KEY,
        .user_id = hg_slice_text(user),
        .api_key_id = hg_slice_text(api_key),
    };
    struct hgi_key key;
    char sentence[HGI_SENTENCE_MAX];

    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_USER_API_KEY, &typed, &key, sentence), HG_OK);
    return key;
}

static void end_tagged(struct engine *e, size_t load, const char *value, const char *const *tags,
                       size_t tag_count, const char *user)
{
    struct hg_slice slices[HGI_TAGS_GIVEN_MAX];
    struct hgi_result result = {
        .status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text(value)};

    for (size_t i = 0; i < tag_count; i++) {
        slices[i] = hg_slice_text(tags[i]);
    }
    result.lifetime.tags = slices;
    result.lifetime.tag_count = tag_count;
    result.lifetime.user = hg_slice_text(user);
    engine_result(e, load, &result);
}

static void load_tagged(struct engine *e, const char *key, const char *value, const char *tag)
{
    size_t load = e->load_count;

    engine_get(e, key);
    end_tagged(e, load, value, &tag, 1, NULL);
}

static struct hgi_report invalidate_tag(struct engine *e, const char *tag, bool is_soft)
{
    struct hg_slice slice = hg_slice_text(tag);
    struct hgi_cover cover = {.tags = &slice, .tag_count = 1, .is_soft = is_soft};
    struct hgi_report report;

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    engine_pass(e, 0);
    return report;
}

static struct hgi_report invalidate_user(struct engine *e, const char *user)
{
    struct hgi_cover cover = {.first_part = hg_slice_text(user)};
    struct hgi_report report;

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    engine_pass(e, 0);
    return report;
}

static bool is_cached(struct engine *e, const char *key)
{
    return engine_read(e, key, HG_MODE_PEEK)->outcome == HG_VALUE;
}

START_TEST(a_tag_covers_what_has_it_and_nothing_else)
{
    struct engine *e = engine_create(NULL);

    load_tagged(e, "a1", "v", "tenant-a");
    load_tagged(e, "a2", "v", "tenant-a");
    load_tagged(e, "b1", "v", "tenant-b");
    engine_put(e, "none", "v");
    ck_assert_uint_eq(invalidate_tag(e, "tenant-a", false).dropped, 0); /* nobody counts them */
    ck_assert(!is_cached(e, "a1"));
    ck_assert(!is_cached(e, "a2"));
    ck_assert(is_cached(e, "b1"));
    ck_assert(is_cached(e, "none"));
    load_tagged(e, "a1", "new", "tenant-a");
    ck_assert(is_cached(e, "a1"));
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_that_ends_with_a_tag_invalidated_since_is_fenced_then)
{
    struct engine *e = engine_create(NULL);
    const char *tag = "tenant-a";
    struct engine_call *leader = engine_get(e, "a1");
    struct engine_call *follower = engine_get(e, "a1");

    ck_assert_uint_eq(invalidate_tag(e, tag, false).fenced, 0); /* its tags are not known yet */
    ck_assert_int_eq(follower->answers, 0);
    end_tagged(e, 0, "old", &tag, 1, NULL);
    ck_assert_answer(leader, HG_SOURCE_LOADED, "old");
    ck_assert(leader->is_fenced);
    ck_assert_int_eq(follower->answers, 0); /* looked again, and leads now */
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert(!is_cached(e, "a1"));
    end_tagged(e, 1, "new", &tag, 1, NULL);
    ck_assert_answer(follower, HG_SOURCE_LOADED, "new");
    ck_assert(is_cached(e, "a1"));
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fenced), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(under_reload_the_beginner_looks_again_too)
{
    struct hgi_policy policy = engine_policy();
    const char *tag = "t";
    struct engine *e;
    struct engine_call *leader;

    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    e = engine_create(&policy);
    leader = engine_get(e, "k");
    invalidate_tag(e, tag, false);
    end_tagged(e, 0, "old", &tag, 1, NULL);
    ck_assert_int_eq(leader->answers, 0);
    end_tagged(e, 1, "new", &tag, 1, NULL);
    ck_assert_answer(leader, HG_SOURCE_LOADED, "new");
    ck_assert(!leader->is_fenced);
    engine_destroy(e);
}
END_TEST

START_TEST(a_number_outlives_the_entries_that_held_the_tag)
{
    struct engine *e = engine_create(NULL);
    const char *tag = "t";

    load_tagged(e, "k", "v", tag);
    engine_get(e, "slow"); /* born before the invalidation */
    invalidate_tag(e, tag, false);
    engine_clear(e); /* slow is fenced by this, so ask again: */
    engine_pass(e, 0);
    for (int i = 0; i < 10; i++) {
        engine_pass(e, 1); /* the sweep lets go of the last holder */
    }
    engine_get(e, "later");
    invalidate_tag(e, tag, false); /* nobody holds it now */
    end_tagged(e, 2, "old", &tag, 1, NULL);
    ck_assert(!is_cached(e, "later"));
    engine_destroy(e);
}
END_TEST

START_TEST(a_token_older_than_a_tags_invalidation_is_refused)
{
    struct engine *e = engine_create(NULL);
    uint64_t token = hgi_cache_generation(e->cache);
    struct hg_slice tag = hg_slice_text("t");
    struct hgi_put put = {
        .key = hg_slice_text("k"),
        .outcome = HG_VALUE,
        .value = hg_slice_text("v"),
        .lifetime = {.tags = &tag, .tag_count = 1},
        .has_if_generation = true,
        .if_generation = token,
    };
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    invalidate_tag(e, "t", false);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_ABORTED);
    put.if_generation = hgi_cache_generation(e->cache);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert(is_cached(e, "k"));
    invalidate_tag(e, "t", false);
    ck_assert(!is_cached(e, "k"));
    engine_destroy(e);
}
END_TEST

START_TEST(a_user_covers_all_his_keys_at_rest_and_in_flight)
{
    struct engine *e = engine_create(NULL);
    struct hgi_key kept = key_of("alice", "k1");
    struct hgi_key flying = key_of("alice", "k2");
    struct hgi_key other = key_of("bob", "k1");
    struct engine_call *leader;
    struct engine_call *follower;
    struct hgi_report report;

    engine_read_key(e, hgi_key_slice(&kept), HG_MODE_FRESH);
    engine_value(e, 0, "v");
    engine_read_key(e, hgi_key_slice(&other), HG_MODE_FRESH);
    engine_value(e, 1, "v");
    leader = engine_read_key(e, hgi_key_slice(&flying), HG_MODE_FRESH);
    follower = engine_read_key(e, hgi_key_slice(&flying), HG_MODE_FRESH);
    report = invalidate_user(e, "alice");
    ck_assert_uint_eq(report.fenced, 1); /* at once: the user is known from the key */
    ck_assert_uint_eq(report.released, 1);
    ck_assert_int_eq(engine_read_key(e, hgi_key_slice(&kept), HG_MODE_PEEK)->outcome,
                     HG_NOT_CACHED);
    ck_assert_int_eq(engine_read_key(e, hgi_key_slice(&other), HG_MODE_PEEK)->outcome, HG_VALUE);
    engine_value(e, 2, "old");
    ck_assert(leader->is_fenced);
    engine_value(e, 3, "new");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_user_covers_auth_values_that_are_his_under_whatever_key)
{
    struct engine *e = engine_create(NULL);

    engine_get(e, "some-key-hash");
    end_tagged(e, 0, "v", NULL, 0, "alice");
    engine_get(e, "another-hash");
    end_tagged(e, 1, "v", NULL, 0, "bob");
    invalidate_user(e, "alice");
    ck_assert(!is_cached(e, "some-key-hash"));
    ck_assert(is_cached(e, "another-hash"));
    engine_destroy(e);
}
END_TEST

START_TEST(a_given_tag_is_never_taken_for_a_user)
{
    struct engine *e = engine_create(NULL);

    load_tagged(e, "k", "v", "alice");
    invalidate_user(e, "alice");
    ck_assert(is_cached(e, "k"));
    invalidate_tag(e, "alice", false);
    ck_assert(!is_cached(e, "k"));
    engine_destroy(e);
}
END_TEST

START_TEST(sixteen_tags_and_a_user_each_cover)
{
    struct engine *e = engine_create(NULL);
    const char *tags[HGI_TAGS_GIVEN_MAX];
    char names[HGI_TAGS_GIVEN_MAX][8];

    for (size_t i = 0; i < HGI_TAGS_GIVEN_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "t%zu", i);
        tags[i] = names[i];
    }
    for (size_t i = 0; i <= HGI_TAGS_GIVEN_MAX; i++) {
        size_t load = e->load_count;

        engine_get(e, "k");
        end_tagged(e, load, "v", tags, HGI_TAGS_GIVEN_MAX, "alice");
        ck_assert(is_cached(e, "k"));
        if (i < HGI_TAGS_GIVEN_MAX) {
            invalidate_tag(e, names[i], false);
        } else {
            invalidate_user(e, "alice");
        }
        ck_assert(!is_cached(e, "k"));
    }
    engine_destroy(e);
}
END_TEST

START_TEST(a_soft_invalidation_makes_stale_and_refreshes_behind)
{
    struct engine *e = engine_create(NULL);

    load_tagged(e, "k", "old", "t");
    invalidate_tag(e, "t", true);
    ck_assert(!is_cached(e, "k")); /* a peek takes nothing stale */
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "old");
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "new");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_soft_invalidation_of_a_key_fences_its_load_like_a_hard_one)
{
    struct engine *e = engine_create(NULL);
    struct hg_slice key = hg_slice_text("k");
    struct hgi_cover cover = {.keys = &key, .key_count = 1, .is_soft = true};
    struct engine_call *leader;
    struct hgi_report report;

    engine_put(e, "k", "kept");
    engine_pass(e, 150); /* stale */
    leader = engine_get(e, "k");
    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    ck_assert_uint_eq(report.fenced, 1);
    ck_assert_uint_eq(report.dropped, 1);
    engine_value(e, 0, "overtaken");
    ck_assert(leader->is_fenced);
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "kept");
    engine_destroy(e);
}
END_TEST

START_TEST(a_softly_invalidated_negative_is_gone)
{
    struct engine *e = engine_create(NULL);
    struct hg_slice key = hg_slice_text("k");
    struct hgi_cover cover = {.keys = &key, .key_count = 1, .is_soft = true};
    struct hgi_report report;

    engine_put_negative(e, "k", HG_ABSENT);
    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

START_TEST(stale_if_error_never_serves_what_was_softly_invalidated)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *c;

    policy.stale_if_error_ms = 1000;
    e = engine_create(&policy);
    load_tagged(e, "k", "old", "t");
    invalidate_tag(e, "t", true);
    c = engine_get(e, "k");
    engine_error(e, 1, HG_UNAVAILABLE, "away");
    ck_assert_refused(c, HG_UNAVAILABLE);
    engine_destroy(e);
}
END_TEST

START_TEST(tags_go_with_an_entry_into_the_batch_for_the_snapshot)
{
    struct engine *e = engine_create(NULL);
    const char *tags[] = {"t1", "t2"};
    struct hgi_batch batch;

    engine_get(e, "k");
    end_tagged(e, 0, "v", tags, 2, "alice");
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 8, 8192));
    ck_assert(hgi_table_take_unsaved(hgi_cache_table(e->cache), &batch));
    ck_assert_uint_eq(batch.count, 1);
    ck_assert_uint_eq(batch.entries[0].tag_count, 3);
    ck_assert_slice_eq(batch.entries[0].tags[0], "tt1");
    ck_assert_slice_eq(batch.entries[0].tags[2], "ualice");
    hgi_batch_deinit(&batch);
    engine_destroy(e);
}
END_TEST

START_TEST(without_memory_for_a_tag_nothing_is_kept_and_nothing_leaks)
{
    for (size_t n = 1; n < 12; n++) {
        struct engine *e = engine_create(NULL);
        const char *tags[] = {"t1", "t2", "t3"};

        engine_get(e, "k");
        e->memory.fail_at = n;
        end_tagged(e, 0, "v", tags, 3, "alice");
        e->memory.fail_at = 0;
        invalidate_tag(e, "t2", false);
        ck_assert(!is_cached(e, "k"));
        engine_destroy(e);
    }
}
END_TEST

HGI_SUITE("server.tagging", 20, a_tag_covers_what_has_it_and_nothing_else,
          a_load_that_ends_with_a_tag_invalidated_since_is_fenced_then,
          under_reload_the_beginner_looks_again_too,
          a_number_outlives_the_entries_that_held_the_tag,
          a_token_older_than_a_tags_invalidation_is_refused,
          a_user_covers_all_his_keys_at_rest_and_in_flight,
          a_user_covers_auth_values_that_are_his_under_whatever_key,
          a_given_tag_is_never_taken_for_a_user, sixteen_tags_and_a_user_each_cover,
          a_soft_invalidation_makes_stale_and_refreshes_behind,
          a_soft_invalidation_of_a_key_fences_its_load_like_a_hard_one,
          a_softly_invalidated_negative_is_gone,
          stale_if_error_never_serves_what_was_softly_invalidated,
          tags_go_with_an_entry_into_the_batch_for_the_snapshot,
          without_memory_for_a_tag_nothing_is_kept_and_nothing_leaks)
