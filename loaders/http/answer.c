/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SENTENCE_MAX 256
/* What a list of JSON is, as words; what a number is, as text. */
#define LISTS_MAX (SETTINGS_ATTRIBUTES_MAX + 8)

/* One answer in the making. */
struct draft {
    const struct settings *settings;
    json_t *root;
    struct hg_lifetime lifetime;
    enum hg_status status; /* of the sentence */
    char sentence[SENTENCE_MAX];
    struct text texts[LISTS_MAX]; /* what slices of the answer borrow */
    size_t text_count;
};

static bool fail(struct draft *draft, enum hg_status status, const char *sentence)
{
    draft->status = status;
    snprintf(draft->sentence, sizeof(draft->sentence), "%s", sentence);
    return false;
}

/* Where a part of a pointer, ~0 and ~1 undone, leads from here. */
static json_t *step(json_t *from, const char *part, size_t len)
{
    char name[SETTINGS_POINTER_MAX];
    size_t to = 0;

    for (size_t i = 0; i < len && to < sizeof(name) - 1; i++) {
        name[to] = part[i];
        if (part[i] == '~') {
            name[to] = part[++i] == '1' ? '/' : '~';
        }
        to++;
    }
    name[to] = '\0';
    if (json_is_array(from)) {
        char *end;
        unsigned long index = strtoul(name, &end, 10);

        return name[0] >= '0' && name[0] <= '9' && *end == '\0' ? json_array_get(from, index)
                                                                : NULL;
    }
    return json_object_get(from, name);
}

/* NULL: not there. */
static json_t *find_or_null(const struct draft *draft, const char *pointer)
{
    json_t *at = draft->root;

    while (at && *pointer) {
        size_t len = strcspn(pointer + 1, "/");

        at = step(at, pointer + 1, len);
        pointer += 1 + len;
    }
    return at;
}

/* NULL: not asked for, not there, or null. */
static json_t *find(const struct draft *draft, const char *pointer)
{
    json_t *at = pointer ? find_or_null(draft, pointer) : NULL;

    return json_is_null(at) ? NULL : at;
}

/* A text of the draft's own. NULL: there are as many as can be. */
static struct text *new_text(struct draft *draft)
{
    return draft->text_count < LISTS_MAX ? &draft->texts[draft->text_count++] : NULL;
}

/* A string as it is, a list as words between commas, anything else as JSON writes it. */
static bool append_json(struct draft *draft, struct text *text, json_t *json)
{
    char *dumped;
    bool is_done;

    if (json_is_string(json)) {
        return text_append(text, json_string_value(json), json_string_length(json)) ||
               fail(draft, HG_RESOURCE_EXHAUSTED, "out of memory");
    }
    dumped = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    is_done = dumped && text_append_word(text, dumped);
    free(dumped);
    return is_done || fail(draft, HG_RESOURCE_EXHAUSTED, "out of memory");
}

/* Empty, if there is none. */
static bool slice_at(struct draft *draft, const char *pointer, struct hg_slice *ret_slice)
{
    json_t *json = find(draft, pointer);
    struct text *text = json ? new_text(draft) : NULL;

    *ret_slice = hg_slice_of(NULL, 0);
    if (!json) {
        return true;
    }
    if (!text || !append_json(draft, text, json)) {
        return false;
    }
    *ret_slice = hg_slice_of(text->data, text->len);
    return true;
}

/* A list of strings, or one string of words. The array is the caller's to free. */
static bool words_at(struct draft *draft, const char *pointer, const char *option,
                     struct hg_slice **ret_words, size_t *ret_count)
{
    json_t *json = find(draft, pointer);
    struct hg_slice *words;

    *ret_words = NULL;
    *ret_count = 0;
    if (!json) {
        return true;
    }
    if (json_is_string(json)) {
        words =
            text_words(hg_slice_of(json_string_value(json), json_string_length(json)), ret_count);
        *ret_words = words;
        return words || fail(draft, HG_RESOURCE_EXHAUSTED, "out of memory");
    }
    words = calloc(json_array_size(json) + 1, sizeof(*words));
    *ret_words = words;
    for (size_t i = 0; words && i < json_array_size(json); i++) {
        json_t *item = json_array_get(json, i);

        if (json_is_string(item) && json_string_length(item)) {
            words[(*ret_count)++] = hg_slice_of(json_string_value(item), json_string_length(item));
        }
    }
    if (words && (!json_is_array(json) || *ret_count != json_array_size(json))) {
        fail(draft, HG_INTERNAL, "");
        snprintf(draft->sentence, sizeof(draft->sentence),
                 "option \"%s\" leads to something that is neither a text nor a list of texts",
                 option);
        return false;
    }
    return words || fail(draft, HG_RESOURCE_EXHAUSTED, "out of memory");
}

/* Seconds; false and a sentence: there is something else. */
static bool seconds_at(struct draft *draft, const char *pointer, const char *option,
                       bool *ret_is_given, double *ret_seconds)
{
    json_t *json = find(draft, pointer);

    *ret_is_given = json != NULL;
    *ret_seconds = json_number_value(json);
    if (json && (!json_is_number(json) || !isfinite(*ret_seconds))) {
        fail(draft, HG_INTERNAL, "");
        snprintf(draft->sentence, sizeof(draft->sentence),
                 "option \"%s\" leads to something that is not a number of seconds", option);
        return false;
    }
    return true;
}

/* In the ABI 0 is "none given", so an instant of 1970 or before becomes 1, which is long over, and
 * no time to be fresh means not to be kept. */
static bool fill_lifetime(struct draft *draft, const struct response *response)
{
    struct hg_lifetime *lifetime = &draft->lifetime;
    const struct pointers *pointers = &draft->settings->pointers;
    bool is_given;
    double seconds;

    if (!seconds_at(draft, pointers->expires_at, "expires_at", &is_given, &seconds)) {
        return false;
    }
    if (is_given) {
        lifetime->expires_at_ms = seconds >= 9e12      ? INT64_C(9000000000000000)
                                  : seconds * 1000 < 1 ? 1
                                                       : (int64_t)(seconds * 1000);
    }
    if (!seconds_at(draft, pointers->ttl, "ttl", &is_given, &seconds)) {
        return false;
    }
    if (is_given) {
        lifetime->no_store = seconds * 1000 < 1;
        lifetime->ttl_ms = seconds >= 9e12 ? INT64_C(9000000000000000) : (int64_t)(seconds * 1000);
        lifetime->ttl_ms = lifetime->no_store ? 0 : lifetime->ttl_ms;
    }
    lifetime->etag = response->etag;
    return true;
}

/* What names the credential's owner and what it may. The arrays are the caller's to free. */
static bool fill_auth(struct draft *draft, struct hg_auth *auth, struct hg_slice **ret_scopes,
                      struct hg_attribute *attributes)
{
    const struct settings *settings = draft->settings;
    const struct pointers *pointers = &settings->pointers;

    if (!slice_at(draft, pointers->user_id, &auth->user_id) ||
        !slice_at(draft, pointers->api_key_id, &auth->api_key_id) ||
        !words_at(draft, pointers->scopes, "scopes", ret_scopes, &auth->scope_count)) {
        return false;
    }
    for (size_t i = 0; i < settings->attribute_count; i++) {
        struct hg_attribute *attribute = &attributes[auth->attribute_count];

        if (!slice_at(draft, settings->attributes[i].pointer, &attribute->value)) {
            return false;
        }
        attribute->name = hg_slice_text(settings->attributes[i].name);
        auth->attribute_count += attribute->value.data != NULL;
    }
    auth->scopes = *ret_scopes;
    auth->attributes = attributes;
    auth->not_after_ms = draft->lifetime.expires_at_ms;
    return true;
}

static bool find_allowed(struct draft *draft, bool *ret_is_allowed)
{
    const char *pointer = draft->settings->pointers.allowed;
    json_t *json;

    if (draft->settings->preset == PRESET_INTROSPECTION ||
        (pointer && strcmp(pointer, SETTINGS_ALLOWED_BY_STATUS) == 0)) {
        *ret_is_allowed = true; /* it is active, or the status was 200 */
        return true;
    }
    if (!pointer) {
        return fail(draft, HG_FAILED_PRECONDITION,
                    "an auth cache needs the option \"allowed\": a pointer to true or false, or "
                    "the word status if 200 means yes");
    }
    json = find(draft, pointer);
    *ret_is_allowed = json_is_true(json);
    return json_is_boolean(json) ||
           fail(draft, HG_INTERNAL, "option \"allowed\" leads to neither true nor false");
}

static bool give_auth(struct draft *draft, const struct hg_host_services *services,
                      struct hg_load *load)
{
    struct hg_attribute attributes[SETTINGS_ATTRIBUTES_MAX];
    struct hg_slice *scopes = NULL;
    struct hg_auth auth;
    bool is_done;

    memset(&auth, 0, sizeof(auth));
    is_done = find_allowed(draft, &auth.allowed) && fill_auth(draft, &auth, &scopes, attributes);
    if (is_done) {
        services->done_auth(load, &auth, &draft->lifetime);
    }
    free(scopes);
    return is_done;
}

static bool give_value(struct draft *draft, const struct hg_host_services *services,
                       struct hg_load *load, enum hg_value_type type, struct hg_slice body)
{
    const char *pointer = draft->settings->pointers.value;
    json_t *json = find_or_null(draft, pointer ? pointer : "");
    struct hg_slice value = body;
    struct text dumped = {NULL, 0, 0};
    bool is_whole = !pointer || !*pointer;
    char *text;

    /* An answer without it may be an error told by 200; null says that there is none. */
    if (!json) {
        return fail(draft, HG_INTERNAL, "option \"value\" leads to nothing in the server's answer");
    }
    if (json_is_null(json)) {
        services->done_absent(load, &draft->lifetime);
        return true;
    }
    if (type == HG_TYPE_BYTES && json_is_string(json)) {
        value = hg_slice_of(json_string_value(json), json_string_length(json));
    } else if (!is_whole) {
        text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!text || !text_append_word(&dumped, text)) {
            free(text);
            return fail(draft, HG_RESOURCE_EXHAUSTED, "out of memory");
        }
        free(text);
        value = hg_slice_of(dumped.data, dumped.len);
    }
    if (type == HG_TYPE_JSON) {
        services->done_json(load, value, &draft->lifetime);
    } else {
        services->done_bytes(load, value, &draft->lifetime);
    }
    text_clear(&dumped);
    return true;
}

/* True: the load is done. False: the draft says why not. */
static bool give_json(struct draft *draft, const struct hg_host_services *services,
                      struct hg_load *load, const struct hg_load_request *request,
                      const struct response *response)
{
    struct hg_slice *tags = NULL;
    bool is_done;

    draft->root = json_loadb(response->body.len ? response->body.data : "", response->body.len,
                             JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!draft->root) {
        return fail(draft, HG_INTERNAL, "the server's answer is no JSON");
    }
    if (draft->settings->preset == PRESET_INTROSPECTION) {
        json_t *active = json_object_get(draft->root, "active");

        if (!json_is_boolean(active)) {
            return fail(draft, HG_INTERNAL,
                        "the server's answer has no \"active\" that is true or false");
        }
        /* There is no such token: never was, or not any more. The answer says no more. */
        if (json_is_false(active)) {
            services->done_absent(load, NULL);
            return true;
        }
    }
    is_done = fill_lifetime(draft, response) && words_at(draft, draft->settings->pointers.tags,
                                                         "tags", &tags, &draft->lifetime.tag_count);
    draft->lifetime.tags = tags;
    if (is_done) {
        is_done = request->value_type == HG_TYPE_AUTH
                      ? give_auth(draft, services, load)
                      : give_value(draft, services, load, request->value_type, response->body);
    }
    free(tags);
    return is_done;
}

static void give_body(const struct hg_host_services *services, struct hg_load *load,
                      const struct hg_load_request *request, const struct response *response,
                      const struct hg_lifetime *lifetime)
{
    struct hg_lifetime own = *lifetime;

    own.etag = response->etag;
    if (request->value_type == HG_TYPE_BYTES) {
        services->done_bytes(load, response->body, &own);
    } else if (request->value_type == HG_TYPE_JSON) {
        services->done_json(load, response->body, &own);
    } else {
        services->done_error(load, HG_FAILED_PRECONDITION,
                             "preset body serves caches of bytes and json, not of auth");
    }
}

static void give_found(const struct settings *settings, const struct hg_host_services *services,
                       struct hg_load *load, const struct hg_load_request *request,
                       const struct response *response)
{
    struct draft draft = {.settings = settings, .lifetime = {.size = sizeof(draft.lifetime)}};

    if (settings->preset == PRESET_BODY) {
        give_body(services, load, request, response, &draft.lifetime);
        return;
    }
    if (!give_json(&draft, services, load, request, response)) {
        services->done_error(load, draft.status, draft.sentence);
    }
    json_decref(draft.root);
    for (size_t i = 0; i < draft.text_count; i++) {
        text_clear(&draft.texts[i]);
    }
}

/* Every status that is no answer. */
static void give_failure(const struct settings *settings, const struct hg_host_services *services,
                         struct hg_load *load, long code)
{
    enum hg_status status = HG_FAILED_PRECONDITION;
    char sentence[SENTENCE_MAX];
    const char *hint = "";

    if (code >= 500 || code == 408 || code == 425 || code == 429) {
        status = HG_UNAVAILABLE; /* worth another try */
    } else if (settings->preset == PRESET_INTROSPECTION && (code == 401 || code == 403)) {
        status = HG_UNAVAILABLE;
        hint = ": it refuses this loader's own credentials, not the token";
    } else if (code >= 300 && code < 400 && code != 304) {
        hint = settings->redirects_max ? ", a redirect that was not followed"
                                       : ", a redirect; the option redirects_max allows some";
    }
    snprintf(sentence, sizeof(sentence), "the server answered %ld%s", code, hint);
    services->done_error(load, status, sentence);
}

void answer_give(const struct settings *settings, const struct hg_host_services *services,
                 struct hg_load *load, const struct hg_load_request *request,
                 const struct response *response)
{
    const struct hg_lifetime lifetime = {.size = sizeof(lifetime)};
    bool is_introspection = settings->preset == PRESET_INTROSPECTION;

    if (response->status == 200) {
        give_found(settings, services, load, request, response);
    } else if (response->status == 304 && request->has_old_value && request->etag.len) {
        services->done_unchanged(load, &lifetime);
    } else if (!is_introspection && (response->status == 404 || response->status == 410)) {
        services->done_absent(load, &lifetime);
    } else if (!is_introspection && (response->status == 401 || response->status == 403)) {
        services->done_denied(load, &lifetime);
    } else {
        give_failure(settings, services, load, response->status);
    }
}
