/* SPDX-License-Identifier: Apache-2.0 */
/* A call that takes longer than a second: a terminal is told how far it is, a file is not. */
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "fake_server.h"
#include "hg_test.h"
#include "runner.h"

#define COMMAND HGI_BUILD_DIR "/bin/herdgate"
#define LONG_MS 1300 /* longer than what nothing is told of */

/* Saving has an end only once somebody has asked twice how far it is. */
struct slow {
    struct fake_caller saving;
    int asked;
    bool ends_by_itself;
};

static struct slow slow;
static struct fake_server *server;

static void reply_saved(struct fake_server *fake, const struct fake_caller *caller)
{
    struct hg_bytes payload;

    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_save_snapshot_reply_encode(&(struct hgi_msg_saved){.entries = 12}, &payload));
    fake_reply_ok(fake, caller, &payload);
    hgi_bytes_deinit(&payload);
}

static void reply_info(struct fake_server *fake, const struct fake_caller *caller)
{
    const struct hgi_msg_snapshot_info info = {
        .work = hg_slice_text("save"), .work_done = (uint64_t)slow.asked * 250, .work_total = 1000};
    struct hg_bytes payload;

    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_snapshot_info_reply_encode(&info, &payload));
    fake_reply_ok(fake, caller, &payload);
    hgi_bytes_deinit(&payload);
}

static void handle(struct fake_server *fake, void *context, const struct fake_caller *caller,
                   const struct hgi_request *request)
{
    (void)context;
    if (request->method == HGI_METHOD_SAVE_SNAPSHOT) {
        slow.saving = *caller;
        if (slow.ends_by_itself) {
            hgi_thread_pause(LONG_MS);
            reply_saved(fake, caller);
        }
        return;
    }
    ck_assert_int_eq(request->method, HGI_METHOD_SNAPSHOT_INFO);
    slow.asked++;
    reply_info(fake, caller);
    if (slow.asked == 2) {
        reply_saved(fake, &slow.saving);
    }
}

static void begin(bool ends_by_itself)
{
    slow = (struct slow){.ends_by_itself = ends_by_itself};
    server = fake_server_start(&(struct fake_options){.handler = handle});
    setenv("HERDGATE_URL", fake_server_url(server), 1);
}

START_TEST(a_terminal_is_told_how_far_it_is_and_then_what_came_of_it)
{
    static const char last[] = "\r\033[Ksaved 12 entries in 0 ms\r\n";
    char output[2048] = "";
    size_t len = 0;
    ssize_t got;
    int status;
    int fd;
    pid_t pid;

    begin(false);
    pid = forkpty(&fd, NULL, NULL, NULL);
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        execl(COMMAND, "herdgate", "snapshot", "save", (char *)NULL);
        _exit(127);
    }
    while ((got = read(fd, output + len, sizeof(output) - 1 - len)) > 0) {
        len += (size_t)got;
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fd);
    /* A slow machine may ask once more. */
    ck_assert_ptr_eq(strstr(output, "\rsaved: 250 of 1000 entries (25%)\033[K"
                                    "\rsaved: 500 of 1000 entries (50%)\033[K\r"),
                     output);
    ck_assert_msg(len > strlen(last) && strcmp(output + len - strlen(last), last) == 0, "%s",
                  output);
    fake_server_stop(&server);
}
END_TEST

START_TEST(a_file_is_told_what_came_of_it_and_nothing_else)
{
    struct run ran;

    begin(true);
    run_program(COMMAND, "", "snapshot save", &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_str_eq(ran.out, "saved 12 entries in 0 ms\n");
    ck_assert_str_eq(ran.err, "");
    fake_server_stop(&server);
    ck_assert_int_eq(slow.asked, 0);
}
END_TEST

HGI_SUITE("client.progress", 30, a_terminal_is_told_how_far_it_is_and_then_what_came_of_it,
          a_file_is_told_what_came_of_it_and_nothing_else)
