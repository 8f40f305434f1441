/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include <stdio.h>
#include <stdlib.h>

#define SENTENCE_MAX 256

bool row_take(struct row *row, sqlite3_stmt *statement, const char *option)
{
    memset(row, 0, sizeof(*row));
    row->option = option;
    row->statement = statement;
    for (int i = 0; i < sqlite3_column_count(statement) && i < ROW_COLUMNS_MAX; i++) {
        row->values[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
        if (!row->values[i]) {
            row_release(row);
            return false;
        }
        row->column_count++;
    }
    return true;
}

void row_release(struct row *row)
{
    for (int i = 0; i < row->column_count; i++) {
        sqlite3_value_free(row->values[i]);
    }
    row->column_count = 0;
}

static bool is_named(const struct row *row, int column, const char *name)
{
    const char *own = sqlite3_column_name(row->statement, column);

    return own && sqlite3_stricmp(own, name) == 0;
}

/* -1: there is none. */
static int find_column(const struct row *row, const char *name)
{
    for (int i = 0; i < row->column_count; i++) {
        if (is_named(row, i, name)) {
            return i;
        }
    }
    return -1;
}

static bool is_null(const struct row *row, int column)
{
    return column < 0 || sqlite3_value_type(row->values[column]) == SQLITE_NULL;
}

static struct hg_slice value_slice(sqlite3_value *value)
{
    const void *data = sqlite3_value_type(value) == SQLITE_BLOB ? sqlite3_value_blob(value)
                                                                : sqlite3_value_text(value);

    return hg_slice_of(data, data ? (size_t)sqlite3_value_bytes(value) : 0);
}

/* The named column as bytes; none and NULL are empty. */
static struct hg_slice slice_of(const struct row *row, const char *name)
{
    int column = find_column(row, name);

    return is_null(row, column) ? hg_slice_of(NULL, 0) : value_slice(row->values[column]);
}

/* A number; none and NULL are 0. False and a sentence: the column holds something else. */
static bool number_of(const struct row *row, const char *name, bool *ret_is_given,
                      double *ret_number, char *sentence)
{
    int column = find_column(row, name);
    int type = is_null(row, column) ? SQLITE_NULL : sqlite3_value_type(row->values[column]);

    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column %s holds %s; a number is right",
                 row->option, name, type == SQLITE_TEXT ? "text" : "a blob");
        return false;
    }
    *ret_is_given = type != SQLITE_NULL;
    *ret_number = *ret_is_given ? sqlite3_value_double(row->values[column]) : 0;
    return true;
}

/* Unix seconds to unix milliseconds. In the ABI 0 is "no end", so 1970 and before become 1: long
 * over. */
static bool instant_of(const struct row *row, const char *name, int64_t *ret_ms, char *sentence)
{
    bool is_given = false;
    double seconds = 0;

    if (!number_of(row, name, &is_given, &seconds, sentence)) {
        return false;
    }
    if (!is_given) {
        *ret_ms = 0;
    } else if (seconds >= 9e12) {
        *ret_ms = INT64_C(9000000000000000);
    } else {
        *ret_ms = seconds * 1000 < 1 ? 1 : (int64_t)(seconds * 1000);
    }
    return true;
}

static bool duration_of(const struct row *row, const char *name, int64_t *ret_ms, char *sentence)
{
    bool is_given = false;
    double ms = 0;

    if (!number_of(row, name, &is_given, &ms, sentence)) {
        return false;
    }
    if (ms < 0 || ms > 9e15) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column %s is out of range", row->option,
                 name);
        return false;
    }
    *ret_ms = (int64_t)ms;
    return true;
}

static bool lifetime_of(const struct row *row, struct hg_lifetime *ret_lifetime, char *sentence)
{
    memset(ret_lifetime, 0, sizeof(*ret_lifetime));
    ret_lifetime->size = sizeof(*ret_lifetime);
    return instant_of(row, "expires_at", &ret_lifetime->expires_at_ms, sentence) &&
           duration_of(row, "ttl_ms", &ret_lifetime->ttl_ms, sentence) &&
           duration_of(row, "stale_ttl_ms", &ret_lifetime->stale_ttl_ms, sentence);
}

/* A host without done_unchanged gives no old value. */
static bool is_unchanged(const struct hg_load_request *request, const struct hg_lifetime *lifetime)
{
    return request->has_old_value && lifetime->etag.len &&
           request->etag.len == lifetime->etag.len &&
           memcmp(request->etag.data, lifetime->etag.data, lifetime->etag.len) == 0;
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts "read, write" into its words, for scopes and tags. There are at most as many as half the
 * letters, and one. */
static struct hg_slice *words_of(struct hg_slice text, size_t *ret_count)
{
    struct hg_slice *words = calloc(text.len / 2 + 1, sizeof(*words));
    const char *data = text.data;
    size_t at = 0;

    *ret_count = 0;
    while (words && at < text.len) {
        size_t begin = at;

        while (at < text.len && !is_separator(data[at])) {
            at++;
        }
        if (at > begin) {
            words[(*ret_count)++] = hg_slice_of(data + begin, at - begin);
        }
        at++;
    }
    return words;
}

static bool is_attribute(const struct row *row, int column)
{
    static const char *const own[] = {"user_id",   "api_key_id", "allowed", "scopes",
                                      "not_after", "expires_at", "ttl_ms",  "stale_ttl_ms",
                                      "tags",      "etag"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (is_named(row, column, own[i])) {
            return false;
        }
    }
    return !is_null(row, column);
}

/* Fills what the columns say; scopes and attributes are the caller's to give. */
static bool auth_of(const struct row *row, struct hg_auth *auth, char *sentence)
{
    bool is_given = false;
    double allowed = 0;

    if (find_column(row, "allowed") < 0) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": an auth cache needs a column allowed",
                 row->option);
        return false;
    }
    if (!number_of(row, "allowed", &is_given, &allowed, sentence) ||
        !instant_of(row, "not_after", &auth->not_after_ms, sentence)) {
        return false;
    }
    if (allowed != 0 && allowed != 1) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column allowed must be 0 or 1",
                 row->option);
        return false;
    }
    auth->allowed = allowed != 0;
    auth->user_id = slice_of(row, "user_id");
    auth->api_key_id = slice_of(row, "api_key_id");
    return true;
}

static void answer_auth(const struct row *row, const struct hg_host_services *services,
                        struct hg_load *load, const struct hg_load_request *request,
                        const struct hg_lifetime *lifetime)
{
    struct hg_attribute attributes[ROW_COLUMNS_MAX];
    struct hg_auth auth;
    char sentence[SENTENCE_MAX];
    struct hg_slice *scopes;

    memset(&auth, 0, sizeof(auth));
    if (!auth_of(row, &auth, sentence)) {
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
        return;
    }
    /* Whoever revoked the row may have forgotten its etag: that is an answer all the same. */
    if (auth.allowed && is_unchanged(request, lifetime)) {
        services->done_unchanged(load, lifetime);
        return;
    }
    for (int i = 0; i < row->column_count; i++) {
        if (is_attribute(row, i)) {
            attributes[auth.attribute_count].name =
                hg_slice_text(sqlite3_column_name(row->statement, i));
            attributes[auth.attribute_count++].value = value_slice(row->values[i]);
        }
    }
    auth.attributes = attributes;
    scopes = words_of(slice_of(row, "scopes"), &auth.scope_count);
    if (!scopes) {
        services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    auth.scopes = scopes;
    services->done_auth(load, &auth, lifetime);
    free(scopes);
}

static void answer_value(const struct row *row, const struct hg_host_services *services,
                         struct hg_load *load, const struct hg_load_request *request,
                         const struct hg_lifetime *lifetime)
{
    enum hg_value_type type = request->value_type;
    char sentence[SENTENCE_MAX];
    int column = find_column(row, "value");

    if (column < 0) {
        snprintf(sentence, sizeof(sentence), "option \"%s\": a %s cache needs a column value",
                 row->option, type == HG_TYPE_JSON ? "json" : "bytes");
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
    } else if (is_null(row, column)) {
        services->done_absent(load, lifetime);
    } else if (is_unchanged(request, lifetime)) {
        services->done_unchanged(load, lifetime);
    } else if (type == HG_TYPE_JSON) {
        services->done_json(load, value_slice(row->values[column]), lifetime);
    } else {
        services->done_bytes(load, value_slice(row->values[column]), lifetime);
    }
}

void row_answer(const struct row *row, const struct hg_host_services *services,
                struct hg_load *load, const struct hg_load_request *request)
{
    char sentence[SENTENCE_MAX];
    struct hg_lifetime lifetime;
    struct hg_slice *tags;

    if (!lifetime_of(row, &lifetime, sentence)) {
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
        return;
    }
    tags = words_of(slice_of(row, "tags"), &lifetime.tag_count);
    if (!tags) {
        services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    lifetime.tags = tags;
    lifetime.etag = slice_of(row, "etag");
    if (request->value_type == HG_TYPE_AUTH) {
        answer_auth(row, services, load, request, &lifetime);
    } else {
        answer_value(row, services, load, request, &lifetime);
    }
    free(tags);
}
