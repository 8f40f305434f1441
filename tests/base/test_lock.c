/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

static struct hgi_lock first;
static struct hgi_lock second;
static struct hgi_cond cond;

static void set_up(void)
{
    hgi_lock_init(&first);
    hgi_lock_init(&second);
    hgi_cond_init(&cond);
}

static void tear_down(void)
{
    hgi_cond_deinit(&cond);
    hgi_lock_deinit(&second);
    hgi_lock_deinit(&first);
}

/* True if `run` aborts; it runs in a process of its own. */
static bool aborts(void (*run)(void))
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};

        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)close(STDERR_FILENO);
        run();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void rising(void)
{
    hgi_lock_flight(&first);
    hgi_lock_shard(&second);
    hgi_unlock_shard(&second);
    hgi_unlock_flight(&first);
}

static void rising_and_let_go_crosswise(void)
{
    hgi_lock_flight(&first);
    hgi_lock_shard(&second);
    hgi_unlock_flight(&first);
    hgi_unlock_shard(&second);
    hgi_lock_flight(&first);
    hgi_unlock_flight(&first);
}

static void falling(void) HGI_UNCHECKED
{
    hgi_lock_shard(&second);
    hgi_lock_flight(&first);
}

static void two_of_a_class(void) HGI_UNCHECKED
{
    hgi_lock_shard(&first);
    hgi_lock_shard(&second);
}

static void let_go_unheld(void) HGI_UNCHECKED
{
    hgi_unlock_shard(&first);
}

static void let_go_as_another_class(void) HGI_UNCHECKED
{
    hgi_lock_flight(&first);
    hgi_unlock_shard(&first);
}

START_TEST(locks_are_taken_in_rising_order_or_it_is_a_bug)
{
    set_up();
    ck_assert(!aborts(rising));
    ck_assert(!aborts(rising_and_let_go_crosswise));
    ck_assert(aborts(falling));
    ck_assert(aborts(two_of_a_class));
    tear_down();
}
END_TEST

START_TEST(letting_go_of_a_lock_not_held_is_a_bug)
{
    set_up();
    ck_assert(aborts(let_go_unheld));
    ck_assert(aborts(let_go_as_another_class));
    tear_down();
}
END_TEST

START_TEST(the_ranks_are_those_of_the_design)
{
    ck_assert_int_lt(hgi_lc_registry.rank, hgi_lc_flight.rank);
    ck_assert_int_lt(hgi_lc_flight.rank, hgi_lc_shard.rank);
    ck_assert_int_lt(hgi_lc_shard.rank, hgi_lc_conn.rank);
    ck_assert_str_eq(hgi_lc_flight.name, "flight");
}
END_TEST

START_TEST(a_wait_ends_when_its_time_is_over)
{
    int64_t before;
    bool is_woken = true;

    set_up();
    before = hgi_clock_now().boot_ms;
    hgi_lock_flight(&first);
    /* The system may wake a waiter for no reason: then it waits again. */
    for (int i = 0; i < 100 && is_woken; i++) {
        is_woken = hgi_cond_wait(&cond, &first, 20);
    }
    hgi_unlock_flight(&first);
    ck_assert(!is_woken);
    ck_assert_int_ge(hgi_clock_now().boot_ms - before, 19);
    tear_down();
}
END_TEST

static int turn; /* guarded by first */

static void play(void *arg)
{
    const int mine = *(const int *)arg;

    for (int i = 0; i < 1000; i++) {
        hgi_lock_flight(&first);
        while (turn % 2 != mine) {
            (void)hgi_cond_wait(&cond, &first, -1);
        }
        turn++;
        hgi_cond_wake_all(&cond);
        hgi_unlock_flight(&first);
    }
}

START_TEST(two_threads_take_turns)
{
    static const int sides[2] = {0, 1};
    struct hgi_thread threads[2];

    set_up();
    turn = 0;
    for (size_t i = 0; i < 2; i++) {
        ck_assert(hgi_thread_start(&threads[i], "player", play, (void *)(uintptr_t)&sides[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        hgi_thread_join(&threads[i]);
        hgi_thread_join(&threads[i]);
    }
    ck_assert_int_eq(turn, 2000);
    tear_down();
}
END_TEST

HGI_SUITE("base.lock", 20, locks_are_taken_in_rising_order_or_it_is_a_bug,
          letting_go_of_a_lock_not_held_is_a_bug, the_ranks_are_those_of_the_design,
          a_wait_ends_when_its_time_is_over, two_threads_take_turns)
