/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: what the server has on disk: save it, describe it, have it read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "client/cli/progress.h"
#include "herdgate/snapshot.h"

struct snapshot_verb {
    struct hgi_cli *cli;
    int (*run)(const struct snapshot_verb *verb);
};

/* ---- while it takes long ---- */

static bool describe(struct hgi_progress *progress, char *ret_text)
{
    const struct hg_named request = {.timeout_ms = HGI_PROGRESS_TIMEOUT_MS};
    struct hg_snapshot_info info;
    bool is_saving;

    if (hg_client_snapshot_info(progress->cli->client, &request, &info, NULL) != HG_OK) {
        return false;
    }
    is_saving = hgi_slice_equal(info.work, hg_slice_text("save"));
    if (info.work.len == 0) {
        snprintf(ret_text, HGI_PROGRESS_MAX, "waiting for the disk ...");
    } else {
        snprintf(ret_text, HGI_PROGRESS_MAX, "%s: %" PRIu64 " of %" PRIu64 " %s (%" PRIu64 "%%)",
                 is_saving ? "saved" : "verified", info.work_done, info.work_total,
                 is_saving ? "entries" : "pages",
                 info.work_total ? info.work_done * 100 / info.work_total : 0);
    }
    hg_snapshot_info_deinit(&info);
    return true;
}

/* They may take long, so without --timeout they get as long as a call may take. */
static struct hg_named long_request(const struct hgi_cli *cli)
{
    return (struct hg_named){.timeout_ms = cli->timeout_ms ? cli->timeout_ms : HG_TIMEOUT_MAX_MS};
}

/* ---- save ---- */

static int run_save(const struct snapshot_verb *verb)
{
    struct hgi_cli *cli = verb->cli;
    struct hg_named request = long_request(cli);
    struct hgi_progress progress;
    struct hg_saved saved;
    struct hg_error error;
    enum hg_status status;

    hgi_progress_start(&progress, cli, describe);
    status = hg_client_save_snapshot(cli->client, &request, &saved, &error);
    hgi_progress_stop(&progress);
    if (status != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, json_pack("{s:I, s:I}", "entries", (json_int_t)saved.entries,
                                         "duration_ms", (json_int_t)saved.duration_ms));
    } else {
        printf("saved %" PRIu64 " entries in %" PRIu64 " ms\n", saved.entries, saved.duration_ms);
    }
    return HGI_EXIT_DONE;
}

/* ---- info ---- */

static json_t *info_json(const struct hg_snapshot_info *info)
{
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "path", info->path);
    hgi_json_set_number(object, "version", info->version);
    hgi_json_set_bytes(object, "protection", info->protection);
    hgi_json_set_number(object, "file_bytes", info->file_bytes);
    hgi_json_set_number(object, "log_bytes", info->log_bytes);
    hgi_json_set_number(object, "pages", info->pages);
    hgi_json_set_number(object, "invalidations", info->invalidations);
    hgi_json_set_number(object, "generation", info->generation);
    (void)json_object_set_new(object, "saved_at_ms", json_integer(info->saved_at_ms));
    hgi_json_set_number(object, "interval_ms", info->interval_ms);
    hgi_json_set_number(object, "entries", info->entries);
    hgi_json_set_number(object, "unsaved", info->unsaved);
    (void)json_object_set_new(object, "degraded", json_boolean(info->degraded));
    hgi_json_set_bytes(object, "message", info->message);
    hgi_json_set_number(object, "saves", info->saves);
    hgi_json_set_number(object, "save_errors", info->save_errors);
    hgi_json_set_number(object, "rows_written", info->rows_written);
    hgi_json_set_number(object, "restored", info->restored);
    hgi_json_set_number(object, "dropped", info->dropped);
    hgi_json_set_bytes(object, "work", info->work);
    hgi_json_set_number(object, "work_done", info->work_done);
    hgi_json_set_number(object, "work_total", info->work_total);
    (void)json_object_set_new(object, "verified_at_ms", json_integer(info->verified_at_ms));
    hgi_json_set_number(object, "faults", info->faults);
    return object;
}

static void add_instant(struct hgi_table *table, const char *name, int64_t at_ms)
{
    char text[HGI_DURATION_MAX];

    hgi_table_add(table, "%s", name);
    hgi_table_add(table, "%s", at_ms ? hgi_instant_text(at_ms, text) : "never");
}

static void add_state(struct hgi_table *table, const struct hg_snapshot_info *info)
{
    char text[HGI_DURATION_MAX];

    hgi_table_add(table, "state");
    hgi_table_add(table, "%s", info->degraded ? "degraded: memory is ahead of the disk" : "good");
    hgi_table_add(table, "saves");
    hgi_table_add(table, "%" PRIu64 ", one every %s; %" PRIu64 " failed", info->saves,
                  hgi_duration_text(info->interval_ms, text), info->save_errors);
    if (info->message.len) {
        hgi_table_add(table, "last error");
        hgi_table_add_slice(table, info->message);
    }
    add_instant(table, "verified", info->verified_at_ms);
    if (info->verified_at_ms) {
        hgi_table_add(table, "faults then");
        hgi_table_add(table, "%" PRIu64, info->faults);
    }
    if (info->work.len) {
        hgi_table_add(table, "at work");
        hgi_table_add(table, "%.*s: %" PRIu64 " of %" PRIu64, (int)info->work.len,
                      (const char *)info->work.data, info->work_done, info->work_total);
    }
}

static void print_info(const struct hg_snapshot_info *info)
{
    struct hgi_table table;

    hgi_table_init(&table, "ll");
    hgi_table_add(&table, "path");
    hgi_table_add_slice(&table, info->path);
    hgi_table_add(&table, "version");
    hgi_table_add(&table, "%" PRIu32, info->version);
    hgi_table_add(&table, "protection");
    hgi_table_add_slice(&table, info->protection);
    hgi_table_add(&table, "file");
    hgi_table_add(&table, "%" PRIu64 " bytes, and a log of %" PRIu64 "; %" PRIu64 " pages",
                  info->file_bytes, info->log_bytes, info->pages);
    hgi_table_add(&table, "entries");
    hgi_table_add(&table, "%" PRIu64 " in memory, %" PRIu64 " of them not yet saved", info->entries,
                  info->unsaved);
    hgi_table_add(&table, "invalidations");
    hgi_table_add(&table, "%" PRIu64 " on record", info->invalidations);
    hgi_table_add(&table, "generation");
    hgi_table_add(&table, "%" PRIu64, info->generation);
    add_instant(&table, "saved", info->saved_at_ms);
    hgi_table_add(&table, "at the start");
    hgi_table_add(&table, "%" PRIu64 " rows restored, %" PRIu64 " found damaged", info->restored,
                  info->dropped);
    add_state(&table, info);
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static int run_info(const struct snapshot_verb *verb)
{
    struct hgi_cli *cli = verb->cli;
    const struct hg_named request = {.timeout_ms = cli->timeout_ms};
    struct hg_snapshot_info info;
    struct hg_error error;

    if (hg_client_snapshot_info(cli->client, &request, &info, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, info_json(&info));
    } else {
        print_info(&info);
    }
    hg_snapshot_info_deinit(&info);
    return HGI_EXIT_DONE;
}

/* ---- verify ---- */

static json_t *verified_json(const struct hg_verified *verified)
{
    json_t *object = hgi_cli_must(json_object());

    (void)json_object_set_new(object, "whole", json_boolean(verified->faults == 0));
    hgi_json_set_number(object, "faults", verified->faults);
    hgi_json_set_bytes(object, "fault", verified->fault);
    hgi_json_set_number(object, "rows", verified->rows);
    hgi_json_set_number(object, "pages", verified->pages);
    hgi_json_set_number(object, "caches", verified->caches);
    hgi_json_set_number(object, "invalidations", verified->invalidations);
    hgi_json_set_number(object, "generation", verified->generation);
    (void)json_object_set_new(object, "saved_at_ms", json_integer(verified->saved_at_ms));
    (void)json_object_set_new(object, "structure_checked",
                              json_boolean(verified->structure_checked));
    hgi_json_set_number(object, "duration_ms", verified->duration_ms);
    return object;
}

static void print_verified(const struct hg_verified *verified)
{
    char text[HGI_DURATION_MAX];

    if (verified->faults) {
        printf("the snapshot is not whole: ");
        hgi_print_escaped(stdout, verified->fault);
        printf("; %" PRIu64 " faults, %" PRIu64 " rows can be read\n", verified->faults,
               verified->rows);
        return;
    }
    printf("the snapshot is whole: %" PRIu64 " rows in %" PRIu64 " pages, %" PRIu64
           " caches, %" PRIu64 " invalidations on record, generation %" PRIu64 "; saved %s; "
           "%sread in %" PRIu64 " ms\n",
           verified->rows, verified->pages, verified->caches, verified->invalidations,
           verified->generation,
           verified->saved_at_ms ? hgi_instant_text(verified->saved_at_ms, text) : "never",
           verified->structure_checked ? "" : "too large to check sqlite's own structure; ",
           verified->duration_ms);
}

static int run_verify(const struct snapshot_verb *verb)
{
    struct hgi_cli *cli = verb->cli;
    struct hg_named request = long_request(cli);
    struct hgi_progress progress;
    struct hg_verified verified;
    struct hg_error error;
    enum hg_status status;
    int rc;

    hgi_progress_start(&progress, cli, describe);
    status = hg_client_verify_snapshot(cli->client, &request, &verified, &error);
    hgi_progress_stop(&progress);
    if (status != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    rc = verified.faults ? HGI_EXIT_FAILED : HGI_EXIT_DONE;
    if (cli->is_json) {
        hgi_json_print(stdout, verified_json(&verified));
    } else {
        print_verified(&verified);
    }
    hg_verified_deinit(&verified);
    return rc;
}

/* ---- the command line ---- */

static void take_argument(struct snapshot_verb *verb, struct argp_state *state, const char *arg)
{
    if (verb->run) {
        argp_error(state, "\"%s\" is one argument too many", arg);
    }
    verb->run = strcmp(arg, "save") == 0     ? run_save
                : strcmp(arg, "info") == 0   ? run_info
                : strcmp(arg, "verify") == 0 ? run_verify
                                             : NULL;
    if (!verb->run) {
        argp_error(state, "snapshot %s is not known; there are save, info and verify", arg);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct snapshot_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(verb, state, arg);
        return 0;
    case ARGP_KEY_END:
        if (!verb->run) {
            argp_error(state, "what about the snapshot? There are save, info and verify");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .args_doc = "save\ninfo\nverify",
    .doc = "Write everything that changed since the last time into the snapshot, now; say what is "
           "in it and how it is; or have all of it read, while the server goes on, and say whether "
           "it is whole (exit status 1 if it is not: the next save then writes it anew). Without "
           "--timeout save and verify may take 120 s; after a second a terminal is told how far "
           "they are. A file that no server uses is read by \"herdgated --verify FILE\".",
    .children = children};

int hgi_verb_snapshot(struct hgi_cli *cli, int argc, char **argv)
{
    struct snapshot_verb verb = {.cli = cli};
    int rc;

    if (argp_parse(&argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    return rc == HGI_EXIT_DONE ? verb.run(&verb) : rc;
}
