/* SPDX-License-Identifier: Apache-2.0 */
#include "recent.h"

#include <stdatomic.h>

#include "base/alloc.h"

enum word { WORD_CACHE, WORD_DIGEST, WORD_AT, WORD_GENERATION, WORD_AGE, WORD_KINDS, WORD_COUNT };

#define KIND_BITS 8u

/* `stamp` says what a place holds: 0 nothing yet, odd 2n + 1 the answer number n is being written,
 * even 2n + 2 it is there whole. A stamp only grows, and only who has made it odd writes the words.
 *
 * The words are stored with release and loaded with acquire: a reader that finds a word of a later
 * writer thereby sees that writer's odd stamp, too, when it looks at the stamp again. (Plain stores
 * on x86; no fence, which the thread sanitizer does not know.) */
struct place {
    _Atomic uint64_t stamp;
    _Atomic uint64_t words[WORD_COUNT];
};

struct hgi_recent {
    _Atomic uint64_t next;
    struct place places[HGI_RECENT_MAX];
};

struct hgi_recent *hgi_recent_create(void)
{
    return hgi_alloc(&hgi_heap, sizeof(struct hgi_recent)); /* zeroed: next 0, no stamps */
}

void hgi_recent_destroy(struct hgi_recent **recent)
{
    hgi_free(&hgi_heap, *recent);
    *recent = NULL;
}

static uint64_t pack_kinds(const struct hgi_past *past)
{
    uint64_t kinds = (uint64_t)past->is_fenced;

    kinds = kinds << KIND_BITS | (uint64_t)past->source;
    kinds = kinds << KIND_BITS | (uint64_t)past->outcome;
    return kinds << KIND_BITS | (uint64_t)past->status;
}

static void unpack_kinds(uint64_t kinds, struct hgi_past *ret_past)
{
    const uint64_t mask = (UINT64_C(1) << KIND_BITS) - 1;

    ret_past->status = (enum hg_status)(kinds & mask);
    ret_past->outcome = (enum hg_outcome)(kinds >> KIND_BITS & mask);
    ret_past->source = (enum hg_source)(kinds >> 2 * KIND_BITS & mask);
    ret_past->is_fenced = (kinds >> 3 * KIND_BITS & mask) != 0;
}

void hgi_recent_note(struct hgi_recent *recent, const struct hgi_past *past)
{
    uint64_t number = atomic_fetch_add_explicit(&recent->next, 1, memory_order_relaxed);
    struct place *place = &recent->places[number % HGI_RECENT_MAX];
    uint64_t stamp = atomic_load_explicit(&place->stamp, memory_order_relaxed);
    const uint64_t words[WORD_COUNT] = {
        [WORD_CACHE] = (uint64_t)(uintptr_t)past->cache,
        [WORD_DIGEST] = past->digest,
        [WORD_AT] = (uint64_t)past->at_ms,
        [WORD_GENERATION] = past->generation,
        [WORD_AGE] = (uint64_t)past->age_ms,
        [WORD_KINDS] = pack_kinds(past),
    };

    if (stamp % 2 || stamp > 2 * number ||
        !atomic_compare_exchange_strong_explicit(&place->stamp, &stamp, 2 * number + 1,
                                                 memory_order_acquire, memory_order_relaxed)) {
        return; /* another is at it, a whole round away: one of the two is lost */
    }
    for (size_t i = 0; i < WORD_COUNT; i++) {
        atomic_store_explicit(&place->words[i], words[i], memory_order_release);
    }
    atomic_store_explicit(&place->stamp, 2 * number + 2, memory_order_release);
}

/* False: the answer number `number` is not there (any more, or yet). */
static bool read_place(struct place *place, uint64_t number, struct hgi_past *ret_past)
{
    uint64_t words[WORD_COUNT];

    if (atomic_load_explicit(&place->stamp, memory_order_acquire) != 2 * number + 2) {
        return false;
    }
    for (size_t i = 0; i < WORD_COUNT; i++) {
        words[i] = atomic_load_explicit(&place->words[i], memory_order_acquire);
    }
    if (atomic_load_explicit(&place->stamp, memory_order_relaxed) != 2 * number + 2) {
        return false;
    }
    ret_past->cache = (const struct hgi_cache *)(uintptr_t)words[WORD_CACHE];
    ret_past->digest = words[WORD_DIGEST];
    ret_past->at_ms = (int64_t)words[WORD_AT];
    ret_past->generation = words[WORD_GENERATION];
    ret_past->age_ms = (int64_t)words[WORD_AGE];
    unpack_kinds(words[WORD_KINDS], ret_past);
    return true;
}

size_t hgi_recent_of(struct hgi_recent *recent, const struct hgi_cache *cache, uint64_t digest,
                     struct hgi_past *ret_past, size_t max)
{
    uint64_t end = atomic_load_explicit(&recent->next, memory_order_relaxed);
    uint64_t start = end > HGI_RECENT_MAX ? end - HGI_RECENT_MAX : 0;
    size_t count = 0;

    for (uint64_t number = end; number > start && count < max; number--) {
        struct place *place = &recent->places[(number - 1) % HGI_RECENT_MAX];
        struct hgi_past past;

        if (read_place(place, number - 1, &past) && past.cache == cache && past.digest == digest) {
            ret_past[count++] = past;
        }
    }
    return count;
}
