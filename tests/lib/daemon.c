/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define READY_MS 20000
#define STOP_MS  20000
#define WAIT_MS  10000

extern char **environ;

/* A short pause between two looks at a condition; never what a test relies on. */
static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

static void append_replaced(FILE *file, const char *text, const char *dir)
{
    static const char mark[] = "@DIR@";
    const char *at;

    while ((at = strstr(text, mark)) != NULL) {
        fprintf(file, "%.*s%s", (int)(at - text), text, dir);
        text = at + strlen(mark);
    }
    fputs(text, file);
}

void daemon_prepare(struct daemon *d, const char *sections)
{
    FILE *file;

    memset(d, 0, sizeof(*d));
    snprintf(d->dir, sizeof(d->dir), "/tmp/herdgate-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(d->dir));
    snprintf(d->ipc_url, sizeof(d->ipc_url), "ipc://%s/run/herdgate.sock", d->dir);
    snprintf(d->config, sizeof(d->config), "%s/herdgate.conf", d->dir);
    snprintf(d->log, sizeof(d->log), "%s/log", d->dir);
    hgi_script_open(&d->script);
    file = fopen(d->config, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "runtime_dir = \"%s/run\"\n"
            "listen \"%s\" { access = \"owner\" }\n"
            "listen \"tcp://127.0.0.1:0\" { access = \"data\" }\n"
            "loader \"script\" {\n"
            "    plugin = \"%s\"\n"
            "    workers = 8\n"
            "    option(\"control\", \"%s\")\n"
            "    option(\"journal\", \"%s\")\n"
            "}\n",
            d->dir, d->ipc_url, HGI_SCRIPT_PLUGIN, d->script.control, d->script.journal);
    append_replaced(file, sections, d->dir);
    ck_assert_int_eq(fclose(file), 0);
}

static void show_log(const struct daemon *d)
{
    char line[512];
    FILE *file = fopen(d->log, "r");

    while (file && fgets(line, sizeof(line), file)) {
        fputs(line, stderr);
    }
    if (file) {
        fclose(file);
    }
}

/* Reads the ready line and takes the tcp address, whose port the system chose, from it. */
static void wait_ready(struct daemon *d, int fd)
{
    int64_t end_ms = hgi_clock_now().boot_ms + READY_MS;
    char text[1024] = "";
    size_t len = 0;
    char *url;

    while (!strchr(text, '\n')) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (poll(&wait, 1, 100) == 0) {
            if (hgi_clock_now().boot_ms > end_ms) {
                show_log(d);
                ck_abort_msg("herdgated did not become ready");
            }
            continue;
        }
        got = read(fd, text + len, sizeof(text) - 1 - len);
        if (got <= 0) {
            show_log(d);
            ck_abort_msg("herdgated ended instead of becoming ready");
        }
        len += (size_t)got;
        text[len] = 0;
    }
    url = strstr(text, "tcp://");
    ck_assert_ptr_nonnull(strstr(text, "ready"));
    ck_assert_ptr_nonnull(url);
    snprintf(d->tcp_url, sizeof(d->tcp_url), "%.*s", (int)strcspn(url, " \n"), url);
    url = strstr(text, "tls+tcp://");
    snprintf(d->tls_url, sizeof(d->tls_url), "%.*s", url ? (int)strcspn(url, " \n") : 0,
             url ? url : "");
}

void daemon_start(struct daemon *d)
{
    char *const argv[] = {(char *)(uintptr_t)HGI_HERDGATED, (char *)(uintptr_t) "-c", d->config,
                          NULL};
    posix_spawn_file_actions_t actions;
    int pipes[2];

    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, d->log, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    ck_assert_int_eq(posix_spawn(&d->pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    wait_ready(d, pipes[0]);
    close(pipes[0]);
    ck_assert_int_eq(hg_client_open(d->ipc_url, NULL, &d->client, NULL), HG_OK);
}

static int wait_end(struct daemon *d)
{
    int64_t end_ms = hgi_clock_now().boot_ms + STOP_MS;
    int status = 0;

    while (waitpid(d->pid, &status, WNOHANG) == 0) {
        if (hgi_clock_now().boot_ms > end_ms) {
            kill(d->pid, SIGABRT);
            show_log(d);
            ck_abort_msg("herdgated did not end");
        }
        pause_ms(5);
    }
    d->pid = 0;
    return status;
}

int daemon_terminate(struct daemon *d)
{
    ck_assert_int_eq(kill(d->pid, SIGTERM), 0);
    return wait_end(d);
}

void daemon_stop(struct daemon *d)
{
    int status;

    hg_client_close(&d->client);
    status = daemon_terminate(d);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        show_log(d);
        ck_abort_msg("herdgated ended with wait status %d", status);
    }
}

void daemon_kill(struct daemon *d)
{
    hg_client_close(&d->client);
    ck_assert_int_eq(kill(d->pid, SIGKILL), 0);
    (void)wait_end(d);
}

void daemon_remove(struct daemon *d)
{
    const char *const argv[] = {"/bin/rm", "-rf", d->dir, NULL};
    char output[256];

    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    hgi_script_close(&d->script);
}

uint64_t daemon_metric(struct daemon *d, const char *cache, const char *name)
{
    struct hg_named request = {.name = cache};
    struct hg_stats stats;
    struct hg_error error;
    uint64_t value = UINT64_MAX;

    ck_assert_msg(hg_client_stats(d->client, &request, &stats, &error) == HG_OK, "stats: %s",
                  error.text);
    ck_assert_uint_eq(stats.cache_count, 1);
    for (size_t i = 0; i < stats.caches[0].counter_count; i++) {
        struct hg_slice found = stats.caches[0].counters[i].name;

        if (found.len == strlen(name) && memcmp(found.data, name, found.len) == 0) {
            value = stats.caches[0].counters[i].value;
        }
    }
    hg_stats_deinit(&stats);
    ck_assert_msg(value != UINT64_MAX, "no counter %s", name);
    return value;
}

uint64_t daemon_server_metric(struct daemon *d, const char *name)
{
    uint64_t value = UINT64_MAX;
    struct hg_stats stats;

    ck_assert_int_eq(hg_client_stats(d->client, NULL, &stats, NULL), HG_OK);
    for (size_t i = 0; i < stats.server_count; i++) {
        struct hg_slice found = stats.server[i].name;

        if (found.len == strlen(name) && memcmp(found.data, name, found.len) == 0) {
            value = stats.server[i].value;
        }
    }
    hg_stats_deinit(&stats);
    ck_assert_msg(value != UINT64_MAX, "no counter %s", name);
    return value;
}

void daemon_wait_metric(struct daemon *d, const char *cache, const char *name, uint64_t value)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;

    while (daemon_metric(d, cache, name) < value) {
        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "%s did not become %llu", name,
                      (unsigned long long)value);
        pause_ms(2);
    }
}

void daemon_wait_loader_running(struct daemon *d, uint64_t deaths)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    bool is_running = false;

    while (!is_running) {
        struct hg_loaders loaders;

        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "the loader did not come back");
        ck_assert_int_eq(hg_client_list_loaders(d->client, NULL, &loaders, NULL), HG_OK);
        ck_assert_uint_eq(loaders.count, 1);
        is_running = loaders.loaders[0].state.len == strlen("running") &&
                     memcmp(loaders.loaders[0].state.data, "running", strlen("running")) == 0 &&
                     loaders.loaders[0].deaths >= deaths;
        hg_loaders_deinit(&loaders);
        pause_ms(2);
    }
}

size_t daemon_count_descriptors(const struct daemon *d)
{
    char path[64];
    size_t count = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)d->pid);
    folder = opendir(path);
    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

bool daemon_log_says(const struct daemon *d, const char *what)
{
    char line[512];
    FILE *file = fopen(d->log, "r");
    bool is_said = false;

    ck_assert_ptr_nonnull(file);
    while (!is_said && fgets(line, sizeof(line), file)) {
        is_said = strstr(line, what) != NULL;
    }
    fclose(file);
    return is_said;
}

int daemon_run(const char *const *argv, char *ret_output, size_t size)
{
    posix_spawn_file_actions_t actions;
    size_t len = 0;
    int pipes[2];
    int status = 0;
    ssize_t got;
    pid_t pid;

    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
    ck_assert_int_eq(
        posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    while ((got = read(pipes[0], ret_output + len, size - 1 - len)) > 0) {
        len += (size_t)got;
    }
    ret_output[len] = 0;
    close(pipes[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct hg_key daemon_key(const char *text)
{
    struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(text)};

    return key;
}

enum hg_status daemon_read(struct daemon *d, const char *cache, const char *key, enum hg_mode mode,
                           struct hg_answer *ret_answer, struct hg_error *ret_error)
{
    struct hg_read request = {.cache = cache, .key = daemon_key(key), .mode = mode};

    if (mode == HG_MODE_PEEK) {
        return hg_client_get(d->client, &request, ret_answer, ret_error);
    }
    return hg_client_get_or_load(d->client, &request, ret_answer, ret_error);
}

enum hg_status daemon_put(struct daemon *d, const char *cache, const char *key, const char *value)
{
    struct hg_put request = {
        .cache = cache,
        .key = daemon_key(key),
        .value = hg_slice_text(value),
    };
    struct hg_stored stored;

    return hg_client_put(d->client, &request, &stored, NULL);
}
