/* SPDX-License-Identifier: Apache-2.0 */
/* watch: the verb that goes on until it is told to stop. */
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/kind.h"
#include "client/cli/cli.h"
#include "client/cli/key.h"
#include "client/cli/output.h"
#include "client/cli/parse.h"

#define FIRST_PAUSE_MS   100u
#define LONGEST_PAUSE_MS 5000u
#define POSITION_MAX     48u

enum { OPTION_CACHE = 0x700, OPTION_AFTER, OPTION_TYPE, OPTION_KEY };

struct watch_verb {
    struct hgi_cli *cli;
    struct hgi_key_args keys;
    const char *key;
    bool has_key;
    struct hgi_key wanted; /* as the server keeps it */
    uint32_t types;        /* a bit of 1 << enum hg_event_kind each; 0: all */
    uint64_t count;        /* UINT64_MAX: no end */
    uint64_t printed_count;
    bool has_after;
    struct hg_watch at;
};

/* ---- options ---- */

/* NUMBER of the server that runs now, or NUMBER:EPOCH. */
static void parse_after(struct argp_state *state, struct watch_verb *verb, const char *text)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);

    if (!hgi_parse_digits(text, len, UINT64_MAX, &verb->at.after) ||
        (colon && (!hgi_parse_digits(colon + 1, strlen(colon + 1), UINT64_MAX, &verb->at.epoch) ||
                   verb->at.epoch == 0))) {
        argp_error(state,
                   "--after %s is no place among the events; write a NUMBER, or the \"position\" "
                   "that -o json prints",
                   text);
    }
    verb->has_after = true;
}

static const char *kind_name(enum hg_event_kind kind)
{
    switch (kind) {
    case HG_EVENT_CLEAR:
        return "clear";
    case HG_EVENT_INVALIDATE:
        return "invalidate";
    case HG_EVENT_PUT:
        return "put";
    case HG_EVENT_LOADER:
        return "loader";
    case HG_EVENT_OTHER:
        return "other";
    }
    return "other";
}

static void parse_type(struct argp_state *state, struct watch_verb *verb, const char *text)
{
    for (enum hg_event_kind kind = HG_EVENT_CLEAR; kind <= HG_EVENT_LOADER; kind++) {
        if (strcmp(text, kind_name(kind)) == 0) {
            verb->types |= 1u << kind;
            return;
        }
    }
    argp_error(state, "\"%s\" is no type of event; there are clear, invalidate, put and loader",
               text);
}

/* As a cache of keys of this kind keeps it. */
static enum hg_status canonical(const struct hg_key *key, struct hgi_key *ret_key,
                                char *ret_sentence)
{
    static const enum hgi_key_type types[] = {[HG_KEY_BYTES] = HGI_KEYS_BYTES,
                                              [HG_KEY_KEY_HASH] = HGI_KEYS_KEY_HASH,
                                              [HG_KEY_USER_API_KEY] = HGI_KEYS_USER_API_KEY,
                                              [HG_KEY_API_KEY_FEATURE] = HGI_KEYS_API_KEY_FEATURE};

    return hgi_key_encode(types[key->kind], key, ret_key, ret_sentence);
}

static void check(struct argp_state *state, struct watch_verb *verb)
{
    char sentence[HGI_SENTENCE_MAX];

    verb->has_key = verb->key || hgi_keys_are_options(&verb->keys);
    if (!verb->has_key) {
        return;
    }
    if (verb->key && hgi_keys_are_options(&verb->keys)) {
        argp_error(state, "either --key, or --user and --api-key");
    }
    hgi_keys_add(state, &verb->keys, verb->key);
    if (canonical(&verb->keys.keys[0], &verb->wanted, sentence) != HG_OK) {
        argp_error(state, "%s", sentence);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct watch_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        state->child_inputs[1] = &verb->keys;
        return 0;
    case OPTION_CACHE:
        verb->at.cache = arg;
        return 0;
    case OPTION_TYPE:
        parse_type(state, verb, arg);
        return 0;
    case OPTION_KEY:
        verb->key = arg;
        return 0;
    case OPTION_AFTER:
        parse_after(state, verb, arg);
        return 0;
    case 'c':
        if (!hgi_parse_digits(arg, strlen(arg), UINT64_MAX - 1, &verb->count) || verb->count == 0) {
            argp_error(state, "--count %s is not a number from 1 on", arg);
        }
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many; a cache goes by --cache", arg);
        return 0;
    case ARGP_KEY_END:
        check(state, verb);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"cache", OPTION_CACHE, "CACHE", 0, "Print only what concerns CACHE", 1},
    {"type", OPTION_TYPE, "TYPE", 0,
     "Print only events of TYPE: clear, invalidate, put or loader; may be said again", 1},
    {"key", OPTION_KEY, "KEY", 0,
     "Print only what concerns KEY: also clears, and what names no key but may mean this one", 1},
    {"after", OPTION_AFTER, "NUMBER", 0,
     "Begin with the event after NUMBER, as far as the server still has it (0: all it has), and "
     "not "
     "with the next one to come",
     1},
    {"count", 'c', "N", 0, "End after N events", 1},
    {0},
};
static const struct argp_child children[] = {
    {&hgi_cli_argp, 0, 0, 0}, {&hgi_key_argp, 0, 0, 0}, {0}};
static const struct argp watch_argp = {
    .options = options,
    .parser = parse,
    .doc = "Print clears, invalidations, puts and loader reloads as they happen, one a line, until "
           "interrupted.\vA line \"gap\" says that events were missed, because there were too many "
           "or because the server was started again: anything may have changed meanwhile. When the "
           "server goes away, watch waits for it to come back.",
    .children = children};

/* ---- printing ---- */

static bool has_parts(const struct hg_key *key)
{
    return key->kind == HG_KEY_USER_API_KEY || key->kind == HG_KEY_API_KEY_FEATURE;
}

/* What --after takes. */
static const char *position_text(uint64_t number, uint64_t epoch, char *ret_text)
{
    snprintf(ret_text, POSITION_MAX, "%" PRIu64 ":%" PRIu64, number, epoch);
    return ret_text;
}

static json_t *key_json(const struct hg_key *key)
{
    const char *kind = hgi_key_kind_name(key->kind);
    json_t *object;

    if (!kind) {
        return json_null();
    }
    object = hgi_cli_must(json_pack("{s:s}", "kind", kind));
    if (!has_parts(key)) {
        hgi_json_set_bytes(object, "key", key->bytes);
        return object;
    }
    hgi_json_set_bytes(object, "user_id", key->user_id);
    hgi_json_set_bytes(object, "api_key_id", key->api_key_id);
    if (key->kind == HG_KEY_API_KEY_FEATURE) {
        (void)json_object_set_new(object, "standalone", json_boolean(key->is_standalone));
    }
    return object;
}

static void print_json(const struct hg_event *event, uint64_t epoch)
{
    char position[POSITION_MAX];
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_number(object, "number", event->number);
    (void)json_object_set_new(object, "at_ms", json_integer(event->at_ms));
    (void)json_object_set_new(object, "kind", json_string(kind_name(event->kind)));
    if (event->kind == HG_EVENT_LOADER) {
        hgi_json_set_bytes(object, "loader", event->name);
    } else {
        hgi_json_set_bytes(object, "cache", event->name);
        hgi_json_set_number(object, "generation", event->generation);
        (void)json_object_set_new(object, "key", key_json(&event->key));
    }
    (void)json_object_set_new(object, "position",
                              json_string(position_text(event->number, epoch, position)));
    hgi_json_print(stdout, object);
}

static void print_key(const struct hg_key *key)
{
    if (!has_parts(key)) {
        hgi_print_escaped(stdout, key->bytes);
        return;
    }
    hgi_print_escaped(stdout, key->user_id);
    fputc('/', stdout);
    hgi_print_escaped(stdout, key->api_key_id);
}

static void print_text(const struct hg_event *event)
{
    char text[HGI_DURATION_MAX];

    printf("%s %" PRIu64 " %s ", hgi_instant_text(event->at_ms, text), event->number,
           kind_name(event->kind));
    hgi_print_escaped(stdout, event->name);
    if (event->key.kind) {
        fputc(' ', stdout);
        print_key(&event->key);
    } else if (event->kind == HG_EVENT_INVALIDATE || event->kind == HG_EVENT_PUT) {
        printf(" *"); /* we may not know the key */
    }
    if (event->kind != HG_EVENT_LOADER) {
        printf(" generation %" PRIu64, event->generation);
    }
    fputc('\n', stdout);
}

static void print_gap(const struct watch_verb *verb)
{
    char position[POSITION_MAX];

    if (verb->cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:b, s:s}", "gap", 1, "position",
                                         position_text(verb->at.after, verb->at.epoch, position)));
    } else {
        printf("gap: events up to %" PRIu64 " were missed; anything may have changed\n",
               verb->at.after);
    }
}

/* An event without a key means any key of its cache. */
static bool is_wanted(const struct watch_verb *verb, const struct hg_event *event)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_key key;

    if (verb->types && !(verb->types & 1u << event->kind)) {
        return false;
    }
    if (!verb->has_key || (event->kind != HG_EVENT_LOADER && !event->key.kind)) {
        return true;
    }
    return event->kind != HG_EVENT_LOADER && canonical(&event->key, &key, sentence) == HG_OK &&
           hgi_slice_equal(hgi_key_slice(&key), hgi_key_slice(&verb->wanted));
}

static void print_events(struct watch_verb *verb, const struct hg_events *events)
{
    for (size_t i = 0; i < events->count && verb->printed_count < verb->count; i++) {
        const struct hg_event *event = &events->events[i];

        if (!is_wanted(verb, event)) {
            continue;
        }
        if (verb->cli->is_json) {
            print_json(event, events->epoch);
        } else {
            print_text(event);
        }
        verb->printed_count++;
    }
}

/* ---- watching ---- */

/* Every line has been handed to the system when the next call waits, so nothing is lost by ending
 * right here. */
static void on_interrupt(int signal_number)
{
    (void)signal_number;
    _exit(HGI_EXIT_DONE);
}

static void end_on_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static void rest(uint32_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

static void take(struct watch_verb *verb, const struct hg_events *events)
{
    bool is_first = verb->at.epoch == 0;

    verb->at.epoch = events->epoch;
    if (!is_first || !verb->has_after) {
        verb->at.after = events->last;
    }
    if (events->is_gap) {
        print_gap(verb);
    }
    print_events(verb, events);
}

static int watch(struct watch_verb *verb)
{
    bool was_reached = false;
    uint32_t pause_ms = 0;

    while (verb->printed_count < verb->count && !ferror(stdout)) {
        struct hg_events events;
        struct hg_error error;

        if (hg_client_watch(verb->cli->client, &verb->at, &events, &error) == HG_OK) {
            was_reached = true;
            pause_ms = 0;
            take(verb, &events);
            hg_events_deinit(&events);
            (void)fflush(stdout);
            continue;
        }
        if (!was_reached || hgi_cli_exit_of(error.status) != HGI_EXIT_UNREACHABLE) {
            return hgi_cli_fail(verb->cli, &error);
        }
        if (pause_ms == 0) { /* said once each time it goes away */
            (void)hgi_cli_fail(verb->cli, &error);
        }
        pause_ms = pause_ms == 0 ? FIRST_PAUSE_MS : pause_ms * 2;
        pause_ms = pause_ms > LONGEST_PAUSE_MS ? LONGEST_PAUSE_MS : pause_ms;
        rest(pause_ms);
    }
    return HGI_EXIT_DONE;
}

int hgi_verb_watch(struct hgi_cli *cli, int argc, char **argv)
{
    struct watch_verb verb = {.cli = cli, .count = UINT64_MAX};
    int rc;

    if (argp_parse(&watch_argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    verb.at.timeout_ms = cli->timeout_ms;
    end_on_interrupt();
    rc = hgi_cli_connect(cli);
    return rc != HGI_EXIT_DONE ? rc : watch(&verb);
}
