/* SPDX-License-Identifier: Apache-2.0 */
/* The command `top` on a terminal, and without one, before a real server. */
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon.h"

#define WAIT_MS 20000

static const char caches[] =
    "cache \"plain\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" }\n"
    "cache \"loaded\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" }\n";

struct terminal {
    int fd;
    pid_t pid;
    char output[1 << 16];
    size_t len;
    size_t read; /* up to here it was looked at */
};

/* Without `term` it has no keys. */
static void begin(struct terminal *t, const struct daemon *d, const char *term)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 100};

    memset(t, 0, sizeof(*t));
    t->pid = forkpty(&t->fd, NULL, NULL, &size);
    ck_assert_int_ge(t->pid, 0);
    if (t->pid == 0) {
        if (!term && !freopen("/dev/null", "r", stdin)) {
            _exit(126);
        }
        setenv("TERM", term ? term : "xterm", 1);
        execl(HGI_BUILD_DIR "/bin/herdgate", "herdgate", "-e", d->ipc_url, "top", "--interval",
              "200ms", (char *)NULL);
        _exit(127);
    }
}

/* Reads on until `text` has come behind what was looked at; NULL: to the end. */
static void expect(struct terminal *t, const char *text)
{
    struct pollfd ready = {.fd = t->fd, .events = POLLIN};
    int64_t until_ms = hgi_clock_now().boot_ms + WAIT_MS;

    while (!text || !strstr(t->output + t->read, text)) {
        ssize_t got;

        ck_assert_msg(poll(&ready, 1, WAIT_MS) == 1 && hgi_clock_now().boot_ms < until_ms,
                      "waited for %s: %s", text ? text : "the end",
                      t->output + (t->len > 1000 ? t->len - 1000 : 0));
        got = read(t->fd, t->output + t->len, sizeof(t->output) - 1 - t->len);
        if (got <= 0) {
            ck_assert_msg(!text, "ended before %s: %s", text, t->output);
            return;
        }
        t->len += (size_t)got;
        t->output[t->len] = '\0';
        if (t->len > sizeof(t->output) / 2) { /* it draws again and again */
            memmove(t->output, t->output + t->len / 2, t->len - t->len / 2 + 1);
            t->len -= t->len / 2;
            t->read = 0;
        }
    }
    t->read = (size_t)(strstr(t->output + t->read, text) - t->output) + strlen(text);
}

static void press(struct terminal *t, const char *keys)
{
    ck_assert_int_eq(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static int end(struct terminal *t)
{
    int status;

    expect(t, NULL);
    ck_assert_int_eq(waitpid(t->pid, &status, 0), t->pid);
    close(t->fd);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(on_a_terminal_it_follows_the_server_and_obeys_its_keys)
{
    struct terminal t;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    ck_assert_int_eq(daemon_put(&d, "plain", "k", "v"), HG_OK);
    begin(&t, &d, "xterm");
    expect(&t, "serving; up");
    expect(&t, "loaded");
    expect(&t, "plain");
    expect(&t, "script");
    expect(&t, "by name");
    press(&t, "s\f"); /* control-L: else only what has changed is drawn */
    expect(&t, "hit ratio");
    press(&t, "h\f");
    expect(&t, "look again now");
    press(&t, "h \f"); /* the blank: there are two looks from then on */
    expect(&t, "READS/S");
    press(&t, "t\f");
    expect(&t, "a second");
    daemon_stop(&d); /* is seen, and so is its return */
    expect(&t, "trying again");
    daemon_start(&d);
    expect(&t, "q end");
    press(&t, "\f");
    expect(&t, "serving; up");
    press(&t, "q");
    ck_assert_int_eq(end(&t), 0);
    ck_assert_ptr_nonnull(strstr(t.output, "\033[?1049l")); /* the terminal is as it was */
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(interrupted_it_leaves_the_terminal_as_it_was)
{
    struct terminal t;
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    begin(&t, &d, "xterm");
    expect(&t, "by name");
    press(&t, "\003");
    ck_assert_int_eq(end(&t), 0);
    ck_assert_ptr_nonnull(strstr(t.output, "\033[?1049l"));
    begin(&t, &d, "no-such-terminal");
    ck_assert_int_eq(end(&t), 1);
    ck_assert_ptr_nonnull(strstr(t.output, "cannot be drawn on (TERM is \"no-such-terminal\")"));
    begin(&t, &d, NULL);
    ck_assert_int_eq(end(&t), 2);
    ck_assert_ptr_nonnull(strstr(t.output, "standard input is no terminal; --once"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(without_a_terminal_it_prints_once_or_says_how)
{
    static const char program[] = HGI_BUILD_DIR "/bin/herdgate";
    const char *once[] = {program, "top", "-1", NULL};
    const char *json[] = {program, "top", "--once", "-o", "json", NULL};
    const char *bare[] = {program, "top", NULL};
    char output[4096];
    struct daemon d;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    setenv("HERDGATE_URL", d.ipc_url, 1);
    ck_assert_int_eq(daemon_run(once, output, sizeof(output)), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nCACHE"));
    ck_assert_ptr_nonnull(strstr(output, "\nLOADER"));
    ck_assert_ptr_nonnull(strstr(output, "\nscript"));
    ck_assert_ptr_null(strchr(output, '\033'));
    ck_assert_int_eq(daemon_run(json, output, sizeof(output)), 0);
    ck_assert_ptr_nonnull(strstr(output, "\"caches\":[{\"name\":\"plain\",\"hit_ratio\":null,"));
    ck_assert_int_eq(daemon_run(bare, output, sizeof(output)), 2);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.top", 60, on_a_terminal_it_follows_the_server_and_obeys_its_keys,
          interrupted_it_leaves_the_terminal_as_it_was,
          without_a_terminal_it_prints_once_or_says_how)
