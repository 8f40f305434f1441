/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include "base/check.h"

#if defined(__SSE2__) && !defined(HGI_RACY_BYTES)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif

#define BUCKETS_MIN 2u
#define BUCKETS_MAX (1u << 28)
#define LINE_BYTES  64u
#define LINE_WORDS  (LINE_BYTES / HGI_REGION_WORD_BYTES)
/* Grown by a quarter when 7.5 of 9 slots are taken on average: each item is put anew about four
 * times in all, and a bucket is never less than two thirds full for long. */
#define FULL_NUMBER 15u
#define FULL_OF     2u

/* The high bits name the shard (table), the low ones the bucket. */
static uint16_t tag_of(uint64_t hash)
{
    uint16_t tag = (uint16_t)(hash >> 40);

    return tag ? tag : 1;
}

static uint64_t load_array(const struct hgi_index *index)
{
    return atomic_load_explicit(&((struct hgi_index *)(uintptr_t)index)->array,
                                memory_order_acquire);
}

static struct hgi_bucket *bucket_at(const struct hgi_index *index, uint64_t array, size_t i)
{
    unsigned char *first = hgi_region_at(index->region, (uint32_t)(array >> 32));

    return (struct hgi_bucket *)(void *)(first + i * sizeof(struct hgi_bucket));
}

static struct hgi_bucket *first_of(const struct hgi_index *index, uint64_t array, uint64_t hash)
{
    return bucket_at(index, array, ((hash & UINT32_MAX) * (uint32_t)array) >> 32);
}

/* NULL: the chain ends, or its next place cannot be a bucket (and then the version has moved). */
static struct hgi_bucket *next_of(const struct hgi_index *index, const struct hgi_bucket *bucket)
{
    uint32_t place =
        atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)bucket)->next, memory_order_relaxed);

    return place && hgi_region_holds(index->region, place, sizeof(*bucket))
               ? hgi_region_at(index->region, place)
               : NULL;
}

/* A bit for each slot with the tag. */
static uint32_t match(const struct hgi_bucket *bucket, uint16_t tag)
{
    uint32_t slots = 0;
#ifdef HAS_SSE2
    const __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)bucket->tags);
    const __m128i equal = _mm_cmpeq_epi16(eight, _mm_set1_epi16((short)tag));

    slots = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
    for (size_t i = 8; i < HGI_BUCKET_SLOTS; i++) {
#else
    for (size_t i = 0; i < HGI_BUCKET_SLOTS; i++) {
#endif
        slots |= (uint32_t)(atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)bucket)->tags[i],
                                                 memory_order_relaxed) == tag)
                 << i;
    }
    return slots;
}

static uint32_t item_of(const struct hgi_bucket *bucket, uint32_t slot)
{
    return atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)bucket)->items[slot],
                                memory_order_relaxed);
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
    uint32_t block = hgi_region_alloc(region, size + LINE_BYTES + HGI_REGION_WORD_BYTES);
    uint32_t place = (block + LINE_WORDS) & ~(LINE_WORDS - 1);

    if (!block) {
        return 0;
    }
    atomic_thread_fence(memory_order_release);
    hgi_racy_wipe(hgi_region_at(region, place), size);
    *ret_block = block;
    return (uint64_t)place << 32 | count;
}

bool hgi_index_init(struct hgi_index *index, struct hgi_region *region,
                    const struct hgi_hash_key *hash_key)
{
    uint64_t array = array_new(region, BUCKETS_MIN, &index->block);

    index->region = region;
    index->hash_key = *hash_key;
    index->count = 0;
    atomic_init(&index->array, array);
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
        uint32_t free_slots = match(bucket, 0);
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
    if (links * HGI_BUCKET_SLOTS >= HGI_BUCKET_ITEMS_MAX) {
        return false;
    }
    block = hgi_region_alloc(index->region, sizeof(*bucket) + HGI_REGION_WORD_BYTES);
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
                (uint32_t)(((unsigned char *)next - index->region->base) / HGI_REGION_WORD_BYTES);

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
                uint32_t place = item_of(bucket, slot);
                struct hgi_bucket *home;
                struct hgi_view view;
                uint64_t hash;

                if (!atomic_load_explicit(&bucket->tags[slot], memory_order_relaxed)) {
                    continue;
                }
                HGI_BUG_ON(!hgi_item_view(index->region, place, &view));
                hash = hgi_hash(&index->hash_key, view.key);
                home = first_of(index, to, hash);
                if (!put(index, home, tag_of(hash), place)) {
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

/* If there is no memory for it, chains grow a little longer. */
static void grow(struct hgi_index *index)
{
    uint64_t old = load_array(index);
    uint32_t old_block = index->block;
    uint32_t count = (uint32_t)old;
    uint32_t block;
    uint64_t fresh;

    if (index->count * FULL_OF < (size_t)count * FULL_NUMBER || count >= BUCKETS_MAX) {
        return;
    }
    fresh = array_new(index->region, count + count / 4 + 1, &block);
    if (!fresh) {
        return;
    }
    if (!copy_items(index, old, fresh)) {
        free_chains(index, fresh);
        hgi_region_free(index->region, block);
        return;
    }
    index->block = block;
    atomic_store_explicit(&index->array, fresh, memory_order_release);
    /* Whoever writes where the old array was must not be seen before that. */
    atomic_thread_fence(memory_order_seq_cst);
    free_chains(index, old);
    hgi_region_free(index->region, old_block);
}

/* ---- for writers ---- */

uint32_t hgi_index_find(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                        struct hgi_view *ret_view)
{
    uint16_t tag = tag_of(hash);

    for (struct hgi_bucket *bucket = first_of(index, load_array(index), hash); bucket;
         bucket = next_of(index, bucket)) {
        for (uint32_t slots = match(bucket, tag); slots; slots &= slots - 1) {
            uint32_t place = item_of(bucket, (uint32_t)__builtin_ctz(slots));

            if (hgi_item_view_of(index->region, place, key, ret_view)) {
                return place;
            }
        }
    }
    return 0;
}

bool hgi_index_insert(struct hgi_index *index, uint64_t hash, uint32_t place)
{
    struct hgi_bucket *first;
    bool is_put;

    grow(index);
    first = first_of(index, load_array(index), hash);
    open_version(first);
    is_put = put(index, first, tag_of(hash), place);
    close_version(first);
    index->count += is_put;
    return is_put;
}

/* The slot that has the item; it is there. */
static struct hgi_bucket *slot_of(const struct hgi_index *index, uint64_t hash, uint32_t place,
                                  uint32_t *ret_slot)
{
    uint16_t tag = tag_of(hash);
    struct hgi_bucket *bucket = first_of(index, load_array(index), hash);

    for (; bucket; bucket = next_of(index, bucket)) {
        for (uint32_t slots = match(bucket, tag); slots; slots &= slots - 1) {
            *ret_slot = (uint32_t)__builtin_ctz(slots);
            if (item_of(bucket, *ret_slot) == place) {
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
    struct hgi_bucket *first = first_of(index, load_array(index), hash);
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
    struct hgi_bucket *first = first_of(index, load_array(index), hash);
    uint32_t slot;
    struct hgi_bucket *bucket = slot_of(index, hash, old_place, &slot);

    open_version(first);
    set_slot(bucket, slot, tag_of(hash), new_place);
    close_version(first);
}

void hgi_index_open(struct hgi_index *index, uint64_t hash)
{
    open_version(first_of(index, load_array(index), hash));
}

void hgi_index_close(struct hgi_index *index, uint64_t hash)
{
    close_version(first_of(index, load_array(index), hash));
}

size_t hgi_index_items(const struct hgi_index *index, size_t i, uint32_t *ret_places)
{
    size_t count = 0;

    for (struct hgi_bucket *bucket = bucket_at(index, load_array(index), i); bucket;
         bucket = next_of(index, bucket)) {
        for (uint32_t slot = 0; slot < HGI_BUCKET_SLOTS; slot++) {
            if (atomic_load_explicit(&bucket->tags[slot], memory_order_relaxed)) {
                ret_places[count++] = item_of(bucket, slot);
            }
        }
    }
    return count;
}

void hgi_index_mark_bucket(struct hgi_index *index, size_t i)
{
    atomic_store_explicit(&bucket_at(index, load_array(index), i)->is_unsaved, 1,
                          memory_order_relaxed);
}

void hgi_index_mark_unsaved(struct hgi_index *index, uint64_t hash)
{
    atomic_store_explicit(&first_of(index, load_array(index), hash)->is_unsaved, 1,
                          memory_order_relaxed);
}

bool hgi_index_take_unsaved(struct hgi_index *index, size_t i)
{
    struct hgi_bucket *bucket = bucket_at(index, load_array(index), i);
    bool is_unsaved = atomic_load_explicit(&bucket->is_unsaved, memory_order_relaxed);

    if (is_unsaved) {
        atomic_store_explicit(&bucket->is_unsaved, 0, memory_order_relaxed);
    }
    return is_unsaved;
}

/* ---- for readers ---- */

bool hgi_reading_holds(const struct hgi_reading *reading)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)reading->first)->version,
                                memory_order_relaxed) == reading->version &&
           atomic_load_explicit(&((struct hgi_index *)(uintptr_t)reading->index)->array,
                                memory_order_relaxed) == reading->array;
}

/* The lines of an item as long as most are. */
static void fetch(const struct hgi_index *index, uint32_t place)
{
    if (hgi_region_holds(index->region, place, 3 * LINE_BYTES)) {
        const unsigned char *item = hgi_region_at(index->region, place);

        __builtin_prefetch(item);
        __builtin_prefetch(item + LINE_BYTES);
        __builtin_prefetch(item + 2 * LINE_BYTES);
    }
}

enum hgi_read hgi_index_read(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                             struct hgi_reading *ret_reading)
{
    uint16_t tag = tag_of(hash);
    const struct hgi_bucket *bucket;
    size_t links = 0;

    ret_reading->index = index;
    ret_reading->array = load_array(index);
    ret_reading->first = first_of(index, ret_reading->array, hash);
    ret_reading->version = atomic_load_explicit(
        &((struct hgi_bucket *)(uintptr_t)ret_reading->first)->version, memory_order_acquire);
    if (ret_reading->version % 2) {
        return HGI_READ_TORN;
    }
    /* A chain that is being cut may lead in a circle. */
    for (bucket = ret_reading->first; bucket && links < HGI_BUCKET_ITEMS_MAX / HGI_BUCKET_SLOTS;
         bucket = next_of(index, bucket), links++) {
        for (uint32_t slots = match(bucket, tag); slots; slots &= slots - 1) {
            uint32_t place = item_of(bucket, (uint32_t)__builtin_ctz(slots));

            fetch(index, place); /* all of it: its head tells too late where key and value are */
            if (hgi_item_view_of(index->region, place, key, &ret_reading->view)) {
                ret_reading->place = place;
                return HGI_READ_ITEM;
            }
        }
    }
    return hgi_reading_holds(ret_reading) ? HGI_READ_NONE : HGI_READ_TORN;
}

void hgi_index_fetch_bucket(const struct hgi_index *index, uint64_t hash)
{
    __builtin_prefetch(first_of(index, load_array(index), hash));
}

void hgi_index_fetch_item(const struct hgi_index *index, uint64_t hash)
{
    const struct hgi_bucket *first = first_of(index, load_array(index), hash);
    uint32_t slots = match(first, tag_of(hash));

    if (slots) {
        fetch(index, item_of(first, (uint32_t)__builtin_ctz(slots)));
    }
}
