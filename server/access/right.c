/* SPDX-License-Identifier: Apache-2.0 */
#include "right.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

static const char *const names[] = {
    [HGI_VERB_READ] = "read",   [HGI_VERB_LOAD] = "load",   [HGI_VERB_WRITE] = "write",
    [HGI_VERB_CLEAR] = "clear", [HGI_VERB_ADMIN] = "admin",
};

static bool is_every(const struct hgi_grant *grant)
{
    return strcmp(grant->cache, HGI_EVERY_CACHE) == 0;
}

bool hgi_principal_may(const struct hgi_principal *principal, struct hg_slice cache,
                       enum hgi_verb verb)
{
    hgi_verbs verbs = 0;

    for (size_t i = 0; i < principal->grant_count; i++) {
        const struct hgi_grant *grant = &principal->grants[i];

        if (is_every(grant) || hgi_slice_equal(cache, hg_slice_text(grant->cache))) {
            verbs |= grant->verbs;
        }
    }
    return verbs & hgi_verb_bit(verb);
}

bool hgi_principal_may_all(const struct hgi_principal *principal, enum hgi_verb verb)
{
    for (size_t i = 0; i < principal->grant_count; i++) {
        if (is_every(&principal->grants[i]) && principal->grants[i].verbs & hgi_verb_bit(verb)) {
            return true;
        }
    }
    return false;
}

bool hgi_principal_may_any(const struct hgi_principal *principal, enum hgi_verb verb)
{
    for (size_t i = 0; i < principal->grant_count; i++) {
        if (principal->grants[i].verbs & hgi_verb_bit(verb)) {
            return true;
        }
    }
    return false;
}

const char *hgi_verb_name(enum hgi_verb verb)
{
    return (size_t)verb < HGI_COUNT_OF(names) ? names[verb] : NULL;
}

static bool add(const char *word, size_t len, hgi_verbs *verbs)
{
    for (size_t i = 0; i < HGI_COUNT_OF(names); i++) {
        if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0) {
            *verbs |= hgi_verb_bit((enum hgi_verb)i);
            return true;
        }
    }
    return false;
}

bool hgi_verbs_parse(const char *text, hgi_verbs *ret_verbs, char *ret_wrong, size_t size)
{
    static const char between[] = ", ";
    const char *at = text + strspn(text, between);
    hgi_verbs verbs = 0;

    while (*at) {
        size_t len = strcspn(at, between);

        if (!add(at, len, &verbs)) {
            snprintf(ret_wrong, size, "%.*s", (int)(len < size ? len : size), at);
            return false;
        }
        at += len + strspn(at + len, between);
    }
    if (!verbs) {
        snprintf(ret_wrong, size, "%s", "");
        return false;
    }
    *ret_verbs = verbs;
    return true;
}

void hgi_verbs_list(char ret_list[HGI_VERBS_LIST_MAX])
{
    size_t len = 0;

    for (size_t i = 0; i < HGI_COUNT_OF(names); i++) {
        const char *after = i + 2 < HGI_COUNT_OF(names)   ? ", "
                            : i + 1 < HGI_COUNT_OF(names) ? " and "
                                                          : "";

        len += (size_t)snprintf(ret_list + len, HGI_VERBS_LIST_MAX - len, "%s%s", names[i], after);
    }
}
