/* SPDX-License-Identifier: Apache-2.0 */
/* top: the caches and loaders of a server, as they are now, again and again. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "client/cli/cli.h"
#include "client/cli/parse.h"
#include "client/cli/screen.h"
#include "client/cli/top.h"

#define INTERVAL_MS     2000u
#define INTERVAL_MIN_MS 200u
#define INTERVAL_MAX_MS 60000u
#define CALL_MS         2000u /* without --timeout: a server that does not answer is to be seen */
#define STATUS_MAX      512u

struct top_verb {
    struct hgi_cli *cli;
    uint64_t interval_ms;
    bool is_once;
    struct hgi_top_view view;
    struct hgi_top_sample now;
    struct hgi_top_sample before;
    bool has_before;
    bool shows_help;
    size_t skip;              /* lines that are scrolled away */
    char trouble[STATUS_MAX]; /* why the last look failed; "": it did not */
};

static volatile sig_atomic_t is_interrupted;

/* ---- options ---- */

static void parse_sort(struct argp_state *state, struct top_verb *verb, const char *text)
{
    for (enum hgi_top_column column = HGI_TOP_NAME; column < HGI_TOP_COLUMN_COUNT; column++) {
        const char *name = hgi_top_column_name(column);

        if (strcmp(text, strrchr(name, ' ') ? strrchr(name, ' ') + 1 : name) == 0) {
            verb->view.sort = column;
            return;
        }
    }
    argp_error(state,
               "\"%s\" is nothing to sort by; there are name, ratio, reads, loads, errors, "
               "stale, flight, p99, entries and bytes",
               text);
}

/* Without keys there would be no end to it, nor any rest between two looks. */
static void check_screen(struct argp_state *state, const struct top_verb *verb)
{
    const char *wrong = verb->cli->is_json       ? "-o json is not for a screen"
                        : !isatty(STDOUT_FILENO) ? "standard output is no terminal"
                        : !isatty(STDIN_FILENO)  ? "standard input is no terminal"
                                                 : NULL;

    if (!verb->is_once && wrong) {
        argp_error(state, "%s; --once prints one screen and ends", wrong);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct top_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case '1':
        verb->is_once = true;
        return 0;
    case 'd':
        verb->interval_ms = hgi_parse_duration(state, "--interval", arg);
        if (verb->interval_ms < INTERVAL_MIN_MS || verb->interval_ms > INTERVAL_MAX_MS) {
            argp_error(state, "--interval %s is out of range; 200ms to 60s are possible", arg);
        }
        return 0;
    case 's':
        parse_sort(state, verb, arg);
        return 0;
    case 'r':
        verb->view.is_reversed = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many", arg);
        return 0;
    case ARGP_KEY_END:
        check_screen(state, verb);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"once", '1', 0, 0, "Print one screen, with counts since the server's start, and end", 1},
    {"interval", 'd', "TIME", 0, "Look again after TIME, 200ms to 60s (2s)", 1},
    {"sort", 's', "COLUMN", 0,
     "Sort caches by name (if not said), ratio, reads, loads, errors, stale, flight, p99, entries "
     "or bytes",
     1},
    {"reverse", 'r', 0, 0, "The other way round", 1},
    {0},
};
static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Show each cache with its hit ratio, reads, loads, errors, stale answers, loads under "
           "way, callers that wait, how long loads take, entries and bytes; and the loaders with "
           "their state. Looks again every two seconds, until q.\vOn the screen counts are of a "
           "second, since the last look, and the ratio is of that time; \"t\" changes to those "
           "since the server's start, which --once prints. HIT% is of all reads: fresh, stale and "
           "negative answers from the cache. P50 and P99 are of all loads since the start. \"h\" "
           "tells the keys.",
    .children = children};

/* ---- the screen ---- */

static const char help[] =
    "herdgate top\n"
    "\n"
    "q        end\n"
    "s        sort by the next column, S by the one before\n"
    "r        the other way round\n"
    "t        counts since the server's start, or of a second\n"
    "space    look again now\n"
    "^L       draw the whole screen anew\n"
    "arrows   scroll, if there is more than fits\n"
    "h ?      these lines, and back\n"
    "\n"
    "HIT%     of the reads, how many were answered from the cache: fresh, stale or negative\n"
    "STALE    answers with an old value\n"
    "IN FLIGHT  loads under way; WAITING: callers that wait for one\n"
    "P50 P99  half of all loads, and 99 of 100, took no longer\n";

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static void draw(struct top_verb *verb)
{
    char status[STATUS_MAX];
    char *text = NULL;
    size_t size = 0;
    FILE *memory;

    if (verb->trouble[0]) {
        snprintf(status, sizeof(status), "trying again: %.480s", verb->trouble);
    } else {
        snprintf(status, sizeof(status), "by %s%s   q end   s sort   r reverse   t %s   h help",
                 hgi_top_column_name(verb->view.sort), verb->view.is_reversed ? ", reversed" : "",
                 verb->view.has_totals ? "a second" : "totals");
    }
    if (verb->shows_help) {
        hgi_screen_draw(help, &verb->skip, status);
        return;
    }
    memory = hgi_cli_must(open_memstream(&text, &size));
    hgi_top_write(memory, &verb->now, verb->has_before ? &verb->before : NULL, &verb->view);
    fclose(memory);
    hgi_screen_draw(text, &verb->skip, status);
    hgi_free(&hgi_heap, text);
}

/* False: the end. *ret_looks_again: without waiting any longer. */
static bool obey(struct top_verb *verb, int key, bool *ret_looks_again)
{
    enum hgi_top_column last = HGI_TOP_COLUMN_COUNT - 1;
    struct hgi_top_view *view = &verb->view;

    switch (key) {
    case 'q':
        return false;
    case 's':
        view->sort = view->sort == last ? HGI_TOP_NAME : view->sort + 1;
        return true;
    case 'S':
        view->sort = view->sort == HGI_TOP_NAME ? last : view->sort - 1;
        return true;
    case 'r':
        view->is_reversed = !view->is_reversed;
        return true;
    case 't':
        view->has_totals = !view->has_totals;
        return true;
    case 'h':
    case '?':
        verb->shows_help = !verb->shows_help;
        verb->skip = 0;
        return true;
    case HGI_SCREEN_UP:
        verb->skip -= verb->skip > 0;
        return true;
    case HGI_SCREEN_DOWN:
        verb->skip++;
        return true;
    case ' ':
        *ret_looks_again = true;
        return true;
    default:
        return true;
    }
}

static enum hg_status look(struct top_verb *verb, struct hg_error *ret_error)
{
    uint32_t timeout_ms = verb->cli->timeout_ms ? verb->cli->timeout_ms : CALL_MS;
    struct hgi_top_sample sample;
    enum hg_status status = hgi_top_take(verb->cli, timeout_ms, &sample, ret_error);

    if (status != HG_OK) {
        return status;
    }
    hgi_top_sample_deinit(&verb->before);
    verb->has_before = verb->now.caches != NULL;
    verb->before = verb->now;
    verb->now = sample;
    return HG_OK;
}

/* Shows what there is until it is time to look again. False: the end. */
static bool show(struct top_verb *verb)
{
    int64_t until_ms = hgi_clock_now().boot_ms + (int64_t)verb->interval_ms;
    bool looks_again = false;

    while (!looks_again) {
        int64_t left_ms = until_ms - hgi_clock_now().boot_ms;

        draw(verb);
        if (left_ms <= 0) {
            return true;
        }
        if (!obey(verb, hgi_screen_key((int)left_ms), &looks_again) || is_interrupted) {
            return false;
        }
    }
    return true;
}

static int run(struct top_verb *verb)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    struct hg_error error;

    if (!hgi_screen_open()) {
        fprintf(stderr,
                "herdgate top: this terminal cannot be drawn on (TERM is \"%s\"); --once "
                "prints one screen and ends\n",
                getenv("TERM") ? getenv("TERM") : "");
        return HGI_EXIT_FAILED;
    }
    (void)sigaction(SIGINT, &action, NULL); /* after ncurses' own */
    (void)sigaction(SIGTERM, &action, NULL);
    while (show(verb)) {
        verb->trouble[0] = '\0';
        if (look(verb, &error) != HG_OK) {
            snprintf(verb->trouble, sizeof(verb->trouble), "%.400s (%s)", error.text,
                     hg_status_name(error.status));
        }
    }
    hgi_screen_close();
    return HGI_EXIT_DONE;
}

int hgi_verb_top(struct hgi_cli *cli, int argc, char **argv)
{
    struct top_verb verb = {.cli = cli, .interval_ms = INTERVAL_MS};
    struct hg_error error;
    int rc;

    if (argp_parse(&argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (look(&verb, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (!verb.is_once) {
        rc = run(&verb);
    } else if (cli->is_json) {
        hgi_json_print(stdout, hgi_top_json(&verb.now));
    } else {
        hgi_top_write(stdout, &verb.now, NULL, &verb.view);
    }
    hgi_top_sample_deinit(&verb.before);
    hgi_top_sample_deinit(&verb.now);
    return rc;
}
