/* SPDX-License-Identifier: Apache-2.0 */
/* herdgate-loader: the child process that runs one loader plugin for herdgated.
 *
 * It is started with a socket on descriptor 3 and nothing else of the server's, and speaks the
 * frames of proto/loader.proto over it: Hello, Ready, then loads until Drain or until the server is
 * gone. The plugin is opened only after Hello, so whatever it does happens in here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "confine.h"
#include "host.h"
#include "program.h"
#include "proto/value.h"

#define SERVER_FD  3
#define READ_BYTES 65536u
#define LOOK_MS    1000 /* how often it is seen to that the descriptors are still there */

enum { EXIT_DONE = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

struct link {
    struct hg_host *host;
    struct hg_bytes in;
    struct hg_bytes out;
    struct hgi_arena arena;
    int wake_fd;
    bool is_open;
    bool is_refused; /* the plugin did not open: say so, then end */
    bool is_draining;
    char failure[HGI_PROGRAM_SENTENCE_MAX]; /* why it did not become the program */
};

/* The server is gone or talks nonsense: nobody is left to answer, and a worker may hang. */
_Noreturn static void end_at_once(int status)
{
    _exit(status);
}

/* The server may die without a word; EOF says so too, but not to a main thread that a plugin's open
 * or cancel keeps busy. */
static void die_with_server(void)
{
    struct pollfd server = {.fd = SERVER_FD, .events = POLLRDHUP};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* A death before that is told by nobody any more. */
    if (poll(&server, 1, 0) > 0 && (server.revents & (POLLRDHUP | POLLHUP | POLLERR))) {
        end_at_once(EXIT_DONE);
    }
}

static void flush_out(struct link *link)
{
    if (!hgi_host_take(link->host, &link->out)) {
        hgi_log(HG_LOG_ERROR, "loader process %d: out of memory", (int)getpid());
        end_at_once(EXIT_FAULT);
    }
    while (link->out.len) {
        ssize_t sent = send(SERVER_FD, link->out.data, link->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            hgi_bytes_consume(&link->out, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            end_at_once(EXIT_DONE);
        }
    }
}

static bool open_host(struct link *link, const struct hgi_frame_hello *hello)
{
    struct hgi_frame answer = {.kind = HGI_FRAME_READY};
    char sentence[HGI_SENTENCE_MAX];

    if (link->is_open) {
        return false;
    }
    if (hello->is_program) {
        answer.u.ready.status = HG_FAILED_PRECONDITION;
        answer.u.ready.message = hg_slice_text(link->failure);
        link->is_refused = true;
        return hgi_frame_encode(&answer, HGI_FRAME_CHILD_EXTRA, &link->out);
    }
    hgi_log_set_format(hello->log_json ? HGI_LOG_JSON : HGI_LOG_TEXT);
    /* Before the plugin is opened: a library's constructors run then. */
    answer.u.ready.status = hgi_confine(hello, sentence);
    if (answer.u.ready.status == HG_OK) {
        die_with_server(); /* which the system forgets of who becomes another user */
        hgi_host_open(link->host, hello, &answer.u.ready);
    } else {
        answer.u.ready.message = hg_slice_text(sentence);
    }
    link->is_open = answer.u.ready.status == HG_OK;
    link->is_refused = !link->is_open;
    /* In front of what the plugin logged while it opened: Ready is the first frame. */
    return hgi_frame_encode(&answer, HGI_FRAME_CHILD_EXTRA, &link->out);
}

/* False: the server broke the rules. */
static bool take_frame(struct link *link, const struct hgi_frame *frame)
{
    switch (frame->kind) {
    case HGI_FRAME_HELLO:
        return open_host(link, &frame->u.hello);
    case HGI_FRAME_LOAD:
        if (link->is_open && !link->is_draining) {
            hgi_host_load(link->host, &frame->u.load, 1);
            return true;
        }
        return false;
    case HGI_FRAME_LOADS:
        if (link->is_open && !link->is_draining) {
            hgi_host_load(link->host, frame->u.loads.loads, frame->u.loads.count);
            return true;
        }
        return false;
    case HGI_FRAME_CANCEL:
        if (link->is_open) {
            hgi_host_cancel(link->host, frame->u.cancel_id);
        }
        return link->is_open;
    case HGI_FRAME_DRAIN:
        link->is_draining = true;
        return link->is_open;
    case HGI_FRAME_HEALTH:
        return link->is_open && hgi_host_ask_health(link->host);
    case HGI_FRAME_READY:
    case HGI_FRAME_DONE:
    case HGI_FRAME_LOG:
    case HGI_FRAME_HEALTH_REPLY:
    case HGI_FRAME_INVALIDATE:
        break;
    }
    return false;
}

static void take_bytes(struct link *link)
{
    char sentence[HGI_SENTENCE_MAX] = "a frame of a wrong kind or length";
    size_t at = 0;

    for (;;) {
        struct hgi_frame frame;
        struct hg_slice body;
        size_t used = 0;
        enum hgi_frame_cut cut = hgi_frame_cut(hg_slice_of(link->in.data + at, link->in.len - at),
                                               HGI_FRAME_SERVER_MAX, &body, &used);

        if (cut == HGI_FRAME_PARTIAL) {
            break;
        }
        /* Settings take more room in memory than on the wire. */
        hgi_arena_reset(&link->arena, 16 * (size_t)HGI_FRAME_SERVER_MAX);
        if (cut == HGI_FRAME_BAD ||
            hgi_frame_decode(body, &link->arena, &frame, sentence) != HG_OK ||
            !take_frame(link, &frame)) {
            hgi_log(HG_LOG_ERROR, "loader process %d: the server sent %s", (int)getpid(), sentence);
            end_at_once(EXIT_FAULT);
        }
        at += used;
    }
    hgi_arena_reset(&link->arena, 0); /* of the last frame, which may have been a key */
    hgi_bytes_consume(&link->in, at);
}

static void read_in(struct link *link)
{
    ssize_t got;

    if (!hgi_bytes_reserve(&link->in, READ_BYTES)) {
        hgi_log(HG_LOG_ERROR, "loader process %d: out of memory", (int)getpid());
        end_at_once(EXIT_FAULT);
    }
    got = recv(SERVER_FD, link->in.data + link->in.len, READ_BYTES, MSG_DONTWAIT);
    if (got > 0) {
        link->in.len += (size_t)got;
        take_bytes(link);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
        end_at_once(EXIT_DONE);
    }
}

static bool is_over(const struct link *link)
{
    return link->out.len == 0 &&
           (link->is_refused || (link->is_draining && hgi_host_is_idle(link->host)));
}

static void serve(struct link *link)
{
    struct pollfd fds[2] = {{.fd = SERVER_FD}, {.fd = link->wake_fd, .events = POLLIN}};
    uint64_t count;

    while (!is_over(link)) {
        fds[0].events = (short)(link->out.len ? POLLIN | POLLOUT : POLLIN);
        /* What a plugin closes under us is still ours while we wait, so the server would not hear
         * of it, and nobody would wake us. */
        if ((poll(fds, 2, LOOK_MS) < 0 && errno != EINTR) ||
            ((fds[0].revents | fds[1].revents) & POLLNVAL)) {
            end_at_once(EXIT_FAULT);
        }
        if ((fds[1].revents & POLLIN) && read(link->wake_fd, &count, sizeof(count)) < 0 &&
            errno != EAGAIN) {
            end_at_once(EXIT_FAULT);
        }
        if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
            read_in(link);
        }
        flush_out(link);
    }
}

/* Nothing of the server is in here but the socket; what a plugin starts must not have that. */
static bool shut_doors(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    int type = 0;
    socklen_t len = sizeof(type);

    if (getsockopt(SERVER_FD, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM) {
        return false;
    }
    die_with_server();
    (void)fcntl(SERVER_FD, F_SETFD, FD_CLOEXEC);
    (void)close_range(SERVER_FD + 1, ~0u, 0);
    sigaction(SIGPIPE, &ignore, NULL);
    return true;
}

int main(int argc, char **argv)
{
    struct link link = {.host = NULL};

    (void)argv;
    if (argc != 1 || !shut_doors()) {
        fprintf(stderr, "herdgate-loader is started by herdgated, with a socket on descriptor 3; "
                        "there is nothing to run by hand (docs/LOADERS.md)\n");
        return EXIT_USAGE;
    }
    hgi_log_look_for_journal();
    hgi_value_start();
    link.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link.wake_fd < 0 || !hgi_hash_start()) {
        return EXIT_FAULT;
    }
    if (hgi_program_run(SERVER_FD, link.failure) == HGI_PROGRAM_GONE) {
        return EXIT_DONE;
    }
    link.host = hgi_host_create(link.wake_fd);
    if (!link.host) {
        return EXIT_FAULT;
    }
    hgi_bytes_init(&link.in, &hgi_heap);
    hgi_bytes_init(&link.out, &hgi_heap);
    hgi_arena_init(&link.arena, 0);
    serve(&link);
    if (link.is_open) {
        hgi_host_stop(link.host);
    }
    hgi_host_destroy(&link.host);
    hgi_bytes_deinit(&link.in);
    hgi_bytes_deinit(&link.out);
    hgi_arena_deinit(&link.arena);
    close(link.wake_fd);
    return EXIT_DONE;
}
