/* SPDX-License-Identifier: Apache-2.0 */
/* What is there after a stop, and after kill -9. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "herdgate/snapshot.h"

#define ENTRIES 10000
#define BATCH   250

static const char with_snapshot[] =
    "snapshot { path = \"@DIR@/data/cache.db\" interval = \"200ms\" }\n"
    "cache \"kept\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" "
    "max_entries = 20000 }\n"
    "cache \"gone\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" max_entries = 20000 }\n"
    "cache \"tiny\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" max_bytes = \"4KiB\" }\n"
    "cache \"short\" { key = \"bytes\" value = \"bytes\" ttl = \"300ms\" jitter = 0 stale_ttl = "
    "\"1h\" }\n"
    "cache \"keys\" { key = \"key_hash\" value = \"auth\" ttl = \"1h\" }\n";

static const char without_snapshot[] = "cache \"kept\" { key = \"bytes\" value = \"bytes\" loader "
                                       "= \"script\" ttl = \"1h\" max_entries = 20000 }\n";

/* Loads ENTRIES keys in batches: the value of a key is the key. */
static void load_all(struct daemon *d)
{
    for (int first = 0; first < ENTRIES; first += BATCH) {
        char names[BATCH][16];
        struct hg_key keys[BATCH];
        struct hg_batch request = {.cache = "kept", .keys = keys, .key_count = BATCH};
        struct hg_answers answers;
        struct hg_error error;

        for (int i = 0; i < BATCH; i++) {
            snprintf(names[i], sizeof(names[i]), "key%d", first + i);
            keys[i] = daemon_key(names[i]);
        }
        ck_assert_msg(hg_client_batch_get_or_load(d->client, &request, &answers, &error) == HG_OK,
                      "%s", error.text);
        ck_assert_uint_eq(answers.count, BATCH);
        for (int i = 0; i < BATCH; i++) {
            ck_assert_int_eq(answers.answers[i].status, HG_OK);
            ck_assert_slice_eq(answers.answers[i].value, names[i]);
        }
        hg_answers_deinit(&answers);
    }
}

/* How many of them are there, with the value they had. */
static size_t count_kept(struct daemon *d)
{
    size_t count = 0;
    char name[16];

    for (int i = 0; i < ENTRIES; i++) {
        struct hg_answer answer;

        snprintf(name, sizeof(name), "key%d", i);
        ck_assert_int_eq(daemon_read(d, "kept", name, HG_MODE_PEEK, &answer, NULL), HG_OK);
        if (answer.outcome == HG_VALUE) {
            ck_assert_slice_eq(answer.value, name);
            count++;
        }
        hg_answer_deinit(&answer);
    }
    return count;
}

static void save(struct daemon *d)
{
    struct hg_saved saved;
    struct hg_error error;

    ck_assert_msg(hg_client_save_snapshot(d->client, NULL, &saved, &error) == HG_OK, "%s",
                  error.text);
}

static void clear(struct daemon *d, const char *cache)
{
    struct hg_clear request = {.cache = cache};
    struct hg_reports reports;
    struct hg_error error;

    ck_assert_msg(hg_client_clear(d->client, &request, &reports, &error) == HG_OK, "%s",
                  error.text);
    hg_reports_deinit(&reports);
}

static bool is_cached(struct daemon *d, const char *cache, const char *key)
{
    struct hg_answer answer;
    bool is_there;

    ck_assert_int_eq(daemon_read(d, cache, key, HG_MODE_PEEK, &answer, NULL), HG_OK);
    is_there = answer.outcome != HG_NOT_CACHED;
    hg_answer_deinit(&answer);
    return is_there;
}

START_TEST(ten_thousand_entries_survive_sigterm_and_cleared_ones_do_not_come_back)
{
    struct daemon d;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    load_all(&d);
    daemon_put(&d, "gone", "a", "1");
    save(&d);
    clear(&d, "gone");
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert_uint_eq(count_kept(&d), ENTRIES);
    ck_assert(!is_cached(&d, "gone", "a"));
    ck_assert_uint_eq(hgi_script_loads(&d.script, NULL), ENTRIES);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(ten_thousand_entries_survive_kill_9_and_cleared_ones_do_not_come_back)
{
    struct daemon d;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    load_all(&d);
    daemon_put(&d, "gone", "a", "1");
    save(&d);
    clear(&d, "gone");
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_uint_eq(count_kept(&d), ENTRIES);
    ck_assert(!is_cached(&d, "gone", "a"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(an_invalidated_key_does_not_come_back_after_kill_9)
{
    struct daemon d;
    struct hg_key key = daemon_key("a");
    struct hg_invalidate request = {.cache = "gone", .keys = &key, .key_count = 1};
    struct hg_report report;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    daemon_put(&d, "gone", "a", "1");
    daemon_put(&d, "gone", "b", "1");
    save(&d);
    ck_assert_int_eq(hg_client_invalidate(d.client, &request, &report, NULL), HG_OK);
    ck_assert_uint_eq(report.dropped, 1);
    hg_report_deinit(&report);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert(!is_cached(&d, "gone", "a"));
    ck_assert(is_cached(&d, "gone", "b"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_put_in_an_auth_cache_is_durable_at_its_ok)
{
    struct daemon d;
    struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("h1")};
    struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = true};
    struct hg_put put = {.cache = "keys", .key = key};
    struct hg_read read = {.cache = "keys", .key = key};
    struct hg_packed packed;
    struct hg_stored stored;
    struct hg_answer answer;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    ck_assert_int_eq(hg_auth_encode(&auth, &packed, NULL), HG_OK);
    put.value = packed.bytes;
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_OK);
    put.outcome = HG_DENIED;
    put.value = hg_slice_of(NULL, 0);
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_OK);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_int_eq(hg_client_get(d.client, &read, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_DENIED); /* the revocation, not the permission before it */
    hg_answer_deinit(&answer);
    hg_packed_deinit(&packed);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* A value that does not fit takes the one before it along; it must not come back either. */
START_TEST(what_a_refused_put_replaced_does_not_come_back)
{
    static char big[5000];
    struct daemon d;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    ck_assert_int_eq(daemon_put(&d, "tiny", "a", "old"), HG_OK);
    save(&d);
    memset(big, 'x', sizeof(big) - 1);
    ck_assert_int_eq(daemon_put(&d, "tiny", "a", big), HG_RESOURCE_EXHAUSTED);
    ck_assert(!is_cached(&d, "tiny", "a"));
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert(!is_cached(&d, "tiny", "a"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(restored_entries_have_the_time_they_had_left)
{
    struct daemon d;
    struct hg_answer answer;
    uint64_t left_ms;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    daemon_put(&d, "short", "a", "1");
    daemon_put(&d, "gone", "a", "1");
    ck_assert_int_eq(daemon_read(&d, "gone", "a", HG_MODE_PEEK, &answer, NULL), HG_OK);
    left_ms = answer.ttl_left_ms;
    hg_answer_deinit(&answer);
    while (is_cached(&d, "short", "a")) { /* until its 300 ms are over */
    }
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert(!is_cached(&d, "short", "a")); /* not fresh again */
    ck_assert_int_eq(daemon_read(&d, "short", "a", HG_MODE_ALLOW_STALE, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.source, HG_SOURCE_STALE);
    ck_assert_uint_ge(answer.age_ms, 300);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(daemon_read(&d, "gone", "a", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_uint_lt(answer.ttl_left_ms, left_ms);
    hg_answer_deinit(&answer);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(generations_go_on_rising_over_a_restart)
{
    struct daemon d;
    struct hg_generation request = {.cache = "gone", .key = daemon_key("a")};
    struct hg_put put = {.cache = "gone", .key = daemon_key("a"), .value = hg_slice_text("old")};
    struct hg_token before;
    struct hg_token after;
    struct hg_stored stored;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    clear(&d, "gone");
    ck_assert_int_eq(hg_client_generation(d.client, &request, &before, NULL), HG_OK);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_int_eq(hg_client_generation(d.client, &request, &after, NULL), HG_OK);
    ck_assert_uint_gt(after.generation, before.generation);
    ck_assert_uint_ne(after.epoch, before.epoch);
    put.if_generation = &before;
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_ABORTED);
    put.if_generation = &after;
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_OK);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_value_that_a_newer_answer_made_wrong_does_not_come_back)
{
    struct daemon d;
    struct hg_read read = {.cache = "kept", .key = daemon_key("k"), .has_max_age = true};
    struct hg_answer answer;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    hgi_script_set(&d.script, "k value old\n");
    ck_assert_int_eq(hg_client_get_or_load(d.client, &read, &answer, NULL), HG_OK);
    hg_answer_deinit(&answer);
    save(&d);
    hgi_script_set(&d.script, "k no_store\nk value new\n");
    do { /* until a load has been asked for, which a max_age of 0 does from the next millisecond on
          */
        ck_assert_int_eq(hg_client_get_or_load(d.client, &read, &answer, NULL), HG_OK);
        hg_answer_deinit(&answer);
    } while (hgi_script_loads(&d.script, "k") < 2);
    ck_assert(!is_cached(&d, "kept", "k"));
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert(!is_cached(&d, "kept", "k"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

static struct hg_verified verify(struct daemon *d)
{
    struct hg_verified verified;
    struct hg_error error;

    ck_assert_msg(hg_client_verify_snapshot(d->client, NULL, &verified, &error) == HG_OK, "%s",
                  error.text);
    return verified;
}

/* One byte of the file that the server has, as a failing disk does. */
static void damage(const struct daemon *d, const char *text)
{
    static char bytes[16 << 20];
    char path[256];
    ssize_t size;
    char *at;
    int fd;

    snprintf(path, sizeof(path), "%s/data/cache.db", d->dir);
    fd = open(path, O_RDWR);
    size = pread(fd, bytes, sizeof(bytes), 0);
    at = size > 0 ? memmem(bytes, (size_t)size, text, strlen(text)) : NULL;
    ck_assert_ptr_nonnull(at);
    *at ^= 1;
    ck_assert_int_eq(pwrite(fd, at, 1, at - bytes), 1);
    close(fd);
}

START_TEST(a_server_tells_of_its_snapshot_and_finds_damage_and_mends_it)
{
    struct hg_snapshot_info info;
    struct hg_verified verified;
    struct daemon d;

    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    daemon_put(&d, "gone", "one", "the first value");
    daemon_put(&d, "gone", "two", "the second value");
    save(&d);
    ck_assert_int_eq(hg_client_snapshot_info(d.client, NULL, &info, NULL), HG_OK);
    ck_assert(info.entries == 2 && info.unsaved == 0 && !info.degraded && info.version == 4000);
    ck_assert(info.saved_at_ms > 0 && info.verified_at_ms == 0 && info.pages >= 1);
    hg_snapshot_info_deinit(&info);
    verified = verify(&d);
    ck_assert(verified.faults == 0 && verified.rows == 2 && verified.structure_checked);
    hg_verified_deinit(&verified);
    damage(&d, "the second value");
    verified = verify(&d);
    ck_assert(verified.faults == 1 && verified.rows == 1);
    ck_assert_ptr_nonnull(memmem(verified.fault.data, verified.fault.len, "of cache gone", 13));
    hg_verified_deinit(&verified);
    save(&d);
    verified = verify(&d);
    ck_assert(verified.faults == 0 && verified.rows == 2);
    hg_verified_deinit(&verified);
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert(is_cached(&d, "gone", "one") && is_cached(&d, "gone", "two"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(without_a_snapshot_section_everything_else_works_and_nothing_survives)
{
    struct daemon d;
    struct hg_saved saved;

    daemon_prepare(&d, without_snapshot);
    daemon_start(&d);
    load_all(&d);
    ck_assert_uint_eq(count_kept(&d), ENTRIES);
    ck_assert_int_eq(hg_client_save_snapshot(d.client, NULL, &saved, NULL), HG_FAILED_PRECONDITION);
    clear(&d, "kept");
    ck_assert_uint_eq(count_kept(&d), 0);
    daemon_put(&d, "kept", "key1", "key1");
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert_uint_eq(count_kept(&d), 0);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* Whether docs/COUNTERS.md has a row for it. */
static bool is_documented(const char *document, struct hg_slice counter)
{
    char row[80];

    snprintf(row, sizeof(row), "\n| `%.*s` |", (int)counter.len, (const char *)counter.data);
    return strstr(document, row) != NULL;
}

START_TEST(every_counter_is_in_the_document_and_no_other)
{
    char document[16384];
    FILE *file = fopen(HGI_SOURCE_DIR "/docs/COUNTERS.md", "r");
    struct hg_named request = {.name = "kept"};
    struct hg_stats stats;
    struct hg_error error;
    struct daemon d;
    size_t rows = 0;

    ck_assert_ptr_nonnull(file);
    document[fread(document, 1, sizeof(document) - 1, file)] = 0;
    fclose(file);
    for (const char *at = document; (at = strstr(at, "\n| `")) != NULL; at++) {
        rows++;
    }
    daemon_prepare(&d, with_snapshot);
    daemon_start(&d);
    ck_assert_int_eq(hg_client_stats(d.client, &request, &stats, &error), HG_OK);
    for (size_t i = 0; i < stats.caches[0].counter_count; i++) {
        ck_assert(is_documented(document, stats.caches[0].counters[i].name));
    }
    for (size_t i = 0; i < stats.server_count; i++) {
        ck_assert(is_documented(document, stats.server[i].name));
    }
    ck_assert_uint_eq(rows, stats.caches[0].counter_count + stats.server_count);
    hg_stats_deinit(&stats);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(health_says_that_the_snapshot_is_behind_until_a_save_has_made_up_for_it)
{
    const char *argv[] = {HGI_BUILD_DIR "/bin/herdgate", "health", "-e", NULL, NULL};
    char output[1024];
    char path[96];
    struct hg_saved saved;
    struct hg_error error;
    struct daemon d;

    daemon_prepare(&d, "snapshot { path = \"@DIR@/data/cache.db\" interval = \"1h\" }\n"
                       "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    daemon_start(&d);
    argv[3] = d.ipc_url;
    snprintf(path, sizeof(path), "%s/data/cache.db", d.dir);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(daemon_put(&d, "c", "k", "v"), HG_OK);
    ck_assert_int_eq(hg_client_save_snapshot(d.client, NULL, &saved, &error), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "the file was removed or replaced while in use"));
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    ck_assert_int_eq(strncmp(output, "serving, degraded: the snapshot is behind: cannot write", 55),
                     0);
    ck_assert_int_eq(hg_client_save_snapshot(d.client, NULL, &saved, &error), HG_OK);
    ck_assert_uint_eq(saved.entries, 1);
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    ck_assert_str_eq(output, "serving\n");
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.restart", 60, ten_thousand_entries_survive_sigterm_and_cleared_ones_do_not_come_back,
          ten_thousand_entries_survive_kill_9_and_cleared_ones_do_not_come_back,
          an_invalidated_key_does_not_come_back_after_kill_9,
          a_put_in_an_auth_cache_is_durable_at_its_ok,
          what_a_refused_put_replaced_does_not_come_back,
          a_value_that_a_newer_answer_made_wrong_does_not_come_back,
          restored_entries_have_the_time_they_had_left, generations_go_on_rising_over_a_restart,
          health_says_that_the_snapshot_is_behind_until_a_save_has_made_up_for_it,
          every_counter_is_in_the_document_and_no_other,
          a_server_tells_of_its_snapshot_and_finds_damage_and_mends_it,
          without_a_snapshot_section_everything_else_works_and_nothing_survives)
