/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

enum hg_status hgi_error_set(struct hg_error *error, enum hg_status status, const char *format, ...)
{
    va_list args;

    if (!error) {
        return status;
    }
    error->status = status;
    error->retry_after_ms = 0;
    error->is_done_unknown = false;
    error->source = HG_SOURCE_NONE;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return status;
}
