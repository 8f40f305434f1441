/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway_headers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what is well-formed ---- */

bool is_token(const char *text)
{
    return *text && text[strspn(text, "!#$%&'*+-.^_`|~0123456789"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] == 0;
}

bool is_one_line(const char *text)
{
    for (; *text; text++) {
        if (iscntrl((unsigned char)*text) && *text != '\t') {
            return false;
        }
    }
    return true;
}

/* ---- which pass ---- */

static bool is_listed(const char *const *names, const char *name, size_t len)
{
    for (size_t i = 0; names[i]; i++) {
        bool is_same = strlen(names[i]) == len;

        for (size_t c = 0; c < len && is_same; c++) {
            int sign = (unsigned char)name[c];

            /* Many programs behind take "_" for "-", and some take any other sign for it. */
            is_same = names[i][c] == (isalnum(sign) ? tolower(sign) : '-');
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

bool add_named(struct text *named, const char *name, size_t len, const char *value)
{
    return len != 10 || strncasecmp(name, "Connection", len) != 0 ||
           (text_grow(named, value, strlen(value)) && text_grow(named, ",", 1));
}

bool is_hop(const struct text *named, const char *name, size_t len)
{
    /* RFC 9110, 7.6.1, and what is made anew for each connection. */
    static const char *const names[] = {"connection",
                                        "keep-alive",
                                        "proxy-authenticate",
                                        "proxy-authorization",
                                        "te",
                                        "transfer-encoding",
                                        "proxy-connection",
                                        "content-length",
                                        "trailer",
                                        "upgrade",
                                        "host",
                                        "expect",
                                        NULL};
    const char *at = named->text;

    while (at && *at) {
        size_t word = strcspn(at, ", \t");

        if (word == len && strncasecmp(at, name, len) == 0) {
            return true;
        }
        at += word + strspn(at + word, ", \t");
    }
    return is_listed(names, name, len);
}

bool is_ours(const char *name)
{
    static const char *const names[] = {"authorization", "x-api-key", "x-user-id",
                                        "x-api-key-id",  "x-scopes",  NULL};

    return is_listed(names, name, strlen(name));
}

/* ---- writing them ---- */

bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 3;
    char *text = malloc(size);
    struct curl_slist *longer = NULL;

    if (text) {
        /* libcurl wants "Name;" where the value is empty. */
        snprintf(text, size, *value ? "%s: %s" : "%s;", name, value);
        longer = curl_slist_append(*list, text);
        free(text);
    }
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* What cannot stand in a header becomes %XX. */
static bool add_escaped(struct text *text, struct hg_slice value)
{
    const unsigned char *at = value.data;
    bool is_good = true;
    char escape[4];

    for (size_t i = 0; i < value.len && is_good; i++) {
        bool is_plain = at[i] > ' ' && at[i] < 0x7f && at[i] != '%';

        snprintf(escape, sizeof(escape), is_plain ? "%c" : "%%%02X", at[i]);
        is_good = text_grow(text, escape, strlen(escape));
    }
    return is_good;
}

static bool add_words(struct curl_slist **list, const char *name, const struct hg_slice *values,
                      size_t count)
{
    struct text text = {NULL, 0};
    bool is_good = true;

    for (size_t i = 0; i < count && is_good; i++) {
        is_good = (i == 0 || text_grow(&text, " ", 1)) && add_escaped(&text, values[i]);
    }
    is_good = is_good && add_header(list, name, text.text ? text.text : "");
    free(text.text);
    return is_good;
}

bool add_identity(struct curl_slist **list, const struct hg_auth *auth)
{
    return add_words(list, "X-User-Id", &auth->user_id, 1) &&
           add_words(list, "X-Api-Key-Id", &auth->api_key_id, 1) &&
           add_words(list, "X-Scopes", auth->scopes, auth->scope_count);
}
