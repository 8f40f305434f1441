/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/kind.h"

#define ATTRIBUTE "attribute:"
#define STEP_MAX  128u

/* Texts with a space between them, in the arena. */
struct words {
    struct hgi_arena *arena;
    char *text;
    size_t len;
    size_t capacity;
};

/* False: no memory. */
static bool add_word(struct words *words, struct hg_slice word)
{
    size_t needed = words->len + 1 + word.len;

    if (needed > words->capacity) {
        char *more = hgi_arena_alloc(words->arena, 2 * needed);

        if (!more) {
            return false;
        }
        if (words->len) {
            memcpy(more, words->text, words->len);
        }
        words->text = more;
        words->capacity = 2 * needed;
    }
    if (words->len) {
        words->text[words->len++] = ' ';
    }
    if (word.len) {
        memcpy(words->text + words->len, word.data, word.len);
        words->len += word.len;
    }
    return true;
}

/* ---- auth values ---- */

static bool say_of_auth(const struct hg_auth *auth, const char *of, struct words *words)
{
    char number[32];
    bool is_good = true;

    if (strcmp(of, "user_id") == 0) {
        is_good = add_word(words, auth->user_id);
    } else if (strcmp(of, "api_key_id") == 0) {
        is_good = add_word(words, auth->api_key_id);
    } else if (strcmp(of, "scopes") == 0) {
        for (size_t i = 0; i < auth->scope_count && is_good; i++) {
            is_good = add_word(words, auth->scopes[i]);
        }
    } else if (strcmp(of, "not_after") == 0) {
        if (auth->not_after_ms) {
            snprintf(number, sizeof(number), "%lld", (long long)(auth->not_after_ms / 1000));
            is_good = add_word(words, hg_slice_text(number));
        }
    } else {
        for (size_t i = 0; i < auth->attribute_count && is_good; i++) {
            if (hgi_slice_equal(auth->attributes[i].name, hg_slice_text(of + strlen(ATTRIBUTE)))) {
                words->len = 0; /* the last of that name */
                is_good = add_word(words, auth->attributes[i].value);
            }
        }
    }
    return is_good;
}

/* ---- json values ---- */

/* One step of a pointer (RFC 6901): ~1 is a slash, ~0 a tilde. */
static const json_t *step(const json_t *json, const char *from, size_t len)
{
    char name[STEP_MAX];
    size_t out = 0;

    if (len >= sizeof(name)) {
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        bool is_escape =
            from[i] == '~' && i + 1 < len && (from[i + 1] == '0' || from[i + 1] == '1');

        name[out++] = (char)(!is_escape ? from[i] : from[i + 1] == '1' ? '/' : '~');
        i += is_escape;
    }
    name[out] = '\0';
    if (json_is_array(json) && out && strspn(name, "0123456789") == out && out < 6) {
        return json_array_get(json, (size_t)strtoul(name, NULL, 10));
    }
    return json_object_get(json, name);
}

static const json_t *find(const json_t *json, const char *pointer)
{
    while (json && *pointer == '/') {
        size_t len = strcspn(++pointer, "/");

        json = step(json, pointer, len);
        pointer += len;
    }
    return json;
}

/* A text, a number, true or false; a list of them. Anything else says nothing. */
static bool say_json(const json_t *json, struct words *words)
{
    char number[64];
    bool is_good = true;

    if (json_is_string(json)) {
        return add_word(words, hg_slice_of(json_string_value(json), json_string_length(json)));
    }
    if (json_is_integer(json)) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(json));
        return add_word(words, hg_slice_text(number));
    }
    if (json_is_real(json)) {
        snprintf(number, sizeof(number), "%.17g", json_real_value(json));
        return add_word(words, hg_slice_text(number));
    }
    if (json_is_boolean(json)) {
        return add_word(words, hg_slice_text(json_is_true(json) ? "true" : "false"));
    }
    for (size_t i = 0; i < json_array_size(json) && is_good; i++) {
        const json_t *element = json_array_get(json, i);

        if (!json_is_array(element)) {
            is_good = say_json(element, words);
        }
    }
    return is_good;
}

/* ---- all ---- */

/* What the value is, for its headers. */
struct said {
    struct hg_auth auth;
    json_t *json;
};

static bool say_one(const struct hgi_authz_config *authz, const struct said *said, const char *of,
                    const struct hgi_msg_answer *answer, struct hgi_arena *arena,
                    struct hg_slice *ret_text)
{
    struct words words = {.arena = arena};
    bool is_good = true;

    switch (authz->value_type) {
    case HG_TYPE_AUTH:
        is_good = say_of_auth(&said->auth, of, &words);
        break;
    case HG_TYPE_JSON:
        is_good = say_json(find(said->json, of), &words);
        break;
    case HG_TYPE_BYTES:
        *ret_text = answer->value;
        return true;
    }
    *ret_text = hg_slice_of(words.text, words.len);
    return is_good;
}

bool hgi_identity_say(const struct hgi_authz_config *authz, const struct hgi_msg_answer *answer,
                      struct hgi_http_response *response)
{
    struct said said = {.json = NULL};
    char sentence[HGI_SENTENCE_MAX];
    bool is_good = true;

    if (answer && authz->header_count && authz->value_type == HG_TYPE_AUTH) {
        is_good = hgi_auth_decode(answer->value, response->arena, &said.auth, sentence) == HG_OK;
    } else if (answer && authz->header_count && authz->value_type == HG_TYPE_JSON) {
        said.json = json_loadb(answer->value.data, answer->value.len, JSON_DECODE_ANY, NULL);
        is_good = said.json != NULL;
    }
    for (size_t i = 0; i < authz->header_count && is_good; i++) {
        struct hg_slice text = {NULL, 0};

        if (answer) {
            is_good = say_one(authz, &said, authz->headers[i].of, answer, response->arena, &text);
        }
        is_good = is_good && hgi_http_response_set(response, authz->headers[i].name, text);
    }
    json_decref(said.json);
    return is_good;
}
