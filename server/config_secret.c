/* SPDX-License-Identifier: Apache-2.0 */
#include "config_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/kind.h"
#include "server/config_text.h"

#define FILE_SIGN "file:"

/* NULL: no memory. */
static char *keep(struct hgi_arena *arena, struct hg_slice text)
{
    char *copy = hgi_arena_alloc(arena, text.len + 1);

    if (copy && text.len) {
        memcpy(copy, text.data, text.len);
    }
    return copy;
}

/* Of a \x01{NAME} or \x01{NAME:-default} at `at`; *ret_end: behind it. */
static struct hg_slice value_of(const char *at, const char **ret_end)
{
    const char *name = at + 2;
    const char *end = strchr(name, '}');
    const char *colon = memchr(name, ':', (size_t)(end - name));
    char own[128]; /* config_text has seen to it that it fits */
    const char *value;

    snprintf(own, sizeof(own), "%.*s", (int)((colon ? colon : end) - name), name);
    value = getenv(own);
    *ret_end = end + 1;
    if (!value && colon) {
        return hg_slice_of(colon + 2, (size_t)(end - colon - 2));
    }
    return hg_slice_text(value);
}

static bool expand(const char *text, struct hg_bytes *ret_bytes)
{
    bool is_good = true;

    while (is_good && *text) {
        size_t len = strcspn(text, (const char[]){HGI_CONFIG_VARIABLE, '\0'});

        is_good = hgi_bytes_append(ret_bytes, hg_slice_of(text, len));
        text += len;
        if (*text) {
            struct hg_slice value = value_of(text, &text);

            is_good = is_good && hgi_bytes_append(ret_bytes, value);
        }
    }
    return is_good && hgi_bytes_append(ret_bytes, hg_slice_of("", 1));
}

static bool refuse(char *ret_sentence, const char *path, const char *what)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.150s %s", path, what);
    return false;
}

static bool check_file(int fd, const char *path, char *ret_sentence)
{
    struct stat found;

    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        return refuse(ret_sentence, path, "is no file");
    }
    if (found.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) {
        return refuse(ret_sentence, path,
                      "can be read or written by others; chmod 0600 or 0640 it");
    }
    return found.st_size <= (off_t)HGI_SECRET_MAX ||
           refuse(ret_sentence, path, "is longer than a secret may be (65536 bytes)");
}

/* What it holds, but for a last line end. */
static bool read_file(const char *path, struct hg_bytes *ret_bytes, char *ret_sentence)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_good = false;
    ssize_t got = 1;

    if (fd < 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.150s cannot be read: %s", path,
                 strerror(errno));
        return false;
    }
    if (!check_file(fd, path, ret_sentence)) {
        goto out;
    }
    ret_bytes->len = 0;
    while (got > 0 && ret_bytes->len <= HGI_SECRET_MAX && hgi_bytes_reserve(ret_bytes, 4096)) {
        got = read(fd, ret_bytes->data + ret_bytes->len, 4096);
        ret_bytes->len += got > 0 ? (size_t)got : 0;
    }
    if (got != 0 || memchr(ret_bytes->data, '\0', ret_bytes->len)) {
        (void)refuse(ret_sentence, path, got ? "cannot be read" : "holds a NUL byte");
        goto out;
    }
    if (ret_bytes->len && ret_bytes->data[ret_bytes->len - 1] == '\n') {
        ret_bytes->len--;
    }
    is_good = ret_bytes->len > 0 || refuse(ret_sentence, path, "is empty");
out:
    (void)close(fd); /* only read from */
    return is_good;
}

bool hgi_secret_read(struct hgi_arena *arena, const char *text, enum hgi_secret_file file,
                     struct hgi_secret *ret_secret, char *ret_sentence)
{
    struct hgi_secret secret = {.shown = keep(arena, hg_slice_text(text))};
    struct hg_bytes bytes;
    bool is_good;

    hgi_bytes_init(&bytes, &hgi_heap); /* wiped at its end */
    is_good = expand(text, &bytes);
    if (!is_good) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "out of memory");
        goto out;
    }
    bytes.len--; /* the end of the text */
    if (file != HGI_SECRET_IS_TEXT &&
        strncmp((const char *)bytes.data, FILE_SIGN "/", strlen(FILE_SIGN) + 1) == 0) {
        char path[1024];

        snprintf(path, sizeof(path), "%s", (const char *)bytes.data + strlen(FILE_SIGN));
        is_good = file == HGI_SECRET_IS_READ
                      ? read_file(path, &bytes, ret_sentence)
                      : refuse(ret_sentence, path, "may not be looked into here");
    }
    if (is_good) {
        secret.text = keep(arena, hgi_bytes_slice(&bytes));
        is_good = secret.text && secret.shown;
        if (!is_good) {
            snprintf(ret_sentence, HGI_SENTENCE_MAX, "out of memory");
        }
    }
    if (is_good) {
        *ret_secret = secret;
    }
out:
    hgi_bytes_deinit(&bytes);
    return is_good;
}
