/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"

#include <stdio.h>

#include "base/kind.h"

enum { OPTION_KEY_HASH = 0x200, OPTION_USER, OPTION_API_KEY, OPTION_FEATURE, OPTION_STANDALONE };

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What KEY is:", 5},
    {"kind", 'k', "KIND", 0, "bytes (if not said), key_hash, user_api_key or api_key_feature", 5},
    {"key-hash", OPTION_KEY_HASH, 0, 0, "--kind key_hash", 5},
    {"feature", OPTION_FEATURE, 0, 0, "--kind api_key_feature", 5},
    {"standalone", OPTION_STANDALONE, 0, 0,
     "--kind api_key_feature, of a key that stands alone: KEY may leave out USER/", 5},
    {0, 0, 0, 0, "A KEY of two parts is written USER/API_KEY, or by options instead of KEY:", 6},
    {"user", OPTION_USER, "USER", 0, "The first part", 6},
    {"api-key", OPTION_API_KEY, "API_KEY", 0, "The second part", 6},
    {0},
};

static void set_kind(struct argp_state *state, struct hgi_key_args *args, enum hg_key_kind kind)
{
    if (args->kind && args->kind != kind) {
        argp_error(state, "a key is either %s or %s, not both", hgi_key_kind_name(args->kind),
                   hgi_key_kind_name(kind));
    }
    args->kind = kind;
}

static enum hg_key_kind parse_kind(struct argp_state *state, const char *name)
{
    for (enum hg_key_kind kind = HG_KEY_BYTES; kind <= HG_KEY_API_KEY_FEATURE; kind++) {
        if (strcmp(name, hgi_key_kind_name(kind)) == 0) {
            return kind;
        }
    }
    argp_error(state,
               "\"%s\" is no kind of key; there are bytes, key_hash, user_api_key and "
               "api_key_feature",
               name);
    return HG_KEY_BYTES;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct hgi_key_args *args = state->input;

    switch (key) {
    case 'k':
        set_kind(state, args, parse_kind(state, arg));
        return 0;
    case OPTION_KEY_HASH:
        set_kind(state, args, HG_KEY_KEY_HASH);
        return 0;
    case OPTION_FEATURE:
        set_kind(state, args, HG_KEY_API_KEY_FEATURE);
        return 0;
    case OPTION_STANDALONE:
        set_kind(state, args, HG_KEY_API_KEY_FEATURE);
        args->is_standalone = true;
        return 0;
    case OPTION_USER:
        args->user = arg;
        return 0;
    case OPTION_API_KEY:
        args->api_key = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp hgi_key_argp = {.options = options, .parser = parse};

bool hgi_keys_are_options(const struct hgi_key_args *args)
{
    return args->user || args->api_key;
}

/* The parts of "USER/API_KEY"; a user with a slash in it needs the options. */
static void split(struct argp_state *state, const struct hgi_key_args *args, const char *text,
                  struct hg_key *key)
{
    const char *slash = strchr(text, '/');

    if (!slash && !args->is_standalone) {
        argp_error(state, "\"%s\" is no %s key; write USER/API_KEY, or --user USER --api-key KEY",
                   text, hgi_key_kind_name(key->kind));
    }
    if (slash) {
        key->user_id = hg_slice_of(text, (size_t)(slash - text));
        key->api_key_id = hg_slice_text(slash + 1);
    } else {
        key->api_key_id = hg_slice_text(text);
    }
}

static void by_options(struct argp_state *state, const struct hgi_key_args *args,
                       struct hg_key *key)
{
    key->kind = args->kind ? args->kind : HG_KEY_USER_API_KEY;
    if (key->kind != HG_KEY_USER_API_KEY && key->kind != HG_KEY_API_KEY_FEATURE) {
        argp_error(state, "a %s key has no --user and no --api-key", hgi_key_kind_name(key->kind));
    }
    key->user_id = hg_slice_text(args->user);
    key->api_key_id = hg_slice_text(args->api_key);
}

void hgi_keys_add(struct argp_state *state, struct hgi_key_args *args, const char *text)
{
    struct hg_key key = {.kind = args->kind ? args->kind : HG_KEY_BYTES,
                         .is_standalone = args->is_standalone};

    if (args->count == HGI_BATCH_KEYS_MAX) {
        argp_error(state, "more than %u keys at once", HGI_BATCH_KEYS_MAX);
        return;
    }
    if (!text) {
        by_options(state, args, &key);
    } else if (key.kind == HG_KEY_USER_API_KEY || key.kind == HG_KEY_API_KEY_FEATURE) {
        split(state, args, text, &key);
    } else {
        key.bytes = hg_slice_text(text);
    }
    args->labels[args->count] = text;
    args->keys[args->count++] = key;
}

const char *hgi_key_label(const struct hgi_key_args *args, size_t index, char *ret_text)
{
    if (args->labels[index]) {
        snprintf(ret_text, HGI_KEY_LABEL_MAX, "%s", args->labels[index]);
    } else {
        snprintf(ret_text, HGI_KEY_LABEL_MAX, "%s/%s", args->user ? args->user : "",
                 args->api_key ? args->api_key : "");
    }
    return ret_text;
}
