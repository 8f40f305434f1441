/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_part.h"

#define AUTH_SCOPES     4u /* field numbers of herdgate.proto */
#define AUTH_ATTRIBUTES 5u

bool hgi_auth_encode(const struct hg_auth *auth, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__AuthValue wire = HERDGATE__V1__AUTH_VALUE__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.user_id = hgi_pack_borrow(auth->user_id);
    wire.api_key_id = hgi_pack_borrow(auth->api_key_id);
    wire.allowed = auth->allowed;
    wire.not_after_ms = auth->not_after_ms;
    is_done = hgi_pack(&wire.base, ret_bytes);
    for (size_t i = 0; is_done && i < auth->scope_count; i++) {
        is_done = hgi_pack_bytes(AUTH_SCOPES, auth->scopes[i], ret_bytes);
    }
    for (size_t i = 0; is_done && i < auth->attribute_count; i++) {
        Herdgate__V1__Attribute attribute = HERDGATE__V1__ATTRIBUTE__INIT;

        attribute.name = hgi_pack_borrow(auth->attributes[i].name);
        attribute.value = hgi_pack_borrow(auth->attributes[i].value);
        is_done = hgi_pack_element(AUTH_ATTRIBUTES, &attribute.base, ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

static enum hg_status check_count(struct hg_slice bytes, uint32_t field, size_t max,
                                  const char *what, char *ret_sentence)
{
    size_t count = hgi_unpack_count(bytes, field);

    if (count > max) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%zu %s in one auth value; at most %zu are allowed", count, what, max);
    }
    return HG_OK;
}

static enum hg_status read_auth(const Herdgate__V1__AuthValue *wire, struct hgi_arena *arena,
                                struct hg_auth *ret_auth, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_unix_ms_check("not_after_ms", wire->not_after_ms, ret_sentence);
    struct hg_slice *scopes;
    struct hg_attribute *attributes;

    if (status != HG_OK) {
        return status;
    }
    scopes = hgi_unpack_array(wire->n_scopes, sizeof(*scopes), arena, &status, ret_sentence);
    if (!scopes) {
        return status;
    }
    attributes =
        hgi_unpack_array(wire->n_attributes, sizeof(*attributes), arena, &status, ret_sentence);
    if (!attributes) {
        return status;
    }
    for (size_t i = 0; i < wire->n_scopes; i++) {
        scopes[i] = hgi_unpack_slice(wire->scopes[i]);
    }
    for (size_t i = 0; i < wire->n_attributes; i++) {
        attributes[i].name = hgi_unpack_slice(wire->attributes[i]->name);
        attributes[i].value = hgi_unpack_slice(wire->attributes[i]->value);
    }
    ret_auth->user_id = hgi_unpack_slice(wire->user_id);
    ret_auth->api_key_id = hgi_unpack_slice(wire->api_key_id);
    ret_auth->allowed = wire->allowed != 0;
    ret_auth->scopes = scopes;
    ret_auth->scope_count = wire->n_scopes;
    ret_auth->attributes = attributes;
    ret_auth->attribute_count = wire->n_attributes;
    ret_auth->not_after_ms = wire->not_after_ms;
    return HG_OK;
}

enum hg_status hgi_auth_decode(struct hg_slice bytes, struct hgi_arena *arena,
                               struct hg_auth *ret_auth, char *ret_sentence)
{
    const Herdgate__V1__AuthValue *wire;
    enum hg_status status =
        check_count(bytes, AUTH_SCOPES, HGI_AUTH_SCOPES_MAX, "scopes", ret_sentence);

    if (status == HG_OK) {
        status = check_count(bytes, AUTH_ATTRIBUTES, HGI_AUTH_ATTRIBUTES_MAX, "attributes",
                             ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    wire = hgi_unpack(&herdgate__v1__auth_value__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    return read_auth(wire, arena, ret_auth, ret_sentence);
}
