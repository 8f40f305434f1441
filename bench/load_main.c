/* SPDX-License-Identifier: Apache-2.0 */
/* bench-load: the load generator's command line. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw.h"
#include "load.h"
#include "record.h"
#include "socket.h"

static const struct argp_option options[] = {
    {"protocol", 'p', "NAME", 0, "redis, memcached or herdgate (default)", 0},
    {"address", 'a', "URL", 0, "ipc:///PATH, unix:///PATH or tcp://A.B.C.D:PORT", 0},
    {"op", 'o', "OP", 0, "get (default), get-or-load or put", 0},
    {"connections", 'c', "N", 0, "connections (50)", 0},
    {"in-flight", 'd', "N", 0, "requests in flight on each (1)", 0},
    {"batch", 'b', "N", 0, "keys in one request (1)", 0},
    {"records", 'r', "N", 0, "keys are drawn from so many (1000000)", 0},
    {"key-len", 'k', "N", 0, "bytes of a key (40)", 0},
    {"value-len", 'v', "N", 0, "bytes of a value (100)", 0},
    {"ttl", 't', "S", 0, "seconds that what is put lives (3600)", 0},
    {"cache", 'n', "NAME", 0, "herdgate: the cache (bench)", 0},
    {"count", 'N', "N", 0, "so many requests instead of seconds", 0},
    {"seconds", 's', "S", 0, "counted seconds (2)", 0},
    {"warm", 'w', "S", 0, "seconds before them (0.2)", 0},
    {"pid", 'P', "PID", 0, "the server, for its processor time", 0},
    {"seed", 'S', "N", 0, "of the random keys (1)", 0},
    {"in-order", 'i', NULL, 0, "keys one after the other", 0},
    {"json", 'j', NULL, 0, "one line of JSON", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

struct arguments {
    struct load_plan plan;
    bool is_json;
};

static uint32_t number(struct argp_state *state, const char *arg, uint32_t low, uint32_t high)
{
    char *end;
    unsigned long long value = strtoull(arg, &end, 10);

    if (*end || end == arg || value < low || value > high) {
        argp_error(state, "\"%s\" is not a number from %u to %u", arg, low, high);
    }
    return (uint32_t)value;
}

static double seconds(struct argp_state *state, const char *arg)
{
    char *end;
    double value = strtod(arg, &end);

    if (*end || end == arg || !(value >= 0 && value <= 3600)) {
        argp_error(state, "\"%s\" is not a number of seconds", arg);
    }
    return value;
}

static enum wire_op op(struct argp_state *state, const char *arg)
{
    if (strcmp(arg, "put") == 0) {
        return WIRE_PUT;
    }
    if (strcmp(arg, "get-or-load") == 0) {
        return WIRE_GET_OR_LOAD;
    }
    if (strcmp(arg, "get") != 0) {
        argp_error(state, "\"%s\" is no operation", arg);
    }
    return WIRE_GET;
}

static void check(const struct load_plan *plan, struct argp_state *state)
{
    if (!plan->address) {
        argp_error(state, "no --address");
    }
    if (!plan->kind) {
        argp_error(state, "there is no such protocol");
    }
    if (plan->wire.op == WIRE_PUT && plan->wire.batch > 1) {
        argp_error(state, "puts come one by one");
    }
}

static error_t parse_load(int key, char *arg, struct argp_state *state)
{
    struct load_plan *plan = &((struct arguments *)state->input)->plan;

    switch (key) {
    case 'c':
        plan->connections = number(state, arg, 1, LOAD_CONNECTIONS_MAX);
        return 0;
    case 'd':
        plan->in_flight = number(state, arg, 1, LOAD_IN_FLIGHT_MAX);
        return 0;
    case 'b':
        plan->wire.batch = number(state, arg, 1, WIRE_BATCH_MAX);
        return 0;
    case 'r':
        plan->numbers = number(state, arg, 1, UINT32_MAX);
        return 0;
    case 'k':
        plan->wire.key_len = number(state, arg, 17, RECORD_KEY_MAX);
        return 0;
    case 'v':
        plan->wire.value_len = number(state, arg, 8, RECORD_VALUE_MAX);
        return 0;
    case 't':
        plan->wire.ttl_s = number(state, arg, 1, 864000);
        return 0;
    case 'N':
        plan->count = number(state, arg, 1, UINT32_MAX);
        return 0;
    case 'P':
        plan->pid = (pid_t)number(state, arg, 1, INT32_MAX);
        return 0;
    case 'S':
        plan->seed = number(state, arg, 1, UINT32_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct load_plan *plan = &arguments->plan;

    switch (key) {
    case 'p':
        plan->kind = wire_find(arg);
        return 0;
    case 'a':
        plan->address = arg;
        plan->wire.is_ipc = socket_is_unix(arg);
        return 0;
    case 'o':
        plan->wire.op = op(state, arg);
        return 0;
    case 'n':
        plan->wire.cache = arg;
        return 0;
    case 's':
        plan->seconds = seconds(state, arg);
        return 0;
    case 'w':
        plan->warm_s = seconds(state, arg);
        return 0;
    case 'i':
        plan->is_in_order = true;
        return 0;
    case 'j':
        arguments->is_json = true;
        return 0;
    case ARGP_KEY_END:
        check(plan, state);
        return 0;
    default:
        return parse_load(key, arg, state);
    }
}

static void print_result(const struct load_result *r, bool is_json)
{
    double per_s = r->seconds > 0 ? (double)r->counted / r->seconds : 0;
    double keys = r->counted ? (double)r->counted : 1;
    double us[4] = {(double)histogram_quantile(&r->latency, 0.5) / 1e3,
                    (double)histogram_quantile(&r->latency, 0.99) / 1e3,
                    (double)histogram_quantile(&r->latency, 0.999) / 1e3,
                    (double)r->latency.max / 1e3};
    const char *format =
        is_json ? "{\"per_s\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, "
                  "\"max_us\": %.1f, \"server_cpu_us\": %.4f, \"own_cpu_us\": %.4f, \"counted\": "
                  "%llu, \"asked\": %llu, \"wrong\": %llu, \"missing\": %llu, \"seconds\": %.3f}\n"
                : "keys/s          %.0f\n"
                  "p50 p99 p99.9   %.1f %.1f %.1f us, at most %.1f\n"
                  "server CPU      %.2f us a key\n"
                  "generator CPU   %.2f us a key\n"
                  "counted, asked  %llu %llu\n"
                  "wrong, missing  %llu %llu\n"
                  "seconds         %.2f\n";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    printf(format, per_s, us[0], us[1], us[2], us[3], r->server_cpu_s / keys * 1e6,
           r->own_cpu_s / keys * 1e6, (unsigned long long)r->counted, (unsigned long long)r->asked,
           (unsigned long long)r->wrong, (unsigned long long)r->missing, r->seconds);
#pragma GCC diagnostic pop
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, NULL, "Asks a server as fast as it answers, and checks every answer.",
        NULL,    NULL,  NULL};
    struct arguments arguments = {.plan = {.kind = &wire_sp,
                                           .wire = {.op = WIRE_GET,
                                                    .batch = 1,
                                                    .key_len = RECORD_KEY_LEN,
                                                    .value_len = RECORD_VALUE_LEN,
                                                    .ttl_s = 3600,
                                                    .cache = "bench"},
                                           .connections = 50,
                                           .in_flight = 1,
                                           .numbers = 1000000,
                                           .seconds = 2,
                                           .warm_s = 0.2,
                                           .seed = 1}};
    struct load_result result;
    char sentence[200];

    (void)argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (!load_run(&arguments.plan, &result, sentence, sizeof(sentence))) {
        fprintf(stderr, "bench-load: %s\n", sentence);
        return 1;
    }
    print_result(&result, arguments.is_json);
    return result.wrong == 0 && result.missing == 0 ? 0 : 3;
}
