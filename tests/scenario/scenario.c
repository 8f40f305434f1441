/* SPDX-License-Identifier: Apache-2.0 */
/* Runs scenarios: scenario FILE... Each is a test of its own (docs/TESTING.md has the language). */
#include "scenario.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define FILE_TIMEOUT_S 60

static char **paths;

void scenario_fail(struct run *run, const char *format, ...)
{
    char text[4 * LINE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: %s\n", run->path, run->line, text);
    if (run->d.pid > 0) {
        kill(run->d.pid, SIGKILL);
        waitpid(run->d.pid, NULL, 0);
        daemon_remove(&run->d);
    }
    ck_abort_msg("%s:%d", run->path, run->line);
}

/* ---- "!": what the loader does next ---- */

/* Lines that follow each other are obeyed together; the first after another step starts anew. */
static void direct(struct run *run, const char *line)
{
    struct words words;
    size_t len;

    words_cut(run, line, &words);
    if (words.count == 3 && strcmp(words.at[1], "open") == 0) {
        hgi_script_touch(&run->d.script, words.at[2]);
        return;
    }
    if (!run->is_control_open) {
        run->control[0] = 0;
        run->is_control_open = true;
    }
    len = strlen(run->control);
    if (words.count == 4 && strcmp(words.at[2], "gate") == 0) {
        snprintf(run->control + len, sizeof(run->control) - len, "%s gate %%/%s\n", words.at[1],
                 words.at[3]);
    } else if (words.count == 4 && strcmp(words.at[2], "expires") == 0) {
        snprintf(run->control + len, sizeof(run->control) - len, "%s expires %lld\n", words.at[1],
                 (long long)words_moment(run, words.at[3]));
    } else if (words.count > 2) {
        snprintf(run->control + len, sizeof(run->control) - len, "%s\n",
                 line + 1 + strspn(line + 1, " "));
    } else if (words.count == 2) {
        scenario_fail(run, "\"! KEY WHAT\", or \"!\" for values that equal their keys");
    }
    hgi_script_set(&run->d.script, run->control);
}

/* ---- "*": what happens to the server ---- */

static void start(struct run *run)
{
    daemon_start(&run->d);
    scenario_count_restart(run);
}

static void stop(struct run *run)
{
    scenario_hang_up(run, NULL);
    daemon_stop(&run->d);
}

static void stop_hard(struct run *run)
{
    scenario_hang_up(run, NULL);
    daemon_kill(&run->d);
}

static void restart(struct run *run)
{
    stop(run);
    start(run);
}

static void kill_loader(struct run *run)
{
    struct hg_loaders loaders;

    if (hg_client_list_loaders(run->d.client, NULL, &loaders, NULL) != HG_OK ||
        loaders.loaders[0].pid <= 0) {
        scenario_fail(run, "there is no loader's child to kill");
    }
    kill((pid_t)loaders.loaders[0].pid, SIGKILL);
    hg_loaders_deinit(&loaders);
}

static void reload_loader(struct run *run)
{
    struct hg_named request = {.name = "script"};
    struct hg_loader_info loader;
    struct hg_error error;

    if (hg_client_reload_loader(run->d.client, &request, &loader, &error) != HG_OK) {
        scenario_fail(run, "reload loader: %s", error.text);
    }
    hg_loader_info_deinit(&loader);
}

static void save(struct run *run)
{
    struct hg_saved saved;
    struct hg_error error;

    if (hg_client_save_snapshot(run->d.client, NULL, &saved, &error) != HG_OK) {
        scenario_fail(run, "save: %s", error.text);
    }
}

static void damage(struct run *run)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cache.db", run->d.dir);
    file = fopen(path, "r+e");
    if (!file || fputs("this is not a snapshot", file) < 0 || fclose(file) != 0) {
        scenario_fail(run, "%s could not be damaged", path);
    }
}

static void happen(struct run *run, const struct words *words)
{
    static const struct {
        const char *what;
        void (*happen)(struct run *run);
    } events[] = {{"start", start},
                  {"stop", stop},
                  {"restart", restart},
                  {"kill", stop_hard},
                  {"kill loader", kill_loader},
                  {"reload loader", reload_loader},
                  {"save", save},
                  {"damage snapshot", damage}};
    char what[64];

    if (words->count == 3 && strcmp(words->at[1], "hangup") == 0) {
        scenario_hang_up(run, words->at[2]);
        return;
    }
    snprintf(what, sizeof(what), "%s%s%s", words->count > 1 ? words->at[1] : "",
             words->count > 2 ? " " : "", words->count > 2 ? words->at[2] : "");
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (strcmp(what, events[i].what) == 0) {
            events[i].happen(run);
            return;
        }
    }
    scenario_fail(run, "\"%s\" does not happen to a server", what);
}

/* ---- "~", "<" and the rest ---- */

static void pass(struct run *run, const struct words *words)
{
    struct timespec time;
    uint64_t ms;

    if (words->count != 2 || !words_number(words->at[1], &ms)) {
        scenario_fail(run, "\"~ 150ms\" lets time pass");
    }
    time = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static void compare(struct run *run, const struct words *words)
{
    const char *name = words->count > 1 ? words->at[1] : "";
    size_t len = strlen(name);
    bool is_named = len > 1 && name[len - 1] == ':';

    for (size_t i = run->ask_count; i > 0; i--) {
        struct ask *ask = &run->asks[i - 1];

        if (is_named ? strlen(ask->name) == len - 1 && strncmp(ask->name, name, len - 1) == 0
                     : !ask->name[0]) {
            scenario_wait(run, ask);
            scenario_compare(run, ask, words, is_named ? 2 : 1);
            return;
        }
    }
    scenario_fail(run, "no request before this line is \"%s\"", name);
}

/* A request without a name whose answer no line looks at must at least succeed. */
static void settle(struct run *run, char sign)
{
    struct ask *last = run->ask_count ? &run->asks[run->ask_count - 1] : NULL;

    if (!last || last->name[0] || last->is_read || sign == '<') {
        return;
    }
    scenario_wait(run, last);
    last->is_read = true;
    if (last->status != HG_OK) {
        run->line = last->line;
        scenario_fail(run, "expected: OK\n%s:%d: came:     %s", run->path, run->line,
                      last->parts[0].shown);
    }
}

static void count(struct run *run, const struct words *words)
{
    uint64_t expected;

    if (words->count != 3 || !words_number(words->at[2], &expected)) {
        scenario_fail(run, "\"%s c.load 1\": a counter and a number", words->at[0]);
    }
    if (words->at[0][0] == '+') {
        scenario_count_change(run, words->at[1], expected);
    } else {
        scenario_count_await(run, words->at[1], expected);
    }
}

static void step(struct run *run, const char *line)
{
    struct words words;
    char sign = line[0];

    if (sign == '#' || line[strspn(line, " \t\n")] == 0) {
        return;
    }
    settle(run, sign);
    if (sign == '!') {
        direct(run, line);
        return;
    }
    run->is_control_open = false;
    words_cut(run, line, &words);
    if (strlen(words.at[0]) != 1 || !strchr("><+=~*", sign)) {
        scenario_fail(run, "a step begins with one of ! > < + = ~ * and a blank");
    }
    switch (sign) {
    case '>':
        scenario_ask(run, &words);
        break;
    case '<':
        compare(run, &words);
        break;
    case '~':
        pass(run, &words);
        break;
    case '*':
        happen(run, &words);
        break;
    default:
        count(run, &words);
        break;
    }
}

static void finish(struct run *run)
{
    settle(run, 0);
    for (size_t i = 0; i < run->ask_count; i++) {
        if (!run->asks[i].is_read) {
            run->line = run->asks[i].line;
            scenario_fail(run, "the answer to \"%s\" is never looked at", run->asks[i].name);
        }
    }
    stop(run);
    daemon_remove(&run->d);
    hgi_cond_deinit(&run->changed);
    hgi_lock_deinit(&run->lock);
}

/* Up to the first step the file is configuration. */
static void run_file(struct run *run, FILE *file)
{
    char line[LINE_MAX_BYTES];
    char head[8 * LINE_MAX_BYTES] = "";
    bool is_started = false;

    while (fgets(line, sizeof(line), file)) {
        run->line++;
        if (!is_started && !strchr("!><+=~*", line[0])) {
            strncat(head, line, sizeof(head) - strlen(head) - 1);
            continue;
        }
        if (!is_started) {
            daemon_prepare(&run->d, head);
            daemon_start(&run->d);
            is_started = true;
        }
        step(run, line);
    }
    if (!is_started) {
        scenario_fail(run, "there is no step in this file");
    }
    finish(run);
}

START_TEST(scenario)
{
    struct run *run = calloc(1, sizeof(*run));
    FILE *file = fopen(paths[_i], "re");

    ck_assert_ptr_nonnull(run);
    ck_assert_msg(file != NULL, "%s cannot be read", paths[_i]);
    run->path = paths[_i];
    hgi_lock_init(&run->lock);
    hgi_cond_init(&run->changed);
    run_file(run, file);
    fclose(file);
    free(run);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("scenario");
    TCase *tcase = tcase_create("scenario");
    SRunner *runner;
    int failed;

    if (argc < 2 || !hgi_hash_start()) {
        fprintf(stderr, "usage: scenario FILE...\n");
        return 2;
    }
    paths = argv + 1;
    tcase_set_timeout(tcase, FILE_TIMEOUT_S);
    tcase_add_loop_test(tcase, scenario, 0, argc - 1);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
