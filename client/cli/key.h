/* SPDX-License-Identifier: Apache-2.0 */
/* key: typed keys on the command line.
 * Owns:     nothing; keys borrow from argv.
 * Threads:  one.
 * Limits:   256 keys.
 * Errors:   end the process through argp_error.
 * Not here: whether a cache takes that kind (the server says). */
#ifndef HGI_CLI_KEY_H
#define HGI_CLI_KEY_H

#include <argp.h>

#include "herdgate/client.h"
#include "proto/codec.h"

#define HGI_KEY_LABEL_MAX 2100u

struct hgi_key_args {
    /* options */
    enum hg_key_kind kind; /* 0: none named */
    const char *user;
    const char *api_key;
    bool is_standalone;
    /* made by hgi_keys_add */
    struct hg_key keys[HGI_BATCH_KEYS_MAX];
    const char *labels[HGI_BATCH_KEYS_MAX]; /* as the user wrote it; NULL: by options */
    size_t count;
};

/* The options --kind, --key-hash, --feature, --standalone, --user, --api-key; the input is the
 * hgi_key_args. */
extern const struct argp hgi_key_argp;

/* True if the options name the key, so that no argument does. */
bool hgi_keys_are_options(const struct hgi_key_args *args);
/* Once all options are read: makes a key of one argument, or with NULL of the options. */
void hgi_keys_add(struct argp_state *state, struct hgi_key_args *args, const char *text);
/* For output: ret_text has HGI_KEY_LABEL_MAX bytes; "user/api_key" for what options named. Returns
 * it. */
const char *hgi_key_label(const struct hgi_key_args *args, size_t index, char *ret_text);

#endif
