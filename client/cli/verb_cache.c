/* SPDX-License-Identifier: Apache-2.0 */
/* get, load, del, generation: verbs that name keys. */
#include <inttypes.h>

#include "base/check.h"
#include "base/kind.h"
#include "base/trace.h"
#include "client/cli/answer.h"
#include "client/cli/cli.h"
#include "client/cli/key.h"
#include "client/cli/parse.h"
#include "client/cli/report.h"

enum {
    OPTION_MODE = 0x300,
    OPTION_MAX_AGE,
    OPTION_SOFT,
    OPTION_MIN_GENERATION,
    OPTION_TRACEPARENT
};

struct key_verb {
    struct hgi_cli *cli;
    struct hgi_key_args keys;
    size_t keys_max;
    const char *texts[HGI_BATCH_KEYS_MAX + 1];
    size_t text_count;
    const char *cache;
    enum hg_mode mode;
    bool has_max_age;
    uint64_t max_age_ms;
    uint64_t min_generation;
    const char *traceparent;
    bool is_raw;
    bool is_verbose;
    bool is_soft;
};

static void take_argument(struct key_verb *verb, char *arg, struct argp_state *state)
{
    if (!verb->cache) {
        verb->cache = arg;
    } else if (verb->text_count == verb->keys_max) {
        argp_error(state, "\"%s\" is one key too many", arg);
    } else {
        verb->texts[verb->text_count++] = arg;
    }
}

static void take_keys(struct key_verb *verb, struct argp_state *state)
{
    if (!verb->cache) {
        argp_error(state, "the CACHE is missing");
    }
    if (hgi_keys_are_options(&verb->keys)) {
        if (verb->text_count > 0) {
            argp_error(state, "\"%s\" is one key too many: --user and --api-key name the key",
                       verb->texts[0]);
        }
        hgi_keys_add(state, &verb->keys, NULL);
        return;
    }
    if (verb->text_count == 0) {
        argp_error(state, "the KEY is missing");
    }
    for (size_t i = 0; i < verb->text_count; i++) {
        hgi_keys_add(state, &verb->keys, verb->texts[i]);
    }
    if (verb->text_count > 1 && (verb->is_raw || verb->is_verbose)) {
        argp_error(state, "--raw and --verbose are for one KEY, not for %zu", verb->text_count);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct key_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        state->child_inputs[1] = &verb->keys;
        return 0;
    case OPTION_MODE:
        if (!hgi_mode_parse(arg, &verb->mode)) {
            argp_error(state,
                       "\"%s\" is no mode; there are default, fresh, allow_stale, revalidate and "
                       "peek",
                       arg);
        }
        return 0;
    case OPTION_MAX_AGE:
        verb->max_age_ms = hgi_parse_duration(state, "--max-age", arg);
        verb->has_max_age = true;
        return 0;
    case OPTION_MIN_GENERATION:
        if (!hgi_parse_digits(arg, strlen(arg), UINT64_MAX, &verb->min_generation)) {
            argp_error(state,
                       "--min-generation %s is no generation; write the number that put, del or "
                       "clear printed",
                       arg);
        }
        return 0;
    case OPTION_TRACEPARENT:
        if (!hgi_trace_read(hg_slice_text(arg), &(struct hgi_trace){""})) {
            argp_error(state,
                       "--traceparent %s is none; write such as "
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                       arg);
        }
        verb->traceparent = arg;
        return 0;
    case OPTION_SOFT:
        verb->is_soft = true;
        return 0;
    case 'r':
        verb->is_raw = true;
        return 0;
    case 'v':
        verb->is_verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(verb, arg, state);
        return 0;
    case ARGP_KEY_END:
        take_keys(verb, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&hgi_cli_argp, 0, 0, 0}, {&hgi_key_argp, 0, 0, 0}, {0}};

/* Bad usage does not return. */
static int begin(struct key_verb *verb, const struct argp *argp, int argc, char **argv)
{
    if (argp_parse(argp, argc, argv, 0, NULL, verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    return hgi_cli_connect(verb->cli);
}

static struct hg_read read_of(const struct key_verb *verb)
{
    struct hg_read read = {.cache = verb->cache,
                           .key = verb->keys.keys[0],
                           .mode = verb->mode,
                           .has_max_age = verb->has_max_age,
                           .max_age_ms = verb->max_age_ms,
                           .min_generation = verb->min_generation,
                           .timeout_ms = verb->cli->timeout_ms,
                           .traceparent = verb->traceparent};

    return read;
}

static int print_answer(const struct key_verb *verb, const struct hg_answer *answer)
{
    char label[HGI_KEY_LABEL_MAX];

    if (verb->cli->is_json) {
        json_t *object = hgi_cli_must(json_object());

        hgi_json_set_bytes(object, "cache", hg_slice_text(verb->cache));
        hgi_json_set_bytes(object, "key", hg_slice_text(hgi_key_label(&verb->keys, 0, label)));
        (void)json_object_update_new(object, hgi_answer_json(answer));
        hgi_json_print(stdout, object);
    } else {
        hgi_answer_print(answer, verb->is_raw);
        if (verb->is_verbose) {
            hgi_answer_print_more(answer);
        }
    }
    return hgi_answer_exit(answer);
}

/* ---- get ---- */

static const struct argp_option get_options[] = {
    {"max-age", OPTION_MAX_AGE, "TIME", 0, "Older than TIME does not count as cached", 1},
    {"min-generation", OPTION_MIN_GENERATION, "N", 0,
     "Born before generation N does not count as cached", 1},
    {"raw", 'r', 0, 0, "Write the value's bytes and nothing else", 1},
    {"verbose", 'v', 0, 0, "Say to stderr how old it is and how long it lives", 1},
    {0},
};
static const struct argp get_argp = {
    .options = get_options,
    .parser = parse,
    .args_doc = "CACHE KEY",
    .doc = "Print what CACHE holds of KEY, if it is fresh. Never loads. Exit status 3: not cached, "
           "absent or denied.",
    .children = children};

int hgi_verb_get(struct hgi_cli *cli, int argc, char **argv)
{
    struct key_verb verb = {.cli = cli, .keys_max = 1};
    struct hg_answer answer;
    struct hg_error error;
    struct hg_read read;
    int rc = begin(&verb, &get_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    read = read_of(&verb);
    if (hg_client_get(cli->client, &read, &answer, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    rc = print_answer(&verb, &answer);
    hg_answer_deinit(&answer);
    return rc;
}

/* ---- load ---- */

static const struct argp_option load_options[] = {
    {"mode", OPTION_MODE, "MODE", 0,
     "fresh, allow_stale, revalidate, peek or default (the cache's own)", 1},
    {"max-age", OPTION_MAX_AGE, "TIME", 0, "Older than TIME is not fresh for this reader", 1},
    {"min-generation", OPTION_MIN_GENERATION, "N", 0,
     "Born before generation N does not count for this reader; N as put, del or clear print it", 1},
    {"traceparent", OPTION_TRACEPARENT, "TEXT", 0,
     "The trace (W3C Trace Context) that a load this begins is part of; its backend is told", 1},
    {"raw", 'r', 0, 0, "Write the value's bytes and nothing else (one KEY)", 1},
    {"verbose", 'v', 0, 0, "Say to stderr where it came from (one KEY)", 1},
    {0},
};
static const struct argp load_argp = {
    .options = load_options,
    .parser = parse,
    .args_doc = "CACHE KEY...",
    .doc = "Print what CACHE holds of KEY, or have it loaded; however many ask, it is loaded once. "
           "Several KEYs are asked for in one message.",
    .children = children};

static void add_error_row(struct hgi_table *table, const struct hg_answer *answer)
{
    hgi_table_add(table, "%s", hg_status_name(answer->status));
    hgi_table_add(table, "-");
    hgi_table_add(table, "-");
    hgi_table_add_slice(table, answer->message);
}

static void print_table(const struct key_verb *verb, const struct hg_answers *answers)
{
    static const char *const heads[] = {"KEY", "OUTCOME", "SOURCE", "AGE", "VALUE"};
    char text[HGI_KEY_LABEL_MAX];
    struct hgi_table table;

    hgi_table_init(&table, "lllrl");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < answers->count; i++) {
        const struct hg_answer *answer = &answers->answers[i];

        hgi_table_add_slice(&table, hg_slice_text(hgi_key_label(&verb->keys, i, text)));
        if (answer->status != HG_OK) {
            add_error_row(&table, answer);
            continue;
        }
        hgi_table_add(&table, "%s", hgi_outcome_name(answer->outcome));
        hgi_table_add(&table, "%s", hgi_source_name(answer->source));
        hgi_table_add(&table, "%s", hgi_duration_text(answer->age_ms, text));
        hgi_answer_add_value(&table, answer);
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static json_t *error_json(const struct hg_answer *answer)
{
    json_t *error = json_pack("{s:s}", "code", hg_status_name(answer->status));

    hgi_json_set_bytes(error, "message", answer->message);
    return json_pack("{s:o}", "error", error);
}

static void print_batch_json(const struct key_verb *verb, const struct hg_answers *answers)
{
    json_t *list = hgi_cli_must(json_array());
    json_t *whole = hgi_cli_must(json_object());
    char label[HGI_KEY_LABEL_MAX];

    for (size_t i = 0; i < answers->count; i++) {
        const struct hg_answer *answer = &answers->answers[i];
        json_t *object = hgi_cli_must(json_object());

        hgi_json_set_bytes(object, "key", hg_slice_text(hgi_key_label(&verb->keys, i, label)));
        (void)json_object_update_new(object, answer->status == HG_OK ? hgi_answer_json(answer)
                                                                     : error_json(answer));
        (void)json_array_append_new(list, object);
    }
    hgi_json_set_bytes(whole, "cache", hg_slice_text(verb->cache));
    (void)json_object_set_new(whole, "answers", list);
    hgi_json_print(stdout, whole);
}

/* An error says more than a key without a value. */
static int exit_of_batch(const struct hg_answers *answers)
{
    int rc = HGI_EXIT_DONE;

    for (size_t i = 0; i < answers->count; i++) {
        if (answers->answers[i].status != HG_OK) {
            return hgi_cli_exit_of(answers->answers[i].status);
        }
        if (hgi_answer_exit(&answers->answers[i]) != HGI_EXIT_DONE) {
            rc = HGI_EXIT_NO_VALUE;
        }
    }
    return rc;
}

static int load_batch(const struct key_verb *verb)
{
    struct hg_batch batch = {.cache = verb->cache,
                             .keys = verb->keys.keys,
                             .key_count = verb->keys.count,
                             .mode = verb->mode,
                             .has_max_age = verb->has_max_age,
                             .max_age_ms = verb->max_age_ms,
                             .min_generation = verb->min_generation,
                             .timeout_ms = verb->cli->timeout_ms,
                             .traceparent = verb->traceparent};
    struct hg_answers answers;
    struct hg_error error;
    int rc;

    if (hg_client_batch_get_or_load(verb->cli->client, &batch, &answers, &error) != HG_OK) {
        return hgi_cli_fail(verb->cli, &error);
    }
    if (verb->cli->is_json) {
        print_batch_json(verb, &answers);
    } else {
        print_table(verb, &answers);
    }
    rc = exit_of_batch(&answers);
    hg_answers_deinit(&answers);
    return rc;
}

int hgi_verb_load(struct hgi_cli *cli, int argc, char **argv)
{
    struct key_verb verb = {.cli = cli, .keys_max = HGI_BATCH_KEYS_MAX};
    struct hg_answer answer;
    struct hg_error error;
    struct hg_read read;
    int rc = begin(&verb, &load_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (verb.keys.count > 1) {
        return load_batch(&verb);
    }
    read = read_of(&verb);
    if (hg_client_get_or_load(cli->client, &read, &answer, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    rc = print_answer(&verb, &answer);
    hg_answer_deinit(&answer);
    return rc;
}

/* ---- del ---- */

static const struct argp_option del_options[] = {
    {"soft", OPTION_SOFT, 0, 0,
     "Do not drop: count as stale from now on, until loaded anew (who takes no stale value waits)",
     1},
    {0},
};
static const struct argp del_argp = {
    .options = del_options,
    .parser = parse,
    .args_doc = "CACHE KEY...",
    .doc = "Invalidate KEYs in CACHE, whether they are cached or not: once this is done, nothing "
           "that was loaded before is served, also not by a load that still runs.",
    .children = children};

int hgi_verb_del(struct hgi_cli *cli, int argc, char **argv)
{
    struct key_verb verb = {.cli = cli, .keys_max = HGI_BATCH_KEYS_MAX};
    struct hg_invalidate request = {.keys = verb.keys.keys};
    int rc = begin(&verb, &del_argp, argc, argv);

    request.cache = verb.cache;
    request.key_count = verb.keys.count;
    request.soft = verb.is_soft;
    request.timeout_ms = cli->timeout_ms;
    return rc != HGI_EXIT_DONE ? rc : hgi_invalidate(cli, &request);
}

/* ---- generation ---- */

static const struct argp generation_argp = {
    .parser = parse,
    .args_doc = "CACHE KEY",
    .doc = "Print KEY's token. \"put --if-generation TOKEN\" then stores a value only if the key "
           "was neither invalidated nor put meanwhile.",
    .children = children};

int hgi_verb_generation(struct hgi_cli *cli, int argc, char **argv)
{
    struct key_verb verb = {.cli = cli, .keys_max = 1};
    struct hg_generation request = {.timeout_ms = cli->timeout_ms};
    struct hg_token token;
    struct hg_error error;
    char text[64];
    int rc = begin(&verb, &generation_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request.cache = verb.cache;
    request.key = verb.keys.keys[0];
    request.timeout_ms = cli->timeout_ms;
    if (hg_client_generation(cli->client, &request, &token, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, token.generation, token.epoch);
    if (cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:I, s:s}", "generation", (json_int_t)token.generation,
                                         "token", text));
    } else {
        printf("%s\n", text);
    }
    return HGI_EXIT_DONE;
}
