/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/check.h"
#include "base/thread.h"
#include "hg_test.h"
#include "server/rpc/journal.h"

#define MESSAGE_BYTES (1024u * 1024)
#define LATER         INT64_C(1000000)

static struct hgi_journal *journal;
static struct hgi_arena arena;
static struct hgi_journal_page page;

static void set_up(void)
{
    journal = hgi_journal_create();
    ck_assert_ptr_nonnull(journal);
    hgi_arena_init(&arena, 16u * 1024 * 1024);
}

static void tear_down(void)
{
    hgi_arena_deinit(&arena);
    hgi_journal_destroy(&journal);
    ck_assert_ptr_null(journal);
}

static void append(enum hg_event_kind kind, uint64_t generation, const char *key)
{
    const struct hgi_change change = {.kind = kind, .name = "c", .generation = generation};
    struct hg_slice slice = hg_slice_text(key);

    hgi_journal_append(journal, &change, &slice, key ? 1 : 0, 5000);
}

static void append_many(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        append(HG_EVENT_CLEAR, i, NULL);
    }
}

static void read_after(uint64_t after, size_t max)
{
    ck_assert(hgi_journal_read(journal, after, max, MESSAGE_BYTES, &arena, &page));
}

/* A watch that counts how often it was told. */
struct told {
    struct hgi_watch watch;
    unsigned news;
    unsigned closed;
};

static void on_done(struct hgi_watch *watch, bool is_closed)
{
    struct told *told = HGI_CONTAINER(watch, struct told, watch);

    told->news += !is_closed;
    told->closed += is_closed;
}

static enum hgi_watch_state watch(struct told *told, uint64_t after, int64_t due_ms)
{
    memset(told, 0, sizeof(*told));
    told->watch.due_ms = due_ms;
    told->watch.done = on_done;
    return hgi_journal_watch(journal, after, &told->watch);
}

START_TEST(events_are_read_in_order_with_what_they_were_told)
{
    const struct hgi_change change = {.kind = HG_EVENT_INVALIDATE, .name = "d", .generation = 9};
    const struct hg_slice keys[] = {hg_slice_text("a"), hg_slice_text("bb")};

    set_up();
    append(HG_EVENT_CLEAR, 7, NULL);
    hgi_journal_append(journal, &change, keys, 2, 6000);
    append(HG_EVENT_PUT, 8, "ccc");
    read_after(0, 10);
    ck_assert(!page.is_gap);
    ck_assert_uint_eq(page.count, 4);
    ck_assert_uint_eq(page.last, 4);
    ck_assert_uint_eq(page.events[0].number, 1);
    ck_assert_int_eq(page.events[0].change.kind, HG_EVENT_CLEAR);
    ck_assert_str_eq(page.events[0].change.name, "c");
    ck_assert_uint_eq(page.events[0].change.generation, 7);
    ck_assert_int_eq(page.events[0].at_ms, 5000);
    ck_assert_uint_eq(page.events[0].key.len, 0);
    ck_assert_uint_eq(page.events[2].number, 3);
    ck_assert_int_eq(page.events[2].change.kind, HG_EVENT_INVALIDATE);
    ck_assert_str_eq(page.events[2].change.name, "d");
    ck_assert_int_eq(page.events[2].at_ms, 6000);
    ck_assert_slice_eq(page.events[1].key, "a");
    ck_assert_slice_eq(page.events[2].key, "bb");
    ck_assert_slice_eq(page.events[3].key, "ccc");
    tear_down();
}
END_TEST

START_TEST(pages_continue_where_the_last_one_ended)
{
    set_up();
    append_many(5);
    read_after(0, 2);
    ck_assert_uint_eq(page.count, 2);
    ck_assert_uint_eq(page.last, 2);
    read_after(page.last, 2);
    ck_assert_uint_eq(page.events[0].number, 3);
    read_after(4, 2);
    ck_assert_uint_eq(page.count, 1);
    ck_assert_uint_eq(page.last, 5);
    tear_down();
}
END_TEST

START_TEST(nothing_new_is_no_gap)
{
    set_up();
    read_after(0, 10);
    ck_assert(!page.is_gap);
    ck_assert_uint_eq(page.count, 0);
    ck_assert_uint_eq(page.last, 0);
    append_many(3);
    read_after(3, 10);
    ck_assert(!page.is_gap);
    ck_assert_uint_eq(page.count, 0);
    ck_assert_uint_eq(page.last, 3);
    tear_down();
}
END_TEST

START_TEST(a_number_not_given_out_yet_is_a_gap_that_says_where_to_go_on)
{
    set_up();
    append_many(3);
    read_after(4, 10);
    ck_assert(page.is_gap);
    ck_assert_uint_eq(page.count, 0);
    ck_assert_uint_eq(page.last, 3);
    read_after(UINT64_MAX, 10);
    ck_assert(page.is_gap);
    tear_down();
}
END_TEST

START_TEST(the_ring_keeps_the_newest_and_older_numbers_are_a_gap)
{
    set_up();
    append_many(HGI_JOURNAL_EVENTS_MAX);
    read_after(0, 1);
    ck_assert(!page.is_gap);
    ck_assert_uint_eq(page.events[0].number, 1);
    append_many(10);
    read_after(9, 1);
    ck_assert(page.is_gap);
    ck_assert_uint_eq(page.last, HGI_JOURNAL_EVENTS_MAX + 10);
    read_after(10, 1);
    ck_assert(!page.is_gap);
    ck_assert_uint_eq(page.events[0].number, 11);
    ck_assert_uint_eq(hgi_journal_last(journal), HGI_JOURNAL_EVENTS_MAX + 10);
    tear_down();
}
END_TEST

/* Keys of a length that does not divide the ring's, so that each turn breaks elsewhere; with and
 * without an event that has none in between. */
START_TEST(long_keys_push_out_old_events_and_the_kept_ones_are_whole)
{
    static char key[1001];
    const uint64_t count = 3 * HGI_JOURNAL_KEYS_BYTES / 1000;
    uint64_t number = 0;
    uint64_t kept = 0;

    set_up();
    for (uint64_t i = 0; i < count; i++) {
        memset(key, 'a' + (int)(i % 26), 1000);
        append(HG_EVENT_INVALIDATE, i, key);
        append(HG_EVENT_CLEAR, i, NULL);
    }
    number = 2 * count - 2 * (HGI_JOURNAL_KEYS_BYTES / 1000 + 1);
    read_after(number, 1);
    ck_assert(page.is_gap);
    for (number = 2 * count - 2 * (HGI_JOURNAL_KEYS_BYTES / 1000 - 1); number < 2 * count;
         number++) {
        hgi_arena_reset(&arena, 16u * 1024 * 1024);
        read_after(number, 1);
        ck_assert(!page.is_gap);
        ck_assert_uint_eq(page.count, 1);
        if (page.events[0].change.kind == HG_EVENT_CLEAR) {
            ck_assert_uint_eq(page.events[0].key.len, 0);
            continue;
        }
        memset(key, 'a' + (int)(page.events[0].change.generation % 26), 1000);
        ck_assert_slice_eq(page.events[0].key, key);
        kept++;
    }
    ck_assert_uint_gt(kept, 8000);
    tear_down();
}
END_TEST

START_TEST(a_page_fits_its_message_and_has_at_least_one_event)
{
    static char key[1001];

    set_up();
    memset(key, 'k', 1000);
    for (int i = 0; i < 10; i++) {
        append(HG_EVENT_INVALIDATE, 1, key);
    }
    ck_assert(hgi_journal_read(journal, 0, 10, 3300, &arena, &page));
    ck_assert_uint_eq(page.count, 3);
    ck_assert_uint_eq(page.last, 3);
    ck_assert(hgi_journal_read(journal, 3, 10, 10, &arena, &page));
    ck_assert_uint_eq(page.count, 1);
    tear_down();
}
END_TEST

START_TEST(a_full_arena_is_told_and_changes_nothing)
{
    struct hgi_journal_page untouched = {.last = 77};

    set_up();
    append(HG_EVENT_PUT, 1, "k");
    hgi_arena_reset(&arena, 8);
    ck_assert(!hgi_journal_read(journal, 0, 10, MESSAGE_BYTES, &arena, &untouched));
    ck_assert_uint_eq(untouched.last, 77);
    tear_down();
}
END_TEST

START_TEST(a_watch_is_told_of_the_next_event_once)
{
    struct told told;

    set_up();
    append_many(1);
    ck_assert_int_eq(watch(&told, 1, LATER), HGI_WATCH_WAITING);
    ck_assert_uint_eq(told.news, 0);
    append_many(1);
    ck_assert_uint_eq(told.news, 1);
    append_many(1);
    hgi_journal_tick(journal, &(struct hgi_now){.boot_ms = LATER});
    hgi_journal_close(journal);
    ck_assert_uint_eq(told.news, 1);
    ck_assert_uint_eq(told.closed, 0);
    tear_down();
}
END_TEST

START_TEST(a_watch_that_is_behind_or_ahead_does_not_wait)
{
    struct told told;

    set_up();
    append_many(2);
    ck_assert_int_eq(watch(&told, 1, LATER), HGI_WATCH_READY);
    ck_assert_int_eq(watch(&told, 3, LATER), HGI_WATCH_READY);
    append_many(1);
    ck_assert_uint_eq(told.news, 0);
    tear_down();
}
END_TEST

START_TEST(a_tick_ends_watches_whose_time_is_up_and_no_others)
{
    struct told early;
    struct told late;

    set_up();
    ck_assert_int_eq(watch(&early, 0, 100), HGI_WATCH_WAITING);
    ck_assert_int_eq(watch(&late, 0, 101), HGI_WATCH_WAITING);
    hgi_journal_tick(journal, &(struct hgi_now){.boot_ms = 99});
    ck_assert_uint_eq(early.news, 0);
    hgi_journal_tick(journal, &(struct hgi_now){.boot_ms = 100});
    ck_assert_uint_eq(early.news, 1);
    ck_assert_uint_eq(late.news, 0);
    append_many(1);
    ck_assert_uint_eq(early.news, 1);
    ck_assert_uint_eq(late.news, 1);
    tear_down();
}
END_TEST

START_TEST(a_watch_that_left_is_told_nothing_and_one_that_was_told_cannot_leave)
{
    struct told told;

    set_up();
    ck_assert_int_eq(watch(&told, 0, LATER), HGI_WATCH_WAITING);
    ck_assert(hgi_journal_leave(journal, &told.watch));
    ck_assert(!hgi_journal_leave(journal, &told.watch));
    append_many(1);
    ck_assert_uint_eq(told.news, 0);
    ck_assert_int_eq(watch(&told, 1, LATER), HGI_WATCH_WAITING);
    append_many(1);
    ck_assert(!hgi_journal_leave(journal, &told.watch));
    ck_assert_uint_eq(told.news, 1);
    tear_down();
}
END_TEST

START_TEST(watches_are_bounded_and_make_room_again)
{
    static struct told told[HGI_JOURNAL_WATCHES_MAX];
    struct told extra;

    set_up();
    for (size_t i = 0; i < HGI_JOURNAL_WATCHES_MAX; i++) {
        ck_assert_int_eq(watch(&told[i], 0, LATER), HGI_WATCH_WAITING);
    }
    ck_assert_int_eq(watch(&extra, 0, LATER), HGI_WATCH_NO_ROOM);
    ck_assert(hgi_journal_leave(journal, &told[5].watch));
    ck_assert_int_eq(watch(&told[5], 0, LATER), HGI_WATCH_WAITING);
    ck_assert_int_eq(watch(&extra, 0, LATER), HGI_WATCH_NO_ROOM);
    append_many(1);
    for (size_t i = 0; i < HGI_JOURNAL_WATCHES_MAX; i++) {
        ck_assert_uint_eq(told[i].news, 1);
    }
    ck_assert_uint_eq(extra.news, 0);
    ck_assert_int_eq(watch(&extra, 1, LATER), HGI_WATCH_WAITING);
    hgi_journal_close(journal);
    tear_down();
}
END_TEST

START_TEST(closing_ends_every_watch_and_lets_none_begin)
{
    struct told told;
    struct told late;

    set_up();
    ck_assert_int_eq(watch(&told, 0, LATER), HGI_WATCH_WAITING);
    hgi_journal_close(journal);
    ck_assert_uint_eq(told.closed, 1);
    ck_assert_uint_eq(told.news, 0);
    ck_assert_int_eq(watch(&late, 0, LATER), HGI_WATCH_CLOSED);
    append_many(1);
    ck_assert_int_eq(watch(&late, 0, LATER), HGI_WATCH_READY);
    tear_down();
}
END_TEST

/* ---- a race ---- */

#define WRITERS    2
#define EACH       20000u
#define READER_MAX 100u

static void write_many(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < EACH; i++) {
        append(HG_EVENT_PUT, i, "key");
    }
}

struct signal {
    struct hgi_watch watch;
    struct hgi_lock lock;
    struct hgi_cond cond;
    bool is_told;
};

static void on_signal(struct hgi_watch *watch, bool is_closed)
{
    struct signal *signal = HGI_CONTAINER(watch, struct signal, watch);

    ck_assert(!is_closed);
    hgi_lock_client(&signal->lock);
    ck_assert(!signal->is_told);
    signal->is_told = true;
    hgi_cond_wake_all(&signal->cond);
    hgi_unlock_client(&signal->lock);
}

static void wait_for_news(struct signal *signal, uint64_t after)
{
    signal->is_told = false;
    signal->watch.due_ms = LATER;
    signal->watch.done = on_signal;
    if (hgi_journal_watch(journal, after, &signal->watch) == HGI_WATCH_READY) {
        return;
    }
    hgi_lock_client(&signal->lock);
    while (!signal->is_told) {
        ck_assert(hgi_cond_wait(&signal->cond, &signal->lock, 10000));
    }
    hgi_unlock_client(&signal->lock);
}

START_TEST(a_reader_that_keeps_up_sees_every_number_once)
{
    struct hgi_thread writers[WRITERS] = {0};
    struct signal signal = {0};
    uint64_t last = 0;

    set_up();
    hgi_lock_init(&signal.lock);
    hgi_cond_init(&signal.cond);
    for (int i = 0; i < WRITERS; i++) {
        ck_assert(hgi_thread_start(&writers[i], "writer", write_many, NULL));
    }
    while (last < WRITERS * EACH) {
        hgi_arena_reset(&arena, 1u * 1024 * 1024);
        wait_for_news(&signal, last);
        read_after(last, READER_MAX);
        ck_assert(!page.is_gap);
        ck_assert_uint_gt(page.count, 0);
        for (size_t i = 0; i < page.count; i++) {
            ck_assert_uint_eq(page.events[i].number, ++last);
            ck_assert_slice_eq(page.events[i].key, "key");
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        hgi_thread_join(&writers[i]);
    }
    hgi_cond_deinit(&signal.cond);
    hgi_lock_deinit(&signal.lock);
    tear_down();
}
END_TEST

HGI_SUITE("server.journal", 60, events_are_read_in_order_with_what_they_were_told,
          pages_continue_where_the_last_one_ended, nothing_new_is_no_gap,
          a_number_not_given_out_yet_is_a_gap_that_says_where_to_go_on,
          the_ring_keeps_the_newest_and_older_numbers_are_a_gap,
          long_keys_push_out_old_events_and_the_kept_ones_are_whole,
          a_page_fits_its_message_and_has_at_least_one_event,
          a_full_arena_is_told_and_changes_nothing, a_watch_is_told_of_the_next_event_once,
          a_watch_that_is_behind_or_ahead_does_not_wait,
          a_tick_ends_watches_whose_time_is_up_and_no_others,
          a_watch_that_left_is_told_nothing_and_one_that_was_told_cannot_leave,
          watches_are_bounded_and_make_room_again, closing_ends_every_watch_and_lets_none_begin,
          a_reader_that_keeps_up_sees_every_number_once)
