/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include "base/check.h"

#define BUCKETS_MIN 2u
#define BUCKETS_MAX (1u << 28)
#define LINE_BYTES  64u
#define LINE_WORDS  (LINE_BYTES / HGI_WORD_BYTES)
/* Grown by a quarter when 7.5 of 9 slots are taken on average: each item is put anew about four
 * times in all, and a bucket is never less than two thirds full for long. */
#define FULL_NUMBER 15u
#define FULL_OF     2u

static struct hgi_bucket *bucket_at(const struct hgi_index *index, uint64_t array, size_t i)
{
    struct hgi_bucket *bucket;

    HGI_BUG_ON(!hgi_bucket_at(&index->region->memory, array, i, &bucket));
    return bucket;
}

static struct hgi_bucket *first_of(const struct hgi_index *index, uint64_t array, uint64_t hash)
{
    return bucket_at(index, array, hgi_bucket_number(array, hash));
}

static struct hgi_bucket *next_of(const struct hgi_index *index, const struct hgi_bucket *bucket)
{
    return hgi_bucket_next(&index->region->memory, bucket);
}

static void set_slot(struct hgi_bucket *bucket, size_t slot, uint16_t tag, uint32_t place)
{
    atomic_store_explicit(&bucket->items[slot], place, memory_order_relaxed);
    atomic_store_explicit(&bucket->tags[slot], tag, memory_order_relaxed);
}

/* ---- versions ---- */

static void open_version(struct hgi_bucket *first)
{
    uint32_t version = atomic_load_explicit(&first->version, memory_order_relaxed);

    HGI_COSTLY(version % 2 == 0);
    atomic_store_explicit(&first->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void close_version(struct hgi_bucket *first)
{
    uint32_t version = atomic_load_explicit(&first->version, memory_order_relaxed);

    atomic_store_explicit(&first->version, version + 1, memory_order_release);
}

/* ---- arrays ---- */

/* So many buckets, all free. 0: no memory. */
static uint64_t array_new(struct hgi_region *region, uint32_t count, uint32_t *ret_block)
{
    size_t size = (size_t)count * sizeof(struct hgi_bucket);
    uint32_t block = hgi_region_alloc(region, size + LINE_BYTES + HGI_WORD_BYTES);
    uint32_t place = (block + LINE_WORDS) & ~(LINE_WORDS - 1);

    if (!block) {
        return 0;
    }
    atomic_thread_fence(memory_order_release);
    hgi_racy_wipe(hgi_region_at(region, place), size);
    *ret_block = block;
    return (uint64_t)place << 32 | count;
}

bool hgi_index_init(struct hgi_index *index, struct hgi_region *region, size_t number)
{
    uint64_t array = array_new(region, BUCKETS_MIN, &index->block);

    index->region = region;
    index->front = &hgi_front_of(&region->memory)->shards[number];
    index->count = 0;
    atomic_store_explicit(&index->front->array, array, memory_order_release);
    return array != 0;
}

/* Into the first free slot of the chain, lengthening it if need be. False: it may not, or there is
 * no memory. The caller has opened the version, or nobody reads the array yet. */
static bool put(struct hgi_index *index, struct hgi_bucket *first, uint16_t tag, uint32_t place)
{
    struct hgi_bucket *bucket = first;
    size_t links = 1;
    uint32_t block;

    for (;;) {
        uint32_t free_slots = hgi_bucket_match(bucket, 0);
        struct hgi_bucket *next;

        if (free_slots) {
            set_slot(bucket, (size_t)__builtin_ctz(free_slots), tag, place);
            return true;
        }
        next = next_of(index, bucket);
        if (!next) {
            break;
        }
        bucket = next;
        links++;
    }
    if (links >= HGI_BUCKET_LINKS_MAX) {
        return false;
    }
    block = hgi_region_alloc(index->region, sizeof(*bucket) + HGI_WORD_BYTES);
    if (!block) {
        return false;
    }
    atomic_thread_fence(memory_order_release);
    hgi_racy_wipe(hgi_region_at(index->region, block + 1), sizeof(*bucket));
    atomic_store_explicit(&bucket->next, block + 1, memory_order_relaxed);
    set_slot(hgi_region_at(index->region, block + 1), 0, tag, place);
    return true;
}

static void free_chains(struct hgi_index *index, uint64_t array)
{
    for (size_t i = 0; i < (uint32_t)array; i++) {
        struct hgi_bucket *next = next_of(index, bucket_at(index, array, i));

        while (next) {
            uint32_t place =
                (uint32_t)(((unsigned char *)next - index->region->memory.base) / HGI_WORD_BYTES);

            next = next_of(index, next);
            hgi_region_free(index->region, place - 1);
        }
    }
}

/* Every item of `from` into `to`, which nobody reads yet. */
static bool copy_items(struct hgi_index *index, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < (uint32_t)from; i++) {
        struct hgi_bucket *first = bucket_at(index, from, i);
        uint16_t is_unsaved = atomic_load_explicit(&first->is_unsaved, memory_order_relaxed);

        for (struct hgi_bucket *bucket = first; bucket; bucket = next_of(index, bucket)) {
            for (uint32_t slot = 0; slot < HGI_BUCKET_SLOTS; slot++) {
                uint32_t place = hgi_bucket_item(bucket, slot);
                struct hgi_bucket *home;
                struct hgi_view view;
                uint64_t hash;

                if (!atomic_load_explicit(&bucket->tags[slot], memory_order_relaxed)) {
                    continue;
                }
                HGI_BUG_ON(!hgi_view_read(&index->region->memory, place, &view));
                hash = hgi_hash(&hgi_front_of(&index->region->memory)->hash_key, view.key);
                home = first_of(index, to, hash);
                if (!put(index, home, hgi_bucket_tag(hash), place)) {
                    return false;
                }
                if (is_unsaved) {
                    atomic_store_explicit(&home->is_unsaved, 1, memory_order_relaxed);
                }
            }
        }
    }
    return true;
}

/* False: no memory for so many buckets, and nothing was changed. */
static bool resize(struct hgi_index *index, uint32_t count)
{
    uint64_t old = hgi_bucket_array(index->front);
    uint32_t old_block = index->block;
    uint32_t block;
    uint64_t fresh = array_new(index->region, count, &block);

    if (!fresh) {
        return false;
    }
    if (!copy_items(index, old, fresh)) {
        free_chains(index, fresh);
        hgi_region_free(index->region, block);
        return false;
    }
    index->block = block;
    atomic_store_explicit(&index->front->array, fresh, memory_order_release);
    /* Whoever writes where the old array was must not be seen before that. */
    atomic_thread_fence(memory_order_seq_cst);
    free_chains(index, old);
    hgi_region_free(index->region, old_block);
    return true;
}

static void grow(struct hgi_index *index)
{
    uint32_t count = (uint32_t)hgi_bucket_array(index->front);

    if (index->count * FULL_OF >= (size_t)count * FULL_NUMBER && count < BUCKETS_MAX) {
        (void)resize(index, count + count / 4 + 1); /* else chains grow a little longer */
    }
}

/* ---- items ---- */

uint32_t hgi_index_find(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                        struct hgi_view *ret_view)
{
    uint16_t tag = hgi_bucket_tag(hash);

    for (struct hgi_bucket *bucket = first_of(index, hgi_bucket_array(index->front), hash); bucket;
         bucket = next_of(index, bucket)) {
        for (uint32_t slots = hgi_bucket_match(bucket, tag); slots; slots &= slots - 1) {
            uint32_t place = hgi_bucket_item(bucket, (uint32_t)__builtin_ctz(slots));

            if (hgi_view_read_of(&index->region->memory, place, key, ret_view)) {
                return place;
            }
        }
    }
    return 0;
}

void hgi_index_expect(struct hgi_index *index, size_t count)
{
    size_t buckets = count * FULL_OF / FULL_NUMBER + 1;

    if (buckets > (uint32_t)hgi_bucket_array(index->front) && buckets <= BUCKETS_MAX) {
        (void)resize(index, (uint32_t)buckets); /* else it grows as it is filled */
    }
}

bool hgi_index_insert(struct hgi_index *index, uint64_t hash, uint32_t place)
{
    struct hgi_bucket *first;
    bool is_put;

    grow(index);
    first = first_of(index, hgi_bucket_array(index->front), hash);
    open_version(first);
    is_put = put(index, first, hgi_bucket_tag(hash), place);
    close_version(first);
    index->count += is_put;
    return is_put;
}

/* The slot that has the item; it is there. */
static struct hgi_bucket *slot_of(const struct hgi_index *index, uint64_t hash, uint32_t place,
                                  uint32_t *ret_slot)
{
    uint16_t tag = hgi_bucket_tag(hash);
    struct hgi_bucket *bucket = first_of(index, hgi_bucket_array(index->front), hash);

    for (; bucket; bucket = next_of(index, bucket)) {
        for (uint32_t slots = hgi_bucket_match(bucket, tag); slots; slots &= slots - 1) {
            *ret_slot = (uint32_t)__builtin_ctz(slots);
            if (hgi_bucket_item(bucket, *ret_slot) == place) {
                return bucket;
            }
        }
    }
    HGI_BUG_ON(true);
    return NULL;
}

/* The last bucket of a chain goes when nothing is in it. */
static void trim(struct hgi_index *index, struct hgi_bucket *first)
{
    struct hgi_bucket *before = first;
    struct hgi_bucket *last = next_of(index, first);
    bool is_empty = true;
    uint32_t place;

    if (!last) {
        return;
    }
    while (next_of(index, last)) {
        before = last;
        last = next_of(index, last);
    }
    for (size_t i = 0; i < HGI_BUCKET_SLOTS; i++) {
        is_empty = is_empty && !atomic_load_explicit(&last->tags[i], memory_order_relaxed);
    }
    if (is_empty) {
        place = atomic_load_explicit(&before->next, memory_order_relaxed);
        atomic_store_explicit(&before->next, 0, memory_order_relaxed);
        hgi_region_free(index->region, place - 1);
    }
}

void hgi_index_remove(struct hgi_index *index, uint64_t hash, uint32_t place)
{
    struct hgi_bucket *first = first_of(index, hgi_bucket_array(index->front), hash);
    uint32_t slot;
    struct hgi_bucket *bucket = slot_of(index, hash, place, &slot);

    open_version(first);
    set_slot(bucket, slot, 0, 0);
    trim(index, first);
    close_version(first);
    index->count--;
}

void hgi_index_swap(struct hgi_index *index, uint64_t hash, uint32_t old_place, uint32_t new_place)
{
    struct hgi_bucket *first = first_of(index, hgi_bucket_array(index->front), hash);
    uint32_t slot;
    struct hgi_bucket *bucket = slot_of(index, hash, old_place, &slot);

    open_version(first);
    set_slot(bucket, slot, hgi_bucket_tag(hash), new_place);
    close_version(first);
}

void hgi_index_open(struct hgi_index *index, uint64_t hash)
{
    open_version(first_of(index, hgi_bucket_array(index->front), hash));
}

void hgi_index_close(struct hgi_index *index, uint64_t hash)
{
    close_version(first_of(index, hgi_bucket_array(index->front), hash));
}

size_t hgi_index_items(const struct hgi_index *index, size_t i, uint32_t *ret_places)
{
    size_t count = 0;

    for (struct hgi_bucket *bucket = bucket_at(index, hgi_bucket_array(index->front), i); bucket;
         bucket = next_of(index, bucket)) {
        for (uint32_t slot = 0; slot < HGI_BUCKET_SLOTS; slot++) {
            if (atomic_load_explicit(&bucket->tags[slot], memory_order_relaxed)) {
                ret_places[count++] = hgi_bucket_item(bucket, slot);
            }
        }
    }
    return count;
}

void hgi_index_mark_bucket(struct hgi_index *index, size_t i)
{
    atomic_store_explicit(&bucket_at(index, hgi_bucket_array(index->front), i)->is_unsaved, 1,
                          memory_order_relaxed);
}

void hgi_index_mark_unsaved(struct hgi_index *index, uint64_t hash)
{
    atomic_store_explicit(&first_of(index, hgi_bucket_array(index->front), hash)->is_unsaved, 1,
                          memory_order_relaxed);
}

bool hgi_index_take_unsaved(struct hgi_index *index, size_t i)
{
    struct hgi_bucket *bucket = bucket_at(index, hgi_bucket_array(index->front), i);
    bool is_unsaved = atomic_load_explicit(&bucket->is_unsaved, memory_order_relaxed);

    if (is_unsaved) {
        atomic_store_explicit(&bucket->is_unsaved, 0, memory_order_relaxed);
    }
    return is_unsaved;
}
