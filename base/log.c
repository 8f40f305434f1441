/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MESSAGE_MAX 1024u
#define LINE_MAX    3072u /* a message of quotes only, and the rest of the line */

static _Atomic int threshold = HG_LOG_INFO;
static _Atomic int line_format = HGI_LOG_TEXT;
static _Atomic bool has_priorities;

static const struct {
    const char *name;
    int priority; /* syslog's */
} levels[] = {
    [HG_LOG_ERROR] = {"error", 3},
    [HG_LOG_WARN] = {"warn", 4},
    [HG_LOG_INFO] = {"info", 6},
    [HG_LOG_DEBUG] = {"debug", 7},
};

void hgi_log_set_level(enum hg_log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void hgi_log_set_format(enum hgi_log_format format)
{
    atomic_store_explicit(&line_format, (int)format, memory_order_relaxed);
}

enum hgi_log_format hgi_log_get_format(void)
{
    return (enum hgi_log_format)atomic_load_explicit(&line_format, memory_order_relaxed);
}

void hgi_log_look_for_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM"); /* device:inode of what was given as stderr */
    unsigned long long device = 0;
    unsigned long long inode = 0;
    struct stat found;

    if (stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
        fstat(STDERR_FILENO, &found) == 0) {
        atomic_store_explicit(&has_priorities, found.st_dev == device && found.st_ino == inode,
                              memory_order_relaxed);
    }
}

/* ---- what may stand in a line ---- */

/* How many bytes of UTF-8 begin here, as one character that neither ends the line nor steers a
 * terminal; 0: none. */
static size_t plain_len(const unsigned char *at)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (len == 1) {
        return at[0] >= 0x20 && at[0] != 0x7f;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* also the NUL at the text's end */
            return 0;
        }
    }
    /* C1 controls; longer than need be, surrogates, and what is beyond Unicode. */
    if ((at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xe0 && at[1] < 0xa0) ||
        (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] >= 0x90) || at[0] > 0xf4) {
        return 0;
    }
    return len;
}

static void clean(char *text)
{
    while (*text) {
        size_t len = plain_len((const unsigned char *)text);

        if (!len) {
            *text = '?';
        }
        text += len ? len : 1;
    }
}

/* ---- the line ---- */

struct line {
    char text[LINE_MAX + 1]; /* and its end */
    size_t len;
};

static void add(struct line *line, const char *format, ...) HG_PRINTF(2, 3);

static void add(struct line *line, const char *format, ...)
{
    size_t room = LINE_MAX - line->len;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line->text + line->len, room, format, args);
    va_end(args);
    if (len > 0) {
        line->len += (size_t)len < room ? (size_t)len : room - 1;
    }
}

/* Cleaned, so there is no more to be escaped than what JSON gives a meaning. */
static void add_json_text(struct line *line, const char *text)
{
    add(line, "\"");
    for (; *text; text++) {
        add(line, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    add(line, "\"");
}

static void add_subject_text(struct line *line, const struct hgi_log_subject *subject)
{
    if (subject->cache) {
        add(line, " cache=%s", subject->cache);
    }
    if (subject->has_key) {
        add(line, " key_hash=%016" PRIx64, subject->key_hash);
    }
    if (subject->trace_id.len) {
        add(line, " trace_id=%.*s", (int)subject->trace_id.len,
            (const char *)subject->trace_id.data);
    }
}

static void add_subject_json(struct line *line, const struct hgi_log_subject *subject)
{
    if (subject->cache) {
        add(line, ",\"cache\":");
        add_json_text(line, subject->cache);
    }
    if (subject->has_key) {
        add(line, ",\"key_hash\":\"%016" PRIx64 "\"", subject->key_hash);
    }
    if (subject->trace_id.len) {
        add(line, ",\"trace_id\":\"%.*s\"", (int)subject->trace_id.len,
            (const char *)subject->trace_id.data);
    }
}

static void add_time(struct line *line)
{
    int64_t now_ms = hgi_clock_now().wall_ms;
    time_t seconds = (time_t)(now_ms / 1000);
    char text[32] = "";
    struct tm parts;

    if (gmtime_r(&seconds, &parts)) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    }
    add(line, "\"ts\":\"%s.%03dZ\"", text, (int)(now_ms % 1000));
}

static void write_line(enum hg_log_level level, const struct hgi_log_subject *subject,
                       const char *message)
{
    struct line line = {.len = 0};

    if (atomic_load_explicit(&has_priorities, memory_order_relaxed)) {
        add(&line, "<%d>", levels[level].priority);
    }
    if (hgi_log_get_format() == HGI_LOG_JSON) {
        add(&line, "{");
        add_time(&line);
        add(&line, ",\"level\":\"%s\",\"msg\":", levels[level].name);
        add_json_text(&line, message);
        add_subject_json(&line, subject);
        add(&line, "}");
    } else {
        add(&line, "%s: %s", levels[level].name, message);
        add_subject_text(&line, subject);
    }
    line.text[line.len++] = '\n';
    /* One write, so that lines of several threads do not mix; nothing is to be done if it fails. */
    if (write(STDERR_FILENO, line.text, line.len) < 0) {
        return;
    }
}

static void log_args(enum hg_log_level level, const struct hgi_log_subject *subject,
                     const char *format, va_list args)
{
    char message[MESSAGE_MAX];

    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed)) {
        return;
    }
    vsnprintf(message, sizeof(message), format, args);
    clean(message);
    write_line(level, subject, message);
}

void hgi_log(enum hg_log_level level, const char *format, ...)
{
    const struct hgi_log_subject none = {.cache = NULL};
    va_list args;

    va_start(args, format);
    log_args(level, &none, format, args);
    va_end(args);
}

void hgi_log_about(enum hg_log_level level, const struct hgi_log_subject *subject,
                   const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_args(level, subject, format, args);
    va_end(args);
}
