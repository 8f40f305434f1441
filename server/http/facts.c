/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include <ctype.h>
#include <string.h>

/* No space and no control byte: a request line has none inside its parts. */
static bool is_word(struct hg_slice text)
{
    const unsigned char *bytes = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] <= ' ' || bytes[i] == 0x7f) {
            return false;
        }
    }
    return text.len > 0;
}

/* One fact, as the fields tell it. Told twice by one, or differently by the two, it is none. */
static bool tell(const struct hgi_http_request *request, enum hgi_facts_from from,
                 const char *forwarded_name, const char *original_name, struct hg_slice own,
                 struct hg_slice *ret_fact)
{
    struct hg_slice forwarded = {NULL, 0};
    struct hg_slice original = {NULL, 0};
    size_t forwarded_count = 0;
    size_t original_count = 0;

    if (from == HGI_FACTS_FROM_ANY || from == HGI_FACTS_FROM_FORWARDED) {
        forwarded_count = hgi_http_field_find(request, forwarded_name, &forwarded);
    }
    if (from == HGI_FACTS_FROM_ANY || from == HGI_FACTS_FROM_ORIGINAL) {
        original_count = hgi_http_field_find(request, original_name, &original);
    }
    if (forwarded_count > 1 || original_count > 1 ||
        (forwarded_count && original_count && !hgi_slice_equal(forwarded, original))) {
        return false;
    }
    if (!forwarded_count && !original_count && from != HGI_FACTS_FROM_ANY &&
        from != HGI_FACTS_FROM_REQUEST) {
        *ret_fact = hg_slice_of(NULL, 0); /* not told by who was to tell it */
        return true;
    }
    *ret_fact = forwarded_count ? forwarded : original_count ? original : own;
    return true;
}

static bool lower(struct hgi_arena *arena, struct hg_slice *inout_text)
{
    char *copy = hgi_arena_alloc(arena, inout_text->len + 1);

    if (!copy) {
        return false;
    }
    for (size_t i = 0; i < inout_text->len; i++) {
        copy[i] = (char)tolower(((const unsigned char *)inout_text->data)[i]);
    }
    *inout_text = hg_slice_of(copy, inout_text->len);
    return true;
}

/* The path with its query, as a fact tells them. */
static bool tell_target(const struct hgi_http_request *request, enum hgi_facts_from from,
                        struct hg_slice own_path, struct hgi_facts *facts)
{
    struct hg_slice target = {NULL, 0};
    bool is_good = tell(request, from, "X-Forwarded-Uri", "X-Original-URI", own_path, &target);

    if (target.data == own_path.data) {
        facts->path = own_path;
        facts->query = request->query;
    } else if (target.len) {
        hgi_http_target_split(target, &facts->path, &facts->query);
    }
    return is_good;
}

bool hgi_facts_read(const struct hgi_http_request *request, enum hgi_facts_from from,
                    struct hg_slice own_path, struct hgi_arena *arena, struct hgi_facts *ret_facts)
{
    struct hgi_facts facts = {.method = {NULL, 0}};
    struct hg_slice host = {NULL, 0};

    if (hgi_http_field_find(request, "Host", &host) > 1 ||
        !tell(request, from, "X-Forwarded-Method", "X-Original-Method", request->method,
              &facts.method) ||
        !tell(request, from, "X-Forwarded-Host", "X-Original-Host", host, &facts.host) ||
        !tell_target(request, from, own_path, &facts) || !lower(arena, &facts.host)) {
        return false;
    }
    *ret_facts = facts;
    return true;
}

bool hgi_facts_join(const struct hgi_facts *facts, unsigned set, struct hgi_arena *arena,
                    struct hg_slice *ret_text)
{
    const struct {
        enum hgi_fact fact;
        struct hg_slice text;
    } parts[] = {{HGI_FACT_METHOD, facts->method},
                 {HGI_FACT_HOST, facts->host},
                 {HGI_FACT_PATH, facts->path}};
    char *text = hgi_arena_alloc(arena, facts->method.len + facts->host.len + facts->path.len + 3);
    size_t len = 0;

    if (!text) {
        return false;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!(set & parts[i].fact)) {
            continue;
        }
        if (!is_word(parts[i].text)) {
            return false;
        }
        if (len) {
            text[len++] = ' ';
        }
        memcpy(text + len, parts[i].text.data, parts[i].text.len);
        len += parts[i].text.len;
    }
    *ret_text = hg_slice_of(text, len);
    return true;
}
