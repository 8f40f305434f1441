/* SPDX-License-Identifier: Apache-2.0 */
#include "kind.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

static const char *const key_type_names[] = {
    [HGI_KEYS_BYTES] = "bytes",
    [HGI_KEYS_KEY_HASH] = "key_hash",
    [HGI_KEYS_USER_API_KEY] = "user_api_key",
    [HGI_KEYS_API_KEY_FEATURE] = "api_key_feature",
    [HGI_KEYS_AUTH] = "auth",
};
static const char *const key_kind_names[] = {
    [HG_KEY_BYTES] = "bytes",
    [HG_KEY_KEY_HASH] = "key_hash",
    [HG_KEY_USER_API_KEY] = "user_api_key",
    [HG_KEY_API_KEY_FEATURE] = "api_key_feature",
};
static const char *const value_type_names[] = {
    [HG_TYPE_BYTES] = "bytes",
    [HG_TYPE_JSON] = "json",
    [HG_TYPE_AUTH] = "auth",
};
static const char *const mode_names[] = {
    [HG_MODE_DEFAULT] = "default",
    [HG_MODE_FRESH] = "fresh",
    [HG_MODE_ALLOW_STALE] = "allow_stale",
    [HG_MODE_REVALIDATE] = "revalidate",
    [HG_MODE_PEEK] = "peek",
};
static const char *const outcome_names[] = {
    [HG_NOT_CACHED] = "not_cached",
    [HG_VALUE] = "value",
    [HG_ABSENT] = "absent",
    [HG_DENIED] = "denied",
};
static const char *const source_names[] = {
    [HG_SOURCE_NONE] = "none",     [HG_SOURCE_FRESH] = "fresh",   [HG_SOURCE_STALE] = "stale",
    [HG_SOURCE_LOADED] = "loaded", [HG_SOURCE_JOINED] = "joined", [HG_SOURCE_LEASED] = "leased",
};

static const char *name_at(const char *const *names, size_t count, size_t index)
{
    return index < count ? names[index] : NULL;
}

static bool index_of(const char *const *names, size_t count, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] && strcmp(names[i], name) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

const char *hgi_key_type_name(enum hgi_key_type type)
{
    return name_at(key_type_names, HGI_COUNT_OF(key_type_names), type);
}

bool hgi_key_type_parse(const char *name, enum hgi_key_type *ret_type)
{
    size_t index;

    if (!index_of(key_type_names, HGI_COUNT_OF(key_type_names), name, &index)) {
        return false;
    }
    *ret_type = (enum hgi_key_type)index;
    return true;
}

const char *hgi_value_type_name(enum hg_value_type type)
{
    return name_at(value_type_names, HGI_COUNT_OF(value_type_names), type);
}

bool hgi_value_type_parse(const char *name, enum hg_value_type *ret_type)
{
    size_t index;

    if (!index_of(value_type_names, HGI_COUNT_OF(value_type_names), name, &index)) {
        return false;
    }
    *ret_type = (enum hg_value_type)index;
    return true;
}

const char *hgi_mode_name(enum hg_mode mode)
{
    return name_at(mode_names, HGI_COUNT_OF(mode_names), mode);
}

bool hgi_mode_parse(const char *name, enum hg_mode *ret_mode)
{
    size_t index;

    if (!index_of(mode_names, HGI_COUNT_OF(mode_names), name, &index)) {
        return false;
    }
    *ret_mode = (enum hg_mode)index;
    return true;
}

const char *hgi_outcome_name(enum hg_outcome outcome)
{
    return name_at(outcome_names, HGI_COUNT_OF(outcome_names), outcome);
}

const char *hgi_source_name(enum hg_source source)
{
    return name_at(source_names, HGI_COUNT_OF(source_names), source);
}

const char *hgi_key_kind_name(enum hg_key_kind kind)
{
    return name_at(key_kind_names, HGI_COUNT_OF(key_kind_names), kind);
}

static bool takes(enum hgi_key_type type, enum hg_key_kind kind)
{
    switch (type) {
    case HGI_KEYS_BYTES:
        return kind == HG_KEY_BYTES;
    case HGI_KEYS_KEY_HASH:
        return kind == HG_KEY_KEY_HASH;
    case HGI_KEYS_USER_API_KEY:
        return kind == HG_KEY_USER_API_KEY;
    case HGI_KEYS_API_KEY_FEATURE:
        return kind == HG_KEY_API_KEY_FEATURE;
    case HGI_KEYS_AUTH:
        return kind == HG_KEY_KEY_HASH || kind == HG_KEY_USER_API_KEY;
    }
    return false;
}

/* The parts of a key in canonical order; 1, 2 or 3 of them. The third is the standalone flag. */
struct parts {
    struct hg_slice part[3];
    size_t count;
    size_t text_count; /* those that the caller wrote and HG_KEY_MAX bounds */
};

static struct parts parts_of(const struct hg_key *key)
{
    static const unsigned char flags[2] = {0, 1};
    struct parts parts = {.count = 0};

    switch (key->kind) {
    case HG_KEY_BYTES:
        parts.part[parts.count++] = key->bytes;
        break;
    case HG_KEY_KEY_HASH:
        parts.part[parts.count++] = hgi_slice_trim(key->bytes);
        break;
    case HG_KEY_USER_API_KEY:
        parts.part[parts.count++] = hgi_slice_trim(key->user_id);
        parts.part[parts.count++] = hgi_slice_trim(key->api_key_id);
        break;
    case HG_KEY_API_KEY_FEATURE:
        parts.part[parts.count++] = hgi_slice_trim(key->user_id);
        parts.part[parts.count++] = hgi_slice_trim(key->api_key_id);
        parts.part[parts.count++] = hg_slice_of(&flags[key->is_standalone], 1);
        break;
    }
    parts.text_count = parts.count < 3 ? parts.count : 2;
    return parts;
}

/* The seeds' rules for an empty key (Aether: AuthApiKeyIdentityCacheKey, ..FeatureCacheKey,
 * ..SnapshotCacheKey). */
static const char *empty_part(const struct hg_key *key, const struct parts *parts)
{
    switch (key->kind) {
    case HG_KEY_BYTES:
        return parts->part[0].len ? NULL : "the key is empty";
    case HG_KEY_KEY_HASH:
        return parts->part[0].len ? NULL : "the key's key_hash is empty";
    case HG_KEY_USER_API_KEY:
        if (!parts->part[0].len) {
            return "the key's user_id is empty";
        }
        return parts->part[1].len ? NULL : "the key's api_key_id is empty";
    case HG_KEY_API_KEY_FEATURE:
        if (!parts->part[1].len) {
            return "the key's api_key_id is empty";
        }
        return parts->part[0].len || key->is_standalone
                   ? NULL
                   : "the key's user_id is empty; only a standalone key may leave it out";
    }
    return "the key has no known kind";
}

enum hg_status hgi_key_encode(enum hgi_key_type type, const struct hg_key *key,
                              struct hgi_key *ret_key, char *ret_sentence)
{
    struct parts parts;
    const char *empty;
    size_t total = 0;
    unsigned char *out = ret_key->data;

    if (!takes(type, key->kind)) {
        const char *kind = key->kind ? hgi_key_kind_name(key->kind) : "none";

        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "a key of kind %s does not fit: this cache's keys are %s%s",
                 kind ? kind : "unknown", hgi_key_type_name(type),
                 type == HGI_KEYS_AUTH ? " (key_hash or user_api_key)" : "");
        return HG_INVALID_ARGUMENT;
    }
    parts = parts_of(key);
    empty = empty_part(key, &parts);
    if (empty) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s", empty);
        return HG_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < parts.text_count; i++) {
        total += parts.part[i].len;
    }
    if (total > HG_KEY_MAX) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the key is %zu bytes; at most %u are allowed",
                 total, HG_KEY_MAX);
        return HG_INVALID_ARGUMENT;
    }
    *out++ = (unsigned char)key->kind;
    for (size_t i = 0; i < parts.count; i++) {
        size_t len = parts.part[i].len;

        *out++ = (unsigned char)(len >> 8);
        *out++ = (unsigned char)len;
        if (len) {
            memcpy(out, parts.part[i].data, len);
        }
        out += len;
    }
    ret_key->len = (size_t)(out - ret_key->data);
    return HG_OK;
}

static bool take_part(struct hg_slice *rest, struct hg_slice *ret_part)
{
    const unsigned char *data = rest->data;
    size_t len;

    if (rest->len < 2) {
        return false;
    }
    len = (size_t)data[0] << 8 | data[1];
    if (rest->len - 2 < len) {
        return false;
    }
    *ret_part = hg_slice_of(data + 2, len);
    *rest = hg_slice_of(data + 2 + len, rest->len - 2 - len);
    return true;
}

bool hgi_key_decode(struct hg_slice canonical, struct hg_key *ret_key)
{
    const unsigned char *data = canonical.data;
    struct hg_slice rest = {NULL, 0};
    struct hg_key key = {.is_standalone = false};
    struct hg_slice flag = {NULL, 0};
    bool whole = false;

    if (canonical.len < 1) {
        return false;
    }
    rest = hg_slice_of(data + 1, canonical.len - 1);
    key.kind = (enum hg_key_kind)data[0];
    switch (key.kind) {
    case HG_KEY_BYTES:
    case HG_KEY_KEY_HASH:
        whole = take_part(&rest, &key.bytes);
        break;
    case HG_KEY_USER_API_KEY:
        whole = take_part(&rest, &key.user_id) && take_part(&rest, &key.api_key_id);
        break;
    case HG_KEY_API_KEY_FEATURE:
        whole = take_part(&rest, &key.user_id) && take_part(&rest, &key.api_key_id) &&
                take_part(&rest, &flag) && flag.len == 1 && *(const unsigned char *)flag.data <= 1;
        key.is_standalone = whole && *(const unsigned char *)flag.data != 0;
        break;
    }
    if (!whole || rest.len) {
        return false;
    }
    *ret_key = key;
    return true;
}
