/* SPDX-License-Identifier: Apache-2.0 */
#include "credential.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define SCHEME "Bearer"

/* Where it was looked, and how often something was there. */
struct find {
    size_t count;
    struct hg_slice value;
    bool is_wrong;
};

static void found(struct find *find, struct hg_slice value)
{
    if (find->count++ == 0) {
        find->value = value;
    }
}

static bool is_text(struct hg_slice value)
{
    const unsigned char *bytes = value.data;

    for (size_t i = 0; i < value.len; i++) {
        if (bytes[i] < ' ' || bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

/* "b64token" of RFC 6750; "a, b", which is how two of them are joined on their way, is none. */
static bool is_bearer(struct hg_slice value)
{
    const char *bytes = value.data;
    size_t len = value.len;

    while (len && bytes[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)bytes[i]) && !strchr("-._~+/", bytes[i])) {
            return false;
        }
    }
    return len > 0;
}

/* Another scheme than Bearer is no credential of this kind. */
static void find_bearer(const struct hgi_http_request *request, struct find *ret_find)
{
    const size_t scheme_len = sizeof(SCHEME) - 1;
    struct hg_slice value = {NULL, 0};
    size_t count = hgi_http_field_find(request, "Authorization", &value);
    const char *text = value.data;

    if (count > 1) {
        ret_find->count = count;
        return;
    }
    if (count == 0 || value.len <= scheme_len || strncasecmp(text, SCHEME, scheme_len) != 0 ||
        text[scheme_len] != ' ') {
        return;
    }
    value = hgi_slice_trim(hg_slice_of(text + scheme_len, value.len - scheme_len));
    found(ret_find, value);
    ret_find->is_wrong = !is_bearer(value);
}

/* "a=b; c=d" or "a=b&c=d": every value of the name. */
static void find_pairs(struct hg_slice pairs, char between, struct hg_slice name,
                       struct find *inout_find)
{
    const char *at = pairs.len ? pairs.data : "";
    const char *end = at + pairs.len;

    while (pairs.len && at <= end) {
        const char *next = memchr(at, between, (size_t)(end - at));
        struct hg_slice pair = hgi_slice_trim(hg_slice_of(at, (size_t)((next ? next : end) - at)));
        const char *equal = pair.len ? memchr(pair.data, '=', pair.len) : NULL;
        size_t name_len = equal ? (size_t)(equal - (const char *)pair.data) : 0;

        if (equal && name_len == name.len && memcmp(pair.data, name.data, name_len) == 0) {
            found(inout_find, hg_slice_of(equal + 1, pair.len - name_len - 1));
        }
        if (!next) {
            break;
        }
        at = next + 1;
    }
}

static void find_cookie(const struct hgi_http_request *request, struct hg_slice name,
                        struct find *inout_find)
{
    for (size_t i = 0; i < request->field_count; i++) {
        const struct hgi_http_field *field = &request->fields[i];

        if (field->name.len == strlen("Cookie") &&
            strncasecmp(field->name.data, "Cookie", field->name.len) == 0) {
            find_pairs(field->value, ';', name, inout_find);
        }
    }
    if (inout_find->value.len >= 2 && ((const char *)inout_find->value.data)[0] == '"' &&
        ((const char *)inout_find->value.data)[inout_find->value.len - 1] == '"') {
        inout_find->value =
            hg_slice_of((const char *)inout_find->value.data + 1, inout_find->value.len - 2);
    }
}

static int digit_of(char hex)
{
    return isdigit((unsigned char)hex) ? hex - '0' : tolower((unsigned char)hex) - 'a' + 10;
}

/* %41 is A and + is a space. What is no escape is wrong. */
static void unescape(struct find *find, struct hgi_arena *arena)
{
    const char *from = find->value.data;
    char *to = hgi_arena_alloc(arena, find->value.len + 1);
    size_t len = 0;

    for (size_t i = 0; to && i < find->value.len; i++) {
        if (from[i] != '%') {
            to[len++] = (char)(from[i] == '+' ? ' ' : from[i]);
        } else if (i + 2 < find->value.len && isxdigit((unsigned char)from[i + 1]) &&
                   isxdigit((unsigned char)from[i + 2])) {
            to[len++] = (char)(digit_of(from[i + 1]) * 16 + digit_of(from[i + 2]));
            i += 2;
        } else {
            find->is_wrong = true;
        }
    }
    find->is_wrong = find->is_wrong || !to;
    find->value = hg_slice_of(to, len);
}

enum hgi_credential_found hgi_credential_find(const struct hgi_authz_config *authz,
                                              const struct hgi_http_request *request,
                                              struct hg_slice query, struct hgi_arena *arena,
                                              struct hg_slice *ret_credential)
{
    struct find find = {.count = 0};

    switch (authz->source) {
    case HGI_CREDENTIAL_BEARER:
        find_bearer(request, &find);
        break;
    case HGI_CREDENTIAL_HEADER:
        find.count = hgi_http_field_find(request, authz->source_name, &find.value);
        break;
    case HGI_CREDENTIAL_COOKIE:
        find_cookie(request, hg_slice_text(authz->source_name), &find);
        break;
    case HGI_CREDENTIAL_QUERY:
        find_pairs(query, '&', hg_slice_text(authz->source_name), &find);
        if (find.count == 1) {
            unescape(&find, arena);
        }
        break;
    }
    if (find.count == 0) {
        return HGI_CREDENTIAL_NONE;
    }
    if (find.count > 1 || find.is_wrong || !is_text(find.value)) {
        return HGI_CREDENTIAL_WRONG;
    }
    if (!hgi_slice_trim(find.value).len) {
        return HGI_CREDENTIAL_NONE;
    }
    *ret_credential = hgi_slice_trim(find.value);
    return HGI_CREDENTIAL_FOUND;
}

bool hgi_credential_sha256(struct hg_slice credential, struct hgi_arena *arena,
                           struct hg_slice *ret_digits)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    const size_t len = 2 * sizeof(digest);
    char *digits = hgi_arena_alloc(arena, len + 1);

    if (!digits) {
        return false;
    }
    (void)crypto_hash_sha256(digest, credential.data, credential.len);
    sodium_bin2hex(digits, len + 1, digest, sizeof(digest));
    *ret_digits = hg_slice_of(digits, len);
    return true;
}
