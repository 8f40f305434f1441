/* SPDX-License-Identifier: Apache-2.0 */
/* auth_arg: an auth value on the command line.
 * Owns:     the lists and texts it makes, until deinit.
 * Threads:  one.
 * Limits:   HGI_AUTH_LIST_MAX scopes and as many attributes.
 * Errors:   one sentence (HGI_SENTENCE_MAX bytes) and false.
 * Not here: how an auth value is printed (answer); its bytes (hg_auth_encode). */
#ifndef HGI_CLI_AUTH_ARG_H
#define HGI_CLI_AUTH_ARG_H

#include <jansson.h>

#include "base/kind.h"
#include "herdgate/client.h"

#define HGI_AUTH_LIST_MAX 64u

struct hgi_auth_arg {
    struct hg_auth auth;
    struct hg_slice scopes[HGI_AUTH_LIST_MAX];
    struct hg_attribute attributes[HGI_AUTH_LIST_MAX];
    char *text;   /* what the slices borrow from */
    json_t *json; /* likewise */
};

/* "user=U,key=K,allowed=yes,scope=S,attr.NAME=V,not_after=MOMENT"; scope and attr may come again.
 */
HG_NODISCARD bool hgi_auth_arg_parse(const char *fields, struct hgi_auth_arg *ret_arg,
                                     char *ret_sentence);
/* The object that `get -o json` prints as an auth value. */
HG_NODISCARD bool hgi_auth_arg_parse_json(struct hg_slice text, struct hgi_auth_arg *ret_arg,
                                          char *ret_sentence);
void hgi_auth_arg_deinit(struct hgi_auth_arg *arg);

#endif
