/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper.h"

#include "base/check.h"
#include "base/clock.h"
#include "client/client.h"

/* A renewal may be lost or late twice before the lease is. */
#define RENEWALS_PER_TTL 3u

void hgi_keeper_init(struct hgi_keeper *keeper, struct hg_client *client)
{
    keeper->client = client;
    hgi_lock_init(&keeper->lock);
    hgi_cond_init(&keeper->renewals);
    hgi_cond_init(&keeper->renewed);
    hgi_cond_init(&keeper->errands);
    hgi_list_init(&keeper->leases);
    hgi_list_init(&keeper->queue);
}

void hgi_keeper_deinit(struct hgi_keeper *keeper)
{
    hgi_cond_deinit(&keeper->renewals);
    hgi_cond_deinit(&keeper->renewed);
    hgi_cond_deinit(&keeper->errands);
    hgi_lock_deinit(&keeper->lock);
}

/* ---- leases ---- */

static int64_t next_due_ms(const struct hgi_kept_lease *kept, int64_t now_ms)
{
    uint64_t every_ms = kept->leased.lease.ttl_ms / RENEWALS_PER_TTL;

    if (every_ms > HG_TIMEOUT_MAX_MS) {
        every_ms = HG_TIMEOUT_MAX_MS;
    }
    return now_ms + (every_ms ? (int64_t)every_ms : 1);
}

/* NULL: none for *ret_wait_ms (-1: until woken). */
static struct hgi_kept_lease *due_locked(struct hgi_keeper *keeper, int64_t *ret_wait_ms)
    HGI_REQUIRES(keeper)
{
    int64_t now_ms = hgi_clock_now().boot_ms;
    int64_t first_ms = INT64_MAX;

    for (struct hgi_node *node = keeper->leases.next; node != &keeper->leases; node = node->next) {
        struct hgi_kept_lease *kept = HGI_CONTAINER(node, struct hgi_kept_lease, node);

        if (kept->due_ms >= kept->until_ms) {
            continue;
        }
        if (kept->due_ms <= now_ms) {
            kept->due_ms = next_due_ms(kept, now_ms);
            return kept;
        }
        if (kept->due_ms < first_ms) {
            first_ms = kept->due_ms;
        }
    }
    *ret_wait_ms = first_ms == INT64_MAX ? -1 : first_ms - now_ms;
    return NULL;
}

/* What came of it the fulfilment will say. */
static void renewed(void *arg, const struct hg_error *error, const struct hg_renewed *reply)
{
    (void)arg;
    (void)error;
    (void)reply;
}

static void renew(void *arg)
{
    struct hgi_keeper *keeper = arg;

    hgi_lock_keeper(&keeper->lock);
    while (!keeper->is_closing) {
        int64_t wait_ms;
        struct hgi_kept_lease *kept = due_locked(keeper, &wait_ms);
        bool is_begun;

        if (!kept) {
            hgi_cond_wait(&keeper->renewals, &keeper->lock, wait_ms);
            continue;
        }
        kept->is_renewing = true;
        hgi_unlock_keeper(&keeper->lock);
        is_begun =
            hg_client_renew_async(keeper->client, &kept->leased, renewed, NULL, NULL) == HG_OK;
        (void)is_begun; /* else at the next third */
        hgi_lock_keeper(&keeper->lock);
        kept->is_renewing = false;
        hgi_cond_wake_all(&keeper->renewed);
    }
    hgi_unlock_keeper(&keeper->lock);
}

bool hgi_keeper_hold(struct hgi_keeper *keeper, struct hgi_kept_lease *kept)
{
    bool is_held;

    hgi_list_init(&kept->node);
    kept->is_renewing = false;
    hgi_lock_keeper(&keeper->lock);
    is_held = !keeper->is_closing &&
              (keeper->renewing.is_started ||
               hgi_client_start_thread(&keeper->renewing, "hg-leases", renew, keeper));
    if (is_held) {
        kept->due_ms = next_due_ms(kept, hgi_clock_now().boot_ms);
        hgi_list_push_back(&keeper->leases, &kept->node);
        hgi_cond_wake_one(&keeper->renewals);
    }
    hgi_unlock_keeper(&keeper->lock);
    return is_held;
}

void hgi_keeper_let_go(struct hgi_keeper *keeper, struct hgi_kept_lease *kept)
{
    hgi_lock_keeper(&keeper->lock);
    while (kept->is_renewing) {
        hgi_cond_wait(&keeper->renewed, &keeper->lock, -1);
    }
    hgi_list_remove(&kept->node);
    hgi_unlock_keeper(&keeper->lock);
}

/* ---- errands ---- */

static void work(void *arg)
{
    struct hgi_keeper *keeper = arg;

    hgi_lock_keeper(&keeper->lock);
    while (!keeper->is_closing) {
        struct hgi_node *node = hgi_list_pop_front(&keeper->queue);

        if (!node) {
            keeper->idle_count++;
            hgi_cond_wait(&keeper->errands, &keeper->lock, -1);
            keeper->idle_count--;
            continue;
        }
        keeper->queue_count--;
        hgi_unlock_keeper(&keeper->lock);
        HGI_CONTAINER(node, struct hgi_errand, node)
            ->run(HGI_CONTAINER(node, struct hgi_errand, node), false);
        hgi_lock_keeper(&keeper->lock);
    }
    hgi_unlock_keeper(&keeper->lock);
}

/* False: there is no worker at all. */
static bool have_worker_locked(struct hgi_keeper *keeper) HGI_REQUIRES(keeper)
{
    if (keeper->idle_count <= keeper->queue_count && keeper->worker_count < HGI_KEEPER_WORKERS &&
        hgi_client_start_thread(&keeper->workers[keeper->worker_count], "hg-load", work, keeper)) {
        keeper->worker_count++;
    }
    return keeper->worker_count > 0;
}

bool hgi_keeper_send(struct hgi_keeper *keeper, struct hgi_errand *errand)
{
    bool is_sent;

    hgi_list_init(&errand->node);
    hgi_lock_keeper(&keeper->lock);
    is_sent = !keeper->is_closing && keeper->queue_count < HGI_KEEPER_QUEUE_MAX &&
              have_worker_locked(keeper);
    if (is_sent) {
        hgi_list_push_back(&keeper->queue, &errand->node);
        keeper->queue_count++;
        hgi_cond_wake_one(&keeper->errands);
    }
    hgi_unlock_keeper(&keeper->lock);
    return is_sent;
}

void hgi_keeper_stop(struct hgi_keeper *keeper)
{
    struct hgi_node *node;

    hgi_lock_keeper(&keeper->lock);
    keeper->is_closing = true;
    hgi_cond_wake_all(&keeper->renewals);
    hgi_cond_wake_all(&keeper->errands);
    hgi_unlock_keeper(&keeper->lock);
    /* Nothing is started or queued from here on. */
    hgi_thread_join(&keeper->renewing);
    for (size_t i = 0; i < HGI_KEEPER_WORKERS; i++) {
        hgi_thread_join(&keeper->workers[i]);
    }
    while ((node = hgi_list_pop_front(&keeper->queue)) != NULL) {
        struct hgi_errand *errand = HGI_CONTAINER(node, struct hgi_errand, node);

        errand->run(errand, true);
    }
}
