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
    char *sentence;
    struct hgi_config_text *out;
    bool may_include;
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
    struct hg_slice last_string; /* of the call, between its quotes */
    bool is_include;             /* the scan ended behind an include */
};

static bool fault(const struct scan *scan, int line, const char *format, ...) HG_PRINTF(3, 4);

static bool fault(const struct scan *scan, int line, const char *format, ...)
{
    va_list args;
    char *out = scan->sentence;
    size_t len;

    hgi_config_lines_say(&scan->out->lines, line, out, HGI_CONFIG_SENTENCE_MAX / 2);
    len = strlen(out);
    len += (size_t)snprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, ": ");
    va_start(args, format);
    vsnprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, format, args);
    va_end(args);
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
    const char *start = scan->at;

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
        } else if (quote == '"' && scan->at[0] == '$' && scan->at[1] == '{') {
            if (!check_variable(scan)) {
                return false;
            }
            *scan->at = scan->is_in_call ? HGI_CONFIG_VARIABLE : '$';
        }
    }
    scan->last_string = hg_slice_of(start, (size_t)(scan->at - start));
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

/* Behind the `)` of a call. True: it is no include, or a good one, at which the scan ends. */
static bool end_call(struct scan *scan)
{
    bool is_include =
        scan->depth == 0 && hgi_slice_equal(scan->first_word, hg_slice_text("include"));

    scan->is_in_call = false;
    if (!is_include) {
        end_statement(scan);
        return true;
    }
    if (!scan->may_include) {
        return fault(scan, scan->line, "this configuration may not include others");
    }
    if (!scan->last_string.len || scan->first_line != scan->line) {
        return fault(scan, scan->first_line,
                     "include takes the name of a file; write include(\"more.conf\") on one line");
    }
    if (memchr(scan->last_string.data, HGI_CONFIG_VARIABLE, scan->last_string.len)) {
        return fault(scan, scan->line, "no ${NAME} can stand in an include; write the file's name");
    }
    scan->is_include = true;
    return true;
}

static bool take_sign(struct scan *scan)
{
    char c = *scan->at;

    scan->at += c == '+' ? 2 : 1;
    if (c == '(') {
        scan->is_in_call = true;
        scan->last_string = hg_slice_of(NULL, 0);
    } else if (c == ')') {
        return end_call(scan);
    } else if (c != ',') {
        scan->is_value_next = true;
    }
    return true;
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
        return take_sign(scan);
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
    while (*scan->at && !scan->is_include) {
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
    if (scan->depth > 0 && !scan->is_include) {
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

/* What of a file cannot stand in a text; NULL: nothing. */
static const char *find_fault(const struct hg_bytes *bytes)
{
    if (bytes->len > HGI_CONFIG_TEXT_MAX) {
        return "longer than 1048576 bytes";
    }
    if (bytes->len && memchr(bytes->data, '\0', bytes->len)) {
        return "holds a NUL byte; it must be a text file";
    }
    if (bytes->len && memchr(bytes->data, HGI_CONFIG_VARIABLE, bytes->len)) {
        return "holds a byte of code 0x01; it must be a text file";
    }
    return NULL;
}

static size_t count_lines(struct hg_slice text)
{
    const char *at = text.data;
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++) {
        count += at[i] == '\n';
    }
    return count;
}

/* The file that the include names: seen from the one it stands in. */
static void include_path(const struct scan *scan, char *ret_path, size_t size)
{
    struct hgi_config_line at = hgi_config_lines_at(&scan->out->lines, scan->line);
    const char *from = scan->out->lines.files[at.file];
    const char *slash = strrchr(from, '/');
    const char *name = scan->last_string.data;
    int dir_len = name[0] == '/' || !slash ? 0 : (int)(slash - from) + 1;

    snprintf(ret_path, size, "%.*s%.*s", dir_len, from, (int)scan->last_string.len, name);
}

/* Puts the file's text in place of the include at which the scan has ended. */
static bool insert_include(struct scan *scan)
{
    struct hgi_config_text *out = scan->out;
    char sentence[HGI_CONFIG_SENTENCE_MAX] = "";
    char path[HGI_CONFIG_SENTENCE_MAX / 4];
    struct hg_bytes file;
    struct hg_bytes whole;
    const char *wrong = NULL;
    bool is_good;

    include_path(scan, path, sizeof(path));
    hgi_bytes_init(&file, &hgi_heap);
    hgi_bytes_init(&whole, &hgi_heap);
    is_good = read_whole(path, &file, sentence);
    wrong = is_good ? find_fault(&file) : NULL;
    if (!is_good || wrong) {
        is_good = fault(scan, scan->line, "include: %s%s%s", is_good ? path : sentence,
                        wrong ? ": " : "", wrong ? wrong : "");
        goto out;
    }
    /* It ends with its last line, and what stood behind the include is a line of its own. */
    is_good = hgi_bytes_append(
                  &whole, hg_slice_of(out->text,
                                      (size_t)((const char *)scan->first_word.data - out->text))) &&
              hgi_bytes_append(&whole, hg_slice_text("\n")) &&
              hgi_bytes_append(&file, hg_slice_text("\n")) &&
              hgi_bytes_append(&whole, hgi_bytes_slice(&file)) &&
              hgi_bytes_append(&whole, hg_slice_text(scan->at));
    if (is_good && whole.len > HGI_CONFIG_TEXT_MAX) {
        is_good =
            fault(scan, scan->line, "with this file the configuration is longer than %u bytes",
                  HGI_CONFIG_TEXT_MAX);
        goto out;
    }
    if (is_good && !hgi_config_lines_insert(&out->lines, scan->line, path,
                                            count_lines(hgi_bytes_slice(&file)))) {
        is_good =
            fault(scan, scan->line, "more than %u files are included; does one include itself?",
                  HGI_CONFIG_FILES_MAX - 1);
        goto out;
    }
    hgi_free(&hgi_heap, out->text);
    out->text = is_good ? hgi_text_copy(&hgi_heap, hgi_bytes_slice(&whole)) : NULL;
    is_good = out->text || fault(scan, 0, "out of memory");
out:
    hgi_bytes_deinit(&file);
    hgi_bytes_deinit(&whole);
    return is_good;
}

static bool read_first(const char *path, struct hgi_config_text *out, char *ret_sentence)
{
    struct hg_bytes bytes;
    const char *wrong;
    bool is_good = false;

    hgi_bytes_init(&bytes, &hgi_heap);
    if (!read_whole(path, &bytes, ret_sentence)) {
        goto out;
    }
    wrong = find_fault(&bytes);
    if (wrong) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: %s", path, wrong);
        goto out;
    }
    /* libconfuse cannot open an empty text. */
    is_good = (bytes.len > 0 || hgi_bytes_append(&bytes, hg_slice_text("\n"))) &&
              hgi_config_lines_open(&out->lines, path, count_lines(hgi_bytes_slice(&bytes)) + 1);
    out->text = is_good ? hgi_text_copy(&hgi_heap, hgi_bytes_slice(&bytes)) : NULL;
    if (!out->text) {
        is_good = false;
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: out of memory", path);
    }
out:
    hgi_bytes_deinit(&bytes);
    return is_good;
}

/* Once, and again after each include. */
static bool scan_text(struct hgi_config_text *out, bool may_include, char *ret_sentence)
{
    struct scan scan = {.is_include = true};

    while (scan.is_include) {
        scan = (struct scan){.sentence = ret_sentence,
                             .out = out,
                             .may_include = may_include,
                             .at = out->text,
                             .line = 1};
        out->start_count = 0;
        if (!scan_all(&scan) || (scan.is_include && !insert_include(&scan))) {
            return false;
        }
    }
    return true;
}

bool hgi_config_text_open(const char *path, bool may_include, struct hgi_config_text *ret_text,
                          char *ret_sentence)
{
    struct hgi_config_text out = {.text = NULL};
    bool is_good =
        read_first(path, &out, ret_sentence) && scan_text(&out, may_include, ret_sentence);

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
    hgi_config_lines_close(&text->lines);
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
