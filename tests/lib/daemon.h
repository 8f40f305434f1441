/* SPDX-License-Identifier: Apache-2.0 */
/* daemon: the real herdgated in a folder of its own, for tests from outside.
 * Owns:     the folder and the process; both are gone after stop.
 * Threads:  one.
 * Limits:   20 s to become ready, 20 s to stop.
 * Errors:   a daemon that does not start, or does not end well, fails the test and shows its log.
 * Not here: asking it (herdgate/client.h), what a loader does (loader_script). */
#ifndef HG_TEST_DAEMON_H
#define HG_TEST_DAEMON_H

#include <sys/types.h>

#include "herdgate/client.h"
#include "hg_script.h"
#include "hg_test.h"

struct daemon {
    char dir[64];
    char ipc_url[128];
    char tcp_url[64];
    char tls_url[64]; /* empty: none is configured */
    char config[96];
    char log[96];
    struct hgi_script script; /* the files of the loader "script" */
    pid_t pid;
    struct hg_client *client; /* over ipc */
};

/* Makes the folder and writes the configuration: runtime_dir, an ipc and a tcp listener, the loader
 * "script", and `sections` (caches, a snapshot, ...), in which every "@DIR@" becomes the folder. */
void daemon_prepare(struct daemon *d, const char *sections);
/* Starts it and opens a client. */
void daemon_start(struct daemon *d);
/* SIGTERM; it must exit 0. */
void daemon_stop(struct daemon *d);
/* SIGTERM without closing the client; returns the wait status. */
int daemon_terminate(struct daemon *d);
void daemon_kill(struct daemon *d);
/* After stop or kill: removes the folder. */
void daemon_remove(struct daemon *d);

/* A counter of a cache. */
uint64_t daemon_metric(struct daemon *d, const char *cache, const char *name);
/* A counter of the server. */
uint64_t daemon_server_metric(struct daemon *d, const char *name);
/* Waits until the counter is at least `value`. */
void daemon_wait_metric(struct daemon *d, const char *cache, const char *name, uint64_t value);
/* Waits until the scripted loader has a child again after so many deaths: callers hear of a death
 * before the list of loaders shows it. */
void daemon_wait_loader_running(struct daemon *d, uint64_t deaths);
/* Of its process, and two more; 0: who asks may not look. */
size_t daemon_count_descriptors(const struct daemon *d);
/* A line of its log has this. */
bool daemon_log_says(const struct daemon *d, const char *what);
/* Puts a program's standard output and error into ret_output; returns its exit code. */
int daemon_run(const char *const *argv, char *ret_output, size_t size);

struct hg_key daemon_key(const char *text);
/* Reads through d->client; the value as text. */
enum hg_status daemon_read(struct daemon *d, const char *cache, const char *key, enum hg_mode mode,
                           struct hg_answer *ret_answer, struct hg_error *ret_error);
enum hg_status daemon_put(struct daemon *d, const char *cache, const char *key, const char *value);

#endif
