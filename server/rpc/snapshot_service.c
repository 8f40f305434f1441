/* SPDX-License-Identifier: Apache-2.0 */
/* SaveSnapshot, SnapshotInfo, VerifySnapshot. */
#include <stdatomic.h>

#include "dispatch.h"
#include "durable.h"
#include "proto/codec.h"
#include "server/snapshotter.h"
#include "service.h"

/* NULL: there is none, and the call has been finished. */
static struct hgi_snapshotter *find(struct hgi_rpc *rpc)
{
    struct hgi_snapshotter *snapshotter = hgi_dispatch_services(rpc->dispatch)->snapshotter;

    if (!snapshotter) {
        hgi_rpc_fail(rpc, HG_FAILED_PRECONDITION, "the configuration has no snapshot section");
    }
    return snapshotter;
}

/* ---- SaveSnapshot ---- */

static void snapshot_saved(void *context, const struct hgi_saved *saved)
{
    struct hgi_rpc *rpc = context;
    const struct hgi_msg_saved reply = {saved->entries, (uint64_t)saved->duration_ms};

    if (saved->status != HG_OK) {
        hgi_rpc_fail(rpc, saved->status, saved->sentence);
        return;
    }
    hgi_rpc_succeed(rpc, hgi_save_snapshot_reply_encode(&reply, &rpc->payload));
}

void hgi_snapshot_service_save(struct hgi_rpc *rpc)
{
    struct hgi_snapshotter *snapshotter = find(rpc);
    enum hg_status status;

    if (!snapshotter) {
        return;
    }
    hgi_rpc_bound(rpc, "not all was on disk when the call's time was up; saving goes on");
    status = hgi_snapshotter_save(snapshotter, snapshot_saved, rpc);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, HG_UNAVAILABLE, hgi_durable_refusal(status));
    }
}

/* ---- SnapshotInfo ---- */

static const char *work_name(enum hgi_snapshotter_work work)
{
    switch (work) {
    case HGI_SNAPSHOTTER_RESTS:
        return "";
    case HGI_SNAPSHOTTER_SAVES:
        return "save";
    case HGI_SNAPSHOTTER_VERIFIES:
        return "verify";
    }
    return "";
}

static const char *protection_name(const struct hgi_snapshot_facts *file)
{
    return file->is_encrypted ? "encrypted" : file->is_keyed ? "key_file" : "own_key";
}

static void count_entries(const struct hgi_registry *registry, struct hgi_msg_snapshot_info *info)
{
    for (size_t i = 0; i < hgi_registry_count(registry); i++) {
        struct hgi_table_stats table;

        hgi_table_stats(hgi_cache_table(hgi_registry_at(registry, i)->cache), &table);
        info->entries += table.entries;
        info->unsaved += table.unsaved;
    }
}

/* From what is known in memory: the thread that has the file is not waited for. */
void hgi_snapshot_service_info(struct hgi_rpc *rpc)
{
    struct hgi_snapshotter *snapshotter = find(rpc);
    struct hgi_snapshotter_stats stats;
    struct hgi_msg_snapshot_info reply;

    if (!snapshotter) {
        return;
    }
    hgi_snapshotter_stats(snapshotter, &stats);
    reply = (struct hgi_msg_snapshot_info){
        .path = hg_slice_text(hgi_snapshotter_path(snapshotter)),
        .version = stats.file.version,
        .protection = hg_slice_text(protection_name(&stats.file)),
        .file_bytes = stats.file.file_bytes,
        .log_bytes = stats.file.log_bytes,
        .pages = stats.file.pages,
        .invalidations = stats.file.invalidations,
        .generation = stats.file.high_water,
        .saved_at_ms = stats.file.saved_wall_ms,
        .interval_ms = (uint64_t)hgi_snapshotter_interval_ms(snapshotter),
        .is_degraded = stats.is_degraded,
        .message = hg_slice_text(stats.last_error),
        .saves = stats.saves,
        .save_errors = stats.save_errors,
        .rows_written = stats.rows,
        .restored = stats.restored,
        .dropped = stats.dropped,
        .work = hg_slice_text(work_name(stats.work)),
        .work_done = stats.work_done,
        .work_total = stats.work_total,
        .verified_at_ms = stats.verified_wall_ms,
        .faults = stats.faults,
    };
    count_entries(hgi_dispatch_services(rpc->dispatch)->registry, &reply);
    hgi_rpc_succeed(rpc, hgi_snapshot_info_reply_encode(&reply, &rpc->payload));
}

/* ---- VerifySnapshot ---- */

static void snapshot_verified(void *context, const struct hgi_saved *saved)
{
    const struct hgi_snapshot_report *report = saved->report;
    struct hgi_rpc *rpc = context;
    struct hgi_msg_verified reply;

    if (saved->status != HG_OK) {
        hgi_rpc_fail(rpc, saved->status, saved->sentence);
        return;
    }
    reply = (struct hgi_msg_verified){
        .faults = report->wrong,
        .fault = hg_slice_text(report->fault),
        .rows = report->rows,
        .pages = report->pages,
        .caches = report->caches,
        .invalidations = report->invalidations,
        .generation = report->high_water,
        .saved_at_ms = report->saved_wall_ms,
        .is_structure_checked = report->is_structure_checked,
        .duration_ms = (uint64_t)saved->duration_ms,
    };
    hgi_rpc_succeed(rpc, hgi_verify_snapshot_reply_encode(&reply, &rpc->payload));
}

static bool is_wanted(void *context)
{
    struct hgi_rpc *rpc = context;

    return !atomic_load(&rpc->is_gone) && hgi_clock_now().boot_ms < rpc->due_ms;
}

void hgi_snapshot_service_verify(struct hgi_rpc *rpc)
{
    struct hgi_snapshotter *snapshotter = find(rpc);
    enum hg_status status;

    if (!snapshotter) {
        return;
    }
    hgi_rpc_bound(rpc, "not all of the snapshot was read when the call's time was up; a longer one "
                       "is needed");
    status = hgi_snapshotter_verify(snapshotter, is_wanted, snapshot_verified, rpc);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, HG_UNAVAILABLE, hgi_durable_refusal(status));
    }
}
