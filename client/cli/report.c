/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "client/cli/output.h"
#include "client/cli/progress.h"
#include "herdgate/inspect.h"

static json_t *report_json(const struct hg_report *report, bool is_counted)
{
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "cache", report->cache);
    hgi_json_set_number(object, "generation", report->generation);
    if (is_counted) {
        hgi_json_set_number(object, "dropped", report->dropped);
    }
    hgi_json_set_number(object, "fenced", report->fenced);
    hgi_json_set_number(object, "released", report->released);
    return object;
}

static void report_print(const struct hg_report *report, const char *what)
{
    hgi_print_escaped(stdout, report->cache);
    printf(": %s %" PRIu64 ", fenced %" PRIu64 " running loads, released %" PRIu64
           " waiters, generation %" PRIu64 "\n",
           what, report->dropped, report->fenced, report->released, report->generation);
}

/* Nobody counts what tags and users cover, so with them 0 would not be true. */
static void covered_print(const struct hg_report *report, bool is_soft)
{
    hgi_print_escaped(stdout, report->cache);
    printf(": %s, fenced %" PRIu64 " running loads, released %" PRIu64
           " waiters, generation %" PRIu64 "\n",
           is_soft ? "all of it stale" : "all of it dropped", report->fenced, report->released,
           report->generation);
}

int hgi_invalidate(struct hgi_cli *cli, const struct hg_invalidate *request)
{
    struct hg_report report;
    struct hg_error error;
    bool is_counted = request->tag_count == 0 && request->prefix.len == 0;

    if (hg_client_invalidate(cli->client, request, &report, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, report_json(&report, is_counted));
    } else if (is_counted) {
        report_print(&report, request->soft ? "made stale" : "dropped");
    } else {
        covered_print(&report, request->soft);
    }
    hg_report_deinit(&report);
    return HGI_EXIT_DONE;
}

/* Loads that a clear has overtaken and that still run. */
static bool describe_wait(struct hgi_progress *progress, char *ret_text)
{
    const struct hg_list_flights request = {.cache = progress->cache,
                                            .timeout_ms = HGI_PROGRESS_TIMEOUT_MS};
    struct hg_flights flights;
    size_t count = 0;

    if (hg_client_list_flights(progress->cli->client, &request, &flights, NULL) != HG_OK) {
        return false;
    }
    for (size_t i = 0; i < flights.count; i++) {
        count += flights.flights[i].is_fenced;
    }
    hg_flights_deinit(&flights);
    snprintf(ret_text, HGI_PROGRESS_MAX,
             "waiting for loads that began before the clear: %zu still run", count);
    return true;
}

static enum hg_status clear_and_wait(struct hgi_cli *cli, struct hg_clear *request,
                                     struct hg_reports *ret_reports, struct hg_error *ret_error)
{
    struct hgi_progress progress = {.cache = request->cache};
    enum hg_status status;

    request->wait = true;
    if (!request->timeout_ms) {
        request->timeout_ms = HG_TIMEOUT_MAX_MS;
    }
    hgi_progress_start(&progress, cli, describe_wait);
    status = hg_client_clear(cli->client, request, ret_reports, ret_error);
    hgi_progress_stop(&progress);
    return status;
}

int hgi_clear(struct hgi_cli *cli, const char *cache, bool waits)
{
    struct hg_clear request = {.cache = cache, .all = cache == NULL, .timeout_ms = cli->timeout_ms};
    enum hg_status status;
    struct hg_reports reports;
    struct hg_error error;
    json_t *list;

    status = waits ? clear_and_wait(cli, &request, &reports, &error)
                   : hg_client_clear(cli->client, &request, &reports, &error);
    if (status != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        list = hgi_cli_must(json_array());
        for (size_t i = 0; i < reports.count; i++) {
            (void)json_array_append_new(list, report_json(&reports.reports[i], true));
        }
        hgi_json_print(stdout, json_pack("{s:o}", "reports", list));
    } else {
        for (size_t i = 0; i < reports.count; i++) {
            report_print(&reports.reports[i], "dropped");
        }
    }
    hg_reports_deinit(&reports);
    return HGI_EXIT_DONE;
}
