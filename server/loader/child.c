/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#define CHILD_FD    3
#define READ_BYTES  65536u
#define READ_ROUNDS 8 /* then the other children have their turn */

extern char **environ;

static bool watch(struct hgi_child *child, int fd, struct hgi_source *source, bool is_socket)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

    source->child = child;
    source->is_socket = is_socket;
    return epoll_ctl(child->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Nothing of the server but the socket and stderr: no listening socket, no stdin, no stdout (which
 * belongs to the ready line). */
static int prepare_files(posix_spawn_file_actions_t *actions, int fd)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (!error) {
        error = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    }
    if (!error) {
        error = posix_spawn_file_actions_adddup2(actions, fd, CHILD_FD);
    }
    if (!error) {
        error = posix_spawn_file_actions_addclosefrom_np(actions, CHILD_FD + 1);
    }
    return error;
}

/* Signals as a program expects them, and a process group of its own: a ^C in the terminal is the
 * server's to handle, which then drains its children. */
static int prepare_signals(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    int error;

    sigfillset(&all);
    sigemptyset(&none);
    error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error) {
        error = posix_spawnattr_setsigmask(attributes, &none);
    }
    if (!error) {
        error = posix_spawnattr_setpgroup(attributes, 0);
    }
    if (!error) {
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    return error;
}

static int run_program(const char *program, int fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *copy = hgi_text_copy(&hgi_heap, hg_slice_text(program));
    char *argv[] = {copy, NULL};
    int error = copy ? posix_spawn_file_actions_init(&actions) : ENOMEM;

    if (error) {
        hgi_free(&hgi_heap, copy);
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = prepare_files(&actions, fd);
        if (!error) {
            error = prepare_signals(&attributes);
        }
        if (!error) {
            error = posix_spawn(ret_pid, program, &actions, &attributes, argv, environ);
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    hgi_free(&hgi_heap, copy);
    return error;
}

static struct hg_slice text_or_none(const char *text)
{
    return text ? hg_slice_text(text) : hg_slice_of(NULL, 0);
}

static struct hgi_frame_confine confine_of(const struct hgi_supervisor_options *options,
                                           const struct hgi_loader_config *config)
{
    return (struct hgi_frame_confine){
        .memory_max_bytes = config->memory_max_bytes,
        .descriptors_max = config->descriptors_max,
        .processes_max = config->processes_max,
        .cpu_max_s = (uint32_t)((config->cpu_max_ms + 999) / 1000),
        .files_read = text_or_none(config->files_read),
        .files_write = text_or_none(config->files_write),
        .is_offline = !config->has_network,
        .may_dump = options->may_dump,
        .has_user = config->user != NULL,
        .uid = config->uid,
        .gid = config->gid,
    };
}

static bool put_hello(struct hgi_child *child, const struct hgi_supervisor_options *options,
                      const struct hgi_loader_config *config)
{
    struct hgi_frame_setting *settings =
        hgi_alloc(&hgi_heap, (config->setting_count + 1) * sizeof(*settings));
    struct hgi_frame hello = {.kind = HGI_FRAME_HELLO};
    bool is_done;

    if (!settings) {
        return false;
    }
    for (size_t i = 0; i < config->setting_count; i++) {
        settings[i].name = hg_slice_text(config->settings[i].name);
        settings[i].value = hg_slice_text(config->settings[i].value);
    }
    hello.u.hello.plugin = hg_slice_text(hgi_loader_file(config));
    hello.u.hello.is_program = config->program != NULL;
    hello.u.hello.workers = config->workers;
    hello.u.hello.value_max_bytes = (uint32_t)options->value_max_bytes;
    hello.u.hello.settings = settings;
    hello.u.hello.setting_count = config->setting_count;
    hello.u.hello.pin = text_or_none(config->pin);
    hello.u.hello.owners = options->plugin_owners;
    hello.u.hello.owner_count = options->plugin_owner_count;
    hello.u.hello.confine = confine_of(options, config);
    hello.u.hello.log_json = hgi_log_get_format() == HGI_LOG_JSON;
    is_done = hgi_frame_encode(&hello, HGI_FRAME_SERVER_MAX, &child->out);
    hgi_free(&hgi_heap, settings);
    return is_done;
}

/* Taken off epoll by name: closing does that only for the last descriptor of what is open, and a
 * process that another thread begins just now has a copy of each until it runs its program. */
static void close_watched(const struct hgi_child *child, int fd)
{
    if (fd >= 0) {
        (void)epoll_ctl(child->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* if it is watched */
        close(fd);
    }
}

static void close_all(struct hgi_child *child)
{
    close_watched(child, child->fd);
    close_watched(child, child->pid_fd);
    child->fd = -1;
    child->pid_fd = -1;
}

enum hg_status hgi_child_spawn(const struct hgi_supervisor_options *options,
                               const struct hgi_loader_config *config, int epoll_fd, int64_t now_ms,
                               struct hgi_child **ret_child, char *ret_sentence)
{
    enum hg_status status = HG_UNAVAILABLE;
    struct hgi_child *child = hgi_alloc(&hgi_heap, sizeof(*child));
    int pair[2] = {-1, -1};
    int error = 0;

    if (!child) {
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    hgi_bytes_init(&child->in, &hgi_heap);
    hgi_bytes_init(&child->out, &hgi_heap);
    hgi_list_init(&child->node);
    hgi_list_init(&child->loads);
    child->fd = -1;
    child->pid_fd = -1;
    child->epoll_fd = epoll_fd;
    child->begun_ms = now_ms;
    child->config = config;
    child->frame_max = hgi_frame_child_max(options->value_max_bytes);
    if (!put_hello(child, options, config)) {
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "its options are longer than %u bytes",
                 HGI_FRAME_SERVER_MAX);
        status = HG_INVALID_ARGUMENT;
        goto out;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        error = errno;
        goto out;
    }
    child->fd = pair[0];
    error = run_program(options->program, pair[1], &child->pid);
    if (error) {
        goto out;
    }
    child->pid_fd = pidfd_open(child->pid, 0);
    if (child->pid_fd < 0 || !watch(child, child->fd, &child->socket_source, true) ||
        !watch(child, child->pid_fd, &child->pid_source, false)) {
        error = errno;
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        goto out;
    }
    *ret_child = child;
    child = NULL;
    status = HG_OK;
out:
    if (error) {
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "cannot start %.255s: %s",
                 options->program, strerror(error));
    }
    if (pair[1] >= 0) {
        close(pair[1]);
    }
    if (child) {
        child->state = HGI_CHILD_GONE;
        hgi_child_destroy(&child);
    }
    return status;
}

void hgi_child_destroy(struct hgi_child **child)
{
    struct hgi_child *c = *child;

    if (!c) {
        return;
    }
    HGI_BUG_ON(c->state != HGI_CHILD_GONE || !hgi_list_is_empty(&c->loads));
    hgi_list_remove(&c->node);
    close_all(c);
    hgi_bytes_deinit(&c->in);
    hgi_bytes_deinit(&c->out);
    hgi_free(&hgi_heap, c);
    *child = NULL;
}

static void end(struct hgi_child *child)
{
    if (!child->ending_ms) {
        child->ending_ms = hgi_clock_now().boot_ms;
    }
    kill(-child->pid, SIGKILL);
}

void hgi_child_kill(struct hgi_child *child, const char *why)
{
    if (child->is_killed || child->state == HGI_CHILD_GONE) {
        return;
    }
    child->is_killed = true;
    snprintf(child->message, sizeof(child->message), "%s", why);
    end(child);
}

void hgi_child_put(struct hgi_child *child, const struct hgi_frame *frame)
{
    if (child->is_killed || child->state == HGI_CHILD_GONE) {
        return;
    }
    if (child->out.len > HGI_CHILD_OUT_MAX_BYTES) {
        hgi_child_kill(child, "it does not read what it is sent");
    } else if (!hgi_frame_encode(frame, HGI_FRAME_SERVER_MAX, &child->out)) {
        hgi_child_kill(child, "the server is out of memory");
    }
}

static void watch_out(struct hgi_child *child, bool is_wanted)
{
    struct epoll_event event = {.events = is_wanted ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = &child->socket_source};

    if (child->is_watching_out != is_wanted) {
        child->is_watching_out = is_wanted;
        if (epoll_ctl(child->epoll_fd, EPOLL_CTL_MOD, child->fd, &event) != 0) {
            hgi_child_kill(child, "its socket cannot be watched");
        }
    }
}

void hgi_child_flush(struct hgi_child *child)
{
    size_t at = 0;

    if (child->fd < 0) {
        return;
    }
    while (at < child->out.len) {
        ssize_t sent = send(child->fd, child->out.data + at, child->out.len - at, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR) {
            if (errno != EAGAIN && errno != EWOULDBLOCK) {
                at = child->out.len; /* it has closed its end, and its death is on the way */
            }
            break;
        }
        at += sent > 0 ? (size_t)sent : 0;
    }
    hgi_bytes_consume(&child->out, at);
    watch_out(child, child->out.len > 0);
}

static void take_frames(struct hgi_child *child,
                        const char *(*take)(struct hgi_child *child, const struct hgi_frame *frame))
{
    struct hgi_arena arena;
    size_t at = 0;

    hgi_arena_init(&arena, 0);
    while (!child->is_killed) {
        char sentence[HGI_SENTENCE_MAX] = "a frame of a forbidden length";
        struct hgi_frame frame;
        struct hg_slice body = {NULL, 0};
        size_t used = 0;
        const char *why = NULL;
        enum hgi_frame_cut cut = hgi_frame_cut(hg_slice_of(child->in.data + at, child->in.len - at),
                                               child->frame_max, &body, &used);

        if (cut == HGI_FRAME_PARTIAL) {
            break;
        }
        hgi_arena_reset(&arena, HGI_FRAME_CHILD_EXTRA + 2 * body.len);
        if (cut == HGI_FRAME_BAD || hgi_frame_decode(body, &arena, &frame, sentence) != HG_OK) {
            why = sentence;
        } else {
            why = take(child, &frame);
        }
        if (why) {
            char text[HGI_CHILD_MESSAGE_MAX];

            snprintf(text, sizeof(text), "it sent %.200s", why);
            hgi_child_kill(child, text);
        }
        at += used;
    }
    hgi_bytes_consume(&child->in, at);
    hgi_arena_deinit(&arena);
}

void hgi_child_read(struct hgi_child *child,
                    const char *(*take)(struct hgi_child *child, const struct hgi_frame *frame))
{
    for (int round = 0; round < READ_ROUNDS && child->fd >= 0 && !child->is_killed; round++) {
        ssize_t got;

        if (!hgi_bytes_reserve(&child->in, READ_BYTES)) {
            hgi_child_kill(child, "the server is out of memory");
            return;
        }
        got = recv(child->fd, child->in.data + child->in.len, READ_BYTES, 0);
        if (got > 0) {
            child->in.len += (size_t)got;
            take_frames(child, take);
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        } else if (got == 0 || errno != EINTR) {
            /* Closed: epoll would say so for ever. A process that lives on without it is useless,
             * one that is just ending must not be called killed. */
            close_watched(child, child->fd);
            child->fd = -1;
            if (child->state != HGI_CHILD_DRAINING) {
                end(child);
            }
            return;
        }
    }
}

static void say_how_it_ended(struct hgi_child *child, int status)
{
    if (WIFSIGNALED(status)) {
        snprintf(child->message, sizeof(child->message), "its process died (signal %d)",
                 WTERMSIG(status));
    } else {
        snprintf(child->message, sizeof(child->message), "its process died (exit %d)",
                 WEXITSTATUS(status));
    }
}

bool hgi_child_reap(struct hgi_child *child, bool *ret_is_clean)
{
    siginfo_t ended = {.si_pid = 0};
    int status = 0;

    /* Not reaped yet, its number is nobody else's, and whatever it has started can be told by it.
     */
    if (waitid(P_PID, (id_t)child->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != child->pid) {
        return false;
    }
    kill(-child->pid, SIGKILL);
    if (waitpid(child->pid, &status, WNOHANG) != child->pid) {
        return false;
    }
    *ret_is_clean = !child->is_killed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!child->is_killed) {
        say_how_it_ended(child, status);
    }
    close_all(child);
    child->state = HGI_CHILD_GONE;
    return true;
}

void hgi_child_unwatch(struct hgi_child *child, int64_t now_ms)
{
    child->ending_ms = child->ending_ms ? child->ending_ms : now_ms;
    close_watched(child, child->pid_fd);
    child->pid_fd = -1;
}

void hgi_child_leave(struct hgi_child *child)
{
    if (!child->is_killed) {
        snprintf(child->message, sizeof(child->message), "its process ended by itself");
    }
    child->is_killed = true;
    close_all(child);
    hgi_bytes_deinit(&child->in);
    hgi_bytes_deinit(&child->out);
    child->state = HGI_CHILD_STUCK;
}

void hgi_child_disown(struct hgi_child *child)
{
    HGI_BUG_ON(child->state != HGI_CHILD_STUCK);
    child->state = HGI_CHILD_GONE;
}
