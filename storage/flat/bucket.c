/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket.h"

#if defined(__SSE2__) && !defined(HGI_RACY_BYTES)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif

#define LINE_BYTES 64u

uint32_t hgi_bucket_match(const struct hgi_bucket *bucket, uint16_t tag)
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

bool hgi_reading_holds(const struct hgi_reading *reading)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)reading->first)->version,
                                memory_order_relaxed) == reading->version &&
           atomic_load_explicit(&((struct hgi_front_shard *)(uintptr_t)reading->shard)->array,
                                memory_order_relaxed) == reading->array;
}

/* The lines of an item as long as most are. */
static void fetch(const struct hgi_memory *memory, uint32_t place)
{
    if (hgi_memory_holds(memory, place, 3 * LINE_BYTES)) {
        const unsigned char *item = hgi_memory_at(memory, place);

        __builtin_prefetch(item);
        __builtin_prefetch(item + LINE_BYTES);
        __builtin_prefetch(item + 2 * LINE_BYTES);
    }
}

/* In one bucket of the chain. */
static bool find_in(const struct hgi_memory *memory, const struct hgi_bucket *bucket, uint16_t tag,
                    struct hg_slice key, struct hgi_reading *reading)
{
    for (uint32_t slots = hgi_bucket_match(bucket, tag); slots; slots &= slots - 1) {
        uint32_t place = hgi_bucket_item(bucket, (uint32_t)__builtin_ctz(slots));

        fetch(memory, place); /* all of it: its head tells too late where key and value are */
        if (hgi_view_read_of(memory, place, key, &reading->view)) {
            reading->place = place;
            return true;
        }
    }
    return false;
}

enum hgi_read hgi_reading_begin(const struct hgi_memory *memory,
                                const struct hgi_front_shard *shard, uint64_t hash,
                                struct hg_slice key, struct hgi_reading *ret_reading)
{
    uint16_t tag = hgi_bucket_tag(hash);
    uint64_t array = hgi_bucket_array(shard);
    struct hgi_bucket *bucket;

    ret_reading->shard = shard;
    ret_reading->array = array;
    if (!hgi_bucket_at(memory, array, hgi_bucket_number(array, hash), &bucket)) {
        return HGI_READ_TORN;
    }
    ret_reading->first = bucket;
    ret_reading->version = atomic_load_explicit(&bucket->version, memory_order_acquire);
    if (ret_reading->version % 2) {
        return HGI_READ_TORN;
    }
    /* A chain that is being cut may lead in a circle. */
    for (size_t links = 0; bucket && links < HGI_BUCKET_LINKS_MAX; links++) {
        if (find_in(memory, bucket, tag, key, ret_reading)) {
            return HGI_READ_ITEM;
        }
        bucket = hgi_bucket_next(memory, bucket);
    }
    return hgi_reading_holds(ret_reading) ? HGI_READ_NONE : HGI_READ_TORN;
}

void hgi_reading_fetch_bucket(const struct hgi_memory *memory, const struct hgi_front_shard *shard,
                              uint64_t hash)
{
    uint64_t array = hgi_bucket_array(shard);
    struct hgi_bucket *bucket;

    if (hgi_bucket_at(memory, array, hgi_bucket_number(array, hash), &bucket)) {
        __builtin_prefetch(bucket);
    }
}

uint32_t hgi_reading_fetch_item(const struct hgi_memory *memory,
                                const struct hgi_front_shard *shard, uint64_t hash)
{
    uint64_t array = hgi_bucket_array(shard);
    struct hgi_bucket *bucket;
    uint32_t place;
    uint32_t slots;

    if (!hgi_bucket_at(memory, array, hgi_bucket_number(array, hash), &bucket)) {
        return 0;
    }
    slots = hgi_bucket_match(bucket, hgi_bucket_tag(hash));
    if (!slots) {
        return 0;
    }
    place = hgi_bucket_item(bucket, (uint32_t)__builtin_ctz(slots));
    fetch(memory, place);
    return place;
}
