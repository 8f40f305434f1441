/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MIN  256u
#define FILE_MARK "file:"

static bool reserve(struct text *text, size_t more)
{
    size_t size = text->size ? text->size : SIZE_MIN;
    char *grown;

    if (more >= SIZE_MAX / 4 - text->len) {
        return false;
    }
    while (size < text->len + more + 1) {
        size *= 2;
    }
    if (size == text->size) {
        return true;
    }
    /* Not realloc: what it leaves behind may be a secret. */
    grown = malloc(size);
    if (!grown) {
        return false;
    }
    if (text->len) {
        memcpy(grown, text->data, text->len);
        explicit_bzero(text->data, text->len);
    }
    free(text->data);
    text->data = grown;
    text->size = size;
    return true;
}

bool text_append(struct text *text, const void *data, size_t len)
{
    if (!reserve(text, len)) {
        return false;
    }
    if (len) {
        memcpy(text->data + text->len, data, len);
    }
    text->len += len;
    text->data[text->len] = '\0';
    return true;
}

bool text_append_word(struct text *text, const char *word)
{
    return text_append(text, word, strlen(word));
}

void text_clear(struct text *text)
{
    if (text->data) {
        explicit_bzero(text->data, text->len);
    }
    free(text->data);
    memset(text, 0, sizeof(*text));
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

struct hg_slice *text_words(struct hg_slice bytes, size_t *ret_count)
{
    /* There are at most as many as half the letters, and one. */
    struct hg_slice *words = calloc(bytes.len / 2 + 1, sizeof(*words));
    const char *data = bytes.data;
    size_t at = 0;

    *ret_count = 0;
    while (words && at < bytes.len) {
        size_t begin = at;

        while (at < bytes.len && !is_separator(data[at])) {
            at++;
        }
        if (at > begin) {
            words[(*ret_count)++] = hg_slice_of(data + begin, at - begin);
        }
        at++;
    }
    return words;
}

/* What is wrong with the open file, or NULL. */
static const char *read_secret(struct text *text, int fd)
{
    char buffer[HG_SECRET_MAX + 1];
    const char *wrong = NULL;
    struct stat about;
    ssize_t got = 0;
    size_t len = 0;

    if (fstat(fd, &about) != 0) {
        return strerror(errno);
    }
    if (S_ISREG(about.st_mode) && (about.st_mode & S_IRWXO)) {
        return "all users may read or write it; chmod o-rwx makes it a secret";
    }
    while (len < sizeof(buffer) && (got = read(fd, buffer + len, sizeof(buffer) - len)) > 0) {
        len += (size_t)got;
    }
    if (got < 0) {
        wrong = strerror(errno);
    } else if (len > HG_SECRET_MAX) {
        wrong = "it is longer than 8192 bytes";
    } else {
        while (len && (buffer[len - 1] == '\n' || buffer[len - 1] == '\r')) {
            len--;
        }
        if (len == 0) {
            wrong = "it is empty";
        } else if (memchr(buffer, '\0', len)) {
            wrong = "it holds a NUL byte";
        } else if (!text_append(text, buffer, len)) {
            wrong = "out of memory";
        }
    }
    explicit_bzero(buffer, sizeof(buffer));
    return wrong;
}

bool text_secret(struct text *text, const char *option, const char *value, char *error,
                 size_t error_size)
{
    const char *path = value + strlen(FILE_MARK);
    const char *wrong = NULL;
    int fd;

    if (strncmp(value, FILE_MARK, strlen(FILE_MARK)) != 0) {
        if (!text_append_word(text, value)) {
            snprintf(error, error_size, "out of memory");
            return false;
        }
        return true;
    }
    fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (fd < 0) {
        wrong = path[0] == '/' ? strerror(errno) : "an absolute path is right";
    } else {
        wrong = read_secret(text, fd);
        close(fd);
    }
    if (wrong) {
        snprintf(error, error_size, "option \"%s\": %.200s: %s", option, path, wrong);
        return false;
    }
    return true;
}
