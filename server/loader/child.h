/* SPDX-License-Identifier: Apache-2.0 */
/* child: one herdgate-loader process and the socket to it.
 * Owns:     the process until it is reaped, its descriptors and buffers; not its loads.
 * Threads:  loader-io: the parent-death signal of a child follows the thread that spawned it.
 * Limits:   a frame of HGI_FRAME_CHILD_EXTRA beside the value; HGI_CHILD_OUT_MAX_BYTES outgoing;
 *           HGI_CHILD_CAPACITY_MAX loads at once whatever the child asks for.
 * Errors:   spawn: one sentence. Later ones kill the child; it is gone when its end is reaped, and
 * left behind (stuck) if that does not come.
 * Not here: what a death means for loads (section). */
#ifndef HGI_SERVER_LOADER_CHILD_H
#define HGI_SERVER_LOADER_CHILD_H

#include <sys/types.h>

#include "base/list.h"
#include "proto/frame.h"
#include "server/loader/supervisor.h"

#define HGI_CHILD_OUT_MAX_BYTES (8u << 20)
#define HGI_CHILD_OLD_MAX_BYTES (HGI_FRAME_SERVER_MAX / 2) /* of old values in one frame */
#define HGI_CHILD_CAPACITY_MAX  4096u
#define HGI_CHILD_BATCH_MAX     256u /* loads in one frame */
#define HGI_CHILD_MESSAGE_MAX   HGI_SUPERVISOR_SENTENCE_MAX

struct hgi_section;

enum hgi_child_state {
    HGI_CHILD_STARTING, /* Ready has not come */
    HGI_CHILD_TESTING,  /* open, beside one that serves: it must say first that it is well */
    HGI_CHILD_HELD,     /* open and well; whether its configuration is taken is not decided */
    HGI_CHILD_READY,
    HGI_CHILD_DRAINING, /* gets no more loads */
    HGI_CHILD_STUCK,    /* killed, and does not end: a number to be reaped, and nothing else */
    HGI_CHILD_GONE,     /* reaped */
};

/* What an epoll event is about. */
struct hgi_source {
    struct hgi_child *child; /* NULL: the inbox */
    bool is_socket;          /* else the process */
};

struct hgi_child {
    const struct hgi_loader_config *config; /* it was started with */
    struct hgi_node node;                   /* in the pool's list */
    struct hgi_section *section;
    enum hgi_child_state state;
    pid_t pid;
    int fd;
    int pid_fd;
    int epoll_fd; /* borrowed */
    struct hgi_source socket_source;
    struct hgi_source pid_source;
    struct hg_bytes in;
    struct hg_bytes out;
    size_t frame_max;
    bool is_watching_out;
    bool is_killed;
    int64_t ending_ms;     /* since when it should have ended; 0: it need not */
    int64_t look_ms;       /* stuck: when to look again whether it has ended */
    bool is_abandoned;     /* held, and its configuration was not taken */
    struct hgi_node loads; /* sent */
    uint32_t load_count;
    uint32_t call_count; /* frames with loads that have not all ended */
    uint32_t capacity;   /* loads if it is asynchronous, else calls */
    uint32_t batch_max;  /* loads in one call */
    bool is_async;
    bool invalidates;
    bool wants_old; /* it may be given old values, and say that one is unchanged */
    uint64_t epoch; /* of the section when it took over */
    int64_t begun_ms;
    int64_t ready_ms;
    int64_t idle_ms; /* since when it has no load while draining */
    int64_t log_window_ms;
    uint32_t log_count; /* lines in the window */
    bool has_health;
    int64_t health_due_ms;   /* when to ask next */
    int64_t health_asked_ms; /* 0: no question is open */
    enum hg_status health;   /* what it said last */
    char health_text[HGI_MESSAGE_MAX];
    uint32_t abi;
    char version[64];
    char message[HGI_CHILD_MESSAGE_MAX]; /* why it was refused or killed; else how it ended */
};

/* Spawns the program with the socket on descriptor 3 and says Hello. */
HG_NODISCARD enum hg_status hgi_child_spawn(const struct hgi_supervisor_options *options,
                                            const struct hgi_loader_config *config, int epoll_fd,
                                            int64_t now_ms, struct hgi_child **ret_child,
                                            char *ret_sentence);
/* Gone, and without loads. */
void hgi_child_destroy(struct hgi_child **child);

/* Queues a frame for the next flush; a child that does not read is killed. */
void hgi_child_put(struct hgi_child *child, const struct hgi_frame *frame);
void hgi_child_flush(struct hgi_child *child);
/* Reads what is there, at most a bounded part of it, and hands over each frame; a bad one kills
 * the child. `take` returns NULL or why the frame is out of place. */
void hgi_child_read(struct hgi_child *child,
                    const char *(*take)(struct hgi_child *child, const struct hgi_frame *frame));
/* SIGKILL; the first reason stays. */
void hgi_child_kill(struct hgi_child *child, const char *why);
/* The process has ended: reaps it and closes everything. False: it has not. `message` says how it
 * ended, unless it says already why it was killed. *ret_is_clean: it exited with 0 by itself. */
bool hgi_child_reap(struct hgi_child *child, bool *ret_is_clean);
/* Its process has ended, and somebody else (a debugger) keeps it from being reaped: that is no
 * event any more, and it is waited for as if it were killed now. */
void hgi_child_unwatch(struct hgi_child *child, int64_t now_ms);
/* It was killed and does not end: whatever it holds of ours is given back, but for its number. */
void hgi_child_leave(struct hgi_child *child);
/* Stuck when the server ends: whoever reaps orphans will do it. */
void hgi_child_disown(struct hgi_child *child);

#endif
