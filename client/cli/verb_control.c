/* SPDX-License-Identifier: Apache-2.0 */
/* reload, drain: what an administrator tells the server as a whole. */
#include <inttypes.h>

#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "herdgate/control.h"

struct control_verb {
    struct hgi_cli *cli;
    bool is_off;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct control_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case 'o' + 0x300:
        verb->is_off = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};

static int begin(struct control_verb *verb, const struct argp *argp, int argc, char **argv)
{
    if (argp_parse(argp, argc, argv, 0, NULL, verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    return hgi_cli_connect(verb->cli);
}

/* ---- reload ---- */

static const struct argp reload_argp = {
    .parser = parse,
    .doc = "Have the server read its configuration again, as SIGHUP does, and change what can "
           "change while it serves; print that, and to stderr what needs a restart. If anything "
           "is wrong, all stays as it is.",
    .children = children};

static json_t *names_json(const struct hg_slice *names, size_t count)
{
    json_t *list = hgi_cli_must(json_array());

    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, hgi_cli_must(json_stringn(names[i].data, names[i].len)));
    }
    return list;
}

static void print_names(FILE *file, const struct hg_slice *names, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        hgi_print_escaped(file, names[i]);
        fprintf(file, " %s\n", what);
    }
}

int hgi_verb_reload(struct hgi_cli *cli, int argc, char **argv)
{
    struct control_verb verb = {.cli = cli};
    struct hg_named request = {.timeout_ms = 0};
    struct hg_reloaded reply;
    struct hg_error error;
    int rc = begin(&verb, &reload_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request.timeout_ms = cli->timeout_ms;
    if (hg_client_reload(cli->client, &request, &reply, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:o, s:o}", "changed",
                                         names_json(reply.changed, reply.changed_count), "restart",
                                         names_json(reply.restart, reply.restart_count)));
    } else {
        print_names(stdout, reply.changed, reply.changed_count, "is changed");
        print_names(stderr, reply.restart, reply.restart_count, "needs a restart");
        if (!reply.changed_count && !reply.restart_count) {
            printf("nothing has changed\n");
        }
    }
    hg_reloaded_deinit(&reply);
    return HGI_EXIT_DONE;
}

/* ---- drain ---- */

static const struct argp_option drain_options[] = {
    {"off", 'o' + 0x300, 0, 0, "Ready again", 1},
    {0},
};
static const struct argp drain_argp = {
    .options = drain_options,
    .parser = parse,
    .doc =
        "Have the server say that it does not serve to who asks for its health, so that gateways "
        "turn to another, and print who is still there. It answers whoever asks until it is "
        "stopped (SIGTERM).",
    .children = children};

int hgi_verb_drain(struct hgi_cli *cli, int argc, char **argv)
{
    struct control_verb verb = {.cli = cli};
    struct hg_drain request = {.off = false};
    struct hg_drained reply;
    struct hg_error error;
    int rc = begin(&verb, &drain_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request = (struct hg_drain){.off = verb.is_off, .timeout_ms = cli->timeout_ms};
    if (hg_client_drain(cli->client, &request, &reply, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:b, s:I, s:I}", "ready", verb.is_off, "connections",
                                         (json_int_t)reply.connections, "waiting",
                                         (json_int_t)reply.waiting));
    } else {
        printf("%s: %" PRIu64 " connections, %" PRIu64 " calls wait for loads\n",
               verb.is_off ? "ready" : "draining", reply.connections, reply.waiting);
    }
    return HGI_EXIT_DONE;
}
