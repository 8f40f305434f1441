/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include "base/check.h"

#define EVENT_OVERHEAD 64u /* of an event in a message, beyond its name and key */

/* Keys lie one behind the other in a ring of bytes, in the order of their events; positions only
 * grow. Every event has one, also without a key, so what a new key overwrites is always a run of
 * the oldest events. */
struct slot {
    struct hgi_change change;
    int64_t at_ms;
    uint64_t key_at;
    size_t key_len;
};

struct hgi_journal {
    struct hgi_lock lock;
    struct slot *slots HGI_GUARDED_BY(journal);
    unsigned char *keys HGI_GUARDED_BY(journal);
    uint64_t next_number HGI_GUARDED_BY(journal);
    uint64_t first_number HGI_GUARDED_BY(journal); /* oldest kept; next_number: none is */
    uint64_t keys_end HGI_GUARDED_BY(journal);
    struct hgi_node watches HGI_GUARDED_BY(journal);
    size_t watch_count HGI_GUARDED_BY(journal);
    bool is_closed HGI_GUARDED_BY(journal);
};

struct hgi_journal *hgi_journal_create(void) HGI_UNCHECKED
{
    struct hgi_journal *journal = hgi_alloc(&hgi_heap, sizeof(*journal));

    if (!journal) {
        return NULL;
    }
    /* Not zeroed: what is never used costs no memory. */
    journal->slots =
        hgi_resize(&hgi_heap, NULL, HGI_JOURNAL_EVENTS_MAX * sizeof(journal->slots[0]));
    journal->keys = hgi_resize(&hgi_heap, NULL, HGI_JOURNAL_KEYS_BYTES);
    if (!journal->slots || !journal->keys) {
        hgi_free(&hgi_heap, journal->keys);
        hgi_free(&hgi_heap, journal->slots);
        hgi_free(&hgi_heap, journal);
        return NULL;
    }
    journal->next_number = 1;
    journal->first_number = 1;
    hgi_list_init(&journal->watches);
    hgi_lock_init(&journal->lock);
    return journal;
}

void hgi_journal_destroy(struct hgi_journal **journal) HGI_UNCHECKED
{
    struct hgi_journal *old = *journal;

    if (!old) {
        return;
    }
    HGI_BUG_ON(old->watch_count != 0);
    explicit_bzero(old->keys, old->keys_end < HGI_JOURNAL_KEYS_BYTES ? (size_t)old->keys_end
                                                                     : HGI_JOURNAL_KEYS_BYTES);
    hgi_lock_deinit(&old->lock);
    hgi_free(&hgi_heap, old->keys);
    hgi_free(&hgi_heap, old->slots);
    hgi_free(&hgi_heap, old);
    *journal = NULL;
}

static struct slot *slot_of(struct hgi_journal *journal, uint64_t number) HGI_REQUIRES(journal)
{
    return &journal->slots[number % HGI_JOURNAL_EVENTS_MAX];
}

/* Where `len` bytes in one piece go. */
static uint64_t place_key(const struct hgi_journal *journal, size_t len) HGI_REQUIRES(journal)
{
    uint64_t left = HGI_JOURNAL_KEYS_BYTES - journal->keys_end % HGI_JOURNAL_KEYS_BYTES;

    return left < len ? journal->keys_end + left : journal->keys_end;
}

static void append_one(struct hgi_journal *journal, const struct hgi_change *change,
                       struct hg_slice key, int64_t at_ms) HGI_REQUIRES(journal)
{
    uint64_t key_at = place_key(journal, key.len);
    uint64_t keys_end = key_at + key.len;

    HGI_BUG_ON(key.len > HGI_JOURNAL_KEYS_BYTES);
    if (journal->next_number - journal->first_number == HGI_JOURNAL_EVENTS_MAX) {
        journal->first_number++;
    }
    while (journal->first_number < journal->next_number &&
           keys_end - slot_of(journal, journal->first_number)->key_at > HGI_JOURNAL_KEYS_BYTES) {
        journal->first_number++;
    }
    if (key.len) {
        memcpy(journal->keys + key_at % HGI_JOURNAL_KEYS_BYTES, key.data, key.len);
    }
    *slot_of(journal, journal->next_number) =
        (struct slot){.change = *change, .at_ms = at_ms, .key_at = key_at, .key_len = key.len};
    journal->keys_end = keys_end;
    journal->next_number++;
}

static void unlink_watch(struct hgi_journal *journal, struct hgi_watch *watch) HGI_REQUIRES(journal)
{
    hgi_list_remove(&watch->node);
    watch->is_waiting = false;
    journal->watch_count--;
}

static void take_watches(struct hgi_journal *journal, int64_t due_ms, struct hgi_node *ret_taken)
    HGI_REQUIRES(journal)
{
    struct hgi_node *next;

    for (struct hgi_node *node = journal->watches.next; node != &journal->watches; node = next) {
        struct hgi_watch *watch = HGI_CONTAINER(node, struct hgi_watch, node);

        next = node->next;
        if (watch->due_ms <= due_ms) {
            unlink_watch(journal, watch);
            hgi_list_push_back(ret_taken, &watch->node);
        }
    }
}

/* Taken out of the journal, they are nobody else's: each is told once. */
static void tell(struct hgi_node *taken, bool is_closed) HGI_EXCLUDES(journal)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(taken)) != NULL) {
        struct hgi_watch *watch = HGI_CONTAINER(node, struct hgi_watch, node);

        watch->done(watch, is_closed);
    }
}

void hgi_journal_append(struct hgi_journal *journal, const struct hgi_change *change,
                        const struct hg_slice *keys, size_t key_count, int64_t at_ms)
{
    struct hgi_node taken;

    hgi_list_init(&taken);
    hgi_lock_journal(&journal->lock);
    if (key_count == 0) {
        append_one(journal, change, hg_slice_of(NULL, 0), at_ms);
    }
    for (size_t i = 0; i < key_count; i++) {
        append_one(journal, change, keys[i], at_ms);
    }
    take_watches(journal, INT64_MAX, &taken);
    hgi_unlock_journal(&journal->lock);
    tell(&taken, false);
}

uint64_t hgi_journal_last(struct hgi_journal *journal)
{
    uint64_t last;

    hgi_lock_journal(&journal->lock);
    last = journal->next_number - 1;
    hgi_unlock_journal(&journal->lock);
    return last;
}

size_t hgi_journal_watching(struct hgi_journal *journal)
{
    size_t count;

    hgi_lock_journal(&journal->lock);
    count = journal->watch_count;
    hgi_unlock_journal(&journal->lock);
    return count;
}

/* How many events from `number` on fit. */
static size_t count_fitting(struct hgi_journal *journal, uint64_t number, size_t max,
                            size_t message_bytes, size_t *ret_key_bytes) HGI_REQUIRES(journal)
{
    size_t key_bytes = 0;
    size_t bytes = 0;
    size_t count = 0;

    for (; count < max && number + count < journal->next_number; count++) {
        const struct slot *slot = slot_of(journal, number + count);

        bytes += slot->key_len + strlen(slot->change.name) + EVENT_OVERHEAD;
        if (count > 0 && bytes > message_bytes) {
            break;
        }
        key_bytes += slot->key_len;
    }
    *ret_key_bytes = key_bytes;
    return count;
}

static bool copy_events(struct hgi_journal *journal, uint64_t number, size_t count,
                        size_t key_bytes, struct hgi_arena *arena, struct hgi_event **ret_events)
    HGI_REQUIRES(journal)
{
    struct hgi_event *events = hgi_arena_alloc(arena, count * sizeof(*events));
    unsigned char *keys = hgi_arena_alloc(arena, key_bytes);

    if (!events || !keys) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct slot *slot = slot_of(journal, number + i);

        if (slot->key_len) {
            memcpy(keys, journal->keys + slot->key_at % HGI_JOURNAL_KEYS_BYTES, slot->key_len);
        }
        events[i] = (struct hgi_event){.change = slot->change,
                                       .number = number + i,
                                       .at_ms = slot->at_ms,
                                       .key = hg_slice_of(keys, slot->key_len)};
        keys += slot->key_len;
    }
    *ret_events = events;
    return true;
}

bool hgi_journal_read(struct hgi_journal *journal, uint64_t after, size_t max, size_t message_bytes,
                      struct hgi_arena *arena, struct hgi_journal_page *ret_page)
{
    struct hgi_journal_page page = {.last = after};
    size_t key_bytes;
    bool is_done = true;

    hgi_lock_journal(&journal->lock);
    /* A number not given out yet is of another server, as good as too old. */
    if (after >= journal->next_number || after + 1 < journal->first_number) {
        page.is_gap = true;
        page.last = journal->next_number - 1;
    } else {
        page.count = count_fitting(journal, after + 1, max, message_bytes, &key_bytes);
        page.last = after + page.count;
        is_done = copy_events(journal, after + 1, page.count, key_bytes, arena, &page.events);
    }
    hgi_unlock_journal(&journal->lock);
    if (is_done) {
        *ret_page = page;
    }
    return is_done;
}

enum hgi_watch_state hgi_journal_watch(struct hgi_journal *journal, uint64_t after,
                                       struct hgi_watch *watch)
{
    enum hgi_watch_state state = HGI_WATCH_WAITING;

    hgi_lock_journal(&journal->lock);
    if (after != journal->next_number - 1) {
        state = HGI_WATCH_READY;
    } else if (journal->is_closed) {
        state = HGI_WATCH_CLOSED;
    } else if (journal->watch_count == HGI_JOURNAL_WATCHES_MAX) {
        state = HGI_WATCH_NO_ROOM;
    } else {
        hgi_list_push_back(&journal->watches, &watch->node);
        watch->is_waiting = true;
        journal->watch_count++;
    }
    hgi_unlock_journal(&journal->lock);
    return state;
}

bool hgi_journal_leave(struct hgi_journal *journal, struct hgi_watch *watch)
{
    bool was_waiting;

    hgi_lock_journal(&journal->lock);
    was_waiting = watch->is_waiting;
    if (was_waiting) {
        unlink_watch(journal, watch);
    }
    hgi_unlock_journal(&journal->lock);
    return was_waiting;
}

void hgi_journal_tick(struct hgi_journal *journal, const struct hgi_now *now)
{
    struct hgi_node taken;

    hgi_list_init(&taken);
    hgi_lock_journal(&journal->lock);
    take_watches(journal, now->boot_ms, &taken);
    hgi_unlock_journal(&journal->lock);
    tell(&taken, false);
}

void hgi_journal_close(struct hgi_journal *journal)
{
    struct hgi_node taken;

    hgi_list_init(&taken);
    hgi_lock_journal(&journal->lock);
    journal->is_closed = true;
    take_watches(journal, INT64_MAX, &taken);
    hgi_unlock_journal(&journal->lock);
    tell(&taken, true);
}
