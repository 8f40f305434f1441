/* SPDX-License-Identifier: Apache-2.0 */
/* flights, explain: verbs that look into a cache. */
#include <inttypes.h>

#include "base/kind.h"
#include "client/cli/cli.h"
#include "client/cli/key.h"
#include "client/cli/output.h"
#include "client/cli/parse.h"
#include "herdgate/inspect.h"

enum { OPTION_KILL = 0x600, OPTION_MAX };

#define FLIGHTS_MAX 1000u

/* ---- flights ---- */

struct flights_verb {
    struct hgi_cli *cli;
    const char *cache;
    bool is_kill;
    uint64_t id;
    uint64_t max;
};

static error_t parse_flights(int key, char *arg, struct argp_state *state)
{
    struct flights_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case OPTION_KILL:
        if (!hgi_parse_digits(arg, strlen(arg), UINT64_MAX, &verb->id)) {
            argp_error(state, "--kill %s is no ID; write the number that is listed", arg);
        }
        verb->is_kill = true;
        return 0;
    case OPTION_MAX:
        if (!hgi_parse_digits(arg, strlen(arg), FLIGHTS_MAX, &verb->max) || verb->max == 0) {
            argp_error(state, "--max %s is not a number from 1 to %u", arg, FLIGHTS_MAX);
        }
        return 0;
    case ARGP_KEY_ARG:
        if (verb->cache) {
            argp_error(state, "\"%s\" is one argument too many", arg);
        }
        verb->cache = arg;
        return 0;
    case ARGP_KEY_END:
        if (verb->is_kill && !verb->cache) {
            argp_error(state, "--kill needs the CACHE: each counts its own flights");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child flights_children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};
static const struct argp_option flights_options[] = {
    {"kill", OPTION_KILL, "ID", 0,
     "End flight ID of CACHE: who waits for it is told CANCELLED, and the key is free", 1},
    {"max", OPTION_MAX, "N", 0, "List no more than N; 1000 if not said", 1},
    {0},
};
static const struct argp flights_argp = {
    .options = flights_options,
    .parser = parse_flights,
    .args_doc = "[CACHE]",
    .doc = "List the loads under way in CACHE, or in all caches: who leads each, how many wait for "
           "it, how old it is and how long it still has. Keys are shown by their digest, as "
           "\"herdgate explain\" does.",
    .children = flights_children};

static json_t *flight_json(const struct hg_flight *flight)
{
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "cache", flight->cache);
    hgi_json_set_number(object, "id", flight->id);
    hgi_json_set_bytes(object, "digest", flight->digest);
    hgi_json_set_bytes(object, "leader", flight->leader);
    hgi_json_set_bytes(object, "phase", flight->phase);
    (void)json_object_set_new(object, "pid", json_integer(flight->pid));
    hgi_json_set_number(object, "age_ms", flight->age_ms);
    (void)json_object_set_new(object, "left_ms",
                              flight->left_ms < 0 ? json_null() : json_integer(flight->left_ms));
    hgi_json_set_number(object, "followers", flight->followers);
    hgi_json_set_number(object, "generation", flight->generation);
    hgi_json_set_number(object, "attempt", flight->attempt);
    (void)json_object_set_new(object, "fenced", json_boolean(flight->is_fenced));
    return object;
}

static json_t *flights_json(const struct hg_flights *flights)
{
    json_t *list = hgi_cli_must(json_array());
    json_t *whole = hgi_cli_must(json_object());

    for (size_t i = 0; i < flights->count; i++) {
        (void)json_array_append_new(list, flight_json(&flights->flights[i]));
    }
    (void)json_object_set_new(whole, "flights", list);
    hgi_json_set_number(whole, "total", flights->total);
    return whole;
}

static void print_flights(const struct hg_flight *flights, size_t count)
{
    char text[HGI_DURATION_MAX];
    struct hgi_table table;
    static const char *const heads[] = {"CACHE",     "ID",      "DIGEST",     "LEADER",
                                        "PHASE",     "PID",     "AGE",        "LEFT",
                                        "FOLLOWERS", "ATTEMPT", "GENERATION", ""};

    hgi_table_init(&table, "lrlllrrrrrrl");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < count; i++) {
        const struct hg_flight *flight = &flights[i];

        hgi_table_add_slice(&table, flight->cache);
        hgi_table_add(&table, "%" PRIu64, flight->id);
        hgi_table_add_slice(&table, flight->digest);
        hgi_table_add_slice(&table, flight->leader);
        hgi_table_add_slice(&table, flight->phase);
        if (flight->pid) {
            hgi_table_add(&table, "%" PRId64, flight->pid);
        } else {
            hgi_table_add(&table, "-");
        }
        hgi_table_add(&table, "%s", hgi_duration_text(flight->age_ms, text));
        hgi_table_add(&table, "%s",
                      flight->left_ms < 0 ? "-"
                                          : hgi_duration_text((uint64_t)flight->left_ms, text));
        hgi_table_add(&table, "%" PRIu64, flight->followers);
        hgi_table_add(&table, "%" PRIu32, flight->attempt);
        hgi_table_add(&table, "%" PRIu64, flight->generation);
        hgi_table_add(&table, "%s", flight->is_fenced ? "overtaken" : "");
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static int kill_flight(struct hgi_cli *cli, const struct flights_verb *verb)
{
    const struct hg_kill_flight request = {
        .cache = verb->cache, .id = verb->id, .timeout_ms = cli->timeout_ms};
    struct hg_flight flight;
    struct hg_error error;

    if (hg_client_kill_flight(cli->client, &request, &flight, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, flight_json(&flight));
    } else {
        print_flights(&flight, 1);
    }
    hg_flight_deinit(&flight);
    return HGI_EXIT_DONE;
}

int hgi_verb_flights(struct hgi_cli *cli, int argc, char **argv)
{
    struct flights_verb verb = {.cli = cli};
    struct hg_list_flights request = {0};
    struct hg_flights flights;
    struct hg_error error;
    int rc;

    if (argp_parse(&flights_argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (verb.is_kill) {
        return kill_flight(cli, &verb);
    }
    request.cache = verb.cache;
    request.flights_max = (uint32_t)verb.max;
    request.timeout_ms = cli->timeout_ms;
    if (hg_client_list_flights(cli->client, &request, &flights, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, flights_json(&flights));
    } else {
        print_flights(flights.flights, flights.count);
        if (flights.total > flights.count) {
            fprintf(stderr, "herdgate: %" PRIu64 " more are not shown\n",
                    flights.total - flights.count);
        }
    }
    hg_flights_deinit(&flights);
    return HGI_EXIT_DONE;
}

/* ---- explain ---- */

struct explain_verb {
    struct hgi_cli *cli;
    struct hgi_key_args keys;
    const char *cache;
    const char *key;
};

static void take_key(struct explain_verb *verb, struct argp_state *state)
{
    bool is_by_options = hgi_keys_are_options(&verb->keys);

    if (!verb->cache) {
        argp_error(state, "the CACHE is missing");
    }
    if (verb->key && is_by_options) {
        argp_error(state, "\"%s\" is one key too many: --user and --api-key name the key",
                   verb->key);
    }
    if (!verb->key && !is_by_options) {
        argp_error(state, "the KEY is missing");
    }
    hgi_keys_add(state, &verb->keys, verb->key);
}

static error_t parse_explain(int key, char *arg, struct argp_state *state)
{
    struct explain_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        state->child_inputs[1] = &verb->keys;
        return 0;
    case ARGP_KEY_ARG:
        if (verb->key) {
            argp_error(state, "\"%s\" is one key too many", arg);
        }
        if (verb->cache) {
            verb->key = arg;
        } else {
            verb->cache = arg;
        }
        return 0;
    case ARGP_KEY_END:
        take_key(verb, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child explain_children[] = {
    {&hgi_cli_argp, 0, 0, 0}, {&hgi_key_argp, 0, 0, 0}, {0}};
static const struct argp explain_argp = {
    .parser = parse_explain,
    .args_doc = "CACHE KEY\nCACHE --user USER --api-key API_KEY",
    .doc = "Say what a read of KEY would find now, and why, without loading anything; and what the "
           "server answered for it lately.",
    .children = explain_children};

static json_t *entry_json(const struct hg_entry_info *entry)
{
    json_t *object = hgi_cli_must(json_object());
    const char *outcome = hgi_outcome_name(entry->outcome);

    hgi_json_set_bytes(object, "outcome", hg_slice_text(outcome ? outcome : "?"));
    hgi_json_set_number(object, "generation", entry->generation);
    hgi_json_set_number(object, "age_ms", entry->age_ms);
    hgi_json_set_number(object, "ttl_ms", entry->ttl_ms);
    hgi_json_set_number(object, "ttl_left_ms", entry->ttl_left_ms);
    hgi_json_set_number(object, "stale_left_ms", entry->stale_left_ms);
    hgi_json_set_number(object, "refresh_pause_ms", entry->refresh_pause_ms);
    return object;
}

/* "-": there is no such word for it, as for the source of an answer that has none. */
static const char *word_or_dash(const char *word)
{
    return word ? word : "-";
}

static json_t *past_json(const struct hg_past_answer *answer)
{
    json_t *object = hgi_cli_must(json_object());
    const char *source = hgi_source_name(answer->source);

    (void)json_object_set_new(object, "at_ms", json_integer(answer->at_ms));
    hgi_json_set_bytes(object, "status", hg_slice_text(hg_status_name(answer->status)));
    hgi_json_set_bytes(object, "outcome",
                       hg_slice_text(word_or_dash(hgi_outcome_name(answer->outcome))));
    if (source) {
        hgi_json_set_bytes(object, "source", hg_slice_text(source));
    }
    (void)json_object_set_new(object, "fenced", json_boolean(answer->is_fenced));
    hgi_json_set_number(object, "generation", answer->generation);
    hgi_json_set_number(object, "age_ms", answer->age_ms);
    return object;
}

static json_t *explanation_json(const struct explain_verb *verb, const struct hg_explanation *said)
{
    json_t *object = hgi_cli_must(json_object());
    json_t *answers = hgi_cli_must(json_array());
    char label[HGI_KEY_LABEL_MAX];

    hgi_json_set_bytes(object, "cache", hg_slice_text(verb->cache));
    hgi_json_set_bytes(object, "key", hg_slice_text(hgi_key_label(&verb->keys, 0, label)));
    hgi_json_set_bytes(object, "rule", said->rule);
    hgi_json_set_bytes(object, "sentence", said->sentence);
    hgi_json_set_bytes(object, "digest", said->digest);
    hgi_json_set_number(object, "generation", said->generation);
    (void)json_object_set_new(object, "entry",
                              said->has_entry ? entry_json(&said->entry) : json_null());
    (void)json_object_set_new(object, "flight",
                              said->has_flight ? flight_json(&said->flight) : json_null());
    hgi_json_set_number(object, "failure_left_ms", said->failure_left_ms);
    for (size_t i = 0; i < said->answer_count; i++) {
        (void)json_array_append_new(answers, past_json(&said->answers[i]));
    }
    (void)json_object_set_new(object, "answers", answers);
    return object;
}

static void print_past(const struct hg_past_answer *answers, size_t count)
{
    char text[HGI_DURATION_MAX];
    struct hgi_table table;
    static const char *const heads[] = {"ANSWERED AT", "OUTCOME",    "SOURCE",
                                        "AGE",         "GENERATION", ""};

    hgi_table_init(&table, "lllrrl");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < count; i++) {
        const struct hg_past_answer *answer = &answers[i];
        const char *outcome = answer->status == HG_OK ? hgi_outcome_name(answer->outcome)
                                                      : hg_status_name(answer->status);

        hgi_table_add(&table, "%s", hgi_instant_text(answer->at_ms, text));
        hgi_table_add(&table, "%s", word_or_dash(outcome));
        hgi_table_add(&table, "%s", word_or_dash(hgi_source_name(answer->source)));
        hgi_table_add(&table, "%s", hgi_duration_text(answer->age_ms, text));
        hgi_table_add(&table, "%" PRIu64, answer->generation);
        hgi_table_add(&table, "%s", answer->is_fenced ? "overtaken" : "");
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static void print_explanation(const struct hg_explanation *said)
{
    hgi_print_escaped(stdout, said->sentence);
    printf("\ndigest ");
    hgi_print_escaped(stdout, said->digest);
    printf(", the cache is at generation %" PRIu64 "\n", said->generation);
    if (said->has_flight) {
        fputc('\n', stdout);
        print_flights(&said->flight, 1);
    }
    if (said->answer_count) {
        fputc('\n', stdout);
        print_past(said->answers, said->answer_count);
    }
}

int hgi_verb_explain(struct hgi_cli *cli, int argc, char **argv)
{
    struct explain_verb verb = {.cli = cli};
    struct hg_explain request = {0};
    struct hg_explanation said;
    struct hg_error error;
    int rc;

    if (argp_parse(&explain_argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request.cache = verb.cache;
    request.key = verb.keys.keys[0];
    request.timeout_ms = cli->timeout_ms;
    if (hg_client_explain(cli->client, &request, &said, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, explanation_json(&verb, &said));
    } else {
        print_explanation(&said);
    }
    hg_explanation_deinit(&said);
    return HGI_EXIT_DONE;
}
