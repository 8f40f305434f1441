/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "client/cli/auth_arg.h"
#include "client/cli/cli.h"
#include "client/cli/key.h"
#include "client/cli/output.h"
#include "client/cli/parse.h"

enum {
    OPTION_ABSENT = 0x400,
    OPTION_DENIED,
    OPTION_TTL,
    OPTION_STALE_TTL,
    OPTION_EXPIRES_AT,
    OPTION_IF_GENERATION,
    OPTION_AUTH,
    OPTION_TAG
};

#define ARGUMENTS_MAX   3u
#define STDIN_MAX_BYTES (1024u * 1024u)

struct put_verb {
    struct hgi_cli *cli;
    struct hgi_key_args keys;
    const char *texts[ARGUMENTS_MAX];
    size_t text_count;
    const char *value; /* the argument; NULL: none */
    const char *auth;
    bool is_stdin;
    struct hg_token token;
    struct hg_slice tags[HG_TAGS_MAX];
    struct hg_put put;
    /* what put.value borrows from */
    struct hg_bytes input;
    struct hgi_auth_arg auth_arg;
    struct hg_packed packed;
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What to store, instead of VALUE:", 1},
    {"stdin", 'x', 0, 0, "What standard input has, byte for byte", 1},
    {"auth", OPTION_AUTH, "FIELDS", 0,
     "An auth value, such as user=u1,key=k1,allowed=yes,scope=read,scope=write,attr.plan=gold,"
     "not_after=1900000000; - reads the object that get -o json prints from standard input",
     1},
    {"absent", OPTION_ABSENT, 0, 0, "That there is no such thing", 1},
    {"denied", OPTION_DENIED, 0, 0, "That it is refused", 1},
    {0, 0, 0, 0, "For how long (it can only shorten what the cache is set to), and when:", 2},
    {"ttl", OPTION_TTL, "TIME", 0, "Fresh for TIME, for example 250ms, 10s or 5m", 2},
    {"stale-ttl", OPTION_STALE_TTL, "TIME", 0, "Servable for TIME in all", 2},
    {"expires-at", OPTION_EXPIRES_AT, "MOMENT", 0,
     "Never served after MOMENT: 2030-01-31T12:00:00Z, unix seconds, or +TIME from now", 2},
    {"if-generation", OPTION_IF_GENERATION, "TOKEN", 0,
     "Only if the key has not changed since \"generation\" printed TOKEN; else exit status 4", 2},
    {"tag", OPTION_TAG, "TAG", 0,
     "What else it depends on: \"clear CACHE --tag TAG\" covers it; up to 16 times", 2},
    {0},
};

static void add_tag(struct put_verb *verb, const char *tag, struct argp_state *state)
{
    if (verb->put.tag_count == HG_TAGS_MAX) {
        argp_error(state, "more than %u tags of one value", HG_TAGS_MAX);
        return;
    }
    verb->tags[verb->put.tag_count++] = hg_slice_text(tag);
    verb->put.tags = verb->tags;
}

static void set_outcome(struct put_verb *verb, enum hg_outcome outcome, struct argp_state *state)
{
    if (verb->put.outcome && verb->put.outcome != outcome) {
        argp_error(state, "either --absent or --denied, not both");
    }
    verb->put.outcome = outcome;
}

/* Which arguments are what depends on whether options named the key. */
static void take_arguments(struct put_verb *verb, struct argp_state *state)
{
    size_t next = 0;
    bool wants_value = !verb->is_stdin && !verb->auth && !verb->put.outcome;

    if (verb->text_count == 0) {
        argp_error(state, "the CACHE is missing");
    }
    verb->put.cache = verb->texts[next++];
    if (hgi_keys_are_options(&verb->keys)) {
        hgi_keys_add(state, &verb->keys, NULL);
    } else if (next == verb->text_count) {
        argp_error(state, "the KEY is missing");
    } else {
        hgi_keys_add(state, &verb->keys, verb->texts[next++]);
    }
    if (wants_value && next == verb->text_count) {
        argp_error(state, "the VALUE is missing; it may also come by -x, --auth, --absent or "
                          "--denied");
    }
    if (wants_value) {
        verb->value = verb->texts[next++];
    }
    if (next < verb->text_count) {
        argp_error(state, "\"%s\" is one argument too many", verb->texts[next]);
    }
    if (verb->is_stdin && (verb->auth || verb->put.outcome)) {
        argp_error(state, "-x goes with none of --auth, --absent and --denied");
    }
    if (verb->auth && verb->put.outcome == HG_ABSENT) {
        argp_error(state, "what is absent has no --auth");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct put_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        state->child_inputs[1] = &verb->keys;
        return 0;
    case 'x':
        verb->is_stdin = true;
        return 0;
    case OPTION_AUTH:
        verb->auth = arg;
        return 0;
    case OPTION_ABSENT:
        set_outcome(verb, HG_ABSENT, state);
        return 0;
    case OPTION_DENIED:
        set_outcome(verb, HG_DENIED, state);
        return 0;
    case OPTION_TAG:
        add_tag(verb, arg, state);
        return 0;
    case OPTION_TTL:
        verb->put.ttl_ms = hgi_parse_duration(state, "--ttl", arg);
        return 0;
    case OPTION_STALE_TTL:
        verb->put.stale_ttl_ms = hgi_parse_duration(state, "--stale-ttl", arg);
        return 0;
    case OPTION_EXPIRES_AT:
        verb->put.expires_at_ms = hgi_parse_moment(state, "--expires-at", arg);
        return 0;
    case OPTION_IF_GENERATION:
        verb->token = hgi_parse_token(state, "--if-generation", arg);
        verb->put.if_generation = &verb->token;
        return 0;
    case ARGP_KEY_ARG:
        if (verb->text_count == ARGUMENTS_MAX) {
            argp_error(state, "\"%s\" is one argument too many", arg);
            return 0;
        }
        verb->texts[verb->text_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        take_arguments(verb, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&hgi_cli_argp, 0, 0, 0}, {&hgi_key_argp, 0, 0, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CACHE KEY [VALUE]",
    .doc = "Store VALUE for KEY in CACHE. A load of KEY that began before is not stored any more.",
    .children = children};

static int usage_fault(const struct hgi_cli *cli, const char *sentence)
{
    struct hg_error error = {.status = HG_INVALID_ARGUMENT};

    snprintf(error.text, sizeof(error.text), "%s", sentence);
    (void)hgi_cli_fail(cli, &error);
    return HGI_EXIT_USAGE;
}

static int read_stdin(struct put_verb *verb)
{
    size_t count;

    do {
        if (verb->input.len > STDIN_MAX_BYTES) {
            return usage_fault(verb->cli, "standard input has more than the 1 MiB that fits into "
                                          "a message");
        }
        if (!hgi_bytes_reserve(&verb->input, BUFSIZ)) {
            (void)hgi_cli_must(NULL);
        }
        count = fread(verb->input.data + verb->input.len, 1, BUFSIZ, stdin);
        verb->input.len += count;
    } while (count > 0);
    return ferror(stdin) ? usage_fault(verb->cli, "standard input cannot be read") : HGI_EXIT_DONE;
}

static int make_auth(struct put_verb *verb)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_error error;
    bool is_ok;
    int rc;

    if (strcmp(verb->auth, "-") == 0) {
        rc = read_stdin(verb);
        if (rc != HGI_EXIT_DONE) {
            return rc;
        }
        is_ok = hgi_auth_arg_parse_json(hgi_bytes_slice(&verb->input), &verb->auth_arg, sentence);
    } else {
        is_ok = hgi_auth_arg_parse(verb->auth, &verb->auth_arg, sentence);
    }
    if (!is_ok) {
        return usage_fault(verb->cli, sentence);
    }
    if (hg_auth_encode(&verb->auth_arg.auth, &verb->packed, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    verb->put.value = verb->packed.bytes;
    return HGI_EXIT_DONE;
}

static int make_value(struct put_verb *verb)
{
    int rc = HGI_EXIT_DONE;

    if (verb->auth) {
        return make_auth(verb);
    }
    if (verb->is_stdin) {
        rc = read_stdin(verb);
        verb->put.value = hgi_bytes_slice(&verb->input);
    } else if (verb->value) {
        verb->put.value = hg_slice_text(verb->value);
    }
    return rc;
}

static int send_put(struct put_verb *verb)
{
    char label[HGI_KEY_LABEL_MAX];
    struct hg_stored stored;
    struct hg_error error;
    json_t *object;

    verb->put.key = verb->keys.keys[0];
    verb->put.timeout_ms = verb->cli->timeout_ms;
    if (hg_client_put(verb->cli->client, &verb->put, &stored, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    if (verb->cli->is_json) {
        object = hgi_cli_must(json_object());
        hgi_json_set_bytes(object, "cache", hg_slice_text(verb->put.cache));
        hgi_json_set_bytes(object, "key", hg_slice_text(hgi_key_label(&verb->keys, 0, label)));
        hgi_json_set_number(object, "generation", stored.generation);
        hgi_json_print(stdout, object);
    } else {
        printf("stored, generation %" PRIu64 "\n", stored.generation);
    }
    return HGI_EXIT_DONE;
}

int hgi_verb_put(struct hgi_cli *cli, int argc, char **argv)
{
    struct put_verb verb = {.cli = cli};
    int rc = HGI_EXIT_USAGE;

    hgi_bytes_init(&verb.input, &hgi_heap);
    if (argp_parse(&argp, argc, argv, 0, NULL, &verb) != 0) {
        goto out;
    }
    rc = hgi_cli_connect(cli);
    if (rc == HGI_EXIT_DONE) {
        rc = make_value(&verb);
    }
    if (rc == HGI_EXIT_DONE) {
        rc = send_put(&verb);
    }
out:
    hgi_auth_arg_deinit(&verb.auth_arg);
    hg_packed_deinit(&verb.packed);
    hgi_bytes_deinit(&verb.input);
    return rc;
}
