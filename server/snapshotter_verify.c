/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread `snapshotter` looks for in its own file, a portion each time around, so that a
 * clear waits for one portion and a round for none. */
#include "server/snapshotter_inside.h"

#include "base/check.h"
#include "base/log.h"

static void answer_all(struct hgi_node *list, const struct hgi_saved *saved)
{
    for (struct hgi_node *node = hgi_list_pop_front(list); node; node = hgi_list_pop_front(list)) {
        hgi_durable_end(HGI_CONTAINER(node, struct hgi_durable, node), saved);
    }
}

/* Answers those whose caller has gone or is late. */
static void drop_unwanted(struct hgi_node *list)
{
    static const struct hgi_saved left = {.status = HG_CANCELLED,
                                          .sentence = "nobody waits for it any more"};
    struct hgi_node all;

    hgi_list_init(&all);
    hgi_list_move_all(list, &all);
    for (struct hgi_node *node = hgi_list_pop_front(&all); node; node = hgi_list_pop_front(&all)) {
        struct hgi_durable *durable = HGI_CONTAINER(node, struct hgi_durable, node);

        if (durable->is_wanted(durable->context)) {
            hgi_list_push_back(list, node);
        } else {
            hgi_durable_end(durable, &left);
        }
    }
}

static void note_verified(struct hgi_snapshotter *snapshotter,
                          const struct hgi_snapshot_report *report)
{
    hgi_lock_store(&snapshotter->lock);
    snapshotter->stats.verifies++;
    snapshotter->stats.faults = report->wrong;
    snapshotter->stats.verified_wall_ms = hgi_clock_now().wall_ms;
    hgi_unlock_store(&snapshotter->lock);
    if (report->wrong > 0) {
        /* What the caches hold is not damaged. */
        snapshotter->is_damaged = true;
        hgi_log(HG_LOG_ERROR, "the snapshot %s is damaged, the next save writes all of it anew: %s",
                hgi_snapshot_path(snapshotter->snapshot), report->fault);
    }
}

static void end(struct hgi_snapshotter *snapshotter, enum hg_status status, const char *sentence)
{
    struct hgi_saved saved = {.status = status,
                              .sentence = sentence,
                              .duration_ms =
                                  hgi_clock_now().boot_ms - snapshotter->verifying_since_ms};

    if (status == HG_OK) {
        saved.report = &snapshotter->check.report;
        note_verified(snapshotter, saved.report);
    }
    hgi_snapshotter_note_work(snapshotter, HGI_SNAPSHOTTER_RESTS, 0, 0);
    answer_all(&snapshotter->verifying, &saved);
}

void hgi_snapshotter_verify_next(struct hgi_snapshotter *snapshotter)
{
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX] = "";
    struct hgi_snapshot_check *check = &snapshotter->check;
    enum hg_status status = HG_ABORTED; /* as if there was another file: it is to begin */
    bool is_done = false;

    drop_unwanted(&snapshotter->verifying);
    if (!hgi_list_is_empty(&snapshotter->verifying)) {
        status = hgi_snapshot_check_next(snapshotter->snapshot, check, &is_done, sentence);
    } else {
        drop_unwanted(&snapshotter->verifies);
        hgi_list_move_all(&snapshotter->verifies, &snapshotter->verifying);
        snapshotter->verifying_since_ms = hgi_clock_now().boot_ms;
    }
    if (hgi_list_is_empty(&snapshotter->verifying)) {
        hgi_snapshotter_note_work(snapshotter, HGI_SNAPSHOTTER_RESTS, 0, 0);
        return;
    }
    if (status == HG_ABORTED) {
        status = hgi_snapshot_check_begin(snapshotter->snapshot, check, sentence);
    }
    if (status != HG_OK || is_done) {
        end(snapshotter, status, sentence);
    } else {
        hgi_snapshotter_note_work(snapshotter, HGI_SNAPSHOTTER_VERIFIES, check->report.pages,
                                  check->pages_total);
    }
}

void hgi_snapshotter_stop_verifying(struct hgi_snapshotter *snapshotter)
{
    static const struct hgi_saved stopped = {.status = HG_UNAVAILABLE,
                                             .sentence = "the server is stopping"};

    answer_all(&snapshotter->verifying, &stopped);
    answer_all(&snapshotter->verifies, &stopped);
}
