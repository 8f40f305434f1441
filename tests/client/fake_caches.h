/* SPDX-License-Identifier: Apache-2.0 */
/* fake_caches: a handler that answers every method, by the names it is asked for.
 * Owns:     nothing.
 * Threads:  the fake server's.
 * Limits:   none.
 * Errors:   what it cannot decode fails the test.
 * Not here: the connection (fake_server).
 *
 * Keys of Get, GetOrLoad and Batch: "text" "bin" "json" "auth" "evil" "evil_auth"
 * "bin_auth" "absent" "denied" "none" "stale" are answered with just that, "hang" not at all, and
 * "error:NAME" with that status. Anything else, and whatever else goes to a cache "describe", comes
 * back described: an error FAILED_PRECONDITION with the request as text. */
#ifndef FAKE_CACHES_H
#define FAKE_CACHES_H

#include "fake_server.h"

void fake_caches(struct fake_server *server, void *context, const struct fake_caller *caller,
                 const struct hgi_request *request);

#endif
