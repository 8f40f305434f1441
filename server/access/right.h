/* SPDX-License-Identifier: Apache-2.0 */
/* right: who may do what to which cache.
 * Owns:     nothing; principals and their grants are the configuration's.
 * Threads:  any; constant.
 * Limits:   none.
 * Errors:   what is not granted is refused: there is no default.
 * Not here: who is asking (tokens), which method needs what (proto/methods.def).
 *
 * Whether a cache exists is not looked at: a cache that is forbidden and one that is not there are
 * refused by the same few comparisons (I20). */
#ifndef HGI_SERVER_ACCESS_RIGHT_H
#define HGI_SERVER_ACCESS_RIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"
#include "proto/envelope.h"

/* Every cache there is or will be, and the server as a whole. */
#define HGI_EVERY_CACHE "*"

/* A set of verbs: 1 << verb. */
typedef unsigned hgi_verbs;

struct hgi_grant {
    const char *cache; /* or HGI_EVERY_CACHE */
    hgi_verbs verbs;
};

struct hgi_principal {
    const char *name;
    uint32_t number; /* its own among all */
    const struct hgi_grant *grants;
    size_t grant_count;
};

static inline hgi_verbs hgi_verb_bit(enum hgi_verb verb)
{
    return 1u << verb;
}

bool hgi_principal_may(const struct hgi_principal *principal, struct hg_slice cache,
                       enum hgi_verb verb);
/* To every cache at once: what a grant for "*" gives. */
bool hgi_principal_may_all(const struct hgi_principal *principal, enum hgi_verb verb);
/* To any cache at all. */
bool hgi_principal_may_any(const struct hgi_principal *principal, enum hgi_verb verb);

const char *hgi_verb_name(enum hgi_verb verb);
/* "read, load", words apart by commas or spaces. False: ret_wrong (size bytes) is the first word
 * that is no verb, or empty where there is none at all. */
HG_NODISCARD bool hgi_verbs_parse(const char *text, hgi_verbs *ret_verbs, char *ret_wrong,
                                  size_t size);
/* "read, load, write, clear and admin" */
#define HGI_VERBS_LIST_MAX 64u
void hgi_verbs_list(char ret_list[HGI_VERBS_LIST_MAX]);

#endif
