/* SPDX-License-Identifier: Apache-2.0 */
/* Fresh hits read from the server's memory: what they are, and what they can never be. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECKS 300000u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECKS 300000u
#endif
#endif
#ifndef CHECKS
#define CHECKS 10000000u
#endif
#define KEYS      8u
#define ATTACH_MS 20000

static const char caches[] = "cache \"near\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" "
                             "jitter = 0 local_reads = on }\n"
                             "cache \"short\" { key = \"bytes\" value = \"bytes\" ttl = \"50ms\" "
                             "jitter = 0 stale_ttl = \"1h\" "
                             "local_reads = on }\n"
                             "cache \"early\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" "
                             "jitter = 0 refresh_ahead = \"90%\" "
                             "local_reads = on loader = \"script\" }\n"
                             "cache \"far\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" }\n";

static struct hg_client *open_client(const struct daemon *d)
{
    char dir[80];
    const struct hg_client_options options = {.local_dir = dir};
    struct hg_client *client;

    snprintf(dir, sizeof(dir), "%s/run", d->dir);
    ck_assert_int_eq(hg_client_open(d->ipc_url, &options, &client, NULL), HG_OK);
    return client;
}

static bool look(struct hg_client *client, const char *cache, const char *key,
                 struct hg_answer *ret_answer)
{
    const struct hg_read read = {.cache = cache, .key = daemon_key(key)};

    return hg_client_get_local(client, &read, ret_answer);
}

/* The first looks only ask for the mapping. */
static void wait_until_local(struct hg_client *client, const char *cache, const char *key)
{
    int64_t end_ms = hgi_clock_now().boot_ms + ATTACH_MS;
    struct hg_answer answer;

    while (!look(client, cache, key, &answer)) {
        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "\"%s\" of %s is never read locally", key,
                      cache);
        hgi_thread_pause(1);
    }
    hg_answer_deinit(&answer);
}

START_TEST(a_fresh_hit_is_the_same_by_both_ways)
{
    struct hg_answer near = {0};
    struct hg_answer far = {0};
    struct hg_client *client;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    ck_assert_int_eq(daemon_put(&d, "near", "k", "value"), HG_OK);
    wait_until_local(client, "near", "k");
    ck_assert(look(client, "near", "k", &near));
    ck_assert_int_eq(daemon_read(&d, "near", "k", HG_MODE_PEEK, &far, NULL), HG_OK);
    ck_assert_slice_eq(near.value, "value");
    ck_assert_slice_eq(far.value, "value");
    ck_assert_int_eq(near.outcome, far.outcome);
    ck_assert_int_eq(near.source, far.source);
    ck_assert_int_eq(near.value_type, far.value_type);
    ck_assert_uint_eq(near.generation, far.generation);
    ck_assert_uint_le(near.age_ms, far.age_ms);
    ck_assert_uint_ge(near.ttl_left_ms, far.ttl_left_ms);
    hg_answer_deinit(&near);
    hg_answer_deinit(&far);
    /* What is not there, too old for the reader or from before is the server's to answer. */
    ck_assert(!look(client, "near", "other", &near));
    ck_assert(!hg_client_get_local(
        client,
        &(struct hg_read){.cache = "near", .key = daemon_key("k"), .min_generation = UINT64_MAX},
        &near));
    ck_assert(!look(client, "far", "k", &near));
    ck_assert(!look(client, "no such cache", "k", &near));
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_batch_is_read_locally_if_all_of_it_can_be)
{
    struct hg_key keys[] = {daemon_key("a"), daemon_key("b"), daemon_key("c")};
    struct hg_batch batch = {.cache = "near", .keys = keys, .key_count = 2};
    struct hg_answers answers;
    struct hg_client *client;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    ck_assert_int_eq(daemon_put(&d, "near", "a", "first"), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "near", "b", "the second"), HG_OK);
    wait_until_local(client, "near", "a");
    ck_assert_int_eq(hg_client_batch_get_or_load(client, &batch, &answers, NULL), HG_OK);
    ck_assert_uint_eq(answers.count, 2);
    ck_assert_slice_eq(answers.answers[0].value, "first");
    ck_assert_slice_eq(answers.answers[1].value, "the second");
    hg_answers_deinit(&answers);
    batch.key_count = 3;
    ck_assert_int_eq(hg_client_batch_get_or_load(client, &batch, &answers, NULL), HG_OK);
    ck_assert_slice_eq(answers.answers[1].value, "the second");
    ck_assert_int_eq(answers.answers[2].status, HG_FAILED_PRECONDITION); /* the server's word */
    hg_answers_deinit(&answers);
    /* Its own look and two keys; then the news goes with the next request. */
    daemon_wait_metric(&d, "near", "local_hit", 3);
    ck_assert_uint_eq(daemon_metric(&d, "near", "local_hit"), 3);
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(what_is_stale_or_due_for_a_refresh_is_not_read_locally)
{
    struct hg_answer answer;
    struct hg_client *client;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    ck_assert_int_eq(daemon_put(&d, "short", "k", "v"), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "early", "k", "v"), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "near", "k", "v"), HG_OK);
    wait_until_local(client, "near", "k");
    ck_assert(!look(client, "early", "k", &answer) || answer.age_ms * 10 < 3600000);
    hgi_thread_pause(60);
    for (int i = 0; i < 100; i++) {
        ck_assert(!look(client, "short", "k", &answer));
        hgi_thread_pause(1);
    }
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* What the two processes of the proof share. */
struct shared {
    _Atomic uint64_t floors[KEYS]; /* nothing older may be read: its end has been acknowledged */
    _Atomic uint64_t checks;
    _Atomic uint64_t older;
    _Atomic uint64_t wrong; /* a value that no put of the key had */
    _Atomic bool is_served;
    _Atomic bool is_reading;
    _Atomic bool is_done;
};

static struct shared *share(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(shared, MAP_FAILED);
    return shared;
}

static const char *const key_names[KEYS] = {"key 0", "key 1", "key 2", "key 3",
                                            "key 4", "key 5", "key 6", "key 7"};

/* The other process: reads until it has checked so many hits. */
static void read_on(const struct daemon *d, struct shared *shared)
{
    struct hg_client *client = open_client(d);

    for (uint64_t i = 0; atomic_load(&shared->checks) < CHECKS && !atomic_load(&shared->is_done);
         i++) {
        size_t k = i % KEYS;
        uint64_t floor = atomic_load(&shared->floors[k]);
        struct hg_answer answer;

        if (!look(client, "near", key_names[k], &answer)) {
            continue;
        }
        atomic_fetch_add_explicit(&shared->checks, 1, memory_order_relaxed);
        atomic_store_explicit(&shared->is_reading, true, memory_order_relaxed);
        if (answer.generation < floor) {
            atomic_fetch_add(&shared->older, 1);
        }
        if (answer.value.len < 5 || memcmp(answer.value.data, key_names[k], 5) != 0) {
            atomic_fetch_add(&shared->wrong, 1);
        }
        hg_answer_deinit(&answer);
    }
    atomic_store(&shared->is_done, true);
    hg_client_close(&client);
}

static void put_tagged(struct daemon *d, struct shared *shared, size_t k, uint64_t number)
{
    const struct hg_slice tag = hg_slice_text("tag");
    char value[400];
    int len = snprintf(value, sizeof(value), "%s %llu%*s", key_names[k], (unsigned long long)number,
                       (int)(number % 300), "");
    const struct hg_put put = {.cache = "near",
                               .key = daemon_key(key_names[k]),
                               .value = hg_slice_of(value, (size_t)len),
                               .tags = &tag,
                               .tag_count = k % 2};
    struct hg_stored stored;

    ck_assert_int_eq(hg_client_put(d->client, &put, &stored, NULL), HG_OK);
    atomic_store(&shared->floors[k], stored.generation);
}

/* Ends what is there in one of the ways there are; then nothing older may be read. */
static void end_some(struct daemon *d, struct shared *shared, uint64_t number)
{
    const struct hg_slice tag = hg_slice_text("tag");
    const struct hg_key key = daemon_key(key_names[number % KEYS]);
    struct hg_invalidate cover = {.cache = "near"};
    struct hg_reports reports;
    struct hg_report report;

    if (number % 5 == 0) {
        ck_assert_int_eq(
            hg_client_clear(d->client, &(struct hg_clear){.cache = "near"}, &reports, NULL), HG_OK);
        for (size_t k = 0; k < KEYS; k++) {
            atomic_store(&shared->floors[k], reports.reports[0].generation);
        }
        hg_reports_deinit(&reports);
        return;
    }
    cover.soft = number % 5 == 1;
    if (number % 5 <= 2) {
        cover.tags = &tag;
        cover.tag_count = 1;
    } else {
        cover.keys = &key;
        cover.key_count = 1;
    }
    ck_assert_int_eq(hg_client_invalidate(d->client, &cover, &report, NULL), HG_OK);
    for (size_t k = 0; k < KEYS; k++) {
        if (cover.tag_count ? k % 2 == 1 : k == number % KEYS) {
            atomic_store(&shared->floors[k], report.generation);
        }
    }
    hg_report_deinit(&report);
}

START_TEST(no_read_begun_after_the_ok_of_an_end_is_of_anything_older)
{
    struct shared *shared = share();
    uint64_t ends = 0;
    pid_t ended = 0;
    int status = 0;
    pid_t reader;
    struct daemon d;

    daemon_prepare(&d, caches);
    reader = fork(); /* before there are threads, which it would not have */
    ck_assert_int_ge(reader, 0);
    if (reader == 0) {
        while (!atomic_load(&shared->is_served)) {
            hgi_thread_pause(1);
        }
        read_on(&d, shared);
        _exit(0);
    }
    daemon_start(&d);
    atomic_store(&shared->is_served, true);
    for (uint64_t number = 0; !atomic_load(&shared->is_done) && !ended; number++) {
        ended = waitpid(reader, &status, WNOHANG); /* before it was done: it has failed */
        for (size_t k = 0; k < KEYS; k++) {
            put_tagged(&d, shared, k, number);
        }
        if (atomic_load(&shared->is_reading)) {
            end_some(&d, shared, number);
            ends++;
        }
    }
    if (!ended) {
        ended = waitpid(reader, &status, 0);
    }
    ck_assert_int_eq(ended, reader);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_ge(atomic_load(&shared->checks), CHECKS);
    ck_assert_uint_eq(atomic_load(&shared->older), 0);
    ck_assert_uint_eq(atomic_load(&shared->wrong), 0);
    ck_assert_uint_gt(ends, 20);
    munmap(shared, sizeof(*shared));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_server_that_dies_and_comes_again_is_noticed_before_it_acknowledges_anything)
{
    struct hg_answer answer;
    struct hg_client *client;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(daemon_put(&d, "near", "k", "old"), HG_OK);
        wait_until_local(client, "near", "k");
        daemon_kill(&d);
        daemon_start(&d);
        ck_assert_int_eq(daemon_put(&d, "near", "k", "new"), HG_OK);
        for (int i = 0; i < 1000; i++) {
            if (look(client, "near", "k", &answer)) {
                ck_assert_slice_eq(answer.value, "new");
                hg_answer_deinit(&answer);
            }
        }
        wait_until_local(client, "near", "k");
    }
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_server_that_has_died_is_not_believed_for_long)
{
    int64_t end_ms;
    struct hg_answer answer;
    struct hg_client *client;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    ck_assert_int_eq(daemon_put(&d, "near", "k", "old"), HG_OK);
    wait_until_local(client, "near", "k");
    daemon_kill(&d);
    end_ms = hgi_clock_now().boot_ms + ATTACH_MS;
    while (look(client, "near", "k", &answer)) {
        hg_answer_deinit(&answer);
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
        hgi_thread_pause(1);
    }
    hg_client_close(&client);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_server_that_stops_leaves_nothing_to_read)
{
    struct hg_answer answer;
    struct hg_client *client;
    struct stat file;
    char path[128];
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    client = open_client(&d);
    ck_assert_int_eq(daemon_put(&d, "near", "k", "old"), HG_OK);
    wait_until_local(client, "near", "k");
    ck_assert_int_eq(daemon_terminate(&d), 0);
    ck_assert(!look(client, "near", "k", &answer));
    snprintf(path, sizeof(path), "%s/run/near.cache", d.dir);
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_int_le(file.st_size, 4096); /* a label that says so */
    hg_client_close(&client);
    hg_client_close(&d.client);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_heat_file_that_readers_have_cut_harms_nobody_but_its_counts)
{
    struct hg_client *client;
    char path[128];
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    snprintf(path, sizeof(path), "%s/run/near.heat", d.dir);
    ck_assert_int_eq(truncate(path, 0), 0);
    client = open_client(&d); /* finds it too short, and counts for itself */
    ck_assert_int_eq(daemon_put(&d, "near", "k", "v"), HG_OK);
    wait_until_local(client, "near", "k");
    hgi_thread_pause(100); /* some sweeps */
    ck_assert_int_eq(daemon_put(&d, "near", "k", "w"), HG_OK);
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* The one that forks comes first: where tests are not forked themselves, there are no threads yet.
 */
HGI_SUITE("e2e.local", 280, no_read_begun_after_the_ok_of_an_end_is_of_anything_older,
          a_fresh_hit_is_the_same_by_both_ways, a_batch_is_read_locally_if_all_of_it_can_be,
          what_is_stale_or_due_for_a_refresh_is_not_read_locally,
          a_server_that_dies_and_comes_again_is_noticed_before_it_acknowledges_anything,
          a_server_that_has_died_is_not_believed_for_long,
          a_server_that_stops_leaves_nothing_to_read,
          a_heat_file_that_readers_have_cut_harms_nobody_but_its_counts)
