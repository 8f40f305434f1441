/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"

#define LINE_MAX_BYTES 1024

static _Atomic int threshold = HG_LOG_INFO;

void hgi_log_set_level(enum hg_log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void hgi_log(enum hg_log_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char line[LINE_MAX_BYTES];
    size_t len;
    va_list args;

    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed)) {
        return;
    }
    snprintf(line, sizeof(line), "%s: ", names[level]);
    len = strlen(line);
    va_start(args, format);
    vsnprintf(line + len, sizeof(line) - len - 1, format, args);
    va_end(args);
    hgi_text_flatten(line);
    len = strlen(line);
    line[len++] = '\n';
    /* One write, so that lines of several threads do not mix; nothing is to be done if it fails. */
    if (write(STDERR_FILENO, line, len) < 0) {
        return;
    }
}
