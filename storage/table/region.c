/* SPDX-License-Identifier: Apache-2.0 */
#include "region.h"

#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "racy.h"

/* A block's first word: its size in words, and two bits. A free block has beside it the places of
 * the next and the one before in its list, and its size again in its last word. */
#define IS_FREE        1u
#define IS_AFTER_FREE  2u /* the block before it is free, so its size stands before this one */
#define SIZE_SHIFT     2u
#define NEXT           1u
#define BEFORE         2u
#define WORDS_MIN      4u
#define WORDS_MAX      ((1u << 30) - 1)
#define COLUMNS_LOG    4u
#define FIRST_PLACE    4u /* 0 is no place */
#define HUGE_MIN_BYTES (64u << 20)

static uint32_t get(const struct hgi_region *region, uint32_t place)
{
    return hgi_racy_word(hgi_region_at(region, place));
}

static void set(struct hgi_region *region, uint32_t place, uint32_t word)
{
    hgi_racy_set_word(hgi_region_at(region, place), word);
}

static uint32_t words_at(const struct hgi_region *region, uint32_t place)
{
    return get(region, place) >> SIZE_SHIFT;
}

static uint32_t log_of(uint32_t words)
{
    return 31u - (uint32_t)__builtin_clz(words);
}

static void class_of(uint32_t words, uint32_t *ret_row, uint32_t *ret_column)
{
    uint32_t log = log_of(words);

    *ret_row = log < COLUMNS_LOG ? 0 : log - COLUMNS_LOG + 1;
    *ret_column =
        log < COLUMNS_LOG ? words : (words >> (log - COLUMNS_LOG)) & (HGI_REGION_COLUMNS - 1);
}

static void link_free(struct hgi_region *region, uint32_t place) HGI_REQUIRES(region)
{
    uint32_t words = words_at(region, place);
    uint32_t row;
    uint32_t column;
    uint32_t head;

    class_of(words, &row, &column);
    head = region->heads[row][column];
    set(region, place, words << SIZE_SHIFT | IS_FREE | (get(region, place) & IS_AFTER_FREE));
    set(region, place + NEXT, head);
    set(region, place + BEFORE, 0);
    set(region, place + words - 1, words);
    set(region, place + words, get(region, place + words) | IS_AFTER_FREE);
    if (head) {
        set(region, head + BEFORE, place);
    }
    region->heads[row][column] = place;
    region->column_maps[row] |= 1u << column;
    region->row_map |= 1u << row;
}

static void unlink_free(struct hgi_region *region, uint32_t place) HGI_REQUIRES(region)
{
    uint32_t words = words_at(region, place);
    uint32_t next = get(region, place + NEXT);
    uint32_t before = get(region, place + BEFORE);
    uint32_t row;
    uint32_t column;

    class_of(words, &row, &column);
    if (next) {
        set(region, next + BEFORE, before);
    }
    if (before) {
        set(region, before + NEXT, next);
    } else {
        region->heads[row][column] = next;
        if (!next) {
            region->column_maps[row] &= ~(1u << column);
            if (!region->column_maps[row]) {
                region->row_map &= ~(1u << row);
            }
        }
    }
    set(region, place, get(region, place) & ~IS_FREE);
    set(region, place + words, get(region, place + words) & ~IS_AFTER_FREE);
}

/* The whole mapping as free blocks, each as long as its word can say, and an end that is never
 * free. */
static void cut(struct hgi_region *region) HGI_REQUIRES(region)
{
    uint32_t end = (uint32_t)(region->size / HGI_REGION_WORD_BYTES) - 1;
    uint32_t place = FIRST_PLACE;

    while (end - place >= WORDS_MIN) {
        uint32_t words = end - place < WORDS_MAX ? end - place : WORDS_MAX;

        if (end - place - words < WORDS_MIN) {
            words = end - place; /* but for the longest, which leaves at most three words */
            words = words < WORDS_MAX ? words : WORDS_MAX;
        }
        set(region, place, words << SIZE_SHIFT | (get(region, place) & IS_AFTER_FREE));
        link_free(region, place);
        place += words;
    }
    set(region, place, (end - place + 1) << SIZE_SHIFT | (get(region, place) & IS_AFTER_FREE));
}

bool hgi_region_init(struct hgi_region *region, size_t size)
{
    size_t least = (FIRST_PLACE + WORDS_MIN + 1) * HGI_REGION_WORD_BYTES;

    memset(region, 0, sizeof(*region));
    size = size < least ? least : size > HGI_REGION_MAX_BYTES ? HGI_REGION_MAX_BYTES : size;
    size -= size % HGI_REGION_WORD_BYTES;
    region->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region->base == MAP_FAILED) {
        region->base = NULL;
        return false;
    }
    /* A read of a large table misses the TLB more than anything else. Refused: as good, slower. */
    if (size >= HUGE_MIN_BYTES) {
        (void)madvise(region->base, size, MADV_HUGEPAGE);
    }
    region->size = size;
    hgi_lock_init(&region->lock);
    hgi_lock_region(&region->lock);
    cut(region);
    hgi_unlock_region(&region->lock);
    return true;
}

void hgi_region_deinit(struct hgi_region *region)
{
    if (region->base) {
        munmap(region->base, region->size);
        hgi_lock_deinit(&region->lock);
        region->base = NULL;
    }
}

/* 0: more than any block. */
static uint32_t words_for(size_t size)
{
    size_t words = (size + HGI_REGION_WORD_BYTES - 1) / HGI_REGION_WORD_BYTES;

    if (words > WORDS_MAX) {
        return 0;
    }
    return words < WORDS_MIN ? WORDS_MIN : (uint32_t)words;
}

size_t hgi_region_taken_bytes(size_t size)
{
    size_t words = (size + HGI_REGION_WORD_BYTES - 1) / HGI_REGION_WORD_BYTES;

    return (words < WORDS_MIN ? WORDS_MIN : words) * HGI_REGION_WORD_BYTES;
}

/* A free block of at least so many words, from the first class of which every block is that large;
 * 0: none. */
static uint32_t find(const struct hgi_region *region, uint32_t words) HGI_REQUIRES(region)
{
    uint32_t log = log_of(words);
    uint32_t row;
    uint32_t column;
    uint32_t map;

    if (log >= COLUMNS_LOG) {
        uint32_t up = (1u << (log - COLUMNS_LOG)) - 1;

        words = words > WORDS_MAX - up ? WORDS_MAX : words + up;
    }
    class_of(words, &row, &column);
    map = region->column_maps[row] & (~0u << column);
    if (!map) {
        uint32_t rows = row + 1 < 32 ? region->row_map & (~0u << (row + 1)) : 0;

        if (!rows) {
            return 0;
        }
        row = (uint32_t)__builtin_ctz(rows);
        map = region->column_maps[row];
    }
    return region->heads[row][(uint32_t)__builtin_ctz(map)];
}

uint32_t hgi_region_alloc(struct hgi_region *region, size_t size)
{
    uint32_t words = words_for(size);
    uint32_t place = 0;

    if (!words) {
        return 0;
    }
    hgi_lock_region(&region->lock);
    place = find(region, words);
    if (place) {
        uint32_t left = words_at(region, place) - words;

        unlink_free(region, place);
        if (left >= WORDS_MIN) {
            set(region, place, words << SIZE_SHIFT | (get(region, place) & IS_AFTER_FREE));
            set(region, place + words, left << SIZE_SHIFT);
            link_free(region, place + words);
        }
    }
    hgi_unlock_region(&region->lock);
    return place;
}

/* Joins the block with its neighbour behind, if that is free and the two fit one word's size. */
static void join_next(struct hgi_region *region, uint32_t place) HGI_REQUIRES(region)
{
    uint32_t words = words_at(region, place);
    uint32_t next = place + words;

    if ((get(region, next) & IS_FREE) && words_at(region, next) <= WORDS_MAX - words) {
        uint32_t sum = words + words_at(region, next);

        unlink_free(region, next);
        set(region, place, sum << SIZE_SHIFT | (get(region, place) & IS_AFTER_FREE));
    }
}

void hgi_region_free(struct hgi_region *region, uint32_t place)
{
    hgi_lock_region(&region->lock);
    HGI_BUG_ON(get(region, place) & IS_FREE);
    join_next(region, place);
    if (get(region, place) & IS_AFTER_FREE) {
        uint32_t before = place - get(region, place - 1);
        uint32_t words = words_at(region, place);

        if (words_at(region, before) <= WORDS_MAX - words) {
            uint32_t sum = words_at(region, before) + words;

            unlink_free(region, before);
            set(region, before, sum << SIZE_SHIFT | (get(region, before) & IS_AFTER_FREE));
            place = before;
        }
    }
    link_free(region, place);
    hgi_unlock_region(&region->lock);
}
