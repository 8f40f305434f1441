/* SPDX-License-Identifier: Apache-2.0 */
/* How long calls and the server live: whoever asked is answered in time or gone. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "daemon.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "sp_client.h"

static const char sections[] =
    "snapshot { path = \"@DIR@/data/cache.db\" interval = \"1s\" }\n"
    "cache \"bytes\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\"\n"
    "                load_timeout = \"60s\" }\n";

static void setup(struct daemon *d)
{
    daemon_prepare(d, sections);
    daemon_start(d);
}

static void teardown(struct daemon *d)
{
    daemon_stop(d);
    daemon_remove(d);
}

static void envelope(struct hg_bytes *ret_bytes, enum hgi_method method, uint32_t timeout_ms,
                     struct hg_bytes *payload)
{
    struct hgi_request request = {
        .method = method, .timeout_ms = timeout_ms, .payload = hgi_bytes_slice(payload)};

    hgi_bytes_init(ret_bytes, &hgi_heap);
    ck_assert(hgi_request_encode(&request, ret_bytes));
    hgi_bytes_deinit(payload);
}

static unsigned mode_of(const struct daemon *d, const char *name)
{
    struct stat found;
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", d->dir, name);
    ck_assert_int_eq(stat(path, &found), 0);
    return found.st_mode & 07777;
}

START_TEST(runtime_folder_and_socket_are_made_for_user_and_group)
{
    struct daemon d;

    setup(&d);
    ck_assert_uint_eq(mode_of(&d, "run"), 0750);
    ck_assert_uint_eq(mode_of(&d, "run/herdgate.sock"), 0660);
    teardown(&d);
}
END_TEST

static void wait_for_no_waiters(struct daemon *d, int64_t within_ms)
{
    int64_t end_ms = hgi_clock_now().boot_ms + within_ms;

    while (daemon_metric(d, "bytes", "waiting") > 0) {
        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "calls of a client that left still wait");
    }
}

START_TEST(calls_of_a_client_that_left_wait_no_longer)
{
    struct daemon d;
    struct hgi_sp_client raw;
    struct hg_key keys[2] = {daemon_key("a"), daemon_key("b")};
    struct hgi_msg_batch batch = {
        .cache = hg_slice_text("bytes"), .keys = keys, .key_count = 2, .max_age_ms = -1};

    setup(&d);
    hgi_script_set(&d.script, "* gate %/go\n");
    ck_assert(hgi_sp_client_open(&raw, d.ipc_url, 5000));
    for (uint32_t i = 0; i < 16; i++) {
        struct hgi_msg_get get = {.cache = hg_slice_text("bytes"), .max_age_ms = -1};
        struct hg_bytes payload;
        struct hg_bytes body;
        char name[16];

        snprintf(name, sizeof(name), "k%u", i / 4);
        get.key = daemon_key(name);
        hgi_bytes_init(&payload, &hgi_heap);
        if (i % 4) {
            ck_assert(hgi_get_request_encode(&get, &payload));
        } else {
            ck_assert(hgi_batch_request_encode(&batch, &payload));
        }
        envelope(&body, i % 4 ? HGI_METHOD_GET_OR_LOAD : HGI_METHOD_BATCH_GET_OR_LOAD, 100000,
                 &payload);
        ck_assert(hgi_sp_client_send(&raw, i, hgi_bytes_slice(&body)));
        hgi_bytes_deinit(&body);
    }
    daemon_wait_metric(&d, "bytes", "waiting", 12 + 8);
    hgi_sp_client_close(&raw);
    wait_for_no_waiters(&d, 2000);
    hgi_script_touch(&d.script, "go");
    teardown(&d);
}
END_TEST

START_TEST(reload_longer_than_its_call_is_answered_at_the_deadline)
{
    struct daemon d;
    struct hgi_sp_client raw;
    struct hgi_msg_name name = {.name = hg_slice_text("script")};
    struct hgi_arena arena;
    struct hgi_reply reply;
    struct hg_bytes payload;
    struct hg_bytes body;
    struct hg_slice answer;
    int64_t began_ms;
    int64_t took_ms;

    setup(&d);
    hgi_arena_init(&arena, 1 << 16);
    hgi_script_set(&d.script, "@open hang\n");
    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_reload_loader_request_encode(&name, &payload));
    envelope(&body, HGI_METHOD_RELOAD_LOADER, 300, &payload);
    ck_assert(hgi_sp_client_open(&raw, d.ipc_url, 5000));
    began_ms = hgi_clock_now().boot_ms;
    ck_assert(hgi_sp_client_ask(&raw, 1, hgi_bytes_slice(&body), 15000, &answer));
    took_ms = hgi_clock_now().boot_ms - began_ms;
    ck_assert_int_eq(hgi_reply_decode(answer, &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_DEADLINE_EXCEEDED);
    ck_assert_int_ge(took_ms, 300);
    ck_assert_int_lt(took_ms, 2000);
    /* One that has been answered is asked for no second time, and its end harms nobody. */
    hgi_script_set(&d.script, "");
    hgi_sp_client_close(&raw);
    hgi_bytes_deinit(&body);
    hgi_arena_deinit(&arena);
    teardown(&d);
}
END_TEST

/* ---- traffic that never ends ---- */

struct busy {
    struct hg_client *client;
    atomic_bool is_lost;
    atomic_uint_fast64_t answered;
};

static void invalidate_again(void *arg, const struct hg_error *error,
                             const struct hg_report *report)
{
    struct busy *busy = arg;
    struct hg_key key = daemon_key("k");
    struct hg_invalidate request = {.cache = "bytes", .keys = &key, .key_count = 1};

    (void)report;
    if (error && error->status != HG_OK) {
        atomic_store(&busy->is_lost, true);
        return;
    }
    atomic_fetch_add(&busy->answered, 1);
    if (hg_client_invalidate_async(busy->client, &request, invalidate_again, busy, NULL) != HG_OK) {
        atomic_store(&busy->is_lost, true);
    }
}

START_TEST(server_that_is_never_idle_stops_all_the_same)
{
    struct daemon d;
    struct busy busy = {.client = NULL};
    int64_t began_ms;

    setup(&d);
    busy.client = d.client;
    for (int i = 0; i < 64; i++) {
        invalidate_again(&busy, NULL, NULL);
    }
    while (atomic_load(&busy.answered) < 1000) {
        ck_assert(!atomic_load(&busy.is_lost));
    }
    began_ms = hgi_clock_now().boot_ms;
    ck_assert_int_eq(daemon_terminate(&d), 0);
    ck_assert_int_lt(hgi_clock_now().boot_ms - began_ms, 3000);
    hg_client_close(&d.client);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.lifetime", 60, runtime_folder_and_socket_are_made_for_user_and_group,
          calls_of_a_client_that_left_wait_no_longer,
          reload_longer_than_its_call_is_answered_at_the_deadline,
          server_that_is_never_idle_stops_all_the_same)
