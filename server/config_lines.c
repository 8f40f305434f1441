/* SPDX-License-Identifier: Apache-2.0 */
#include "config_lines.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool add_file(struct hgi_config_lines *lines, const char *file)
{
    char *copy = lines->file_count < HGI_CONFIG_FILES_MAX
                     ? hgi_text_copy(&hgi_heap, hg_slice_text(file))
                     : NULL;

    if (copy) {
        lines->files[lines->file_count++] = copy;
    }
    return copy != NULL;
}

static void fill(struct hgi_config_line *lines, size_t file, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct hgi_config_line){file, (int)i + 1};
    }
}

bool hgi_config_lines_open(struct hgi_config_lines *lines, const char *file, size_t count)
{
    memset(lines, 0, sizeof(*lines));
    lines->lines = hgi_alloc(&hgi_heap, count * sizeof(*lines->lines));
    if (!lines->lines || !add_file(lines, file)) {
        hgi_config_lines_close(lines);
        return false;
    }
    fill(lines->lines, 0, count);
    lines->count = count;
    return true;
}

void hgi_config_lines_close(struct hgi_config_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++) {
        hgi_free(&hgi_heap, lines->files[i]);
    }
    for (int i = 0; i < lines->other_count; i++) {
        hgi_free(&hgi_heap, lines->others[i]);
    }
    hgi_free(&hgi_heap, (void *)lines->others);
    hgi_free(&hgi_heap, lines->lines);
    memset(lines, 0, sizeof(*lines));
}

bool hgi_config_lines_insert(struct hgi_config_lines *lines, int line, const char *file,
                             size_t count)
{
    size_t before = (size_t)line;
    size_t whole = lines->count + count + 1;
    struct hgi_config_line *more = hgi_alloc(&hgi_heap, whole * sizeof(*more));

    if (!more || !add_file(lines, file)) {
        hgi_free(&hgi_heap, more);
        return false;
    }
    memcpy(more, lines->lines, before * sizeof(*more));
    fill(more + before, lines->file_count - 1, count);
    memcpy(more + before + count, lines->lines + before - 1,
           (lines->count - before + 1) * sizeof(*more));
    hgi_free(&hgi_heap, lines->lines);
    lines->lines = more;
    lines->count = whole;
    return true;
}

bool hgi_config_lines_add(struct hgi_config_lines *lines, const char *other, int *ret_line)
{
    size_t count = (size_t)lines->other_count;
    char **more = hgi_alloc(&hgi_heap, (count + 1) * sizeof(*more));
    char *copy = more ? hgi_text_copy(&hgi_heap, hg_slice_text(other)) : NULL;

    if (!copy) {
        hgi_free(&hgi_heap, (void *)more);
        return false;
    }
    if (count) {
        memcpy((void *)more, (const void *)lines->others, count * sizeof(*more));
    }
    more[count] = copy;
    hgi_free(&hgi_heap, (void *)lines->others);
    lines->others = more;
    *ret_line = -++lines->other_count;
    return true;
}

/* NULL: a file does. */
static const char *other_at(const struct hgi_config_lines *lines, int line)
{
    return line < 0 ? lines->others[-line - 1] : NULL;
}

struct hgi_config_line hgi_config_lines_at(const struct hgi_config_lines *lines, int line)
{
    struct hgi_config_line none = {0, 0};

    if (line <= 0 || !lines->count) {
        return none;
    }
    return lines->lines[(size_t)line <= lines->count ? (size_t)line - 1 : lines->count - 1];
}

void hgi_config_lines_say(const struct hgi_config_lines *lines, int line, char *ret_text,
                          size_t size)
{
    struct hgi_config_line at = hgi_config_lines_at(lines, line);
    const char *other = other_at(lines, line);

    if (other) {
        snprintf(ret_text, size, "%.300s", other);
    } else if (at.line) {
        snprintf(ret_text, size, "%s:%d", lines->files[at.file], at.line);
    } else {
        snprintf(ret_text, size, "%s", lines->files[0]);
    }
}

void hgi_config_lines_refer(const struct hgi_config_lines *lines, int from, int line,
                            char *ret_text, size_t size)
{
    struct hgi_config_line here = hgi_config_lines_at(lines, from);
    struct hgi_config_line there = hgi_config_lines_at(lines, line);

    if (other_at(lines, line)) {
        snprintf(ret_text, size, "by %.300s", other_at(lines, line));
    } else if (here.file == there.file && from >= 0) {
        snprintf(ret_text, size, "on line %d", there.line);
    } else {
        snprintf(ret_text, size, "in %s:%d", lines->files[there.file], there.line);
    }
}
