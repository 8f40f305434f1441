/* SPDX-License-Identifier: Apache-2.0 */
/* One client changes what is cached, another watches. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/lock.h"
#include "daemon.h"

static const char caches[] =
    "cache \"a\" { key = \"bytes\" value = \"bytes\" ttl = \"60s\" loader = \"script\" }\n"
    "cache \"b\" { key = \"user_api_key\" value = \"bytes\" ttl = \"60s\" }\n";

/* A watcher and where it is. */
struct watcher {
    struct hg_client *client;
    struct hg_watch at;
    struct hg_events events; /* of the last call */
};

static enum hg_status watch(struct watcher *w, uint32_t timeout_ms)
{
    enum hg_status status;

    hg_events_deinit(&w->events);
    w->at.timeout_ms = timeout_ms;
    status = hg_client_watch(w->client, &w->at, &w->events, NULL);
    if (status == HG_OK) {
        w->at.epoch = w->events.epoch;
        w->at.after = w->events.last;
    }
    return status;
}

static void open_watcher(struct watcher *w, const char *url)
{
    memset(w, 0, sizeof(*w));
    ck_assert_int_eq(hg_client_open(url, NULL, &w->client, NULL), HG_OK);
    ck_assert_int_eq(watch(w, 10000), HG_OK); /* epoch 0: at once */
    ck_assert_uint_eq(w->events.count, 0);
    ck_assert(!w->events.is_gap);
    ck_assert_uint_ne(w->at.epoch, 0);
}

static void close_watcher(struct watcher *w)
{
    hg_events_deinit(&w->events);
    hg_client_close(&w->client);
}

static void setup(struct daemon *d, struct watcher *w)
{
    daemon_prepare(d, caches);
    daemon_start(d);
    open_watcher(w, d->ipc_url);
}

static void teardown(struct daemon *d, struct watcher *w)
{
    close_watcher(w);
    daemon_stop(d);
    daemon_remove(d);
}

static uint64_t clear_all(struct daemon *d)
{
    struct hg_clear request = {.all = true};
    struct hg_reports reports;
    uint64_t generation;

    ck_assert_int_eq(hg_client_clear(d->client, &request, &reports, NULL), HG_OK);
    generation = reports.reports[0].generation;
    hg_reports_deinit(&reports);
    return generation;
}

static uint64_t invalidate(struct daemon *d, const char *cache, const struct hg_key *keys,
                           size_t count)
{
    struct hg_invalidate request = {.cache = cache, .keys = keys, .key_count = count};
    struct hg_report report;
    uint64_t generation;

    ck_assert_int_eq(hg_client_invalidate(d->client, &request, &report, NULL), HG_OK);
    generation = report.generation;
    hg_report_deinit(&report);
    return generation;
}

START_TEST(a_watcher_sees_every_change_in_order_once_its_ok_was_said)
{
    const struct hg_key key = {.kind = HG_KEY_USER_API_KEY,
                               .user_id = hg_slice_text(" u1"),
                               .api_key_id = hg_slice_text("k1 ")};
    struct hg_named loader = {.name = "script"};
    struct hg_loader_info info;
    struct watcher w;
    struct daemon d;
    uint64_t generations[2];
    const struct hg_event *events;

    setup(&d, &w);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    generations[0] = clear_all(&d);
    generations[1] = invalidate(&d, "b", &key, 1);
    ck_assert_int_eq(hg_client_reload_loader(d.client, &loader, &info, NULL), HG_OK);
    hg_loader_info_deinit(&info);
    ck_assert_int_eq(watch(&w, 10000), HG_OK);
    ck_assert(!w.events.is_gap);
    ck_assert_uint_eq(w.events.count, 5);
    events = w.events.events;
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(events[i].number, i + 1);
        ck_assert_int_gt(events[i].at_ms, hgi_clock_now().wall_ms - 60000);
    }
    ck_assert_int_eq(events[0].kind, HG_EVENT_PUT);
    ck_assert_slice_eq(events[0].name, "a");
    ck_assert_int_eq(events[0].key.kind, HG_KEY_BYTES);
    ck_assert_slice_eq(events[0].key.bytes, "k");
    ck_assert_int_eq(events[1].kind, HG_EVENT_CLEAR);
    ck_assert_slice_eq(events[1].name, "a");
    ck_assert_uint_eq(events[1].generation, generations[0]);
    ck_assert_int_eq(events[1].key.kind, 0);
    ck_assert_slice_eq(events[2].name, "b");
    ck_assert_int_eq(events[3].kind, HG_EVENT_INVALIDATE);
    ck_assert_uint_eq(events[3].generation, generations[1]);
    ck_assert_slice_eq(events[3].key.user_id, "u1"); /* as it is kept: trimmed */
    ck_assert_slice_eq(events[3].key.api_key_id, "k1");
    ck_assert_int_eq(events[4].kind, HG_EVENT_LOADER);
    ck_assert_slice_eq(events[4].name, "script");
    teardown(&d, &w);
}
END_TEST

START_TEST(one_cache_is_watched_alone_and_one_that_is_not_there_not_at_all)
{
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    w.at.cache = "nil";
    ck_assert_int_eq(watch(&w, 10000), HG_NOT_FOUND);
    w.at.epoch = 0; /* nor at the beginning */
    ck_assert_int_eq(watch(&w, 10000), HG_NOT_FOUND);
    w.at.cache = "b";
    ck_assert_int_eq(watch(&w, 10000), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    ck_assert_int_eq(watch(&w, 10000), HG_OK); /* of another: nothing, and on from there */
    ck_assert(w.events.count == 0 && !w.events.is_gap && w.at.after == 1);
    (void)clear_all(&d);
    ck_assert_int_eq(watch(&w, 10000), HG_OK);
    ck_assert_uint_eq(w.events.count, 1);
    ck_assert_slice_eq(w.events.events[0].name, "b");
    teardown(&d, &w);
}
END_TEST

START_TEST(what_a_load_or_a_put_with_a_token_stores_is_no_event)
{
    struct hg_generation generation = {.cache = "a", .key = daemon_key("t")};
    struct hg_put put = {.cache = "a", .key = daemon_key("t"), .value = hg_slice_text("v")};
    struct hg_answer answer;
    struct hg_stored stored;
    struct hg_token token;
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    ck_assert_int_eq(daemon_read(&d, "a", "k", HG_MODE_FRESH, &answer, NULL), HG_OK);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_generation(d.client, &generation, &token, NULL), HG_OK);
    put.if_generation = &token;
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_OK);
    ck_assert_int_eq(watch(&w, 200), HG_OK);
    ck_assert_uint_eq(w.events.count, 0);
    ck_assert(!w.events.is_gap);
    teardown(&d, &w);
}
END_TEST

START_TEST(a_put_that_finds_no_room_is_told_as_the_invalidation_it_was)
{
    struct hg_generation generation = {.cache = "small", .key = daemon_key("k")};
    char large[8192];
    struct hg_put put = {
        .cache = "small", .key = daemon_key("k"), .value = hg_slice_of(large, sizeof(large))};
    struct hg_answer answer;
    struct hg_stored stored;
    struct hg_token token;
    struct watcher w;
    struct daemon d;

    memset(large, 'v', sizeof(large));
    daemon_prepare(&d, "cache \"small\" { key = \"bytes\" value = \"bytes\" ttl = \"60s\" "
                       "max_bytes = \"4KiB\" }\n");
    daemon_start(&d);
    ck_assert_int_eq(daemon_put(&d, "small", "k", "v"), HG_OK);
    open_watcher(&w, d.ipc_url);
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(daemon_read(&d, "small", "k", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_generation(d.client, &generation, &token, NULL), HG_OK);
    put.if_generation = &token; /* a load's value, as it were: no news */
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(watch(&w, 200), HG_OK);
    ck_assert_uint_eq(w.events.count, 1);
    ck_assert_int_eq(w.events.events[0].kind, HG_EVENT_INVALIDATE);
    ck_assert_slice_eq(w.events.events[0].key.bytes, "k");
    ck_assert_uint_eq(w.events.events[0].generation, token.generation);
    teardown(&d, &w);
}
END_TEST

/* ---- waiting ---- */

struct waiting {
    struct hgi_lock lock;
    struct hgi_cond cond;
    bool is_done;
    enum hg_status status;
    size_t count;
};

static void on_events(void *arg, const struct hg_error *error, const struct hg_events *events)
{
    struct waiting *waiting = arg;

    hgi_lock_host(&waiting->lock);
    waiting->status = error->status;
    waiting->count = events ? events->count : 0;
    waiting->is_done = true;
    hgi_cond_wake_all(&waiting->cond);
    hgi_unlock_host(&waiting->lock);
}

static void begin_waiting(struct watcher *w, struct waiting *waiting)
{
    memset(waiting, 0, sizeof(*waiting));
    hgi_lock_init(&waiting->lock);
    hgi_cond_init(&waiting->cond);
    w->at.timeout_ms = 60000;
    ck_assert_int_eq(hg_client_watch_async(w->client, &w->at, on_events, waiting, NULL), HG_OK);
}

static void end_waiting(struct waiting *waiting)
{
    hgi_lock_host(&waiting->lock);
    while (!waiting->is_done) {
        ck_assert(hgi_cond_wait(&waiting->cond, &waiting->lock, 20000));
    }
    hgi_unlock_host(&waiting->lock);
    hgi_cond_deinit(&waiting->cond);
    hgi_lock_deinit(&waiting->lock);
}

/* The connection answers in order of arrival here, so this says the watch has been read. */
static void wait_until_read(struct watcher *w)
{
    enum hg_health health;

    ck_assert_int_eq(hg_client_health(w->client, NULL, &health, NULL), HG_OK);
}

START_TEST(a_waiting_watcher_is_woken_by_the_next_change)
{
    struct waiting waiting;
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    begin_waiting(&w, &waiting);
    wait_until_read(&w);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    end_waiting(&waiting);
    ck_assert_int_eq(waiting.status, HG_OK);
    ck_assert_uint_eq(waiting.count, 1);
    teardown(&d, &w);
}
END_TEST

START_TEST(with_nothing_to_tell_the_reply_comes_at_the_timeout_and_is_no_gap)
{
    struct watcher w;
    struct daemon d;
    int64_t start_ms;
    int64_t took_ms;

    setup(&d, &w);
    start_ms = hgi_clock_now().boot_ms;
    ck_assert_int_eq(watch(&w, 400), HG_OK);
    took_ms = hgi_clock_now().boot_ms - start_ms;
    ck_assert_uint_eq(w.events.count, 0);
    ck_assert(!w.events.is_gap);
    ck_assert_int_ge(took_ms, 300);
    ck_assert_uint_eq(w.at.after, 0);
    teardown(&d, &w);
}
END_TEST

START_TEST(a_stopping_server_ends_its_watchers_at_once)
{
    struct waiting waiting;
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    begin_waiting(&w, &waiting);
    wait_until_read(&w);
    daemon_stop(&d); /* within its 20 s, not the watcher's 60 */
    end_waiting(&waiting);
    ck_assert_int_eq(waiting.status, HG_UNAVAILABLE);
    close_watcher(&w);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_watcher_that_leaves_does_not_hold_up_the_server)
{
    struct waiting waiting;
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    begin_waiting(&w, &waiting);
    wait_until_read(&w);
    close_watcher(&w);
    end_waiting(&waiting);
    ck_assert_int_eq(waiting.status, HG_CANCELLED);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* ---- gaps ---- */

START_TEST(a_server_started_again_is_a_gap_and_then_goes_on)
{
    struct watcher w;
    struct daemon d;
    uint64_t epoch;

    setup(&d, &w);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    ck_assert_int_eq(watch(&w, 10000), HG_OK);
    ck_assert_uint_eq(w.events.count, 1);
    epoch = w.at.epoch;
    daemon_stop(&d);
    daemon_start(&d);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK); /* the same number again */
    while (watch(&w, 10000) != HG_OK) {
        /* the first call after it broke may find the old connection */
    }
    ck_assert(w.events.is_gap);
    ck_assert_uint_eq(w.events.count, 0);
    ck_assert_uint_ne(w.at.epoch, epoch);
    ck_assert_int_eq(daemon_put(&d, "a", "k2", "v"), HG_OK);
    ck_assert_int_eq(watch(&w, 10000), HG_OK);
    ck_assert(!w.events.is_gap);
    ck_assert_uint_eq(w.events.count, 1);
    ck_assert_slice_eq(w.events.events[0].key.bytes, "k2");
    teardown(&d, &w);
}
END_TEST

START_TEST(seventy_thousand_events_are_a_gap_for_a_slow_watcher_and_none_for_a_quick_one)
{
    enum { BATCH = 250, BATCHES = 280 };
    static char names[BATCH][8];
    static struct hg_key keys[BATCH];
    struct watcher slow;
    struct watcher quick;
    struct daemon d;
    uint64_t seen = 0;

    setup(&d, &slow);
    open_watcher(&quick, d.ipc_url);
    for (int i = 0; i < BATCH; i++) {
        snprintf(names[i], sizeof(names[i]), "k%d", i);
        keys[i] = daemon_key(names[i]);
    }
    for (int n = 0; n < BATCHES; n++) {
        (void)invalidate(&d, "a", keys, BATCH);
        while (seen < (uint64_t)BATCH * ((uint64_t)n + 1)) {
            ck_assert_int_eq(watch(&quick, 10000), HG_OK);
            ck_assert(!quick.events.is_gap);
            for (size_t i = 0; i < quick.events.count; i++) {
                ck_assert_uint_eq(quick.events.events[i].number, ++seen);
            }
        }
    }
    ck_assert_int_eq(watch(&slow, 10000), HG_OK);
    ck_assert(slow.events.is_gap);
    ck_assert_uint_eq(slow.events.count, 0);
    ck_assert_uint_eq(slow.at.after, (uint64_t)BATCH * BATCHES);
    slow.at.after -= 2500; /* what is still there comes in pages of 1,000 */
    ck_assert_int_eq(watch(&slow, 10000), HG_OK);
    ck_assert_uint_eq(slow.events.count, 1000);
    slow.at.events_max = 7;
    ck_assert_int_eq(watch(&slow, 10000), HG_OK);
    ck_assert_uint_eq(slow.events.count, 7);
    close_watcher(&quick);
    teardown(&d, &slow);
}
END_TEST

START_TEST(who_may_only_read_is_told_of_the_cache_but_not_of_the_key)
{
    struct watcher reader;
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    open_watcher(&reader, d.tcp_url);
    ck_assert_int_eq(daemon_put(&d, "a", "credential", "v"), HG_OK);
    ck_assert_int_eq(watch(&reader, 10000), HG_OK);
    ck_assert_uint_eq(reader.events.count, 1);
    ck_assert_int_eq(reader.events.events[0].kind, HG_EVENT_PUT);
    ck_assert_slice_eq(reader.events.events[0].name, "a");
    ck_assert_uint_ne(reader.events.events[0].generation, 0);
    ck_assert_int_eq(reader.events.events[0].key.kind, 0);
    ck_assert_uint_eq(reader.events.events[0].key.bytes.len, 0);
    close_watcher(&reader);
    teardown(&d, &w);
}
END_TEST

/* ---- many ---- */

static void wait_watchers(struct daemon *d, uint64_t count)
{
    int64_t end_ms = hgi_clock_now().boot_ms + 20000;

    while (daemon_server_metric(d, "watchers") != count) {
        ck_assert(hgi_clock_now().boot_ms < end_ms);
    }
}

#define CROWD_CLIENTS  8
#define CROWD_EACH     128 /* fewer than a client has sent and not answered at a time */
#define CROWD_WATCHERS (CROWD_CLIENTS * CROWD_EACH)

struct crowd_count {
    _Atomic unsigned ended;
    _Atomic unsigned told;
};

static void on_crowd(void *arg, const struct hg_error *error, const struct hg_events *events)
{
    struct crowd_count *count = arg;

    (void)error;
    count->told += events && events->count == 1;
    count->ended++;
}

START_TEST(a_thousand_watchers_wait_one_more_is_refused_and_who_leaves_makes_room)
{
    struct watcher crowd[CROWD_CLIENTS];
    struct crowd_count count = {0};
    struct watcher w;
    struct daemon d;

    setup(&d, &w);
    for (int i = 0; i < CROWD_CLIENTS; i++) {
        open_watcher(&crowd[i], d.ipc_url);
        crowd[i].at.timeout_ms = 60000;
        for (int n = 0; n < CROWD_EACH; n++) {
            ck_assert_int_eq(
                hg_client_watch_async(crowd[i].client, &crowd[i].at, on_crowd, &count, NULL),
                HG_OK);
        }
    }
    wait_watchers(&d, CROWD_WATCHERS);
    ck_assert_int_eq(watch(&w, 10000), HG_RESOURCE_EXHAUSTED);
    close_watcher(&crowd[0]);
    ck_assert_uint_eq(count.ended, CROWD_EACH);
    wait_watchers(&d, CROWD_WATCHERS - CROWD_EACH);
    ck_assert_int_eq(watch(&w, 100), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "a", "k", "v"), HG_OK);
    wait_watchers(&d, 0);
    for (int i = 1; i < CROWD_CLIENTS; i++) {
        wait_until_read(&crowd[i]); /* its replies have come, too: they left before */
        close_watcher(&crowd[i]);
    }
    ck_assert_uint_eq(count.ended, CROWD_WATCHERS);
    ck_assert_uint_eq(count.told, CROWD_WATCHERS - CROWD_EACH);
    ck_assert_uint_eq(daemon_server_metric(&d, "events"), 1);
    teardown(&d, &w);
}
END_TEST

/* ---- the command ---- */

static void expect_line(FILE *out, const char *part)
{
    char line[512];

    ck_assert_ptr_nonnull(fgets(line, sizeof(line), out));
    ck_assert_msg(strstr(line, part) != NULL, "\"%s\" is not in %s", part, line);
}

START_TEST(the_command_goes_on_over_a_restart_and_says_that_there_was_a_gap)
{
    char command[512];
    struct watcher w;
    struct daemon d;
    FILE *out;

    setup(&d, &w);
    ck_assert_int_eq(daemon_put(&d, "a", "before", "v"), HG_OK);
    snprintf(command, sizeof(command),
             "exec %s/bin/herdgate -e %s watch --after 0 --count 2 2>/dev/null", HGI_BUILD_DIR,
             d.ipc_url);
    out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    expect_line(out, " 1 put a before generation ");
    daemon_stop(&d);
    daemon_start(&d);
    expect_line(out, "gap: events up to 0 were missed");
    (void)clear_all(&d);
    expect_line(out, " 1 clear a generation ");
    ck_assert_int_eq(pclose(out), 0);
    teardown(&d, &w);
}
END_TEST

HGI_SUITE("e2e.events", 60, a_watcher_sees_every_change_in_order_once_its_ok_was_said,
          one_cache_is_watched_alone_and_one_that_is_not_there_not_at_all,
          what_a_load_or_a_put_with_a_token_stores_is_no_event,
          a_put_that_finds_no_room_is_told_as_the_invalidation_it_was,
          a_waiting_watcher_is_woken_by_the_next_change,
          with_nothing_to_tell_the_reply_comes_at_the_timeout_and_is_no_gap,
          a_stopping_server_ends_its_watchers_at_once,
          a_watcher_that_leaves_does_not_hold_up_the_server,
          a_server_started_again_is_a_gap_and_then_goes_on,
          seventy_thousand_events_are_a_gap_for_a_slow_watcher_and_none_for_a_quick_one,
          who_may_only_read_is_told_of_the_cache_but_not_of_the_key,
          a_thousand_watchers_wait_one_more_is_refused_and_who_leaves_makes_room,
          the_command_goes_on_over_a_restart_and_says_that_there_was_a_gap)
