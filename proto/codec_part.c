/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_part.h"

#include <inttypes.h>

#include "proto/plain.h"

void hgi_codec_key_borrow(const struct hg_key *key, struct hgi_codec_key *ret_key)
{
    herdgate__v1__key__init(&ret_key->wire);
    switch (key->kind) {
    case HG_KEY_BYTES:
        ret_key->wire.kind_case = HERDGATE__V1__KEY__KIND_BYTES;
        ret_key->wire.bytes = hgi_pack_borrow(key->bytes);
        break;
    case HG_KEY_KEY_HASH:
        ret_key->wire.kind_case = HERDGATE__V1__KEY__KIND_KEY_HASH;
        ret_key->wire.key_hash = hgi_pack_borrow(key->bytes);
        break;
    case HG_KEY_USER_API_KEY:
        herdgate__v1__user_api_key__init(&ret_key->user_api_key);
        ret_key->user_api_key.user_id = hgi_pack_borrow(key->user_id);
        ret_key->user_api_key.api_key_id = hgi_pack_borrow(key->api_key_id);
        ret_key->wire.kind_case = HERDGATE__V1__KEY__KIND_USER_API_KEY;
        ret_key->wire.user_api_key = &ret_key->user_api_key;
        break;
    case HG_KEY_API_KEY_FEATURE:
        herdgate__v1__api_key_feature__init(&ret_key->api_key_feature);
        ret_key->api_key_feature.user_id = hgi_pack_borrow(key->user_id);
        ret_key->api_key_feature.api_key_id = hgi_pack_borrow(key->api_key_id);
        ret_key->api_key_feature.is_standalone = key->is_standalone;
        ret_key->wire.kind_case = HERDGATE__V1__KEY__KIND_API_KEY_FEATURE;
        ret_key->wire.api_key_feature = &ret_key->api_key_feature;
        break;
    }
}

void hgi_codec_key_read(const Herdgate__V1__Key *wire, struct hg_key *ret_key)
{
    memset(ret_key, 0, sizeof(*ret_key));
    if (!wire) {
        return;
    }
    switch (wire->kind_case) {
    case HERDGATE__V1__KEY__KIND_BYTES:
        ret_key->kind = HG_KEY_BYTES;
        ret_key->bytes = hgi_unpack_slice(wire->bytes);
        break;
    case HERDGATE__V1__KEY__KIND_KEY_HASH:
        ret_key->kind = HG_KEY_KEY_HASH;
        ret_key->bytes = hgi_unpack_slice(wire->key_hash);
        break;
    case HERDGATE__V1__KEY__KIND_USER_API_KEY:
        ret_key->kind = HG_KEY_USER_API_KEY;
        ret_key->user_id = hgi_unpack_slice(wire->user_api_key->user_id);
        ret_key->api_key_id = hgi_unpack_slice(wire->user_api_key->api_key_id);
        break;
    case HERDGATE__V1__KEY__KIND_API_KEY_FEATURE:
        ret_key->kind = HG_KEY_API_KEY_FEATURE;
        ret_key->user_id = hgi_unpack_slice(wire->api_key_feature->user_id);
        ret_key->api_key_id = hgi_unpack_slice(wire->api_key_feature->api_key_id);
        ret_key->is_standalone = wire->api_key_feature->is_standalone != 0;
        break;
    case HERDGATE__V1__KEY__KIND__NOT_SET:
    case _HERDGATE__V1__KEY__KIND__CASE_IS_INT_SIZE:
        break;
    }
}

bool hgi_codec_key_plain(struct hg_slice bytes, struct hg_key *ret_key)
{
    const uint32_t bytes_bit = HGI_PLAIN_FIELD(HERDGATE__V1__KEY__KIND_BYTES);
    const uint32_t hash_bit = HGI_PLAIN_FIELD(HERDGATE__V1__KEY__KIND_KEY_HASH);
    struct hgi_plain plain = {.bytes_fields = bytes_bit | hash_bit};

    if (!hgi_plain_read(bytes, &plain) || (plain.seen != bytes_bit && plain.seen != hash_bit)) {
        return false;
    }
    memset(ret_key, 0, sizeof(*ret_key));
    if (plain.seen == bytes_bit) {
        ret_key->kind = HG_KEY_BYTES;
        ret_key->bytes = plain.bytes[HERDGATE__V1__KEY__KIND_BYTES];
    } else {
        ret_key->kind = HG_KEY_KEY_HASH;
        ret_key->bytes = plain.bytes[HERDGATE__V1__KEY__KIND_KEY_HASH];
    }
    return true;
}

enum hg_status hgi_codec_keys_check(struct hg_slice bytes, uint32_t field, const char *what,
                                    char *ret_sentence)
{
    size_t count = hgi_unpack_count(bytes, field);

    if (count > HGI_BATCH_KEYS_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%zu keys in one %s; at most %u are allowed", count, what,
                          HGI_BATCH_KEYS_MAX);
    }
    return HG_OK;
}

enum hg_status hgi_codec_keys_read(Herdgate__V1__Key *const *wire, size_t count,
                                   struct hgi_arena *arena, struct hg_key **ret_keys,
                                   char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hg_key *keys = hgi_unpack_array(count, sizeof(*keys), arena, &status, ret_sentence);

    if (!keys) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        hgi_codec_key_read(wire[i], &keys[i]);
    }
    *ret_keys = keys;
    return HG_OK;
}

bool hgi_codec_keys_pack(uint32_t field, const struct hg_key *keys, size_t count,
                         struct hg_bytes *ret_bytes)
{
    for (size_t i = 0; i < count; i++) {
        struct hgi_codec_key key;

        hgi_codec_key_borrow(&keys[i], &key);
        if (!hgi_pack_element(field, &key.wire.base, ret_bytes)) {
            return false;
        }
    }
    return true;
}

enum hg_status hgi_codec_tags_check(struct hg_slice bytes, uint32_t field, size_t max,
                                    const char *what, char *ret_sentence)
{
    size_t count = hgi_unpack_count(bytes, field);

    if (count > max) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%zu tags in one %s; at most %zu are allowed", count, what, max);
    }
    return HG_OK;
}

enum hg_status hgi_codec_tags_read(const ProtobufCBinaryData *wire, size_t count,
                                   struct hgi_arena *arena, const struct hg_slice **ret_tags,
                                   char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hg_slice *tags = hgi_unpack_array(count, sizeof(*tags), arena, &status, ret_sentence);

    if (!tags) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        tags[i] = hgi_unpack_slice(wire[i]);
        if (tags[i].len == 0 || tags[i].len > HG_TAG_MAX) {
            return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                              "tag %zu has %zu bytes; it must have 1 to %u", i + 1, tags[i].len,
                              HG_TAG_MAX);
        }
    }
    *ret_tags = tags;
    return HG_OK;
}

bool hgi_codec_tags_pack(uint32_t field, const struct hg_slice *tags, size_t count,
                         struct hg_bytes *ret_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (!hgi_pack_bytes(field, tags[i], ret_bytes)) {
            return false;
        }
    }
    return true;
}

enum hg_status hgi_codec_enum_check(const char *field, int number, int max, char *ret_sentence)
{
    if (number < 0 || number > max) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "%s is %d; it must be 0 to %d", field,
                          number, max);
    }
    return HG_OK;
}

enum hg_status hgi_codec_lifetime_read(const char *field, uint64_t wire_ms, int64_t *ret_ms,
                                       char *ret_sentence)
{
    if (wire_ms > (uint64_t)HGI_LIFETIME_MS_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%s is %" PRIu64 "; at most %" PRId64 " milliseconds are allowed", field,
                          wire_ms, HGI_LIFETIME_MS_MAX);
    }
    *ret_ms = (int64_t)wire_ms;
    return HG_OK;
}

enum hg_status hgi_codec_unix_ms_check(const char *field, int64_t unix_ms, char *ret_sentence)
{
    if (unix_ms < 0 || unix_ms > HGI_UNIX_MS_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%s is %" PRId64
                          "; it must be unix milliseconds from 0 (none) to %" PRId64,
                          field, unix_ms, HGI_UNIX_MS_MAX);
    }
    return HG_OK;
}
