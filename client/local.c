/* SPDX-License-Identifier: Apache-2.0 */
#include "local.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/check.h"
#include "client/call.h"
#include "client/client.h"
#include "client/mapped.h"
#include "proto/codec.h"

#define STRIPES       16u /* of threads that read at once, so that they share no cache line */
#define TRY_AGAIN_MS  100
#define LEAVE_POLL_MS 1
#define PROBE_MS      2000u

/* Who is inside a mapping, and what they found there. */
struct stripe {
    _Atomic uint64_t users;
    _Atomic uint64_t hits;
    unsigned char unused[112]; /* a cache line to itself, wherever it begins */
};

struct hgi_local_cache {
    struct stripe stripes[STRIPES];
    struct hgi_local *local;
    struct hgi_local_cache *next; /* set once */
    _Atomic(struct hgi_mapped *) mapped;
    _Atomic int64_t try_at_ms; /* no errand before */
    _Atomic bool is_trying;    /* whoever set it owns the errand */
    struct hgi_errand errand;
    char name[];
};

/* ---- which caches ---- */

bool hgi_local_init(struct hgi_local *local, struct hg_client *client, const char *folder,
                    size_t value_max)
{
    local->client = client;
    local->value_max = value_max;
    local->folder = folder ? hgi_text_copy(&hgi_heap, hg_slice_text(folder)) : NULL;
    atomic_init(&local->caches, NULL);
    return !folder || local->folder;
}

void hgi_local_deinit(struct hgi_local *local)
{
    struct hgi_local_cache *cache = atomic_load(&local->caches);

    while (cache) {
        struct hgi_local_cache *next = cache->next;
        struct hgi_mapped *mapped = atomic_load(&cache->mapped);

        hgi_mapped_close(&mapped);
        hgi_free(&hgi_heap, cache);
        cache = next;
    }
    hgi_free(&hgi_heap, local->folder);
}

static struct hgi_local_cache *find(const struct hgi_local *local, const char *name,
                                    size_t *ret_count)
{
    struct hgi_local_cache *cache =
        atomic_load_explicit(&((struct hgi_local *)(uintptr_t)local)->caches, memory_order_acquire);

    for (*ret_count = 0; cache && strcmp(cache->name, name) != 0; cache = cache->next) {
        ++*ret_count;
    }
    return cache;
}

static void run_errand(struct hgi_errand *errand, bool is_closing);

/* NULL: there are too many, or no memory. */
static struct hgi_local_cache *find_or_add(struct hgi_local *local, const char *name)
{
    size_t size = strlen(name) + 1;
    size_t count;
    struct hgi_local_cache *first = atomic_load(&local->caches);
    struct hgi_local_cache *cache = find(local, name, &count);
    struct hgi_local_cache *added;

    if (cache || count >= HGI_LOCAL_CACHES_MAX) {
        return cache;
    }
    added = hgi_alloc(&hgi_heap, sizeof(*added) + size);
    if (!added) {
        return NULL;
    }
    added->local = local;
    added->errand.run = run_errand;
    memcpy(added->name, name, size);
    do {
        cache = find(local, name, &count);
        if (cache) { /* somebody else's was quicker */
            hgi_free(&hgi_heap, added);
            return cache;
        }
        first = atomic_load(&local->caches);
        added->next = first;
    } while (!atomic_compare_exchange_strong(&local->caches, &first, added));
    return added;
}

/* ---- going in and out ---- */

static struct stripe *stripe_of(struct hgi_local_cache *cache)
{
    static _Atomic unsigned threads;
    static _Thread_local unsigned own; /* 0: not given yet */

    if (!own) {
        own = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % STRIPES + 1;
    }
    return &cache->stripes[own - 1];
}

/* NULL: nothing is mapped. Else until leave. */
static const struct hgi_mapped *enter(struct hgi_local_cache *cache, struct stripe *stripe)
{
    const struct hgi_mapped *mapped;

    atomic_fetch_add(&stripe->users, 1); /* seen by whoever takes the mapping away, or before us */
    mapped = atomic_load(&cache->mapped);
    if (!mapped) {
        atomic_fetch_sub_explicit(&stripe->users, 1, memory_order_release);
    }
    return mapped;
}

static void leave(struct stripe *stripe)
{
    atomic_fetch_sub_explicit(&stripe->users, 1, memory_order_release);
}

/* After this nobody is in the mapping that was. */
static void take_away(struct hgi_local_cache *cache, struct hgi_mapped *successor)
{
    struct hgi_mapped *old = atomic_exchange(&cache->mapped, successor);

    for (size_t i = 0; old && i < STRIPES; i++) {
        while (atomic_load(&cache->stripes[i].users) > 0) {
            hgi_thread_pause(LEAVE_POLL_MS);
        }
    }
    hgi_mapped_close(&old);
}

/* ---- the errand: to map what there is to be mapped ---- */

/* A key that a cache of that type takes. */
static struct hg_key any_key(enum hgi_key_type type)
{
    const struct hg_slice dash = hg_slice_text("-");
    struct hg_key key = {.bytes = dash, .user_id = dash, .api_key_id = dash};

    switch (type) {
    case HGI_KEYS_BYTES:
        key.kind = HG_KEY_BYTES;
        break;
    case HGI_KEYS_USER_API_KEY:
        key.kind = HG_KEY_USER_API_KEY;
        break;
    case HGI_KEYS_API_KEY_FEATURE:
        key.kind = HG_KEY_API_KEY_FEATURE;
        break;
    case HGI_KEYS_KEY_HASH:
    case HGI_KEYS_AUTH:
        key.kind = HG_KEY_KEY_HASH;
        break;
    }
    return key;
}

/* The server that answers this client is the one whose memory it is. */
static bool is_ours(struct hgi_local_cache *cache, const struct hgi_mapped *mapped)
{
    const struct hg_generation request = {
        .cache = cache->name, .key = any_key(mapped->key_type), .timeout_ms = PROBE_MS};
    struct hg_token token;

    return hg_client_generation(cache->local->client, &request, &token, NULL) == HG_OK &&
           token.epoch == mapped->epoch;
}

static void map(struct hgi_local_cache *cache)
{
    const char *folder = cache->local->folder;
    const struct hgi_mapped *old = atomic_load(&cache->mapped);
    struct hgi_mapped *fresh = NULL;

    if (old && atomic_load(&((struct hgi_label *)(uintptr_t)old->label)->state) == HGI_LABEL_LIVE &&
        hgi_mapped_is_current(old, folder, cache->name)) {
        return; /* its server is slow, or has died and nobody has taken its place */
    }
    if (old) {
        take_away(cache, NULL);
    }
    if (hgi_mapped_open(folder, cache->name, &fresh) != NULL) {
        return; /* not published, or not now */
    }
    if (is_ours(cache, fresh)) {
        take_away(cache, fresh);
    } else {
        hgi_mapped_close(&fresh);
    }
}

static void run_errand(struct hgi_errand *errand, bool is_closing)
{
    struct hgi_local_cache *cache = HGI_CONTAINER(errand, struct hgi_local_cache, errand);

    if (!is_closing) {
        map(cache);
    }
    atomic_store_explicit(&cache->try_at_ms, hgi_clock_now().boot_ms + TRY_AGAIN_MS,
                          memory_order_relaxed);
    atomic_store_explicit(&cache->is_trying, false, memory_order_release);
}

static void send_errand(struct hgi_local_cache *cache, const struct hgi_now *now)
{
    bool was_trying = false;

    if (now->boot_ms < atomic_load_explicit(&cache->try_at_ms, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&cache->is_trying, &was_trying, true)) {
        return;
    }
    if (!hgi_keeper_send(hgi_client_keeper(cache->local->client), &cache->errand)) {
        atomic_store_explicit(&cache->is_trying, false, memory_order_release);
    }
}

/* ---- reading ---- */

/* The server would begin a refresh, and so must hear of it. */
static bool is_refresh_due(const struct hgi_mapped *mapped, const struct hgi_found_entry *found)
{
    return found->outcome == HG_VALUE &&
           (found->ttl_left_ms * 100 <= found->ttl_ms * (int64_t)mapped->refresh_part ||
            (mapped->refresh_reach &&
             found->ttl_left_ms <= found->load_ms * (int64_t)mapped->refresh_reach));
}

/* What all keys of one call have in common. */
struct terms {
    int64_t max_age_ms;
    uint64_t min_generation;
    size_t value_max;
    struct hgi_now now;
};

static bool look(const struct hgi_mapped *mapped, const struct hg_key *key,
                 const struct terms *terms, struct hg_bytes *ret_value,
                 struct hgi_found_entry *ret_found)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_key canonical;
    struct hgi_lookup lookup = {.max_age_ms = terms->max_age_ms,
                                .value_max = terms->value_max,
                                .now = &terms->now,
                                .ret_value = ret_value,
                                .ret_entry = ret_found};
    enum hgi_found found;

    if (hgi_key_encode(mapped->key_type, key, &canonical, sentence) != HG_OK) {
        return false; /* the server has a sentence for it */
    }
    lookup.key = hgi_key_slice(&canonical);
    lookup.hash = hgi_reader_hash(&mapped->reader, lookup.key);
    return hgi_reader_look(&mapped->reader, &lookup, &found) == HGI_READER_ANSWERED &&
           found == HGI_FRESH && ret_found->born >= terms->min_generation &&
           !is_refresh_due(mapped, ret_found);
}

static struct hg_answer answer_of(const struct hgi_mapped *mapped,
                                  const struct hgi_found_entry *found, struct hg_slice value)
{
    return (struct hg_answer){
        .status = HG_OK,
        .outcome = found->outcome,
        .source = HG_SOURCE_FRESH,
        .value = value,
        .value_type = found->outcome == HG_VALUE ? mapped->value_type : 0,
        .generation = found->born,
        .age_ms = (uint64_t)found->age_ms,
        .ttl_left_ms = (uint64_t)found->ttl_left_ms,
        .stale_left_ms = (uint64_t)found->stale_left_ms,
    };
}

/* Into the cache's mapping, if it counts now. NULL: no, and somebody sees to it. */
static const struct hgi_mapped *enter_named(struct hgi_local *local, const char *name,
                                            const struct hgi_now *now,
                                            struct hgi_local_cache **ret_cache,
                                            struct stripe **ret_stripe)
{
    const struct hgi_mapped *mapped;

    if (!local->folder || !name || !*name || strlen(name) > HGI_LABEL_NAME_MAX) {
        return NULL;
    }
    *ret_cache = find_or_add(local, name);
    if (!*ret_cache) {
        return NULL;
    }
    *ret_stripe = stripe_of(*ret_cache);
    mapped = enter(*ret_cache, *ret_stripe);
    if (mapped && hgi_label_counts(mapped->label, now->boot_ms)) {
        return mapped;
    }
    if (mapped) {
        leave(*ret_stripe);
    }
    send_errand(*ret_cache, now);
    return NULL;
}

bool hgi_local_get(struct hgi_local *local, const struct hg_read *read,
                   struct hg_answer *ret_answer)
{
    const struct terms terms = {
        .max_age_ms = read->has_max_age ? (int64_t)(read->max_age_ms & INT64_MAX) : -1,
        .min_generation = read->min_generation,
        .value_max = local->value_max,
        .now = hgi_clock_now()};
    struct hgi_local_cache *cache;
    struct hgi_found_entry found;
    const struct hgi_mapped *mapped;
    struct hg_memory *memory;
    struct stripe *stripe;
    bool is_hit;

    mapped = enter_named(local, read->cache, &terms.now, &cache, &stripe);
    if (!mapped) {
        return false;
    }
    memory = hgi_memory_create(0);
    is_hit = memory && look(mapped, &read->key, &terms, &memory->value, &found);
    if (is_hit) {
        *ret_answer = answer_of(mapped, &found, hgi_bytes_slice(&memory->value));
        ret_answer->memory = memory;
        memory = NULL;
        atomic_fetch_add_explicit(&stripe->hits, 1, memory_order_relaxed);
    }
    leave(stripe);
    hgi_memory_destroy(&memory);
    return is_hit;
}

/* Every value behind the one before it, in the memory's bytes; places and not pointers until they
 * move no more. */
static bool look_all(const struct hgi_mapped *mapped, const struct hg_batch *batch,
                     const struct terms *terms, struct hg_memory *memory,
                     struct hg_answer *ret_answers)
{
    struct hg_bytes scratch;
    bool is_hit = true;
    size_t at = 0;

    hgi_bytes_init(&scratch, &hgi_heap);
    for (size_t i = 0; is_hit && i < batch->key_count; i++) {
        struct hgi_found_entry found;

        is_hit = look(mapped, &batch->keys[i], terms, &scratch, &found) &&
                 hgi_bytes_append(&memory->value, hgi_bytes_slice(&scratch));
        if (is_hit) {
            ret_answers[i] = answer_of(mapped, &found, hg_slice_of(NULL, scratch.len));
        }
    }
    hgi_bytes_deinit(&scratch);
    for (size_t i = 0; is_hit && i < batch->key_count; i++) {
        ret_answers[i].value.data = memory->value.data + at;
        at += ret_answers[i].value.len;
    }
    return is_hit;
}

bool hgi_local_get_batch(struct hgi_local *local, const struct hg_batch *batch,
                         struct hg_answers *ret_answers)
{
    const struct terms terms = {
        .max_age_ms = batch->has_max_age ? (int64_t)(batch->max_age_ms & INT64_MAX) : -1,
        .min_generation = batch->min_generation,
        .value_max = local->value_max,
        .now = hgi_clock_now()};
    size_t size = batch->key_count * sizeof(struct hg_answer);
    struct hgi_local_cache *cache;
    const struct hgi_mapped *mapped;
    struct hg_answer *answers = NULL;
    struct hg_memory *memory;
    struct stripe *stripe;
    bool is_hit;

    if (batch->key_count == 0 || batch->key_count > HGI_BATCH_KEYS_MAX) {
        return false;
    }
    mapped = enter_named(local, batch->cache, &terms.now, &cache, &stripe);
    if (!mapped) {
        return false;
    }
    memory = hgi_memory_create(2 * size + 1024);
    answers = memory ? hgi_arena_alloc(&memory->arena, size) : NULL;
    is_hit = answers && look_all(mapped, batch, &terms, memory, answers);
    if (is_hit) {
        *ret_answers = (struct hg_answers){answers, batch->key_count, memory};
        memory = NULL;
        atomic_fetch_add_explicit(&stripe->hits, batch->key_count, memory_order_relaxed);
    }
    leave(stripe);
    hgi_memory_destroy(&memory);
    return is_hit;
}

/* ---- telling ---- */

static uint64_t take_hits(struct hgi_local_cache *cache)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < STRIPES; i++) {
        if (atomic_load_explicit(&cache->stripes[i].hits, memory_order_relaxed)) {
            hits += atomic_exchange_explicit(&cache->stripes[i].hits, 0, memory_order_relaxed);
        }
    }
    return hits;
}

size_t hgi_local_take_news(struct hgi_local *local, struct hgi_metadata *ret_metadata,
                           char *ret_text)
{
    struct hgi_local_cache *cache = atomic_load_explicit(&local->caches, memory_order_acquire);
    size_t count = 0;
    size_t at = 0;

    for (; cache && count < HGI_LOCAL_NEWS_MAX; cache = cache->next) {
        size_t left = HGI_LOCAL_NEWS_TEXT_MAX - at;
        uint64_t hits;
        int len;

        if (strlen(cache->name) + 24 > left) {
            break;
        }
        hits = take_hits(cache);
        if (hits) {
            len = snprintf(ret_text + at, left, "%llu %s", (unsigned long long)hits, cache->name);
            ret_metadata[count++] = (struct hgi_metadata){hg_slice_text(HGI_METADATA_LOCAL_HITS),
                                                          hg_slice_of(ret_text + at, (size_t)len)};
            at += (size_t)len + 1;
        }
    }
    return count;
}
