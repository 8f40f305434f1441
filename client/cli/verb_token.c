/* SPDX-License-Identifier: Apache-2.0 */
/* token: access tokens, given out, revoked and listed. */
#include <inttypes.h>

#include "base/kind.h"
#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "client/cli/parse.h"
#include "herdgate/access.h"

enum { OPTION_EXPIRES = 0x700, OPTION_PRINCIPAL };

struct token_verb {
    struct hgi_cli *cli;
    int (*run)(struct token_verb *verb);
    const char *name; /* new: a principal; revoke: an id */
    const char *principal;
    int64_t expires_at_ms;
};

static json_t *set_expiry(json_t *object, int64_t expires_at_ms)
{
    (void)json_object_set_new(object, "expires_at_ms",
                              expires_at_ms ? json_integer(expires_at_ms) : json_null());
    return object;
}

/* ---- token new ---- */

/* The token goes to standard output and nothing else does, so that it can be sent into a file. */
static int run_new(struct token_verb *verb)
{
    struct hg_new_token request = {.principal = verb->name,
                                   .expires_at_ms = verb->expires_at_ms,
                                   .timeout_ms = verb->cli->timeout_ms};
    struct hg_issued issued;
    struct hg_error error;

    if (hg_client_new_token(verb->cli->client, &request, &issued, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    if (verb->cli->is_json) {
        json_t *object = hgi_cli_must(json_object());

        hgi_json_set_bytes(object, "token", issued.token);
        hgi_json_set_bytes(object, "id", issued.id);
        hgi_json_set_bytes(object, "principal", hg_slice_text(verb->name));
        hgi_json_print(stdout, set_expiry(object, verb->expires_at_ms));
    } else {
        hgi_print_escaped(stdout, issued.token);
        fputc('\n', stdout);
        fputs("herdgate: token ", stderr);
        hgi_print_escaped(stderr, issued.id);
        fprintf(stderr, " of %s; it is shown this once and kept nowhere\n", verb->name);
    }
    hg_issued_deinit(&issued);
    return HGI_EXIT_DONE;
}

/* ---- token revoke ---- */

static int run_revoke(struct token_verb *verb)
{
    struct hg_revoke_token request = {
        .id = verb->name, .principal = verb->principal, .timeout_ms = verb->cli->timeout_ms};
    struct hg_revoked revoked;
    struct hg_error error;

    if (hg_client_revoke_token(verb->cli->client, &request, &revoked, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    if (verb->cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:I}", "revoked", (json_int_t)revoked.count));
    } else {
        printf("revoked %" PRIu64 " token%s\n", revoked.count, revoked.count == 1 ? "" : "s");
    }
    return HGI_EXIT_DONE;
}

/* ---- token list ---- */

static json_t *infos_json(const struct hg_token_infos *infos)
{
    json_t *list = hgi_cli_must(json_array());

    for (size_t i = 0; i < infos->count; i++) {
        const struct hg_token_info *info = &infos->tokens[i];
        json_t *object = hgi_cli_must(json_object());

        hgi_json_set_bytes(object, "id", info->id);
        hgi_json_set_bytes(object, "principal", info->principal);
        (void)json_object_set_new(object, "created_at_ms", json_integer(info->created_at_ms));
        (void)json_array_append_new(list, set_expiry(object, info->expires_at_ms));
    }
    return json_pack("{s:o}", "tokens", list);
}

static void print_infos(const struct hg_token_infos *infos)
{
    static const char *const heads[] = {"TOKEN", "PRINCIPAL", "CREATED AT", "EXPIRES AT"};
    char text[HGI_DURATION_MAX];
    struct hgi_table table;

    hgi_table_init(&table, "llll");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < infos->count; i++) {
        const struct hg_token_info *info = &infos->tokens[i];

        hgi_table_add_slice(&table, info->id);
        hgi_table_add_slice(&table, info->principal);
        hgi_table_add(&table, "%s", hgi_instant_text(info->created_at_ms, text));
        hgi_table_add(&table, "%s",
                      info->expires_at_ms ? hgi_instant_text(info->expires_at_ms, text) : "never");
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static int run_list(struct token_verb *verb)
{
    struct hg_named request = {.timeout_ms = verb->cli->timeout_ms};
    struct hg_token_infos infos;
    struct hg_error error;

    if (hg_client_list_tokens(verb->cli->client, &request, &infos, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    if (verb->cli->is_json) {
        hgi_json_print(stdout, infos_json(&infos));
    } else {
        print_infos(&infos);
    }
    hg_token_infos_deinit(&infos);
    return HGI_EXIT_DONE;
}

/* ---- the command line ---- */

static void take_argument(struct token_verb *verb, struct argp_state *state, const char *arg)
{
    if (!verb->run) {
        verb->run = strcmp(arg, "new") == 0      ? run_new
                    : strcmp(arg, "revoke") == 0 ? run_revoke
                    : strcmp(arg, "list") == 0   ? run_list
                                                 : NULL;
        if (!verb->run) {
            argp_error(state, "token %s is not known; there are new, revoke and list", arg);
        }
    } else if (verb->name || verb->run == run_list) {
        argp_error(state, "\"%s\" is one argument too many", arg);
    } else {
        verb->name = arg;
    }
}

static void check(const struct token_verb *verb, struct argp_state *state)
{
    if (!verb->run) {
        argp_error(state, "what about tokens? There are new, revoke and list");
    }
    if (verb->run == run_new && !verb->name) {
        argp_error(state, "the PRINCIPAL is missing, as the configuration names it");
    }
    if (verb->run == run_revoke && !verb->name == !verb->principal) {
        argp_error(state, "name the ID of one token, or --principal NAME for all of his");
    }
    if (verb->run != run_new && verb->expires_at_ms) {
        argp_error(state, "--expires goes with new");
    }
    if (verb->run != run_revoke && verb->principal) {
        argp_error(state, "--principal goes with revoke");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct token_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case OPTION_EXPIRES:
        verb->expires_at_ms = hgi_parse_moment(state, "--expires", arg);
        return 0;
    case OPTION_PRINCIPAL:
        verb->principal = arg;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(verb, state, arg);
        return 0;
    case ARGP_KEY_END:
        check(verb, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};
static const struct argp_option options[] = {
    {"expires", OPTION_EXPIRES, "MOMENT", 0,
     "new: end it by itself at MOMENT, such as +90d, 2030-01-31T12:00:00Z or unix seconds", 1},
    {"principal", OPTION_PRINCIPAL, "NAME", 0, "revoke: every token of the principal NAME", 1},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "new PRINCIPAL\nrevoke ID\nlist",
    .doc = "Give out an access token for a principal of the server's configuration, end one, or "
           "list them. A new token is printed once and kept nowhere: send it into a file that "
           "nobody else may read. A revoked one is refused from then on, on open connections, too.",
    .children = children};

int hgi_verb_token(struct hgi_cli *cli, int argc, char **argv)
{
    struct token_verb verb = {.cli = cli};
    int rc;

    if (argp_parse(&argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    return rc == HGI_EXIT_DONE ? verb.run(&verb) : rc;
}
