/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define BASE64 sodium_base64_VARIANT_ORIGINAL

static struct hg_slice text_of(const json_t *json)
{
    return json_is_string(json) ? hg_slice_of(json_string_value(json), json_string_length(json))
                                : hg_slice_of(NULL, 0);
}

static bool wrong(char *ret_sentence, const char *sentence)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s", sentence);
    return false;
}

/* ---- read ---- */

static bool read_parts(const json_t *json, enum hgi_key_type type, struct hg_key *ret_key,
                       char *ret_sentence)
{
    const char *name;
    json_t *part;

    json_object_foreach((json_t *)(uintptr_t)json, name, part)
    {
        bool is_text = strcmp(name, "user_id") == 0 || strcmp(name, "api_key_id") == 0;
        bool is_switch = strcmp(name, "standalone") == 0;

        if ((!is_text && !is_switch) || (is_text && !json_is_string(part)) ||
            (is_switch && !json_is_boolean(part))) {
            return wrong(ret_sentence, "a key of parts has the texts user_id and api_key_id, and "
                                       "perhaps standalone, true or false");
        }
    }
    *ret_key = (struct hg_key){
        .kind = type == HGI_KEYS_API_KEY_FEATURE ? HG_KEY_API_KEY_FEATURE : HG_KEY_USER_API_KEY,
        .user_id = text_of(json_object_get(json, "user_id")),
        .api_key_id = text_of(json_object_get(json, "api_key_id")),
        .is_standalone = json_is_true(json_object_get(json, "standalone")),
    };
    return true;
}

bool hgi_json_read_key(const json_t *json, enum hgi_key_type type, struct hg_key *ret_key,
                       char *ret_sentence)
{
    if (json_is_object(json)) {
        return read_parts(json, type, ret_key, ret_sentence);
    }
    if (!json_is_string(json)) {
        return wrong(ret_sentence, "key is missing; write a text, or an object of user_id and "
                                   "api_key_id");
    }
    *ret_key = (struct hg_key){
        .kind = type == HGI_KEYS_KEY_HASH || type == HGI_KEYS_AUTH ? HG_KEY_KEY_HASH : HG_KEY_BYTES,
        .bytes = text_of(json),
    };
    return true;
}

bool hgi_json_read_texts(const json_t *list, const char *name, size_t max, struct hgi_arena *arena,
                         const struct hg_slice **ret_texts, size_t *ret_count, char *ret_sentence)
{
    size_t count = json_array_size(list);
    struct hg_slice *texts;

    if (list && (!json_is_array(list) || count > max)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s is a list of at most %zu texts", name, max);
        return false;
    }
    texts = hgi_arena_alloc(arena, count * sizeof(*texts));
    if (!texts) {
        return wrong(ret_sentence, "no memory for the request");
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(list, i);

        if (!json_is_string(text)) {
            snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s is a list of at most %zu texts", name,
                     max);
            return false;
        }
        texts[i] = text_of(text);
    }
    *ret_texts = texts;
    *ret_count = count;
    return true;
}

static bool keep(struct hgi_arena *arena, struct hg_slice bytes, struct hg_slice *ret_copy,
                 char *ret_sentence)
{
    unsigned char *copy = hgi_arena_alloc(arena, bytes.len + 1);

    if (!copy) {
        return wrong(ret_sentence, "no memory for the request");
    }
    if (bytes.len) {
        memcpy(copy, bytes.data, bytes.len);
    }
    *ret_copy = hg_slice_of(copy, bytes.len);
    return true;
}

static bool read_base64(const json_t *json, struct hgi_arena *arena, struct hg_slice *ret_value,
                        char *ret_sentence)
{
    struct hg_slice text = text_of(json);
    unsigned char *bytes = hgi_arena_alloc(arena, text.len + 1);
    size_t len = 0;

    if (!bytes) {
        return wrong(ret_sentence, "no memory for the request");
    }
    if (!json_is_string(json) || sodium_base642bin(bytes, text.len + 1, text.data, text.len, NULL,
                                                   &len, NULL, BASE64) != 0) {
        return wrong(ret_sentence, "value_base64 is no base64, with padding");
    }
    *ret_value = hg_slice_of(bytes, len);
    return true;
}

static bool read_attributes(const json_t *json, struct hgi_arena *arena, struct hg_auth *auth,
                            char *ret_sentence)
{
    size_t count = json_object_size(json);
    struct hg_attribute *attributes = hgi_arena_alloc(arena, count * sizeof(*attributes));
    const char *name;
    json_t *value;

    if (!attributes) {
        return wrong(ret_sentence, "no memory for the request");
    }
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        if (!json_is_string(value) || auth->attribute_count == HGI_AUTH_ATTRIBUTES_MAX) {
            return wrong(ret_sentence, "attributes is an object of at most 256 texts");
        }
        attributes[auth->attribute_count++] =
            (struct hg_attribute){hg_slice_text(name), text_of(value)};
    }
    auth->attributes = attributes;
    return true;
}

/* A field of an auth value that is of another type, or that nobody knows, would be a right that is
 * not there, or an end that does not come. */
static bool is_auth(const json_t *json)
{
    const char *name;
    json_t *field;
    bool is_good = json_is_boolean(json_object_get(json, "allowed"));

    json_object_foreach((json_t *)(uintptr_t)json, name, field)
    {
        is_good =
            is_good &&
            (strcmp(name, "allowed") == 0 || strcmp(name, "scopes") == 0 ||
             ((strcmp(name, "user_id") == 0 || strcmp(name, "api_key_id") == 0) &&
              json_is_string(field)) ||
             (strcmp(name, "attributes") == 0 && json_is_object(field)) ||
             (strcmp(name, "not_after_ms") == 0 &&
              (json_is_null(field) || (json_is_integer(field) && json_integer_value(field) >= 0))));
    }
    return is_good;
}

static bool read_auth(const json_t *json, struct hgi_arena *arena, struct hg_slice *ret_value,
                      char *ret_sentence)
{
    struct hg_auth auth = {.user_id = text_of(json_object_get(json, "user_id")),
                           .api_key_id = text_of(json_object_get(json, "api_key_id")),
                           .allowed = json_is_true(json_object_get(json, "allowed")),
                           .not_after_ms =
                               json_integer_value(json_object_get(json, "not_after_ms"))};
    struct hg_bytes packed;
    bool is_kept;

    if (!is_auth(json)) {
        return wrong(
            ret_sentence,
            "an auth value is an object of the texts user_id and api_key_id, allowed (true "
            "or false, needed), the list scopes, the object attributes and the number "
            "not_after_ms, and nothing else");
    }
    if (!hgi_json_read_texts(json_object_get(json, "scopes"), "scopes", HGI_AUTH_SCOPES_MAX, arena,
                             &auth.scopes, &auth.scope_count, ret_sentence) ||
        !read_attributes(json_object_get(json, "attributes"), arena, &auth, ret_sentence)) {
        return false;
    }
    hgi_bytes_init(&packed, &hgi_heap);
    is_kept = hgi_auth_encode(&auth, &packed)
                  ? keep(arena, hgi_bytes_slice(&packed), ret_value, ret_sentence)
                  : wrong(ret_sentence, "no memory for the request");
    hgi_bytes_deinit(&packed);
    return is_kept;
}

bool hgi_json_read_value(const json_t *object, const char *name, enum hg_value_type type,
                         struct hgi_arena *arena, struct hg_slice *ret_value, char *ret_sentence)
{
    const json_t *value = json_object_get(object, name);
    const json_t *base64;
    char long_name[32];
    struct hg_bytes text;
    bool is_kept;

    snprintf(long_name, sizeof(long_name), "%s_base64", name);
    base64 = json_object_get(object, long_name);
    if (!value == !base64) {
        return wrong(ret_sentence, "write either value or value_base64, or the outcome absent");
    }
    if (base64) {
        return read_base64(base64, arena, ret_value, ret_sentence);
    }
    if (type == HG_TYPE_AUTH) {
        return read_auth(value, arena, ret_value, ret_sentence);
    }
    if (type != HG_TYPE_JSON) {
        return json_is_string(value) ? keep(arena, text_of(value), ret_value, ret_sentence)
                                     : wrong(ret_sentence, "value is a text, in a cache of bytes");
    }
    hgi_bytes_init(&text, &hgi_heap);
    is_kept = hgi_json_write(value, &text)
                  ? keep(arena, hgi_bytes_slice(&text), ret_value, ret_sentence)
                  : wrong(ret_sentence, "no memory for the request");
    hgi_bytes_deinit(&text);
    return is_kept;
}

/* ---- write ---- */

static int append(const char *text, size_t len, void *bytes)
{
    return hgi_bytes_append(bytes, hg_slice_of(text, len)) ? 0 : -1;
}

bool hgi_json_write(const json_t *json, struct hg_bytes *ret_bytes)
{
    return json_dump_callback(json, append, ret_bytes, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
}

json_t *hgi_json_of_text(struct hg_slice text)
{
    return json_stringn(text.len ? text.data : "", text.len);
}

/* `name`, or where the bytes are not UTF-8 `name`_base64. */
static void set_bytes(json_t *object, const char *name, struct hg_slice bytes)
{
    json_t *text = hgi_json_of_text(bytes);
    size_t size = sodium_base64_ENCODED_LEN(bytes.len, BASE64);
    char long_name[32];
    char *base64;

    if (text) {
        (void)json_object_set_new(object, name, text);
        return;
    }
    base64 = hgi_alloc(&hgi_heap, size);
    if (base64) {
        sodium_bin2base64(base64, size, bytes.data, bytes.len, BASE64);
        snprintf(long_name, sizeof(long_name), "%s_base64", name);
        (void)json_object_set_new(object, long_name, json_string(base64));
        hgi_free(&hgi_heap, base64);
    }
}

/* NULL: it has something that JSON has no text for. */
static json_t *json_of_auth(const struct hg_auth *auth)
{
    json_t *scopes = json_array();
    json_t *attributes = json_object();
    json_t *object =
        json_pack("{s:o,s:o,s:b,s:o,s:o,s:o}", "user_id", hgi_json_of_text(auth->user_id),
                  "api_key_id", hgi_json_of_text(auth->api_key_id), "allowed", auth->allowed,
                  "scopes", scopes, "attributes", attributes, "not_after_ms",
                  auth->not_after_ms ? json_integer(auth->not_after_ms) : json_null());
    bool is_sayable = object != NULL;

    for (size_t i = 0; i < auth->scope_count && is_sayable; i++) {
        is_sayable = json_array_append_new(scopes, hgi_json_of_text(auth->scopes[i])) == 0;
    }
    for (size_t i = 0; i < auth->attribute_count && is_sayable; i++) {
        const struct hg_attribute *attribute = &auth->attributes[i];

        is_sayable =
            json_object_setn_new(attributes, attribute->name.data ? attribute->name.data : "",
                                 attribute->name.len, hgi_json_of_text(attribute->value)) == 0;
    }
    if (!is_sayable) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *typed_value(const struct hgi_msg_answer *answer, struct hgi_arena *arena)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_auth auth;

    if (answer->value_type == HG_TYPE_JSON) {
        return json_loadb(answer->value.data, answer->value.len, JSON_DECODE_ANY, NULL);
    }
    if (answer->value_type == HG_TYPE_AUTH &&
        hgi_auth_decode(answer->value, arena, &auth, sentence) == HG_OK) {
        return json_of_auth(&auth);
    }
    return NULL;
}

json_t *hgi_json_of_answer(const struct hgi_msg_answer *answer, struct hgi_arena *arena)
{
    json_t *object = json_pack("{s:s}", "outcome", hgi_outcome_name(answer->outcome));
    json_t *value;

    if (!object || answer->outcome == HG_NOT_CACHED) {
        return object;
    }
    if (answer->value_type) {
        value = typed_value(answer, arena);
        if (!value || json_object_set_new(object, "value", value) != 0) {
            set_bytes(object, "value", answer->value);
        }
    }
    if (json_object_update_new(object, json_pack("{s:s,s:b,s:I,s:I,s:I,s:I}", "source",
                                                 hgi_source_name(answer->source), "fenced",
                                                 answer->is_fenced, "generation",
                                                 (json_int_t)answer->generation, "age_ms",
                                                 (json_int_t)answer->age_ms, "ttl_left_ms",
                                                 (json_int_t)answer->ttl_left_ms, "stale_left_ms",
                                                 (json_int_t)answer->stale_left_ms)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *hgi_json_of_report(const struct hgi_msg_report *report)
{
    return json_pack("{s:o,s:I,s:I,s:I,s:I}", "cache", hgi_json_of_text(report->cache),
                     "generation", (json_int_t)report->generation, "dropped",
                     (json_int_t)report->dropped, "fenced", (json_int_t)report->fenced, "released",
                     (json_int_t)report->released);
}
