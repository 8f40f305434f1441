/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 10000

extern char **environ;

void child_send(struct child *child, const struct hgi_frame *frame)
{
    struct hg_bytes out;

    hgi_bytes_init(&out, &hgi_heap);
    ck_assert(hgi_frame_encode(frame, HGI_FRAME_SERVER_MAX, &out));
    ck_assert_int_eq(send(child->fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    hgi_bytes_deinit(&out);
}

static void make_pair(struct child *child, int *ret_end)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    child->fd = pair[0];
    *ret_end = pair[1];
}

static void spawn(struct child *child, int end)
{
    char program[] = HGI_BUILD_DIR "/bin/herdgate-loader";
    char *argv[] = {program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, end, 3), 0);
    ck_assert_int_eq(posix_spawnattr_init(&attributes), 0);
    ck_assert_int_eq(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP), 0);
    ck_assert_int_eq(posix_spawn(&child->pid, program, &actions, &attributes, argv, environ), 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(end);
    hgi_bytes_init(&child->in, &hgi_heap);
    hgi_arena_init(&child->arena, 1 << 20);
}

void child_start(struct child *child)
{
    int end;

    make_pair(child, &end);
    spawn(child, end);
}

void child_start_deserted(struct child *child, const struct hgi_frame *first)
{
    int end;

    make_pair(child, &end);
    child_send(child, first);
    ck_assert_int_eq(shutdown(child->fd, SHUT_WR), 0);
    spawn(child, end);
}

const struct hgi_frame *child_read(struct child *child)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hg_slice body;
    size_t used = 0;

    while (hgi_frame_cut(hgi_bytes_slice(&child->in), hgi_frame_child_max(CHILD_VALUE_MAX), &body,
                         &used) != HGI_FRAME_WHOLE) {
        struct pollfd readable = {.fd = child->fd, .events = POLLIN};
        ssize_t got;

        ck_assert_int_eq(poll(&readable, 1, WAIT_MS), 1);
        ck_assert(hgi_bytes_reserve(&child->in, 4096));
        got = recv(child->fd, child->in.data + child->in.len, 4096, 0);
        ck_assert_int_gt(got, 0);
        child->in.len += (size_t)got;
    }
    hgi_arena_reset(&child->arena, 1 << 20);
    ck_assert_msg(hgi_frame_decode(body, &child->arena, &child->frame, sentence) == HG_OK, "%s",
                  sentence);
    hgi_bytes_consume(&child->in, used);
    return &child->frame;
}

const struct hgi_frame_ready *child_open_as(struct child *child,
                                            const struct hgi_frame_hello *hello)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_HELLO, .u.hello = *hello};

    child_start(child);
    child_send(child, &frame);
    ck_assert_int_eq(child_read(child)->kind, HGI_FRAME_READY);
    return &child->frame.u.ready;
}

const struct hgi_frame_ready *child_open(struct child *child, const char *plugin, uint32_t workers,
                                         const struct hgi_frame_setting *settings, size_t count)
{
    const struct hgi_frame_hello hello = {.plugin = hg_slice_text(plugin),
                                          .workers = workers,
                                          .value_max_bytes = CHILD_VALUE_MAX,
                                          .settings = settings,
                                          .setting_count = count,
                                          /* else only root can look into it */
                                          .confine = {.may_dump = true}};

    return child_open_as(child, &hello);
}

static void send_load(struct child *child, const struct hg_key *key, struct hgi_frame *load)
{
    static const enum hgi_key_type types[] = {
        [HG_KEY_BYTES] = HGI_KEYS_BYTES,
        [HG_KEY_KEY_HASH] = HGI_KEYS_KEY_HASH,
        [HG_KEY_USER_API_KEY] = HGI_KEYS_USER_API_KEY,
        [HG_KEY_API_KEY_FEATURE] = HGI_KEYS_API_KEY_FEATURE,
    };
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_key canonical;

    ck_assert_int_eq(hgi_key_encode(types[key->kind], key, &canonical, sentence), HG_OK);
    load->u.load.key = hgi_key_slice(&canonical);
    child_send(child, load);
}

static struct hgi_frame load_of(uint64_t id, enum hg_value_type type)
{
    return (struct hgi_frame){.kind = HGI_FRAME_LOAD,
                              .u.load = {.id = id,
                                         .cache = hg_slice_text("a-cache"),
                                         .value_type = type,
                                         .attempt = 1,
                                         .remaining_ms = 5000}};
}

void child_load(struct child *child, uint64_t id, const struct hg_key *key, enum hg_value_type type)
{
    struct hgi_frame load = load_of(id, type);

    send_load(child, key, &load);
}

void child_load_old(struct child *child, uint64_t id, const struct hg_key *key,
                    enum hg_value_type type, const char *old_value, const char *etag)
{
    struct hgi_frame load = load_of(id, type);

    load.u.load.has_old = true;
    load.u.load.old_value = hg_slice_text(old_value);
    load.u.load.etag = hg_slice_text(etag);
    send_load(child, key, &load);
}

void child_load_traced(struct child *child, uint64_t id, const struct hg_key *key,
                       enum hg_value_type type, const char *traceparent)
{
    struct hgi_frame load = load_of(id, type);

    load.u.load.traceparent = hg_slice_text(traceparent);
    send_load(child, key, &load);
}

void child_load_bytes(struct child *child, uint64_t id, const char *key, enum hg_value_type type)
{
    struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)};

    child_load(child, id, &typed, type);
}

void child_load_many(struct child *child, uint32_t count)
{
    struct hgi_frame_load loads[64];
    struct hgi_key keys[64];
    struct hgi_frame frame = {.kind = HGI_FRAME_LOADS, .u.loads = {loads, count}};
    char sentence[HGI_SENTENCE_MAX];
    char text[16];

    for (uint32_t i = 0; i < count; i++) {
        struct hg_key typed = {.kind = HG_KEY_BYTES};

        snprintf(text, sizeof(text), "k%u", i + 1);
        typed.bytes = hg_slice_text(text);
        ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &typed, &keys[i], sentence), HG_OK);
        loads[i] = (struct hgi_frame_load){.id = i + 1,
                                           .cache = hg_slice_text("a-cache"),
                                           .key = hgi_key_slice(&keys[i]),
                                           .value_type = HG_TYPE_BYTES,
                                           .attempt = 1,
                                           .remaining_ms = 5000};
    }
    child_send(child, &frame);
}

void child_cancel(struct child *child, uint64_t id)
{
    struct hgi_frame cancel = {.kind = HGI_FRAME_CANCEL, .u.cancel_id = id};

    child_send(child, &cancel);
}

const struct hgi_frame_done *child_done(struct child *child, uint64_t id)
{
    ck_assert_int_eq(child_read(child)->kind, HGI_FRAME_DONE);
    ck_assert_uint_eq(child->frame.u.done.id, id);
    return &child->frame.u.done;
}

int child_wait(struct child *child)
{
    const struct timespec pause = {0, 2000000};
    int status = 0;

    for (int waited_ms = 0; waitpid(child->pid, &status, WNOHANG) != child->pid; waited_ms += 2) {
        ck_assert_msg(waited_ms < WAIT_MS, "the child does not end");
        nanosleep(&pause, NULL);
    }
    child->pid = 0;
    return status;
}

void child_end(struct child *child)
{
    struct hgi_frame drain = {.kind = HGI_FRAME_DRAIN};
    int status;

    child_send(child, &drain);
    status = child_wait(child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    child_drop(child);
}

void child_drop(struct child *child)
{
    if (child->pid) {
        kill(-child->pid, SIGKILL); /* and what it has started */
        child_wait(child);
    }
    close(child->fd);
    hgi_bytes_deinit(&child->in);
    hgi_arena_deinit(&child->arena);
}
