/* SPDX-License-Identifier: Apache-2.0 */
/* static: a loader that answers from a file of keys and values. The example to copy.
 *
 * The file is read once, in open, and never changes after, so loads need no lock. Its form is in
 * README.md beside this file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "herdgate/loader.h"

#define FILE_MAX_BYTES (64u << 20)
/* A key whose every byte is escaped, its tabs, and a flag. */
#define KEY_TEXT_MAX (2 * HG_KEY_MAX + 8)

/* One line: the key as it stands in the file, escapes and all, and the value without them. */
struct row {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
    size_t line;
};

struct self {
    const struct hg_host_services *services;
    char *text;
    struct row *rows;
    size_t row_count;
    char *tag_text;
    struct hg_lifetime lifetime; /* of every value: its tags */
    struct hg_slice tags[HG_TAGS_MAX];
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;
    size_t len = left->key_len < right->key_len ? left->key_len : right->key_len;
    int order = memcmp(left->key, right->key, len);

    return order ? order : (left->key_len > right->key_len) - (left->key_len < right->key_len);
}

/* Takes \n, \t and \\ out of text in place; the new length, or -1 for another escape. */
static long unescape(char *text, size_t len)
{
    size_t to = 0;

    for (size_t from = 0; from < len; from++, to++) {
        text[to] = text[from];
        if (text[from] == '\\') {
            char next = (char)(from + 1 < len ? text[++from] : '\0');

            if (next != 'n' && next != 't' && next != '\\') {
                return -1;
            }
            text[to] = (char)(next == 'n' ? '\n' : next == 't' ? '\t' : '\\');
        }
    }
    return (long)to;
}

/* Cuts one line at its last tab. False and a reason: it is no row. */
static bool parse_line(char *line, size_t len, size_t number, struct row *ret_row,
                       const char **ret_why)
{
    char *tab = memrchr(line, '\t', len);
    long value_len;

    if (!tab) {
        *ret_why = "has no tab between key and value";
        return false;
    }
    if (tab == line) {
        *ret_why = "has an empty key";
        return false;
    }
    value_len = unescape(tab + 1, len - (size_t)(tab + 1 - line));
    if (value_len < 0) {
        *ret_why = "has a backslash before something other than n, t or a backslash";
        return false;
    }
    ret_row->key = line;
    ret_row->key_len = (size_t)(tab - line);
    ret_row->value = tab + 1;
    ret_row->value_len = (size_t)value_len;
    ret_row->line = number;
    return true;
}

static bool parse_text(struct self *self, char *text, size_t len, const char *path, char *error,
                       size_t error_size)
{
    size_t number = 0;
    size_t capacity = 1;
    char *line = text;

    for (size_t i = 0; i < len; i++) {
        capacity += text[i] == '\n';
    }
    self->rows = calloc(capacity, sizeof(*self->rows));
    if (!self->rows) {
        snprintf(error, error_size, "out of memory for %s", path);
        return false;
    }
    while (line < text + len) {
        char *end = memchr(line, '\n', (size_t)(text + len - line));
        size_t line_len = (size_t)((end ? end : text + len) - line);
        const char *why = NULL;

        number++;
        if (line_len && line[0] != '#') {
            if (!parse_line(line, line_len, number, &self->rows[self->row_count], &why)) {
                snprintf(error, error_size, "%s:%zu: the line %s", path, number, why);
                return false;
            }
            self->row_count++;
        }
        line += line_len + 1;
    }
    qsort(self->rows, self->row_count, sizeof(*self->rows), compare_rows);
    for (size_t i = 1; i < self->row_count; i++) {
        if (compare_rows(&self->rows[i - 1], &self->rows[i]) == 0) {
            snprintf(error, error_size, "%s: lines %zu and %zu have the same key", path,
                     self->rows[i - 1].line, self->rows[i].line);
            return false;
        }
    }
    return true;
}

/* The whole file, or NULL and a sentence. */
static char *read_file(const char *path, size_t *ret_len, char *error, size_t error_size)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t len = 0;
    size_t size = 4096;

    if (!file) {
        snprintf(error, error_size, "option \"file\": %s: %s", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        char *grown = realloc(text, size);

        if (!grown) {
            snprintf(error, error_size, "out of memory for %s", path);
            goto fail;
        }
        text = grown;
        len += fread(text + len, 1, size - len, file);
        if (len < size) {
            break;
        }
        size *= 2;
        if (size > FILE_MAX_BYTES) {
            snprintf(error, error_size, "%s is larger than %u bytes", path, FILE_MAX_BYTES);
            goto fail;
        }
    }
    if (ferror(file)) {
        snprintf(error, error_size, "%s cannot be read: %s", path, strerror(errno));
        goto fail;
    }
    fclose(file);
    *ret_len = len;
    return text;
fail:
    fclose(file);
    free(text);
    return NULL;
}

static void static_close(void *context)
{
    struct self *self = context;

    free(self->rows);
    free(self->text);
    free(self->tag_text);
    free(self);
}

/* Words between spaces or commas. */
static bool set_tags(struct self *self, const char *text, char *error, size_t error_size)
{
    char *left = self->tag_text = strdup(text);
    char *word;

    if (!left) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    while ((word = strsep(&left, " ,")) != NULL) {
        if (!*word) {
            continue;
        }
        if (self->lifetime.tag_count == HG_TAGS_MAX || strlen(word) > HG_TAG_MAX) {
            snprintf(error, error_size, "option \"tags\": at most %u words of %u bytes are right",
                     HG_TAGS_MAX, HG_TAG_MAX);
            return false;
        }
        self->tags[self->lifetime.tag_count++] = hg_slice_text(word);
    }
    return true;
}

static enum hg_status static_open(struct hg_host *host, const struct hg_host_services *services,
                                  const struct hg_loader_setting *settings, size_t setting_count,
                                  void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));
    const char *path = "";
    size_t len = 0;

    (void)host;
    if (!self) {
        snprintf(error, error_size, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    self->services = services;
    self->lifetime.size = sizeof(self->lifetime);
    self->lifetime.tags = self->tags;
    /* The host has checked that there is one `file`, and nothing unknown. */
    for (size_t i = 0; i < setting_count; i++) {
        if (strcmp(settings[i].name, "file") == 0) {
            path = settings[i].value;
        } else if (!set_tags(self, settings[i].value, error, error_size)) {
            static_close(self);
            return HG_FAILED_PRECONDITION;
        }
    }
    self->text = read_file(path, &len, error, error_size);
    if (!self->text || !parse_text(self, self->text, len, path, error, error_size)) {
        static_close(self);
        return HG_FAILED_PRECONDITION;
    }
    *ret_self = self;
    return HG_OK;
}

/* Appends a part of a key as the file writes it. The buffer holds any key (KEY_TEXT_MAX). */
static size_t put_part(char *text, size_t at, struct hg_slice part)
{
    const char *data = part.data;

    if (at) {
        text[at++] = '\t';
    }
    for (size_t i = 0; i < part.len; i++) {
        char c = data[i];

        if (c == '\n' || c == '\t' || c == '\\') {
            text[at++] = '\\';
            c = (char)(c == '\n' ? 'n' : c == '\t' ? 't' : '\\');
        }
        text[at++] = c;
    }
    return at;
}

static size_t put_key(char *text, const struct hg_key *key)
{
    size_t at = 0;

    switch (key->kind) {
    case HG_KEY_BYTES:
    case HG_KEY_KEY_HASH:
        at = put_part(text, at, key->bytes);
        break;
    case HG_KEY_API_KEY_FEATURE:
        /* The flag first: it is never empty, so a key never begins with a tab. */
        at = put_part(text, at, hg_slice_text(key->is_standalone ? "1" : "0"));
        at = put_part(text, at, key->user_id);
        at = put_part(text, at, key->api_key_id);
        break;
    case HG_KEY_USER_API_KEY:
        at = put_part(text, at, key->user_id);
        at = put_part(text, at, key->api_key_id);
        break;
    }
    return at;
}

static void static_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    const struct self *self = context;
    char text[KEY_TEXT_MAX];
    struct row wanted = {.key = text};
    const struct row *row = NULL;

    if (request->value_type == HG_TYPE_AUTH) {
        self->services->done_error(load, HG_INVALID_ARGUMENT,
                                   "plugin static serves caches of bytes and json, not of auth");
        return;
    }
    wanted.key_len = put_key(text, &request->key);
    if (self->row_count) {
        row = bsearch(&wanted, self->rows, self->row_count, sizeof(*row), compare_rows);
    }
    explicit_bzero(text, wanted.key_len); /* a key may be a credential */
    if (!row) {
        self->services->done_absent(load, &self->lifetime);
    } else if (request->value_type == HG_TYPE_JSON) {
        self->services->done_json(load, hg_slice_of(row->value, row->value_len), &self->lifetime);
    } else {
        self->services->done_bytes(load, hg_slice_of(row->value, row->value_len), &self->lifetime);
    }
}

static const struct hg_loader_option options[] = {
    {.name = "file", .help = "path of the file of keys and values", .required = true},
    {.name = "tags", .help = "words that an invalidation by tag may name"},
    {.name = NULL},
};

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .name = "static",
    .version = HERDGATE_VERSION, /* from the build; a plugin of your own has its own */
    .options = options,
    .open = static_open,
    .load = static_load,
    .close = static_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
