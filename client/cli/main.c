/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "client/cli/cli.h"

#define NAME_WIDTH 12

static const struct verb {
    const char *name;
    const char *what;
    int (*run)(struct hgi_cli *cli, int argc, char **argv);
} verbs[] = {
#define HGI_VERB_ROW(name, what) {#name, what, hgi_verb_##name},
#include "client/cli/verbs.def"
#undef HGI_VERB_ROW
};

/* argp finds it by name, so it cannot be hidden. */
HG_EXPORT const char *argp_program_version = "herdgate " HGI_VERSION;

struct command {
    struct hgi_cli cli;
    const struct verb *verb;
    int argc;
    char **argv;
};

static const struct verb *find(struct argp_state *state, const char *name)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < HGI_COUNT_OF(verbs); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
        (void)hgi_nearer(name, verbs[i].name, &nearest);
    }
    if (nearest && strcmp(name, "help") != 0) {
        argp_error(state, "there is no verb \"%s\"; did you mean \"%s\"?", name, nearest);
    }
    argp_error(state, "there is no verb \"%s\"; \"herdgate --help\" lists them", name);
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct command *command = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->cli;
        return 0;
    case ARGP_KEY_ARG: /* the verb; what follows is its own */
        command->verb = find(state, arg);
        command->argc = state->argc - state->next + 1;
        command->argv = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which verb? \"herdgate --help\" lists them");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The verbs in the help text come from verbs.def. argp frees what this returns with the C library's
 * own free, so it must come from there. */
static char *help(int key, const char *text, void *input)
{
    static const char codes[] =
        "\"herdgate VERB --help\" tells more about each.\n\nExit status: 0 done; 1 failed; 2 bad "
        "usage; 3 absent, denied or not cached; 4 generation conflict; 5 unreachable or timed out; "
        "6 refused.";
    char *made = NULL;
    size_t size = 0;
    FILE *memory;

    (void)input;
    if (key == ARGP_KEY_HELP_POST_DOC) {
        return strdup(codes);
    }
    if (key != ARGP_KEY_HELP_PRE_DOC) {
        return (char *)(uintptr_t)text;
    }
    memory = hgi_cli_must(open_memstream(&made, &size));
    fputs("Ask a herdgate server, and administer it.\n\nVerbs:\n", memory);
    for (size_t i = 0; i < HGI_COUNT_OF(verbs); i++) {
        fprintf(memory, "  %-*s%s\n", NAME_WIDTH, verbs[i].name, verbs[i].what);
    }
    fclose(memory);
    return made;
}

static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};
static const struct argp argp = {.parser = parse,
                                 .args_doc = "VERB [ARGUMENT...]",
                                 .doc = "",
                                 .children = children,
                                 .help_filter = help};

/* Set, and to something; else NULL. */
static const char *from_environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

int main(int argc, char **argv)
{
    struct command command = {.cli = {.url = from_environment("HERDGATE_URL")}};
    char name[64];
    int rc;

    argp_err_exit_status = HGI_EXIT_USAGE;
    command.cli.options = (struct hg_client_options){
        .token_file = from_environment("HERDGATE_TOKEN_FILE"),
        .ca_file = from_environment("HERDGATE_CA_FILE"),
        .cert_file = from_environment("HERDGATE_CERT_FILE"),
        .key_file = from_environment("HERDGATE_KEY_FILE"),
    };
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command) != 0 || !command.verb) {
        return HGI_EXIT_USAGE;
    }
    snprintf(name, sizeof(name), "herdgate %s", command.verb->name);
    command.argv[0] = name;
    rc = command.verb->run(&command.cli, command.argc, command.argv);
    hg_client_close(&command.cli.client);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "herdgate: the output could not be written: %s\n", strerror(errno));
        return rc ? rc : HGI_EXIT_FAILED;
    }
    return rc;
}
