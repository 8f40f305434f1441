/* SPDX-License-Identifier: Apache-2.0 */
/* ping, health: verbs about the server as a whole. */
#include <inttypes.h>

#include "base/clock.h"
#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "client/cli/parse.h"

#define PINGS_MAX     1000u
#define PINGS_DEFAULT 4u

struct server_verb {
    struct hgi_cli *cli;
    const char *service;
    bool takes_service;
    uint64_t count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct server_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case 'c':
        if (!hgi_parse_digits(arg, strlen(arg), PINGS_MAX, &verb->count) || verb->count == 0) {
            argp_error(state, "--count %s is not a number from 1 to %u", arg, PINGS_MAX);
        }
        return 0;
    case ARGP_KEY_ARG:
        if (!verb->takes_service || verb->service) {
            argp_error(state, "\"%s\" is one argument too many", arg);
        }
        verb->service = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};

static int begin(struct server_verb *verb, const struct argp *argp, int argc, char **argv)
{
    if (argp_parse(argp, argc, argv, 0, NULL, verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    return hgi_cli_connect(verb->cli);
}

/* ---- ping ---- */

static const struct argp_option ping_options[] = {
    {"count", 'c', "N", 0, "Ask N times (4)", 1},
    {0},
};
static const struct argp ping_argp = {
    .options = ping_options,
    .parser = parse,
    .doc = "Connect, ask for the server's health and measure how long each answer takes.",
    .children = children};

struct times {
    int64_t connect_us;
    int64_t least_us;
    int64_t most_us;
    int64_t sum_us;
};

static enum hg_status ask_once(struct hgi_cli *cli, int64_t *ret_us, struct hg_error *error)
{
    struct hg_named request = {.timeout_ms = cli->timeout_ms};
    int64_t start_us = hgi_clock_wall_us();
    enum hg_health health;
    enum hg_status status = hg_client_health(cli->client, &request, &health, error);

    *ret_us = hgi_clock_wall_us() - start_us;
    return status;
}

static enum hg_status measure(struct hgi_cli *cli, uint64_t count, struct times *ret_times,
                              struct hg_error *error)
{
    /* The first one connects, and so is no round trip. */
    struct times times = {.least_us = INT64_MAX};
    enum hg_status status = ask_once(cli, &times.connect_us, error);

    for (uint64_t i = 0; i < count && status == HG_OK; i++) {
        int64_t us;

        status = ask_once(cli, &us, error);
        times.least_us = us < times.least_us ? us : times.least_us;
        times.most_us = us > times.most_us ? us : times.most_us;
        times.sum_us += us;
    }
    *ret_times = times;
    return status;
}

static double ms_of(int64_t us)
{
    return (double)us / 1000;
}

int hgi_verb_ping(struct hgi_cli *cli, int argc, char **argv)
{
    struct server_verb verb = {.cli = cli, .count = PINGS_DEFAULT};
    const char *url;
    struct times times;
    struct hg_error error;
    int64_t mean_us;
    int rc = begin(&verb, &ping_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (measure(cli, verb.count, &times, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    url = cli->url ? cli->url : HG_URL_DEFAULT;
    mean_us = times.sum_us / (int64_t)verb.count;
    if (cli->is_json) {
        hgi_json_print(stdout,
                       json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "url", url, "count",
                                 (json_int_t)verb.count, "connect_ms", ms_of(times.connect_us),
                                 "min_ms", ms_of(times.least_us), "mean_ms", ms_of(mean_us),
                                 "max_ms", ms_of(times.most_us)));
    } else {
        printf("%s: connected in %.3f ms; %" PRIu64 " round trips: %.3f min, %.3f mean, %.3f max "
               "ms\n",
               url, ms_of(times.connect_us), verb.count, ms_of(times.least_us), ms_of(mean_us),
               ms_of(times.most_us));
    }
    return HGI_EXIT_DONE;
}

/* ---- health ---- */

static const struct argp health_argp = {
    .parser = parse,
    .args_doc = "[SERVICE]",
    .doc = "Say whether the server serves, and what is degraded. Exit status 0 only if it serves.",
    .children = children};

static const char *health_name(enum hg_health health)
{
    switch (health) {
    case HG_HEALTH_UNKNOWN:
        return "unknown";
    case HG_HEALTH_SERVING:
        return "serving";
    case HG_HEALTH_NOT_SERVING:
        return "not_serving";
    case HG_HEALTH_SERVICE_UNKNOWN:
        return "service_unknown";
    }
    return "unknown";
}

int hgi_verb_health(struct hgi_cli *cli, int argc, char **argv)
{
    struct server_verb verb = {.cli = cli, .takes_service = true};
    struct hg_named request = {0};
    enum hg_health health;
    struct hg_error error;
    int rc = begin(&verb, &health_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request.name = verb.service;
    request.timeout_ms = cli->timeout_ms;
    if (hg_client_health(cli->client, &request, &health, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        json_t *object = json_pack("{s:s}", "status", health_name(health));

        if (error.text[0]) {
            hgi_json_set_bytes(object, "message", hg_slice_text(error.text));
        }
        hgi_json_print(stdout, object);
    } else {
        printf("%s%s", health_name(health), error.text[0] ? ", " : "");
        hgi_print_escaped(stdout, hg_slice_text(error.text));
        fputc('\n', stdout);
    }
    return health == HG_HEALTH_SERVING ? HGI_EXIT_DONE : HGI_EXIT_FAILED;
}
