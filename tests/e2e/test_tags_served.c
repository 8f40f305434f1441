/* SPDX-License-Identifier: Apache-2.0 */
/* Revoking a user, and what shares a tag, through the real server. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"

#define KEYS 5

static const char sections[] =
    "snapshot { path = \"@DIR@/data/cache.db\" interval = \"200ms\" }\n"
    "cache \"auth\" { key = \"auth\" value = \"auth\" loader = \"script\" ttl = \"1h\" }\n"
    "cache \"users\" { key = \"user_api_key\" value = \"bytes\" loader = \"script\" ttl = \"1h\" "
    "mode = \"revalidate\" }\n"
    "cache \"plain\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" }\n";

static void enter(struct daemon *d, const char *script)
{
    daemon_prepare(d, sections);
    hgi_script_set(&d->script, script);
    daemon_start(d);
}

static void leave(struct daemon *d)
{
    daemon_stop(d);
    daemon_remove(d);
}

static struct hg_key hash_key(const char *text)
{
    return (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(text)};
}

static struct hg_key user_key(const char *user, const char *api_key)
{
    return (struct hg_key){.kind = HG_KEY_USER_API_KEY,
                           .user_id = hg_slice_text(user),
                           .api_key_id = hg_slice_text(api_key)};
}

/* The answer without its value. */
static struct hg_answer ask(struct daemon *d, const char *cache, const struct hg_key *key,
                            enum hg_mode mode)
{
    const struct hg_read read = {.cache = cache, .key = *key, .mode = mode};
    struct hg_answer answer;
    struct hg_answer told;
    struct hg_error error;

    ck_assert_msg(hg_client_get_or_load(d->client, &read, &answer, &error) == HG_OK, "%s",
                  error.text);
    told = answer;
    hg_answer_deinit(&answer);
    return told;
}

static bool is_cached(struct daemon *d, const char *cache, struct hg_key key)
{
    return ask(d, cache, &key, HG_MODE_PEEK).outcome != HG_NOT_CACHED;
}

static void load(struct daemon *d, const char *cache, struct hg_key key)
{
    ck_assert_int_eq(ask(d, cache, &key, HG_MODE_FRESH).outcome, HG_VALUE);
}

static void save(struct daemon *d)
{
    struct hg_saved saved;
    struct hg_error error;

    ck_assert_msg(hg_client_save_snapshot(d->client, NULL, &saved, &error) == HG_OK, "%s",
                  error.text);
}

static struct hg_report invalidate(struct daemon *d, const struct hg_invalidate *request)
{
    struct hg_report report;
    struct hg_report told;
    struct hg_error error;

    ck_assert_msg(hg_client_invalidate(d->client, request, &report, &error) == HG_OK, "%s",
                  error.text);
    told = report;
    hg_report_deinit(&report);
    return told;
}

/* The users' keys in both forms: by hash, where only the value says whose it is, and typed. */
static void load_users(struct daemon *d)
{
    char api_key[8];

    for (int i = 0; i < KEYS; i++) {
        snprintf(api_key, sizeof(api_key), "k%d", i);
        load(d, "auth", user_key("u1", api_key));
        load(d, "auth", user_key("u2", api_key));
    }
    load(d, "auth", hash_key("h1"));
    load(d, "auth", hash_key("h2"));
}

static size_t count_of(struct daemon *d, const char *user, const char *hash)
{
    size_t count = is_cached(d, "auth", hash_key(hash));
    char api_key[8];

    for (int i = 0; i < KEYS; i++) {
        snprintf(api_key, sizeof(api_key), "k%d", i);
        count += is_cached(d, "auth", user_key(user, api_key));
    }
    return count;
}

START_TEST(all_keys_of_a_revoked_user_are_gone_at_once_and_others_stay)
{
    struct daemon d;
    struct hg_report report;

    enter(&d, "h1 value u1\nh2 value u2\n");
    load_users(&d);
    ck_assert_uint_eq(count_of(&d, "u1", "h1"), KEYS + 1);
    report = invalidate(
        &d, &(const struct hg_invalidate){.cache = "auth", .prefix = hg_slice_text(" u1 ")});
    ck_assert_uint_gt(report.generation, 0);
    ck_assert_uint_eq(count_of(&d, "u1", "h1"), 0);
    ck_assert_uint_eq(count_of(&d, "u2", "h2"), KEYS + 1);
    leave(&d);
}
END_TEST

START_TEST(a_revoked_users_keys_do_not_come_back_after_kill_9)
{
    const struct hg_slice gold = hg_slice_text("gold");
    struct daemon d;

    enter(&d, "h1 value u1\nh2 value u2\na tags gold\nb tags blue\n");
    load_users(&d);
    load(&d, "plain", daemon_key("a"));
    load(&d, "plain", daemon_key("b"));
    save(&d);
    invalidate(&d, &(const struct hg_invalidate){.cache = "auth", .prefix = hg_slice_text("u1")});
    invalidate(&d, &(const struct hg_invalidate){.cache = "plain", .tags = &gold, .tag_count = 1});
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_uint_eq(count_of(&d, "u1", "h1"), 0);
    ck_assert_uint_eq(count_of(&d, "u2", "h2"), KEYS + 1);
    ck_assert(!is_cached(&d, "plain", daemon_key("a")));
    ck_assert(is_cached(&d, "plain", daemon_key("b")));
    /* What came back still has its tags. */
    invalidate(&d, &(const struct hg_invalidate){.cache = "auth", .prefix = hg_slice_text("u2")});
    ck_assert_uint_eq(count_of(&d, "u2", "h2"), 0);
    leave(&d);
}
END_TEST

static void note_answer(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    _Atomic int *state = arg;

    atomic_store(state, error->status == HG_OK ? 1 + answer->is_fenced : -1);
}

/* A typed key says whose it is before it is loaded; a hash only with its value. Both loads are
 * under way when the user is revoked, and neither is kept. */
START_TEST(loads_of_a_revoked_user_that_were_under_way_are_not_kept)
{
    const struct hg_key keys[] = {user_key("u1", "slow"), hash_key("slow_hash"),
                                  user_key("u2", "slow")};
    static _Atomic int states[3];
    struct daemon d;
    struct hg_report report;

    enter(&d, "u1/slow gate %/go\nu2/slow gate %/go\nslow_hash gate %/go\nslow_hash value u1\n");
    for (size_t i = 0; i < 3; i++) {
        const struct hg_read read = {.cache = "auth", .key = keys[i], .mode = HG_MODE_FRESH};
        struct hg_error error;

        ck_assert_int_eq(
            hg_client_get_or_load_async(d.client, &read, note_answer, &states[i], &error), HG_OK);
    }
    hgi_script_await(&d.script, "u1/slow", 1);
    hgi_script_await(&d.script, "u2/slow", 1);
    hgi_script_await(&d.script, "slow_hash", 1);
    report = invalidate(
        &d, &(const struct hg_invalidate){.cache = "auth", .prefix = hg_slice_text("u1")});
    ck_assert_uint_eq(report.fenced, 1); /* the one that is known to be his */
    hgi_script_touch(&d.script, "go");
    /* Auth caches reload what was overtaken, so each is loaded once more. */
    hgi_script_await(&d.script, "u1/slow", 2);
    hgi_script_await(&d.script, "slow_hash", 2);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "u2/slow"), 1);
    leave(&d);
}
END_TEST

START_TEST(after_a_soft_invalidation_stale_is_served_while_one_load_refreshes)
{
    const struct hg_key key = user_key("u1", "k");
    struct daemon d;
    struct hg_answer answer;

    enter(&d, "");
    load(&d, "users", key);
    load(&d, "users", user_key("u2", "k"));
    hgi_script_set(&d.script, "u1/k gate %/go\n");
    invalidate(&d, &(const struct hg_invalidate){
                       .cache = "users", .prefix = hg_slice_text("u1"), .soft = true});
    for (int i = 0; i < 10; i++) {
        answer = ask(&d, "users", &key, HG_MODE_DEFAULT);
        ck_assert_int_eq(answer.outcome, HG_VALUE);
        ck_assert_int_eq(answer.source, HG_SOURCE_STALE);
    }
    hgi_script_await(&d.script, "u1/k", 2);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "u1/k"), 2);
    hgi_script_touch(&d.script, "go");
    answer = ask(&d, "users", &key, HG_MODE_FRESH); /* joins the refresh */
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_int_eq(ask(&d, "users", &key, HG_MODE_PEEK).source, HG_SOURCE_FRESH);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "u1/k"), 2);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "u2/k"), 1);
    ck_assert(is_cached(&d, "users", user_key("u2", "k")));
    leave(&d);
}
END_TEST

START_TEST(what_was_softened_is_not_fresh_after_kill_9)
{
    struct daemon d;

    enter(&d, "");
    load(&d, "users", user_key("u1", "k"));
    load(&d, "users", user_key("u2", "k"));
    save(&d);
    invalidate(&d, &(const struct hg_invalidate){
                       .cache = "users", .prefix = hg_slice_text("u1"), .soft = true});
    save(&d);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert(!is_cached(&d, "users", user_key("u1", "k")));
    ck_assert(is_cached(&d, "users", user_key("u2", "k")));
    leave(&d);
}
END_TEST

START_TEST(tags_of_a_put_count_like_a_loaders_and_the_command_clears_by_them)
{
    const struct hg_slice tags[] = {hg_slice_text("plan-gold"), hg_slice_text("eu")};
    const char *by_tag[] = {
        HGI_BUILD_DIR "/bin/herdgate", "clear", "plain", "--tag", "plan-gold", "-e", NULL, NULL};
    const char *by_user[] = {
        HGI_BUILD_DIR "/bin/herdgate", "clear", "plain", "--user", "u1", "-e", NULL, NULL};
    struct hg_put put = {.cache = "plain",
                         .key = daemon_key("a"),
                         .value = hg_slice_text("v"),
                         .tags = tags,
                         .tag_count = 2};
    struct hg_stored stored;
    struct hg_error error;
    char output[1024];
    struct daemon d;

    enter(&d, "b tags eu,plan-gold\nc tags eu\n");
    by_tag[6] = by_user[6] = d.ipc_url;
    ck_assert_msg(hg_client_put(d.client, &put, &stored, &error) == HG_OK, "%s", error.text);
    load(&d, "plain", daemon_key("b"));
    load(&d, "plain", daemon_key("c"));
    ck_assert_int_eq(daemon_run(by_tag, output, sizeof(output)), 0);
    ck_assert_ptr_nonnull(strstr(output, "plain: all of it dropped, fenced 0"));
    ck_assert(!is_cached(&d, "plain", daemon_key("a")));
    ck_assert(!is_cached(&d, "plain", daemon_key("b")));
    ck_assert(is_cached(&d, "plain", daemon_key("c")));
    /* These keys are nobody's. */
    ck_assert_int_eq(daemon_run(by_user, output, sizeof(output)), 1);
    ck_assert_ptr_nonnull(strstr(output, "the bytes keys of this cache have no first part"));
    ck_assert(is_cached(&d, "plain", daemon_key("c")));
    leave(&d);
}
END_TEST

START_TEST(the_tags_column_of_a_database_reaches_the_cache)
{
    const struct hg_slice gold = hg_slice_text("plan-gold");
    struct daemon d;
    char path[96];
    FILE *file;

    daemon_prepare(&d, "loader \"db\" { plugin = \"" HGI_BUILD_DIR "/lib/herdgate/sqlite.so\"\n"
                       "    option(\"database\", \"@DIR@/keys.db\")\n"
                       "    option(\"query\", \"SELECT 'v' AS value, CASE ?1 WHEN 'a' THEN "
                       "'plan-gold, eu' WHEN 'b' THEN 'eu' END AS tags\") }\n"
                       "cache \"rows\" { key = \"bytes\" value = \"bytes\" loader = \"db\" "
                       "ttl = \"1h\" }\n");
    snprintf(path, sizeof(path), "%s/keys.db", d.dir);
    file = fopen(path, "w"); /* an empty file is an empty database */
    ck_assert_ptr_nonnull(file);
    fclose(file);
    daemon_start(&d);
    load(&d, "rows", daemon_key("a"));
    load(&d, "rows", daemon_key("b"));
    load(&d, "rows", daemon_key("c"));
    invalidate(&d, &(const struct hg_invalidate){.cache = "rows", .tags = &gold, .tag_count = 1});
    ck_assert(!is_cached(&d, "rows", daemon_key("a")));
    ck_assert(is_cached(&d, "rows", daemon_key("b")));
    ck_assert(is_cached(&d, "rows", daemon_key("c")));
    leave(&d);
}
END_TEST

HGI_SUITE("e2e.tags", 60, all_keys_of_a_revoked_user_are_gone_at_once_and_others_stay,
          a_revoked_users_keys_do_not_come_back_after_kill_9,
          loads_of_a_revoked_user_that_were_under_way_are_not_kept,
          after_a_soft_invalidation_stale_is_served_while_one_load_refreshes,
          what_was_softened_is_not_fresh_after_kill_9,
          tags_of_a_put_count_like_a_loaders_and_the_command_clears_by_them,
          the_tags_column_of_a_database_reaches_the_cache)
