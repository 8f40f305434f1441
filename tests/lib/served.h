/* SPDX-License-Identifier: Apache-2.0 */
/* served: a server and a crowd that asks it.
 * Owns:     the daemon and the crowd, from setup to teardown.
 * Threads:  one; answers come on the client's.
 * Limits:   those of both.
 * Errors:   as theirs.
 * Not here: each of the two (daemon, crowd). */
#ifndef HG_TEST_SERVED_H
#define HG_TEST_SERVED_H

#include "crowd.h"
#include "daemon.h"

#define SERVED_TIMEOUT_MS 15000

struct fixture {
    struct daemon d;
    struct crowd crowd;
};

/* A server with these sections of configuration (daemon_prepare). */
void served_setup(struct fixture *f, const char *sections);
/* Waits for whoever still asks. */
void served_teardown(struct fixture *f);
struct crowd_answer *served_ask(struct fixture *f, const char *cache, const char *key,
                                enum hg_mode mode);

#endif
