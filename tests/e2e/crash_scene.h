/* SPDX-License-Identifier: Apache-2.0 */
/* crash_scene: a server with a loader that breaks down as its key says, and somebody else who asks
 * another cache all the time.
 * Owns:     the daemon, the disk that does not answer, the other's thread.
 * Threads:  one; the other asks on its own.
 * Limits:   LATENCIES_MAX answers of the other are timed.
 * Errors:   asserts.
 * Not here: what breaks down when (tests), and how (loaders/plugins/crash.c). */
#ifndef HGI_TEST_CRASH_SCENE_H
#define HGI_TEST_CRASH_SCENE_H

#include <stdatomic.h>
#include <stdio.h>

#include "base/thread.h"
#include "daemon.h"
#include "mute_files.h"

#define LATENCIES_MAX 1000000u
#define QUIET_COUNT   4000u /* answers of the other, before anything happens */

struct other {
    struct hgi_thread thread;
    struct hg_client *client;
    atomic_bool is_over;
    atomic_uint asked; /* also the number of latencies, as long as there is room */
    atomic_uint failed;
    char first_failure[HG_ERROR_TEXT_MAX];
    unsigned key_last;
    uint32_t *latencies_us;
};

struct loader {
    int64_t pid;
    uint64_t started_count;
    uint64_t deaths;
};

/* What the key "disk" reads. */
struct disk {
    struct mute_files files;
    bool is_there;
};

/* `disk` NULL: no load reads it. */
void setup(struct daemon *d, const char *load_timeout, struct disk *disk);
void close_disk(struct disk *disk);

void start_other(struct other *other, const struct daemon *d);
/* None of its requests has failed, and it was not held up until now. */
void stop_other(struct other *other, const char *during);
int compare_latencies(const void *a, const void *b);
/* Prints their p50, p99 and the most; sorts them. */
void tell_latencies(const char *of, uint32_t *latencies_us, size_t count);

/* What the list of loaders shows of "crash". */
struct loader look(struct daemon *d);
/* A new process, and the breaker closed: what it knows is not what this is about. */
void reload(struct daemon *d);
/* The number of the one that serves, which is there when the last has been replaced. */
pid_t await_process(struct daemon *d);
void await_deaths(struct daemon *d, uint64_t deaths);
/* One load that does not end, until its process has been replaced. */
void hang(struct daemon *d, const char *kind);

void assert_serves(struct daemon *d);
void assert_reads(struct daemon *d, const char *key);
/* The loader comes back by itself. */
void await_reads(struct daemon *d, const char *key);

/* A thread of the process sleeps so that no signal wakes it. */
bool is_in_kernel(pid_t pid);
/* Only SIGKILL takes such a sleep's last waker from it: before it was an ordinary one. */
void await_killed_in_kernel(pid_t pid);
/* Its number is nobody's: not even a zombie is left. */
void await_reaped(pid_t pid);
/* The numbers of the processes that broke down. */
FILE *open_journal(const struct daemon *d);
/* Of these, at least so many, and what they had started, nobody is left. */
void assert_nobody_left(const struct daemon *d, size_t at_least);
/* What drains, and the other client's connection, is there for a moment longer. */
void await_descriptors(const struct daemon *d, size_t most);

#endif
