/* SPDX-License-Identifier: Apache-2.0 */
/* manager: a service manager: starts the server, hears what that says of itself, sees it end.
 * Owns:     its socket; the names in the environment are gone again when the server runs.
 * Threads:  one.
 * Limits:   20 s for whatever it waits for.
 * Errors:   what does not come fails the test.
 * Not here: the server's folder and configuration (daemon). */
#ifndef HG_TEST_MANAGER_H
#define HG_TEST_MANAGER_H

#include "daemon.h"

struct manager {
    char name[64];
    int fd;
};

void manager_open(struct manager *manager);
void manager_close(struct manager *manager);
/* A prepared one. `watchdog_us` NULL: it wants no sign of life. */
void manager_start(struct manager *manager, struct daemon *d, const char *watchdog_us);
/* The next message. */
void manager_hear(struct manager *manager, char *ret_text, size_t size);
/* Until one begins with this. */
void manager_hear_until(struct manager *manager, const char *wanted);
/* Two that are said from here on: it has looked at itself between them. */
void manager_hear_beats(struct manager *manager);
/* It is ended by itself, with SIGABRT; its client is closed. */
void manager_await_abort(struct daemon *d);

#endif
