/* SPDX-License-Identifier: Apache-2.0 */
/* error: fills in a struct hg_error.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   text is cut at HG_ERROR_TEXT_MAX - 1 bytes.
 * Errors:   none.
 * Not here: what the command prints of it (cli/output). */
#ifndef HGI_CLIENT_ERROR_H
#define HGI_CLIENT_ERROR_H

#include "herdgate/client.h"

/* Everything but status and text becomes 0. error may be NULL. Returns `status`. */
enum hg_status hgi_error_set(struct hg_error *error, enum hg_status status, const char *format, ...)
    HG_PRINTF(3, 4);

/* No error. Returns HG_OK. */
static inline enum hg_status hgi_error_none(struct hg_error *error)
{
    if (error) {
        *error = (struct hg_error){.status = HG_OK};
    }
    return HG_OK;
}

#endif
