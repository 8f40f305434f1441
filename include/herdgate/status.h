/* SPDX-License-Identifier: Apache-2.0 */
/* status: what a call came to.
 * Owns:     the numbers (gRPC's canonical codes) and their names.
 * Threads:  any.
 * Limits:   none.
 * Errors:   0 is OK; everything else is a failure of the call. Expected outcomes of a cache
 *           (absent, denied, stale) are not statuses: see types.h.
 * Not here: exit codes of the command (client/cli). */
#ifndef HERDGATE_STATUS_H
#define HERDGATE_STATUS_H

#include "herdgate/attr.h"

enum hg_status {
#define HG_STATUS_ROW(name, number, text) HG_##name = (number),
#include "herdgate/status.def"
#undef HG_STATUS_ROW
};

/* The name of a status as the wire and the command print it ("NOT_FOUND"); "UNKNOWN" for a number
 * that is not in the table. Static storage. */
HG_EXPORT const char *hg_status_name(enum hg_status status);

#endif
