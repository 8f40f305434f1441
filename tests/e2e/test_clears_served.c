/* SPDX-License-Identifier: Apache-2.0 */
/* Clears that wait for the loads begun before them, on a real server. (Which loads those are:
 * server.inspect.) */
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asker.h"
#include "base/lock.h"
#include "crowd.h"
#include "daemon.h"

#define WAIT_MS   20000
#define STILL_RUN "cleared; loads begun before it still run"

static const char caches[] =
    "cache \"plain\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" "
    "load_timeout = \"60s\" }\n"
    "cache \"idle\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" }\n";

struct fixture {
    struct daemon d;
    struct crowd crowd;
};

/* An asynchronous clear and what it came to. */
struct clearing {
    struct hgi_lock lock;
    struct hgi_cond changed;
    bool is_answered;
    enum hg_status status;
    char text[HG_ERROR_TEXT_MAX];
};

/* A load of "k" is held until the gate "go" opens. */
static void setup(struct fixture *f)
{
    const struct hg_read request = {
        .cache = "plain", .key = daemon_key("k"), .mode = HG_MODE_FRESH, .timeout_ms = 60000};

    daemon_prepare(&f->d, caches);
    daemon_start(&f->d);
    crowd_init(&f->crowd);
    hgi_script_set(&f->d.script, "k gate %/go\n");
    crowd_read(&f->crowd, f->d.client, &request);
    hgi_script_await(&f->d.script, "k", 1);
}

static void teardown(struct fixture *f)
{
    hgi_script_touch(&f->d.script, "go");
    crowd_wait(&f->crowd);
    daemon_stop(&f->d);
    daemon_remove(&f->d);
    crowd_deinit(&f->crowd);
}

static void on_cleared(void *arg, const struct hg_error *error, const struct hg_reports *reports)
{
    struct clearing *clearing = arg;

    (void)reports;
    hgi_lock_client(&clearing->lock);
    clearing->is_answered = true;
    clearing->status = error ? error->status : HG_OK;
    snprintf(clearing->text, sizeof(clearing->text), "%s", error ? error->text : "");
    hgi_cond_wake_all(&clearing->changed);
    hgi_unlock_client(&clearing->lock);
}

static void begin(struct clearing *clearing, struct hg_client *client,
                  const struct hg_clear *request)
{
    memset(clearing, 0, sizeof(*clearing));
    hgi_lock_init(&clearing->lock);
    hgi_cond_init(&clearing->changed);
    ck_assert_int_eq(hg_client_clear_async(client, request, on_cleared, clearing, NULL), HG_OK);
}

static bool is_answered(struct clearing *clearing)
{
    bool is;

    hgi_lock_client(&clearing->lock);
    is = clearing->is_answered;
    hgi_unlock_client(&clearing->lock);
    return is;
}

static enum hg_status end(struct clearing *clearing)
{
    hgi_lock_client(&clearing->lock);
    while (!clearing->is_answered) {
        ck_assert(hgi_cond_wait(&clearing->changed, &clearing->lock, WAIT_MS));
    }
    hgi_unlock_client(&clearing->lock);
    hgi_cond_deinit(&clearing->changed);
    hgi_lock_deinit(&clearing->lock);
    return clearing->status;
}

static void await_fenced(struct fixture *f)
{
    daemon_wait_metric(&f->d, "plain", "fenced", 1);
}

START_TEST(a_clear_that_waits_returns_when_the_loads_before_it_have_ended)
{
    struct fixture f;
    const struct hg_clear request = {.all = true, .wait = true, .timeout_ms = 60000};
    const struct hg_read later = {
        .cache = "plain", .key = daemon_key("later"), .mode = HG_MODE_FRESH, .timeout_ms = 60000};
    struct clearing clearing;
    struct crowd_answer *answer;

    setup(&f);
    begin(&clearing, f.d.client, &request);
    await_fenced(&f);
    /* One begun after it does not count, and the same connection is served meanwhile. */
    hgi_script_set(&f.d.script, "later gate %/never\n");
    answer = crowd_read(&f.crowd, f.d.client, &later);
    hgi_script_await(&f.d.script, "later", 1);
    ck_assert_int_eq(daemon_put(&f.d, "idle", "a", "b"), HG_OK);
    ck_assert(!is_answered(&clearing));
    hgi_script_touch(&f.d.script, "go");
    ck_assert_int_eq(end(&clearing), HG_OK);
    ck_assert(!crowd_is_answered(&f.crowd, answer));
    hgi_script_touch(&f.d.script, "never");
    teardown(&f);
}
END_TEST

START_TEST(a_clear_that_waits_for_nothing_returns_at_once)
{
    struct fixture f;
    const struct hg_clear idle = {.cache = "idle", .wait = true};
    const struct hg_clear plain = {.cache = "plain"};
    struct hg_reports reports;

    setup(&f);
    ck_assert_int_eq(hg_client_clear(f.d.client, &idle, &reports, NULL), HG_OK);
    ck_assert_uint_eq(reports.count, 1);
    hg_reports_deinit(&reports);
    ck_assert_int_eq(hg_client_clear(f.d.client, &plain, &reports, NULL), HG_OK);
    ck_assert_uint_eq(reports.reports[0].fenced, 1);
    hg_reports_deinit(&reports);
    teardown(&f);
}
END_TEST

/* Asked without a clock of the client's own, which could ring before a busy server has answered. */
START_TEST(at_its_deadline_it_is_cleared_all_the_same)
{
    const struct hgi_msg_clear message = {.cache = hg_slice_text("plain"), .waits = true};
    struct fixture f;
    struct asker asker;
    struct hg_bytes payload;

    setup(&f);
    ck_assert_int_eq(daemon_put(&f.d, "plain", "other", "v"), HG_OK);
    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_clear_request_encode(&message, &payload));
    asker_open(&asker, f.d.ipc_url, NULL);
    asker.timeout_ms = 500;
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_CLEAR, hgi_bytes_slice(&payload)),
                     HG_DEADLINE_EXCEEDED);
    ck_assert_slice_eq(asker.reply.message, STILL_RUN);
    ck_assert_uint_eq(daemon_metric(&f.d, "plain", "entries"), 0);
    ck_assert_uint_eq(daemon_metric(&f.d, "plain", "fenced"), 1);
    ck_assert(!crowd_is_answered(&f.crowd, &f.crowd.answers[0]));
    asker_close(&asker);
    hgi_bytes_deinit(&payload);
    teardown(&f);
}
END_TEST

START_TEST(with_its_connection_the_wait_ends)
{
    struct fixture f;
    const unsigned char op_id[HG_OP_ID_LEN] = "one of our own";
    const struct hg_clear request = {
        .cache = "plain", .wait = true, .timeout_ms = 60000, .op_id = op_id};
    struct clearing clearing;
    struct hg_client *other;
    struct hg_reports reports;
    struct hg_error error;

    setup(&f);
    ck_assert_int_eq(hg_client_open(f.d.ipc_url, NULL, &other, NULL), HG_OK);
    begin(&clearing, other, &request);
    await_fenced(&f);
    hg_client_close(&other);
    (void)end(&clearing);
    /* The same operation again is told what became of it, while the load still runs. */
    ck_assert_int_eq(hg_client_clear(f.d.client, &request, &reports, &error), HG_CANCELLED);
    ck_assert_str_eq(error.text, STILL_RUN ", and who waited for them is gone");
    ck_assert(!crowd_is_answered(&f.crowd, &f.crowd.answers[0]));
    teardown(&f);
}
END_TEST

START_TEST(a_server_that_stops_does_not_wait)
{
    struct fixture f;
    const struct hg_clear request = {.cache = "plain", .wait = true, .timeout_ms = 60000};
    struct clearing clearing;
    int status;

    setup(&f);
    begin(&clearing, f.d.client, &request);
    await_fenced(&f);
    status = daemon_terminate(&f.d);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(end(&clearing), HG_UNAVAILABLE);
    crowd_wait(&f.crowd);
    hg_client_close(&f.d.client);
    daemon_remove(&f.d);
    crowd_deinit(&f.crowd);
}
END_TEST

START_TEST(the_command_waits_as_long_as_it_is_told)
{
    struct fixture f;
    char output[1024];
    const char *const argv[] = {HGI_BUILD_DIR "/bin/herdgate",
                                "-e",
                                f.d.ipc_url,
                                "clear",
                                "plain",
                                "--wait",
                                "--timeout",
                                "500ms",
                                NULL};

    setup(&f);
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 5);
    ck_assert_str_eq(output, "herdgate: " STILL_RUN " (DEADLINE_EXCEEDED)\n");
    teardown(&f);
}
END_TEST

/* Reads on until `text` has been read, or, NULL, the terminal is left. */
static void read_terminal(int fd, const char *text, char *output, size_t size)
{
    size_t len = strlen(output);
    ssize_t got = 1;

    while (got > 0 && !(text && strstr(output, text))) {
        ck_assert_uint_lt(len, size - 1);
        got = read(fd, output + len, size - 1 - len);
        len += got > 0 ? (size_t)got : 0;
        output[len] = '\0';
    }
    ck_assert_msg(!text || strstr(output, text), "%s", output);
}

START_TEST(a_terminal_is_told_what_the_command_waits_for)
{
    struct fixture f;
    char output[1024] = "";
    int status;
    int fd;
    pid_t pid;

    setup(&f);
    pid = forkpty(&fd, NULL, NULL, NULL);
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        execl(HGI_BUILD_DIR "/bin/herdgate", "herdgate", "-e", f.d.ipc_url, "clear", "plain",
              "--wait", (char *)NULL);
        _exit(127);
    }
    read_terminal(fd, "waiting for loads that began before the clear: 1 still run", output,
                  sizeof(output));
    ck_assert_ptr_null(strstr(output, "fenced"));
    hgi_script_touch(&f.d.script, "go");
    read_terminal(fd, NULL, output, sizeof(output));
    ck_assert_ptr_nonnull(strstr(output, "fenced 1 running loads"));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(fd);
    teardown(&f);
}
END_TEST

HGI_SUITE("e2e.clears", 60, a_clear_that_waits_returns_when_the_loads_before_it_have_ended,
          a_clear_that_waits_for_nothing_returns_at_once,
          at_its_deadline_it_is_cleared_all_the_same, with_its_connection_the_wait_ends,
          a_server_that_stops_does_not_wait, the_command_waits_as_long_as_it_is_told,
          a_terminal_is_told_what_the_command_waits_for)
