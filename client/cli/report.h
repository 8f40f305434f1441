/* SPDX-License-Identifier: Apache-2.0 */
/* report: invalidating, and saying what it did.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   256 keys.
 * Errors:   printed; the exit code says so.
 * Not here: options (the verbs). */
#ifndef HGI_CLI_REPORT_H
#define HGI_CLI_REPORT_H

#include "client/cli/cli.h"

/* For `del CACHE KEY...` and `clear CACHE --key KEY`. Returns the exit code. */
int hgi_invalidate(struct hgi_cli *cli, const char *cache, const struct hg_key *keys,
                   size_t key_count);
/* For `clear`. */
int hgi_clear(struct hgi_cli *cli, const char *cache);

#endif
