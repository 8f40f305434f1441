/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <jansson.h>

#include "proto/codec.h"
#include "proto/unpack.h"

/* What the sentence says of a value that jansson refuses. Never jansson's own text: it quotes the
 * value, and values do not belong in logs. */
void hgi_value_start(void)
{
    json_set_alloc_funcs(hgi_wiping_malloc, hgi_wiping_free);
}

static const char *json_fault(enum json_error_code code)
{
    switch (code) {
    case json_error_stack_overflow:
        return "is nested more than 2,048 deep";
    case json_error_numeric_overflow:
        return "holds a number too large for a double";
    case json_error_premature_end_of_input:
        return "ends too early";
    case json_error_invalid_utf8:
        return "is not UTF-8";
    default:
        return "is not well-formed";
    }
}

static enum hg_status check_json(struct hg_slice value, char *ret_sentence)
{
    /* Any JSON value, not only an object or array; "\u0000" is well-formed; an integer of more than
     * 64 bits is still a number. Two equal names in one object are well-formed as well. */
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    enum json_error_code code;
    json_error_t error;
    json_t *json;

    /* No JSON text holds this byte, and jansson passes over one that follows a number. */
    if (value.len && memchr(value.data, '\0', value.len)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the JSON value holds a NUL byte; it must be escaped as \\u0000");
    }
    json = json_loadb(value.len ? value.data : "", value.len, flags, &error);
    if (json) {
        json_decref(json);
        return HG_OK;
    }
    code = json_error_code(&error);
    if (code == json_error_out_of_memory) {
        return hgi_refuse(HG_RESOURCE_EXHAUSTED, ret_sentence, "no memory to check the JSON value");
    }
    return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "the JSON value %s (line %d, column %d)",
                      json_fault(code), error.line, error.column);
}

static void set_user(struct hgi_value_user *ret_user, struct hg_slice user)
{
    if (ret_user) {
        ret_user->len = user.len;
        if (user.len) {
            memcpy(ret_user->bytes, user.data, user.len);
        }
    }
}

/* What the auth value itself says of the outcome and the end. */
static enum hg_status check_auth(struct hg_slice value, enum hg_outcome *inout_outcome,
                                 int64_t *inout_expires_at_ms, struct hgi_value_user *ret_user,
                                 char *ret_sentence)
{
    struct hgi_arena arena;
    struct hg_auth auth;
    enum hg_status status;

    hgi_arena_init(&arena, hgi_arena_budget(value.len));
    status = hgi_auth_decode(value, &arena, &auth, ret_sentence);
    if (status == HG_OK && *inout_outcome == HG_DENIED && auth.allowed) {
        status = hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                            "a denied auth value says allowed = true; it must say false");
    }
    if (status == HG_OK && hgi_slice_trim(auth.user_id).len > HG_KEY_MAX) {
        status = hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                            "the auth value's user_id is %zu bytes; at most %u are allowed",
                            hgi_slice_trim(auth.user_id).len, HG_KEY_MAX);
    }
    if (status == HG_OK) {
        set_user(ret_user, hgi_slice_trim(auth.user_id));
        if (!auth.allowed) {
            *inout_outcome = HG_DENIED;
        }
        if (auth.not_after_ms &&
            (*inout_expires_at_ms == 0 || auth.not_after_ms < *inout_expires_at_ms)) {
            *inout_expires_at_ms = auth.not_after_ms;
        }
    }
    hgi_arena_deinit(&arena);
    return status;
}

static enum hg_status check_outcome(enum hg_value_type type, size_t len, enum hg_outcome outcome,
                                    char *ret_sentence)
{
    switch (outcome) {
    case HG_VALUE:
        return HG_OK;
    case HG_ABSENT:
        return len == 0
                   ? HG_OK
                   : hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                                "ABSENT comes with a value of %zu bytes; it must have none", len);
    case HG_DENIED:
        return len == 0 || type == HG_TYPE_AUTH
                   ? HG_OK
                   : hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                                "DENIED comes with a value of %zu bytes; outside auth caches it "
                                "must have none",
                                len);
    case HG_NOT_CACHED:
        break;
    }
    return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                      "the outcome is %d; it must be VALUE (1), ABSENT (2) or DENIED (3)",
                      (int)outcome);
}

enum hg_status hgi_value_check(enum hg_value_type type, struct hg_slice value,
                               size_t value_max_bytes, enum hg_outcome *inout_outcome,
                               int64_t *inout_expires_at_ms, struct hgi_value_user *ret_user,
                               char *ret_sentence)
{
    enum hg_status status = check_outcome(type, value.len, *inout_outcome, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    if (type != HG_TYPE_AUTH || (*inout_outcome != HG_VALUE && value.len == 0)) {
        set_user(ret_user, hg_slice_of(NULL, 0));
    }
    if (*inout_outcome != HG_VALUE && value.len == 0) {
        return HG_OK;
    }
    if (value.len > value_max_bytes) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the value is %zu bytes; at most %zu are allowed", value.len,
                          value_max_bytes);
    }
    switch (type) {
    case HG_TYPE_BYTES:
        return HG_OK;
    case HG_TYPE_JSON:
        return check_json(value, ret_sentence);
    case HG_TYPE_AUTH:
        return check_auth(value, inout_outcome, inout_expires_at_ms, ret_user, ret_sentence);
    }
    return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                      "the value type is %d; it must be 1 (bytes), 2 (json) or 3 (auth)",
                      (int)type);
}
