/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "text.h"

#define SENTENCE_MAX 256

const struct column *columns_find(const struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (strcasecmp(columns->columns[i].name, name) == 0) {
            return &columns->columns[i];
        }
    }
    return NULL;
}

static bool is_null(const struct column *column)
{
    return !column || column->kind == COLUMN_NULL;
}

/* The named column as bytes; none and NULL are empty. */
static struct hg_slice slice_of(const struct columns *columns, const char *name)
{
    const struct column *column = columns_find(columns, name);

    return is_null(column) ? hg_slice_of(NULL, 0) : column->bytes;
}

/* A number; none and NULL are 0. False and a sentence: the column holds something else. */
static bool number_of(const struct columns *columns, const char *name, bool *ret_is_given,
                      double *ret_number, char *sentence)
{
    const struct column *column = columns_find(columns, name);

    if (!is_null(column) && column->kind != COLUMN_NUMBER) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column %s holds %s; a number is right",
                 columns->option, name, column->kind == COLUMN_TEXT ? "text" : "a blob");
        return false;
    }
    *ret_is_given = !is_null(column);
    *ret_number = *ret_is_given ? column->number : 0;
    return true;
}

/* Unix seconds to unix milliseconds. In the ABI 0 is "no end", so 1970 and before become 1: long
 * over. */
static bool instant_of(const struct columns *columns, const char *name, int64_t *ret_ms,
                       char *sentence)
{
    bool is_given = false;
    double seconds = 0;

    if (!number_of(columns, name, &is_given, &seconds, sentence)) {
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

static bool duration_of(const struct columns *columns, const char *name, int64_t *ret_ms,
                        char *sentence)
{
    bool is_given = false;
    double ms = 0;

    if (!number_of(columns, name, &is_given, &ms, sentence)) {
        return false;
    }
    if (ms < 0 || ms > 9e15) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column %s is out of range",
                 columns->option, name);
        return false;
    }
    *ret_ms = (int64_t)ms;
    return true;
}

static bool lifetime_of(const struct columns *columns, struct hg_lifetime *ret_lifetime,
                        char *sentence)
{
    memset(ret_lifetime, 0, sizeof(*ret_lifetime));
    ret_lifetime->size = sizeof(*ret_lifetime);
    return instant_of(columns, "expires_at", &ret_lifetime->expires_at_ms, sentence) &&
           duration_of(columns, "ttl_ms", &ret_lifetime->ttl_ms, sentence) &&
           duration_of(columns, "stale_ttl_ms", &ret_lifetime->stale_ttl_ms, sentence);
}

/* A host without done_unchanged gives no old value. */
static bool is_unchanged(const struct hg_load_request *request, const struct hg_lifetime *lifetime)
{
    return request->has_old_value && lifetime->etag.len &&
           request->etag.len == lifetime->etag.len &&
           memcmp(request->etag.data, lifetime->etag.data, lifetime->etag.len) == 0;
}

static bool is_attribute(const struct columns *columns, const struct column *column)
{
    static const char *const own[] = {"user_id",   "api_key_id", "allowed", "scopes",
                                      "not_after", "expires_at", "ttl_ms",  "stale_ttl_ms",
                                      "tags",      "etag",       NULL};

    for (const char *const *name = own; *name; name++) {
        if (strcasecmp(column->name, *name) == 0) {
            return false;
        }
    }
    for (const char *const *name = columns->beside; name && *name; name++) {
        if (strcasecmp(column->name, *name) == 0) {
            return false;
        }
    }
    return !is_null(column);
}

/* Fills what the columns say; scopes and attributes are the caller's to give. */
static bool auth_of(const struct columns *columns, struct hg_auth *auth, char *sentence)
{
    bool is_given = false;
    double allowed = 0;

    if (!columns_find(columns, "allowed")) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": an auth cache needs a column allowed",
                 columns->option);
        return false;
    }
    if (!number_of(columns, "allowed", &is_given, &allowed, sentence) ||
        !instant_of(columns, "not_after", &auth->not_after_ms, sentence)) {
        return false;
    }
    if (allowed != 0 && allowed != 1) {
        snprintf(sentence, SENTENCE_MAX, "option \"%s\": column allowed must be 0 or 1",
                 columns->option);
        return false;
    }
    auth->allowed = allowed != 0;
    auth->user_id = slice_of(columns, "user_id");
    auth->api_key_id = slice_of(columns, "api_key_id");
    return true;
}

static void answer_auth(const struct columns *columns, const struct hg_host_services *services,
                        struct hg_load *load, const struct hg_load_request *request,
                        const struct hg_lifetime *lifetime)
{
    struct hg_attribute attributes[COLUMNS_MAX];
    struct hg_auth auth;
    char sentence[SENTENCE_MAX];
    struct hg_slice *scopes;

    memset(&auth, 0, sizeof(auth));
    if (!auth_of(columns, &auth, sentence)) {
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
        return;
    }
    /* Whoever revoked the row may have forgotten its etag: that is an answer all the same. */
    if (auth.allowed && is_unchanged(request, lifetime)) {
        services->done_unchanged(load, lifetime);
        return;
    }
    for (size_t i = 0; i < columns->count; i++) {
        const struct column *column = &columns->columns[i];

        if (is_attribute(columns, column)) {
            attributes[auth.attribute_count].name = hg_slice_text(column->name);
            attributes[auth.attribute_count++].value = column->bytes;
        }
    }
    auth.attributes = attributes;
    scopes = text_words(slice_of(columns, "scopes"), &auth.scope_count);
    if (!scopes) {
        services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    auth.scopes = scopes;
    services->done_auth(load, &auth, lifetime);
    free(scopes);
}

static void answer_value(const struct columns *columns, const struct hg_host_services *services,
                         struct hg_load *load, const struct hg_load_request *request,
                         const struct hg_lifetime *lifetime)
{
    enum hg_value_type type = request->value_type;
    char sentence[SENTENCE_MAX];
    const struct column *column = columns_find(columns, "value");

    if (!column) {
        snprintf(sentence, sizeof(sentence), "option \"%s\": a %s cache needs a column value",
                 columns->option, type == HG_TYPE_JSON ? "json" : "bytes");
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
    } else if (is_null(column)) {
        services->done_absent(load, lifetime);
    } else if (is_unchanged(request, lifetime)) {
        services->done_unchanged(load, lifetime);
    } else if (type == HG_TYPE_JSON) {
        services->done_json(load, column->bytes, lifetime);
    } else {
        services->done_bytes(load, column->bytes, lifetime);
    }
}

void columns_answer(const struct columns *columns, const struct hg_host_services *services,
                    struct hg_load *load, const struct hg_load_request *request)
{
    char sentence[SENTENCE_MAX];
    struct hg_lifetime lifetime;
    struct hg_slice *tags;

    if (!lifetime_of(columns, &lifetime, sentence)) {
        services->done_error(load, HG_FAILED_PRECONDITION, sentence);
        return;
    }
    tags = text_words(slice_of(columns, "tags"), &lifetime.tag_count);
    if (!tags) {
        services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    lifetime.tags = tags;
    lifetime.etag = slice_of(columns, "etag");
    if (request->value_type == HG_TYPE_AUTH) {
        answer_auth(columns, services, load, request, &lifetime);
    } else {
        answer_value(columns, services, load, request, &lifetime);
    }
    free(tags);
}
