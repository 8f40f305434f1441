/* SPDX-License-Identifier: Apache-2.0 */
/* report: invalidating, and saying what it did.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   256 keys, 256 tags.
 * Errors:   printed; the exit code says so.
 * Not here: options (the verbs). */
#ifndef HGI_CLI_REPORT_H
#define HGI_CLI_REPORT_H

#include "client/cli/cli.h"

/* For `del` and for `clear CACHE` with --key, --tag or --user. Returns the exit code. */
int hgi_invalidate(struct hgi_cli *cli, const struct hg_invalidate *request);
/* For `clear`; cache NULL: all. `waits`: also for the loads begun before it, without --timeout as
 * long as a call may take; after a second a terminal is told so. */
int hgi_clear(struct hgi_cli *cli, const char *cache, bool waits);

#endif
