/* SPDX-License-Identifier: Apache-2.0 */
/* Threads on one cache: readers, writers, clears, a ticker, loads that end, fail, hang and get
 * lost. There is a backend: one version number a key. Writers raise it and then put, invalidate or
 * clear; loads read it. A reader notes before its call what had been acknowledged by then and must
 * not be answered with less (I1), but for the beginner of an overtaken load under on_fenced =
 * deliver, who is told so. Run it under ThreadSanitizer too. */
#include <sched.h>

#include "base/check.h"
#include "storm.h"

#if defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif
#ifndef IS_SLOW
#define IS_SLOW 0
#endif

enum {
    READER_COUNT = 3,
    WRITER_COUNT = 2,
    WORKER_COUNT = 3,
    SLOT_COUNT = 24, /* calls a reader has out at once */
    READS_EACH = IS_SLOW ? 12000 : 20000,
    WRITES_EACH = IS_SLOW ? 5000 : 8000,
    LONGEST = 4,      /* times as long, on a machine too busy to make a storm of it at once */
    DRAIN_MS = 20000, /* real time the last answers may take */
};

static void raise_to(_Atomic uint64_t *number, uint64_t value)
{
    uint64_t old = atomic_load(number);

    while (old < value && !atomic_compare_exchange_weak(number, &old, value)) {
    }
}

/* What is to be shown safe has happened: the scheduler decides when. */
static bool has_stormed(struct storm *s)
{
    struct hgi_cache_stats stats;
    bool had_its_fenced;

    hgi_lock_conn(&s->answers_lock);
    had_its_fenced = s->fenced_count > 0 || s->on_fenced != HGI_ON_FENCED_DELIVER;
    hgi_unlock_conn(&s->answers_lock);
    hgi_cache_stats(s->cache, &stats);
    return had_its_fenced && stats.counters[HGI_METRIC_hit] > 0 &&
           stats.counters[HGI_METRIC_stale_hit] > 0 && stats.counters[HGI_METRIC_coalesced] > 0 &&
           stats.counters[HGI_METRIC_fenced] > 0 && stats.counters[HGI_METRIC_lost] > 0 &&
           stats.counters[HGI_METRIC_late] > 0 && stats.counters[HGI_METRIC_put_conflict] > 0;
}

/* Whether a thread that has taken `done` steps of `planned` takes another. */
static bool goes_on(struct storm *s, int done, int planned)
{
    if (atomic_load(&s->is_faulty)) {
        return false;
    }
    return done < planned || (done < LONGEST * planned && !has_stormed(s));
}

static struct hg_slice key_slice(const size_t *key)
{
    return hg_slice_of(key, sizeof(*key));
}

/* Keys live as long as the program; calls and puts borrow them. */
static const size_t all_keys[KEY_COUNT] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* ---- readers ---- */

struct slot {
    struct hgi_call call;
    struct storm *storm;
    _Atomic bool is_out;
    _Atomic bool was_refused;
    uint64_t least_version; /* acknowledged before the read began */
    uint64_t least_born;
};

struct reader {
    struct hand hand;
    struct slot slots[SLOT_COUNT];
    struct hg_bytes scratch;
};

static void check_answer(struct storm *s, const struct slot *slot, const struct hgi_answer *answer)
{
    uint64_t version = 0;

    if (answer->status != HG_OK) {
        if (answer->status == HG_UNKNOWN || answer->message.len == 0) {
            storm_fault(s, "an error without its sentence", answer->status, answer->message.len);
        }
        return;
    }
    if (answer->is_fenced) {
        if (s->on_fenced != HGI_ON_FENCED_DELIVER || answer->source != HG_SOURCE_LOADED) {
            storm_fault(s, "an overtaken value for another than its beginner", answer->source, 0);
        }
        return;
    }
    if (answer->outcome == HG_NOT_CACHED) {
        if (slot->call.mode != HG_MODE_PEEK) {
            storm_fault(s, "nothing for a call that is no peek", slot->call.mode, 0);
        }
        return;
    }
    if (answer->generation < slot->least_born) {
        storm_fault(s, "born before an acknowledged invalidation", answer->generation,
                    slot->least_born);
    }
    if (answer->outcome == HG_VALUE) {
        memcpy(&version, answer->value.data, sizeof(version));
        if (answer->value.len != sizeof(version) || version < slot->least_version) {
            storm_fault(s, "older than what was acknowledged", version, slot->least_version);
        }
    }
}

static void answered(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct slot *slot = HGI_CONTAINER(call, struct slot, call);
    struct storm *s = slot->storm;

    check_answer(s, slot, answer);
    hgi_lock_conn(&s->answers_lock);
    s->answer_count++;
    atomic_store(&slot->was_refused, answer->status == HG_RESOURCE_EXHAUSTED);
    s->fenced_count += answer->is_fenced;
    if (!atomic_exchange(&slot->is_out, false)) { /* from here on the call's memory is used again */
        storm_fault(s, "a call answered twice", answer->status, 0);
    }
    hgi_cond_wake_all(&s->answered);
    hgi_unlock_conn(&s->answers_lock);
}

static void begin_read(struct storm *s, struct slot *slot, struct hg_bytes *scratch,
                       uint64_t *random)
{
    static const enum hg_mode modes[] = {HG_MODE_FRESH,       HG_MODE_FRESH,      HG_MODE_DEFAULT,
                                         HG_MODE_ALLOW_STALE, HG_MODE_REVALIDATE, HG_MODE_PEEK};
    size_t key = storm_draw(random, KEY_COUNT);
    struct truth *truth = &s->truths[key];
    uint64_t clear = atomic_load(&s->acked_clear);
    struct hgi_now now = storm_now(s);

    memset(&slot->call, 0x5a, sizeof(slot->call)); /* the engine sets up what is its own */
    slot->storm = s;
    slot->call.key = key_slice(&all_keys[key]);
    slot->call.mode = modes[storm_draw(random, HGI_COUNT_OF(modes))];
    slot->call.max_age_ms = storm_draw(random, 10) ? -1 : (int64_t)storm_draw(random, 4);
    slot->call.timeout_ms = storm_draw(random, 3) ? 0 : (int64_t)storm_draw(random, 50) + 1;
    slot->call.lead = false;
    slot->call.hash = 0;
    slot->call.load_key = hg_slice_of(NULL, 0);
    slot->call.trace = NULL;
    slot->call.done = answered;
    slot->least_version = atomic_load(&truth->acked_version);
    slot->least_born = atomic_load(&truth->acked_born);
    slot->least_born = clear > slot->least_born ? clear : slot->least_born;
    /* A reader that has seen a generation: successors of flights begun before it. */
    slot->call.min_generation = storm_draw(random, 4) ? 0 : slot->least_born;
    atomic_store(&slot->is_out, true);
    atomic_fetch_add(&s->read_count, 1);
    hgi_cache_read(s->cache, &slot->call, scratch, &now);
}

static void await_an_answer(struct storm *s)
{
    hgi_lock_conn(&s->answers_lock);
    (void)hgi_cond_wait(&s->answered, &s->answers_lock, 1);
    hgi_unlock_conn(&s->answers_lock);
}

/* A slot whose call is answered, waiting for one if need be. */
static struct slot *free_slot(struct reader *r)
{
    for (;;) {
        for (size_t i = 0; i < SLOT_COUNT; i++) {
            if (!atomic_load(&r->slots[i].is_out)) {
                return &r->slots[i];
            }
        }
        await_an_answer(r->hand.storm);
    }
}

static void read_much(void *arg)
{
    struct reader *r = HGI_CONTAINER(arg, struct reader, hand);
    struct storm *s = r->hand.storm;

    for (int i = 0; goes_on(s, i, READS_EACH); i++) {
        struct slot *slot = free_slot(r);

        begin_read(s, slot, &r->scratch, &r->hand.random);
        if (!atomic_load(&slot->is_out) && atomic_load(&slot->was_refused)) {
            await_an_answer(s); /* as a caller would after RESOURCE_EXHAUSTED */
        }
        if (storm_draw(&r->hand.random, 20) == 0) {
            struct slot *leaving = &r->slots[storm_draw(&r->hand.random, SLOT_COUNT)];
            struct hgi_now now = storm_now(s);

            if (atomic_load(&leaving->is_out)) {
                hgi_cache_leave(s->cache, &leaving->call, &now);
            }
        }
    }
}

/* ---- writers ---- */

static void put_direct(struct storm *s, size_t key, uint64_t *random)
{
    struct truth *truth = &s->truths[key];
    struct hgi_put put = {.key = key_slice(&all_keys[key]), .outcome = HG_VALUE};
    struct hgi_now now = storm_now(s);
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];
    uint64_t version;

    if (storm_draw(random, 6) == 0) {
        put.outcome = HG_ABSENT;
    }
    hgi_lock_registry(&truth->lock);
    version = atomic_fetch_add(&truth->version, 1) + 1;
    if (put.outcome == HG_VALUE) {
        put.value = hg_slice_of(&version, sizeof(version));
    }
    if (hgi_cache_put(s->cache, &put, &now, &entry, sentence) != HG_OK) {
        storm_fault(s, "a put was refused", key, 0);
    } else {
        raise_to(&truth->acked_version, version);
        raise_to(&truth->acked_born, entry.born);
    }
    hgi_unlock_registry(&truth->lock);
}

/* As a gateway fills the cache by itself: token first, then the backend, then the put. Now and then
 * another write surely comes between, whatever the scheduler does.
 */
static void put_with_token(struct storm *s, size_t key, uint64_t *random)
{
    struct hgi_put put = {
        .key = key_slice(&all_keys[key]),
        .outcome = HG_VALUE,
        .has_if_generation = true,
        .if_generation = hgi_cache_generation(s->cache),
    };
    uint64_t version = atomic_load(&s->truths[key].version);
    struct hgi_now now = storm_now(s);
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];
    enum hg_status status;

    if (storm_draw(random, 4) == 0) {
        put_direct(s, key, random);
    } else {
        sched_yield();
    }
    put.value = hg_slice_of(&version, sizeof(version));
    status = hgi_cache_put(s->cache, &put, &now, &entry, sentence);
    if (status != HG_OK && status != HG_ABORTED) {
        storm_fault(s, "a token was neither stored nor aborted", status, 0);
    }
}

static void write_backend(struct storm *s, size_t key)
{
    hgi_lock_registry(&s->truths[key].lock);
    atomic_fetch_add(&s->truths[key].version, 1);
    hgi_unlock_registry(&s->truths[key].lock);
}

static uint64_t invalidate(struct storm *s, uint64_t *random)
{
    struct hg_slice keys[3];
    size_t indexes[3];
    uint64_t versions[3];
    struct hgi_now now = storm_now(s);
    struct hgi_report report;

    for (size_t i = 0; i < 3; i++) {
        indexes[i] = storm_draw(random, KEY_COUNT);
        keys[i] = key_slice(&all_keys[indexes[i]]);
        write_backend(s, indexes[i]);
        versions[i] = atomic_load(&s->truths[indexes[i]].version);
    }
    hgi_cache_invalidate(s->cache, keys, 3, &now, &report);
    for (size_t i = 0; i < 3; i++) {
        raise_to(&s->truths[indexes[i]].acked_version, versions[i]);
        raise_to(&s->truths[indexes[i]].acked_born, report.generation);
    }
    return report.generation;
}

static uint64_t clear(struct storm *s, uint64_t *random)
{
    uint64_t versions[KEY_COUNT];
    struct hgi_now now = storm_now(s);
    struct hgi_report report;

    write_backend(s, storm_draw(random, KEY_COUNT));
    for (size_t i = 0; i < KEY_COUNT; i++) {
        versions[i] = atomic_load(&s->truths[i].version);
    }
    hgi_cache_clear(s->cache, &now, &report);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        raise_to(&s->truths[i].acked_version, versions[i]);
    }
    raise_to(&s->acked_clear, report.generation);
    return report.generation;
}

static void write_much(void *arg)
{
    struct hand *hand = arg;
    struct storm *s = hand->storm;
    uint64_t generation = 0;

    for (int i = 0; goes_on(s, i, WRITES_EACH); i++) {
        uint32_t dice = storm_draw(&hand->random, 10);
        uint64_t taken = 0;

        if (dice < 4) {
            put_direct(s, storm_draw(&hand->random, KEY_COUNT), &hand->random);
        } else if (dice < 6) {
            put_with_token(s, storm_draw(&hand->random, KEY_COUNT), &hand->random);
        } else if (dice < 9) {
            taken = invalidate(s, &hand->random);
        } else {
            taken = clear(s, &hand->random);
        }
        if (taken && (taken <= generation || taken > hgi_cache_generation(s->cache))) {
            storm_fault(s, "numbers that do not rise", taken, generation);
        }
        generation = taken ? taken : generation;
        for (uint32_t n = storm_draw(&hand->random, 8); n > 0; n--) {
            sched_yield();
        }
    }
}

/* Fake time goes on by a millisecond about every millisecond. */
static void tick(void *arg)
{
    struct hand *hand = arg;
    struct storm *s = hand->storm;
    struct hgi_lock lock;
    struct hgi_cond never;

    hgi_lock_init(&lock);
    hgi_cond_init(&never);
    while (!atomic_load(&s->is_over)) {
        struct hgi_now now;

        atomic_fetch_add(&s->now_ms, 1);
        now = storm_now(s);
        hgi_cache_tick(s->cache, &now);
        hgi_lock_registry(&lock);
        (void)hgi_cond_wait(&never, &lock, 1);
        hgi_unlock_registry(&lock);
    }
    hgi_cond_deinit(&never);
    hgi_lock_deinit(&lock);
}

/* ---- the run ---- */

static void start(struct storm *s, struct hand *hand, const char *name, void (*run)(void *))
{
    static uint64_t seed = 88172645463325252ULL;

    hand->storm = s;
    hand->random = seed += 0x9e3779b97f4a7c15ULL;
    ck_assert(hgi_thread_start(&hand->thread, name, run, hand));
}

/* Every call made so far has been answered, once. */
static void await_answers(struct storm *s)
{
    uint64_t answers;

    hgi_lock_conn(&s->answers_lock);
    for (int ms = 0; s->answer_count < atomic_load(&s->read_count) && ms < DRAIN_MS; ms++) {
        (void)hgi_cond_wait(&s->answered, &s->answers_lock, 1);
    }
    answers = s->answer_count;
    hgi_unlock_conn(&s->answers_lock);
    ck_assert_msg(!atomic_load(&s->is_faulty), "%s", s->fault);
    ck_assert_uint_eq(answers, atomic_load(&s->read_count));
}

/* The last part: calls are parked, and the server stops. */
static void stop_under_way(struct storm *s, struct reader *r)
{
    struct hgi_now now;

    for (size_t i = 0; i < SLOT_COUNT; i++) {
        begin_read(s, &r->slots[i], &r->scratch, &r->hand.random);
    }
    now = storm_now(s);
    hgi_cache_stop(s->cache, &now);
    await_answers(s);
    hgi_lock_loader(&s->loads_lock);
    s->is_closing = true;
    hgi_cond_wake_all(&s->loads_ready);
    hgi_unlock_loader(&s->loads_lock);
}

static void check_end(struct storm *s)
{
    struct hgi_cache_stats stats;

    hgi_cache_stats(s->cache, &stats);
    ck_assert_msg(!atomic_load(&s->is_faulty), "%s", s->fault);
    ck_assert_uint_eq(stats.waiting, 0);
    ck_assert_uint_eq(stats.queued, 0);
    ck_assert_uint_eq(stats.in_flight, 0);
    ck_assert_uint_eq(stats.counters[HGI_METRIC_load], s->start_count);
    ck_assert_uint_eq(stats.counters[HGI_METRIC_lost], s->lost_count);
    ck_assert(has_stormed(s));
    ck_assert(s->fenced_count == 0 || s->on_fenced == HGI_ON_FENCED_DELIVER);
}

static void run_storm(enum hgi_on_error on_error, enum hgi_on_fenced on_fenced)
{
    struct storm *s = storm_create(on_error, on_fenced);
    struct reader *readers = hgi_alloc(&hgi_heap, READER_COUNT * sizeof(*readers));
    struct hand writers[WRITER_COUNT];
    struct hand workers[WORKER_COUNT];
    struct hand ticker;

    ck_assert_ptr_nonnull(readers);
    start(s, &ticker, "tick", tick);
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        start(s, &workers[i], "work", storm_work);
    }
    for (size_t i = 0; i < READER_COUNT; i++) {
        hgi_bytes_init(&readers[i].scratch, &hgi_heap);
        start(s, &readers[i].hand, "read", read_much);
    }
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        start(s, &writers[i], "write", write_much);
    }
    for (size_t i = 0; i < READER_COUNT; i++) {
        hgi_thread_join(&readers[i].hand.thread);
    }
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        hgi_thread_join(&writers[i].thread);
    }
    await_answers(s);
    stop_under_way(s, &readers[0]);
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        hgi_thread_join(&workers[i].thread);
    }
    atomic_store(&s->is_over, true);
    hgi_thread_join(&ticker.thread);
    check_end(s);
    for (size_t i = 0; i < READER_COUNT; i++) {
        hgi_bytes_deinit(&readers[i].scratch);
    }
    hgi_free(&hgi_heap, readers);
    storm_destroy(s);
}

START_TEST(nothing_acknowledged_comes_back_under_share_and_deliver)
{
    run_storm(HGI_ON_ERROR_SHARE, HGI_ON_FENCED_DELIVER);
}
END_TEST

START_TEST(nothing_acknowledged_comes_back_under_elect_and_reload)
{
    run_storm(HGI_ON_ERROR_ELECT, HGI_ON_FENCED_RELOAD);
}
END_TEST

START_TEST(nothing_acknowledged_comes_back_under_share_and_reload)
{
    run_storm(HGI_ON_ERROR_SHARE, HGI_ON_FENCED_RELOAD);
}
END_TEST

START_TEST(nothing_acknowledged_comes_back_under_each_and_deliver)
{
    run_storm(HGI_ON_ERROR_EACH, HGI_ON_FENCED_DELIVER);
}
END_TEST

START_TEST(nothing_acknowledged_comes_back_under_each_and_reload)
{
    run_storm(HGI_ON_ERROR_EACH, HGI_ON_FENCED_RELOAD);
}
END_TEST

HGI_SUITE("server.storm", 100, nothing_acknowledged_comes_back_under_elect_and_reload,
          nothing_acknowledged_comes_back_under_share_and_deliver,
          nothing_acknowledged_comes_back_under_share_and_reload,
          nothing_acknowledged_comes_back_under_each_and_deliver,
          nothing_acknowledged_comes_back_under_each_and_reload)
