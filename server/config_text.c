/* SPDX-License-Identifier: Apache-2.0 */
#include "config_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "server/config.h"

#define OPEN_MAX_DEPTH 16

/* Where the scan stands. */
struct scan {
    const char *path;
    char *sentence;
    struct hgi_config_text *out;
    char *at;
    int line;
    /* the braces open here: where each began, and what for */
    struct hgi_section_start open[OPEN_MAX_DEPTH];
    size_t depth;
    /* the statement being read: its first word, and whether a value or a call is open */
    struct hg_slice first_word;
    int first_line;
    bool is_value_next;
    bool is_in_call;
};

static bool fault(const struct scan *scan, int line, const char *format, ...) HG_PRINTF(3, 4);

static bool fault(const struct scan *scan, int line, const char *format, ...)
{
    va_list args;
    int len = snprintf(scan->sentence, HGI_CONFIG_SENTENCE_MAX, "%s:%d: ", scan->path, line);

    if (len > 0 && (size_t)len < HGI_CONFIG_SENTENCE_MAX) {
        va_start(args, format);
        vsnprintf(scan->sentence + len, HGI_CONFIG_SENTENCE_MAX - (size_t)len, format, args);
        va_end(args);
    }
    return false;
}

/* A `${NAME}` at `at`. With a default (`:-`) it may be unset. */
static bool check_variable(struct scan *scan)
{
    char name[128];
    const char *end = strchr(scan->at, '}');
    size_t len = end ? (size_t)(end - scan->at - 2) : 0;
    char *colon;

    if (!end || memchr(scan->at, '\n', (size_t)(end - scan->at))) {
        return fault(scan, scan->line, "\"${\" is not closed; write ${NAME}");
    }
    if (len >= sizeof(name)) {
        return fault(scan, scan->line, "the name of an environment variable is longer than %zu",
                     sizeof(name) - 1);
    }
    memcpy(name, scan->at + 2, len);
    name[len] = '\0';
    if (len == 0 || name[0] == ':') {
        return fault(scan, scan->line, "\"${%s}\" names no environment variable; write ${NAME}",
                     name);
    }
    colon = strchr(name, ':');
    if (colon && colon[1] == '-') {
        return true;
    }
    if (!getenv(name)) {
        return fault(scan, scan->line,
                     "the environment variable %s is not set; set it, or write ${%s:-a default}",
                     name, name);
    }
    return true;
}

/* From the opening quote to the closing one. */
static bool skip_string(struct scan *scan)
{
    int first_line = scan->line;
    char quote = *scan->at++;

    for (; *scan->at != quote; scan->at++) {
        if (*scan->at == '\0') {
            return fault(scan, first_line,
                         "the text that begins here is not closed; end it with %c", quote);
        }
        if (*scan->at == '\n') {
            scan->line++;
        } else if (*scan->at == '\\' && scan->at[1]) {
            scan->at++;
            scan->line += *scan->at == '\n';
        } else if (quote == '"' && scan->at[0] == '$' && scan->at[1] == '{' &&
                   !check_variable(scan)) {
            return false;
        }
    }
    scan->at++;
    return true;
}

static bool is_comment(const char *at)
{
    return at[0] == '#' || (at[0] == '/' && (at[1] == '/' || at[1] == '*'));
}

/* Blanks the comment at `at`; its line ends stay. */
static bool blank_comment(struct scan *scan)
{
    int first_line = scan->line;

    if (scan->at[0] != '/' || scan->at[1] != '*') {
        while (*scan->at && *scan->at != '\n') {
            *scan->at++ = ' ';
        }
        return true;
    }
    scan->at[0] = scan->at[1] = ' ';
    while (scan->at[0] != '*' || scan->at[1] != '/') {
        if (*scan->at == '\0') {
            return fault(scan, first_line,
                         "the comment that begins here is not closed; end it with */");
        }
        if (*scan->at == '\n') {
            scan->line++;
        } else {
            *scan->at = ' ';
        }
        scan->at++;
    }
    scan->at[0] = scan->at[1] = ' ';
    return true;
}

static bool is_word_char(char c)
{
    return c && !isspace((unsigned char)c) && !strchr("\"'={}(),+*#", c);
}

static bool add_start(struct scan *scan)
{
    struct hgi_config_text *out = scan->out;

    if (out->start_count == out->start_capacity) {
        size_t capacity = out->start_capacity ? out->start_capacity * 2 : 16;
        struct hgi_section_start *starts =
            hgi_resize(&hgi_heap, out->starts, capacity * sizeof(*starts));

        if (!starts) {
            return fault(scan, scan->line, "out of memory");
        }
        out->starts = starts;
        out->start_capacity = capacity;
    }
    out->starts[out->start_count++] =
        (struct hgi_section_start){scan->first_word, scan->first_line};
    return true;
}

static void end_statement(struct scan *scan)
{
    scan->first_word = hg_slice_of(NULL, 0);
    scan->is_value_next = false;
}

static bool take_brace(struct scan *scan)
{
    if (*scan->at++ == '}') {
        if (scan->depth == 0) {
            return fault(scan, scan->line, "this } closes nothing; take it out");
        }
        scan->depth--;
    } else {
        if (scan->depth == OPEN_MAX_DEPTH) {
            return fault(scan, scan->line, "sections are nested too deeply");
        }
        if (scan->depth == 0 && !add_start(scan)) {
            return false;
        }
        scan->open[scan->depth++] = (struct hgi_section_start){scan->first_word, scan->first_line};
    }
    end_statement(scan);
    return true;
}

static void take_sign(struct scan *scan)
{
    char c = *scan->at;

    scan->at += c == '+' ? 2 : 1;
    if (c == '(') {
        scan->is_in_call = true;
    } else if (c == ')') {
        scan->is_in_call = false;
        end_statement(scan);
    } else if (c != ',') {
        scan->is_value_next = true;
    }
}

static void take_word(struct scan *scan)
{
    const char *start = scan->at;

    while (is_word_char(*scan->at)) {
        scan->at++;
    }
    if (scan->is_value_next) {
        end_statement(scan);
    } else if (!scan->first_word.len && !scan->is_in_call) {
        scan->first_word = hg_slice_of(start, (size_t)(scan->at - start));
        scan->first_line = scan->line;
    }
}

static bool take_string(struct scan *scan)
{
    if (!skip_string(scan)) {
        return false;
    }
    if (scan->is_value_next) {
        end_statement(scan);
    }
    return true;
}

/* A word, a string or a sign: one step on. */
static bool take_token(struct scan *scan)
{
    unsigned char c = (unsigned char)*scan->at;

    if (c == '{' || c == '}') {
        return take_brace(scan);
    }
    if (c == '"' || c == '\'') {
        return take_string(scan);
    }
    if (strchr("=(),", c) || (c == '+' && scan->at[1] == '=')) {
        take_sign(scan);
        return true;
    }
    if (c == '$' && scan->at[1] == '{') {
        return fault(scan, scan->line, "write an environment variable inside quotes: \"${NAME}\"");
    }
    if (!is_word_char((char)c) || !isprint(c)) {
        return fault(scan, scan->line,
                     "a character of code 0x%02x does not belong here; put texts in quotes", c);
    }
    take_word(scan);
    return true;
}

static bool scan_all(struct scan *scan)
{
    while (*scan->at) {
        bool is_good = true;

        if (*scan->at == '\n') {
            scan->line++;
            scan->at++;
        } else if (isspace((unsigned char)*scan->at)) {
            scan->at++;
        } else if (is_comment(scan->at)) {
            is_good = blank_comment(scan);
        } else {
            is_good = take_token(scan);
        }
        if (!is_good) {
            return false;
        }
    }
    if (scan->depth > 0) {
        const struct hgi_section_start *open = &scan->open[scan->depth - 1];

        return fault(scan, open->line,
                     "the section %.*s that begins here is not closed; end it with }",
                     (int)open->name.len, open->name.len ? (const char *)open->name.data : "");
    }
    return true;
}

static bool read_whole(const char *path, struct hg_bytes *ret_bytes, char *ret_sentence)
{
    bool is_good = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;

    if (fd < 0) {
        goto out;
    }
    do {
        if (!hgi_bytes_reserve(ret_bytes, 4096)) {
            errno = ENOMEM;
            goto out;
        }
        got = read(fd, ret_bytes->data + ret_bytes->len, 4096);
        if (got < 0) {
            goto out;
        }
        ret_bytes->len += (size_t)got;
    } while (got > 0 && ret_bytes->len <= HGI_CONFIG_TEXT_MAX);
    is_good = true;
out:
    if (!is_good) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: the configuration cannot be read: %s",
                 path, strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd); /* only read from */
    }
    return is_good;
}

bool hgi_config_text_open(const char *path, struct hgi_config_text *ret_text, char *ret_sentence)
{
    struct hgi_config_text out = {.text = NULL};
    struct scan scan = {.path = path, .sentence = ret_sentence, .out = &out, .line = 1};
    struct hg_bytes bytes;
    bool is_good = false;

    hgi_bytes_init(&bytes, &hgi_heap);
    if (!read_whole(path, &bytes, ret_sentence)) {
        goto out;
    }
    if (bytes.len > HGI_CONFIG_TEXT_MAX) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: longer than %u bytes", path,
                 HGI_CONFIG_TEXT_MAX);
        goto out;
    }
    /* libconfuse cannot open an empty text. */
    if (bytes.len == 0 && !hgi_bytes_append(&bytes, hg_slice_text("\n"))) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: out of memory", path);
        goto out;
    }
    out.text = hgi_text_copy(&hgi_heap, hgi_bytes_slice(&bytes));
    if (!out.text) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: out of memory", path);
        goto out;
    }
    if (strlen(out.text) != bytes.len) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX,
                 "%s: holds a NUL byte; it must be a text file", path);
        goto out;
    }
    scan.at = out.text;
    is_good = scan_all(&scan);
out:
    hgi_bytes_deinit(&bytes);
    if (is_good) {
        *ret_text = out;
    } else {
        hgi_config_text_close(&out);
    }
    return is_good;
}

void hgi_config_text_close(struct hgi_config_text *text)
{
    hgi_free(&hgi_heap, text->text);
    hgi_free(&hgi_heap, text->starts);
    *text = (struct hgi_config_text){.text = NULL};
}

int hgi_config_text_line(const struct hgi_config_text *text, const char *name, size_t index)
{
    for (size_t i = 0; i < text->start_count; i++) {
        if (hgi_slice_equal(text->starts[i].name, hg_slice_text(name)) && index-- == 0) {
            return text->starts[i].line;
        }
    }
    return 0;
}
