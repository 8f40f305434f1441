/* SPDX-License-Identifier: Apache-2.0 */
/* backend: a program a loader asks, started by a test: a web server, a database.
 * Owns:     the process and a folder of its own, until stop.
 * Threads:  one.
 * Limits:   20 s until it is there, 20 s until it has ended.
 * Errors:   anything unexpected fails the test.
 * Not here: the loader (child). */
#ifndef HGI_TESTS_LOADERS_BACKEND_H
#define HGI_TESTS_LOADERS_BACKEND_H

#include <sys/types.h>

#include "hg_test.h"

struct backend {
    char folder[64];
    pid_t pid;
};

/* Makes the folder: /tmp/herdgate-NAME-XXXXXX. */
void backend_prepare(struct backend *backend, const char *name);
/* A file in the folder. */
void backend_write(const struct backend *backend, const char *name, const char *text);
/* Starts it; if ret_line is given, reads the first line it prints. The program is found in PATH. */
void backend_start(struct backend *backend, const char *const *argv, char *ret_line, size_t size);
/* Waits until something listens at this socket in the folder. */
void backend_wait_socket(const struct backend *backend, const char *name);
/* Ends it by this signal and waits for the end. */
void backend_end(struct backend *backend, int signal);
/* Runs a program to its end, which must be a good one. */
void backend_run(const char *const *argv);
/* Removes the folder with all that is in it. */
void backend_remove(struct backend *backend);

#endif
