/* SPDX-License-Identifier: Apache-2.0 */
/* The thread `snapshotter`.
 *
 * Why no invalidated value comes back (I1, I3). An invalidation changes memory first and is sent
 * here after that. This one thread copies entries out of memory, commits the copies, and commits
 * the invalidations, and it never commits an invalidation between taking a copy and ending the
 * transaction of that copy. So for a copy and an invalidation there are two cases:
 *  - the copy was taken before the memory changed: its transaction has ended, one way or the other,
 *    before the invalidation is written, which then removes what was committed;
 *  - it was taken after: it does not contain the old value.
 * That holds for a key and for a name that many entries share alike; a soft invalidation is written
 * like a hard one, and what memory holds marked as stale is never copied out.
 * A put that is to be durable carries its entry with it and may reach the inbox after a later
 * invalidation of its key. It is therefore compared with memory when it is written: only an entry
 * that memory still holds goes to disk. A transaction that fails is rolled back whole and what it
 * took counts as unsaved again. An invalidation that fails or was refused makes the next round
 * write that cache anew: its rows are dropped in the same transaction that begins to write what
 * memory holds.
 *
 * When most of what there is is to be written, it is written into a second file, beside the first,
 * which then takes its place. Meanwhile each group of invalidations goes into both, each time after
 * the portions committed before it: so the above holds in each of the two.
 *
 * Transactions are bounded, and the inbox is looked at after each, so that a clear waits for one
 * portion and not for the round. */
#include "server/snapshotter_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"

#define PORTION_ROWS     32768u
#define PORTION_BYTES    (8u << 20)
#define SPARE_ROWS       65536u /* dead ones that are let lie */
#define WHOLE_MIN        32768u /* fewer entries are not worth a file of their own */
#define IDLE_MS          60000  /* with nothing to save: time is recorded, rows that are over go */
#define WALL_SET_BACK_MS 1000

/* One pass over all caches. */
struct round {
    struct hgi_now now; /* of the present transaction */
    enum hg_status status;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    bool is_begun;
    bool is_renewed; /* the file was begun anew under this round: do it over */
    bool is_whole;   /* it writes everything into the file beside */
    size_t rows;     /* in the present transaction */
    size_t bytes;
    uint64_t entries; /* in all */
    uint64_t total;   /* about as many will be */
    uint64_t commits;
};

static uint64_t high_water(const struct hgi_snapshotter *snapshotter)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < snapshotter->cache_count; i++) {
        uint64_t generation = hgi_cache_generation(snapshotter->caches[i].cache);

        highest = generation > highest ? generation : highest;
    }
    return highest;
}

static void ask_rewrite(struct hgi_snapshotter *snapshotter, size_t cache)
{
    hgi_lock_store(&snapshotter->lock);
    snapshotter->must_rewrite[cache] = true;
    hgi_unlock_store(&snapshotter->lock);
}

/* True once after each ask. */
static bool is_rewrite_asked(struct hgi_snapshotter *snapshotter, size_t cache)
{
    bool is_asked;

    hgi_lock_store(&snapshotter->lock);
    is_asked = snapshotter->must_rewrite[cache];
    snapshotter->must_rewrite[cache] = false;
    hgi_unlock_store(&snapshotter->lock);
    return is_asked;
}

static void note_failure(struct hgi_snapshotter *snapshotter, const char *sentence, bool is_round,
                         uint64_t durable_errors)
{
    bool was_degraded;

    hgi_lock_store(&snapshotter->lock);
    was_degraded = snapshotter->stats.is_degraded;
    snapshotter->stats.is_degraded = true;
    snapshotter->stats.save_errors += is_round;
    snapshotter->stats.durable_errors += durable_errors;
    snprintf(snapshotter->stats.last_error, sizeof(snapshotter->stats.last_error), "%s", sentence);
    hgi_unlock_store(&snapshotter->lock);
    if (!was_degraded) {
        hgi_log(HG_LOG_ERROR, "%s; serving goes on from memory", sentence);
    }
}

static bool is_in_memory(struct hgi_snapshotter *snapshotter, const struct hgi_durable *durable,
                         const struct hgi_now *now)
{
    struct hgi_table *table = hgi_cache_table(snapshotter->caches[durable->cache].cache);
    struct hgi_found_entry found;

    return hgi_table_lookup(table, durable->entry.key, -1, now, &snapshotter->scratch, &found) !=
               HGI_MISS &&
           found.born == durable->entry.born && !found.is_softened;
}

static enum hg_status apply(struct hgi_snapshotter *snapshotter, struct hgi_snapshot *snapshot,
                            const struct hgi_durable *durable, const struct hgi_now *now,
                            char *ret_sentence)
{
    struct hgi_snapshotter_cache *cache = &snapshotter->caches[durable->cache];
    enum hg_status status;

    switch (durable->kind) {
    case HGI_DURABLE_CLEAR:
        return hgi_snapshot_clear(snapshot, cache->name, durable->generation, ret_sentence);
    case HGI_DURABLE_FORGET:
        status = hgi_snapshot_forget(snapshot, cache->name, durable->slices, durable->key_count,
                                     durable->generation, ret_sentence);
        for (size_t i = 0; status == HG_OK && i < durable->tag_count; i++) {
            struct hgi_snapshot_tag tag = {.name = durable->slices[durable->key_count + i],
                                           .generation = durable->generation};

            status = hgi_snapshot_forget_tags(snapshot, cache->name, &tag, 1, ret_sentence);
        }
        return status;
    case HGI_DURABLE_PUT:
        status = hgi_snapshot_forget(snapshot, cache->name, &durable->entry.key, 1,
                                     durable->entry.born, ret_sentence);
        if (status == HG_OK && is_in_memory(snapshotter, durable, now)) {
            status = hgi_snapshot_put(snapshot, cache->name, &durable->entry, now, ret_sentence);
            cache->rows_max++;
        }
        return status;
    case HGI_DURABLE_SAVE:
    case HGI_DURABLE_VERIFY:
        break;
    }
    hgi_bug(__FILE__, __LINE__, "a save or a look is no durable write");
}

static enum hg_status write_group(struct hgi_snapshotter *snapshotter,
                                  struct hgi_snapshot *snapshot, const struct hgi_node *group,
                                  char *ret_sentence)
{
    struct hgi_now now = hgi_clock_now();
    enum hg_status status = hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_DURABLE, &now, ret_sentence);

    for (struct hgi_node *node = group->next; status == HG_OK && node != group; node = node->next) {
        status = apply(snapshotter, snapshot, HGI_CONTAINER(node, struct hgi_durable, node), &now,
                       ret_sentence);
    }
    return status == HG_OK
               ? hgi_snapshot_commit(snapshot, high_water(snapshotter), &now, ret_sentence)
               : status;
}

/* Writes all of the group in one transaction, and answers each: they share the disk's one sync. */
static void do_group(struct hgi_snapshotter *snapshotter, struct hgi_node *group)
{
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX] = "";
    struct hgi_saved saved = {.sentence = ""};
    enum hg_status status = write_group(snapshotter, snapshotter->snapshot, group, sentence);
    uint64_t count = 0;

    /* Whatever became of it there: what was already copied beside it may be what it covers. */
    if (snapshotter->beside && write_group(snapshotter, snapshotter->beside, group,
                                           snapshotter->beside_sentence) != HG_OK) {
        hgi_snapshot_close(&snapshotter->beside);
    }
    for (const struct hgi_node *node = group->next; node != group; node = node->next) {
        count++;
    }
    if (status == HG_OK) {
        hgi_lock_store(&snapshotter->lock);
        snapshotter->stats.durable_ops += count;
        snapshotter->stats.durable_commits++;
        hgi_unlock_store(&snapshotter->lock);
    } else {
        note_failure(snapshotter, sentence, false, count);
        saved.status = status;
        saved.sentence = sentence;
    }
    for (struct hgi_node *node = hgi_list_pop_front(group); node;
         node = hgi_list_pop_front(group)) {
        struct hgi_durable *durable = HGI_CONTAINER(node, struct hgi_durable, node);

        if (status != HG_OK) {
            ask_rewrite(snapshotter, durable->cache);
        }
        hgi_durable_end(durable, &saved);
    }
}

/* Where an operation of this kind waits: for a group, for a round, or for the next look. */
static struct hgi_node *queue_of(struct hgi_snapshotter *snapshotter, struct hgi_node *group,
                                 enum hgi_durable_kind kind)
{
    return kind == HGI_DURABLE_SAVE     ? &snapshotter->saves
           : kind == HGI_DURABLE_VERIFY ? &snapshotter->verifies
                                        : group;
}

/* Does what is in the inbox; the rest is kept for later. Between transactions only. */
static void serve(struct hgi_snapshotter *snapshotter)
{
    struct hgi_node list;
    struct hgi_node group;

    if (!hgi_snapshotter_take(snapshotter, &list)) {
        return;
    }
    hgi_list_init(&group);
    for (struct hgi_node *node = hgi_list_pop_front(&list); node;
         node = hgi_list_pop_front(&list)) {
        enum hgi_durable_kind kind = HGI_CONTAINER(node, struct hgi_durable, node)->kind;

        hgi_list_push_back(queue_of(snapshotter, &group, kind), node);
    }
    if (!hgi_list_is_empty(&group)) {
        do_group(snapshotter, &group);
    }
}

/* Where this round writes; NULL: the file beside was given up. */
static struct hgi_snapshot *target(struct hgi_snapshotter *snapshotter, const struct round *round)
{
    return round->is_whole ? snapshotter->beside : snapshotter->snapshot;
}

static bool begin(struct hgi_snapshotter *snapshotter, struct round *round)
{
    struct hgi_snapshot *snapshot = target(snapshotter, round);
    uint64_t renewals;

    if (round->is_begun) {
        return true;
    }
    if (!snapshot) {
        round->status = HG_UNAVAILABLE;
        memcpy(round->sentence, snapshotter->beside_sentence, sizeof(round->sentence));
        return false;
    }
    round->now = hgi_clock_now();
    round->status = hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_BEHIND, &round->now, round->sentence);
    if (round->status != HG_OK) {
        return false;
    }
    round->is_begun = true;
    renewals = hgi_snapshot_renewals(snapshotter->snapshot);
    if (!round->is_whole && renewals != snapshotter->renewals) {
        /* What earlier rounds, or earlier portions of this one, wrote is not in this file. */
        snapshotter->renewals = renewals;
        round->is_renewed = true;
        round->status = HG_ABORTED;
        return false;
    }
    return true;
}

static bool commit(struct hgi_snapshotter *snapshotter, struct round *round)
{
    round->is_begun = false;
    round->status = hgi_snapshot_commit(target(snapshotter, round), high_water(snapshotter),
                                        &round->now, round->sentence);
    if (round->status != HG_OK) {
        return false;
    }
    round->rows = 0;
    round->bytes = 0;
    round->commits++;
    snapshotter->last_commit_ms = round->now.boot_ms;
    return true;
}

/* Drops the cache's rows if that was asked for, if some of them are of entries that answers not
 * kept have made wrong, or if dead ones have piled up. */
static bool rewrite_if_needed(struct hgi_snapshotter *snapshotter, struct round *round,
                              size_t index)
{
    struct hgi_snapshotter_cache *cache = &snapshotter->caches[index];
    uint64_t bound = 2 * (uint64_t)hgi_cache_policy(cache->cache)->max_entries;
    bool is_discarded = hgi_table_take_discarded(hgi_cache_table(cache->cache));
    bool is_needed = is_rewrite_asked(snapshotter, index) || is_discarded;

    if (cache->rows_max > bound) {
        round->status = hgi_snapshot_rows(snapshotter->snapshot, cache->name, &cache->rows_max,
                                          round->sentence);
        if (round->status != HG_OK) {
            round->is_begun = false;
            cache->is_rewriting = is_needed;
            return false;
        }
        is_needed = is_needed || cache->rows_max > bound;
    }
    if (!is_needed) {
        return true;
    }
    cache->is_rewriting = true;
    if (!begin(snapshotter, round)) {
        return false;
    }
    round->status = hgi_snapshot_drop_rows(snapshotter->snapshot, cache->name, round->sentence);
    if (round->status != HG_OK) {
        round->is_begun = false;
    }
    cache->rows_max = 0;
    hgi_table_mark_unsaved(hgi_cache_table(cache->cache));
    return round->status == HG_OK;
}

/* Puts one batch into the transaction, and ends that when it is long enough. */
static bool save_batch(struct hgi_snapshotter *snapshotter, struct round *round,
                       struct hgi_snapshotter_cache *cache)
{
    struct hgi_batch *batch = &snapshotter->batch;

    if (!begin(snapshotter, round)) {
        return false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        round->status = hgi_snapshot_put(target(snapshotter, round), cache->name,
                                         &batch->entries[i], &round->now, round->sentence);
        if (round->status != HG_OK) {
            round->is_begun = false;
            return false;
        }
    }
    cache->rows_max += batch->count;
    round->entries += batch->count;
    round->rows += batch->count;
    round->bytes += batch->bytes_len;
    hgi_snapshotter_note_work(snapshotter, HGI_SNAPSHOTTER_SAVES, round->entries, round->total);
    if (round->rows >= PORTION_ROWS || round->bytes >= PORTION_BYTES) {
        if (!commit(snapshotter, round)) {
            return false;
        }
        serve(snapshotter);
    }
    return true;
}

static bool save_cache(struct hgi_snapshotter *snapshotter, struct round *round,
                       struct hgi_snapshotter_cache *cache)
{
    struct hgi_table *table = hgi_cache_table(cache->cache);
    struct hgi_table_stats stats;
    uint64_t left;

    hgi_table_stats(table, &stats);
    /* What comes in while we write may make a round longer, not endless. */
    left = 2 * stats.entries + PORTION_ROWS;
    while (left > 0 && hgi_table_take_unsaved(table, &snapshotter->batch)) {
        size_t count = snapshotter->batch.count;

        left -= count < left ? count : left;
        if (!save_batch(snapshotter, round, cache)) {
            return false;
        }
    }
    return true;
}

/* Most of it is to be written anyway, or most of what is written is dead, or all of it is written
 * as it should not be any more, or is damaged. *ret_total: entries that will be written. */
static bool is_whole_better(struct hgi_snapshotter *snapshotter, uint64_t *ret_total)
{
    bool is_whole;

    uint64_t entries = 0;
    uint64_t unsaved = 0;
    uint64_t rows = 0;

    for (size_t i = 0; i < snapshotter->cache_count; i++) {
        struct hgi_table_stats stats;

        hgi_table_stats(hgi_cache_table(snapshotter->caches[i].cache), &stats);
        entries += stats.entries;
        unsaved += stats.unsaved;
        rows += snapshotter->caches[i].rows_max;
    }
    is_whole =
        !snapshotter->is_whole_barred &&
        (hgi_snapshot_is_outdated(snapshotter->snapshot) || snapshotter->is_damaged ||
         (unsaved >= WHOLE_MIN && 2 * unsaved >= entries) || rows > 2 * entries + SPARE_ROWS);
    *ret_total = is_whole ? entries : unsaved;
    return is_whole;
}

/* Everything into a file beside the present one, which then takes its place. */
static bool save_whole(struct hgi_snapshotter *snapshotter, struct round *round)
{
    round->is_whole = true;
    round->status =
        hgi_snapshot_open_beside(snapshotter->snapshot, &snapshotter->beside, round->sentence);
    for (size_t i = 0; i < snapshotter->cache_count && round->status == HG_OK; i++) {
        struct hgi_snapshotter_cache *cache = &snapshotter->caches[i];
        bool is_discarded = hgi_table_take_discarded(hgi_cache_table(cache->cache));

        cache->is_rewriting = is_rewrite_asked(snapshotter, i) || is_discarded;
        cache->rows_max = 0;
        hgi_table_mark_unsaved(hgi_cache_table(cache->cache));
        if (!save_cache(snapshotter, round, cache)) {
            return false;
        }
    }
    if (round->status != HG_OK || !begin(snapshotter, round) || !commit(snapshotter, round)) {
        return false;
    }
    round->status =
        hgi_snapshot_replace(snapshotter->snapshot, &snapshotter->beside, round->sentence);
    round->is_whole = round->status != HG_OK;
    snapshotter->is_damaged = snapshotter->is_damaged && round->is_whole;
    return !round->is_whole;
}

/* What was invalidated leaves the file: one look at all of it, a portion with each commit. */
static bool purge(struct hgi_snapshotter *snapshotter, struct round *round)
{
    uint64_t purges = hgi_snapshot_purges(snapshotter->snapshot);

    while (hgi_snapshot_is_purging(snapshotter->snapshot) &&
           hgi_snapshot_purges(snapshotter->snapshot) == purges) {
        if (!begin(snapshotter, round) || !commit(snapshotter, round)) {
            return false;
        }
        serve(snapshotter);
    }
    return true;
}

/* What an age on disk is worth depends on the wall clock standing still against the boot clock. */
static void look_at_wall_clock(struct hgi_snapshotter *snapshotter)
{
    struct hgi_now now = hgi_clock_now();
    int64_t ahead_ms = now.wall_ms - now.boot_ms;

    if (ahead_ms < snapshotter->wall_ahead_ms - WALL_SET_BACK_MS) {
        for (size_t i = 0; i < snapshotter->cache_count; i++) {
            ask_rewrite(snapshotter, i);
        }
    }
    snapshotter->wall_ahead_ms = ahead_ms;
}

static bool save_all(struct hgi_snapshotter *snapshotter, struct round *round, bool is_forced)
{
    bool is_wanted = is_forced || snapshotter->must_save_all;

    if (snapshotter->must_save_all) {
        snapshotter->must_save_all = false;
        for (size_t i = 0; i < snapshotter->cache_count; i++) {
            hgi_table_mark_unsaved(hgi_cache_table(snapshotter->caches[i].cache));
        }
    }
    if (is_whole_better(snapshotter, &round->total)) {
        if (!save_whole(snapshotter, round)) {
            return false;
        }
    } else {
        for (size_t i = 0; i < snapshotter->cache_count; i++) {
            if (!rewrite_if_needed(snapshotter, round, i) ||
                !save_cache(snapshotter, round, &snapshotter->caches[i])) {
                return false;
            }
        }
    }
    is_wanted = is_wanted || hgi_clock_now().boot_ms - snapshotter->last_commit_ms >= IDLE_MS;
    if (is_wanted && round->commits == 0 && !begin(snapshotter, round)) {
        return false;
    }
    if (round->is_begun && !commit(snapshotter, round)) {
        return false;
    }
    if (!purge(snapshotter, round)) {
        return false;
    }
    if (round->commits > 0) {
        round->status = hgi_snapshot_checkpoint(snapshotter->snapshot, round->sentence);
    }
    return round->status == HG_OK;
}

static void note_round(struct hgi_snapshotter *snapshotter, struct round *round, bool is_done)
{
    struct hgi_snapshot_facts file;
    bool was_degraded = false;

    if (!is_done) {
        hgi_snapshot_close(&snapshotter->beside);
        hgi_snapshot_rollback(snapshotter->snapshot);
        snapshotter->must_save_all = true;
    }
    snapshotter->is_whole_barred = !is_done && round->is_whole;
    for (size_t i = 0; i < snapshotter->cache_count; i++) {
        if (!is_done && snapshotter->caches[i].is_rewriting) {
            ask_rewrite(snapshotter, i);
        }
        snapshotter->caches[i].is_rewriting = false;
    }
    if (!is_done) {
        if (!round->is_renewed) {
            note_failure(snapshotter, round->sentence, true, 0);
        }
        return;
    }
    hgi_snapshot_facts(snapshotter->snapshot, &file);
    hgi_lock_store(&snapshotter->lock);
    snapshotter->stats.file = file;
    if (round->commits > 0) {
        was_degraded = snapshotter->stats.is_degraded;
        snapshotter->stats.is_degraded = false;
        snapshotter->stats.saves++;
        snapshotter->stats.rows += round->entries;
    }
    hgi_unlock_store(&snapshotter->lock);
    if (was_degraded) {
        hgi_log(HG_LOG_INFO, "the snapshot works again, %llu entries saved",
                (unsigned long long)round->entries);
    }
}

/* A round, and the answer to everybody who asked for one before it began. */
static void do_round(struct hgi_snapshotter *snapshotter, bool is_forced)
{
    struct hgi_now start = hgi_clock_now();
    struct hgi_saved saved = {.sentence = ""};
    struct hgi_node asked;
    struct round round;
    int tries = 0;

    hgi_list_init(&asked);
    hgi_list_move_all(&snapshotter->saves, &asked);
    look_at_wall_clock(snapshotter);
    do {
        memset(&round, 0, sizeof(round));
        note_round(snapshotter, &round, save_all(snapshotter, &round, is_forced));
    } while (round.is_renewed && ++tries < 3);
    saved.status = round.is_renewed ? HG_UNAVAILABLE : round.status;
    saved.sentence = round.is_renewed ? "the disk keeps failing to sync" : round.sentence;
    saved.entries = round.entries;
    saved.duration_ms = hgi_clock_now().boot_ms - start.boot_ms;
    for (struct hgi_node *node = hgi_list_pop_front(&asked); node;
         node = hgi_list_pop_front(&asked)) {
        hgi_durable_end(HGI_CONTAINER(node, struct hgi_durable, node), &saved);
    }
    hgi_batch_reset(&snapshotter->batch); /* credentials */
    hgi_snapshotter_note_work(snapshotter, HGI_SNAPSHOTTER_RESTS, 0, 0);
    snapshotter->next_round_ms = hgi_clock_now().boot_ms + snapshotter->interval_ms;
}

/* Sleeps until there is something to do. True: the last time. */
static bool wait_for_work(struct hgi_snapshotter *snapshotter)
{
    bool is_stopping;

    hgi_lock_store(&snapshotter->lock);
    while (!snapshotter->is_stopping && hgi_list_is_empty(&snapshotter->inbox) &&
           hgi_list_is_empty(&snapshotter->saves) && !hgi_snapshotter_is_verifying(snapshotter)) {
        int64_t left_ms = snapshotter->next_round_ms - hgi_clock_now().boot_ms;

        if (left_ms <= 0) {
            break;
        }
        (void)hgi_cond_wait(&snapshotter->wake, &snapshotter->lock, left_ms);
    }
    is_stopping = snapshotter->is_stopping;
    hgi_unlock_store(&snapshotter->lock);
    return is_stopping;
}

void hgi_snapshotter_run(void *arg)
{
    struct hgi_snapshotter *snapshotter = arg;
    bool is_last = false;

    while (!is_last) {
        bool is_asked;

        is_last = wait_for_work(snapshotter);
        serve(snapshotter); /* after is_stopping nothing more can come in */
        is_asked = !hgi_list_is_empty(&snapshotter->saves);
        if (is_last || is_asked || hgi_clock_now().boot_ms >= snapshotter->next_round_ms) {
            do_round(snapshotter, is_last || is_asked);
        } else if (hgi_snapshotter_is_verifying(snapshotter)) {
            hgi_snapshotter_verify_next(snapshotter);
        }
    }
    hgi_snapshotter_stop_verifying(snapshotter);
    HGI_BUG_ON(!hgi_list_is_empty(&snapshotter->saves));
}
