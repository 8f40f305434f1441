/* SPDX-License-Identifier: Apache-2.0 */
#include "region.h"

#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "storage/flat/front.h"
#include "storage/flat/racy.h"

/* A block's first word: its size in words, and two bits. A free block has beside it the places of
 * the next and the one before in its list, and its size again in its last word. */
#define IS_FREE          1u
#define IS_AFTER_FREE    2u /* the block before it is free, so its size stands before this one */
#define SIZE_SHIFT       2u
#define NEXT             1u
#define BEFORE           2u
#define WORDS_MIN        4u
#define WORDS_MAX        ((1u << 30) - 1)
#define COLUMNS_LOG      4u
#define FIRST_PLACE      (HGI_FRONT_BYTES / HGI_WORD_BYTES)
#define STEPS            64u /* the mapping is taken in so many, if they are not too small */
#define STEP_MIN_WORDS   (1u << 18)
#define STEP_MAX_WORDS   (1u << 26)
#define HUGE_MIN_BYTES   (64u << 20)
#define REGION_MIN_BYTES ((FIRST_PLACE + WORDS_MIN + 1) * HGI_WORD_BYTES)

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

/* The block is nobody's any more. */
static void give(struct hgi_region *region, uint32_t place) HGI_REQUIRES(region)
{
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
}

static bool reserve(const struct hgi_region *region, uint32_t from, uint32_t to)
{
    const struct hgi_backing *backing = &region->backing;

    return !backing->reserve || backing->reserve(backing->context, (size_t)from * HGI_WORD_BYTES,
                                                 (size_t)to * HGI_WORD_BYTES);
}

/* The next step of the mapping as one more free block, and behind it an end that is never free.
 * False: there is no more of it. */
static bool extend(struct hgi_region *region) HGI_REQUIRES(region)
{
    uint32_t all = (uint32_t)(region->memory.size / HGI_WORD_BYTES) - 1;
    uint32_t end = region->limit;
    /* What must be asked for is asked for under locks: a little at a time. */
    uint32_t step = region->backing.reserve || all / STEPS < STEP_MIN_WORDS ? STEP_MIN_WORDS
                    : all / STEPS > STEP_MAX_WORDS                          ? STEP_MAX_WORDS
                                                                            : all / STEPS;
    uint32_t left = all - end;

    if (left < WORDS_MIN) {
        return false;
    }
    step = left - WORDS_MIN < step ? left : step;
    if (!reserve(region, end, end + step + 1)) {
        return false;
    }
    set(region, end + step, 1u << SIZE_SHIFT);
    set(region, end, step << SIZE_SHIFT | (get(region, end) & IS_AFTER_FREE));
    region->limit = end + step;
    give(region, end);
    return true;
}

static bool begin(struct hgi_region *region) HGI_EXCLUDES(region)
{
    bool is_begun;

    hgi_lock_init(&region->lock);
    hgi_lock_region(&region->lock);
    region->limit = FIRST_PLACE;
    is_begun = reserve(region, 0, FIRST_PLACE + 1);
    if (is_begun) {
        set(region, FIRST_PLACE, 1u << SIZE_SHIFT);
        is_begun = extend(region);
    }
    hgi_unlock_region(&region->lock);
    if (!is_begun) {
        hgi_lock_deinit(&region->lock);
    }
    return is_begun;
}

bool hgi_region_init_in(struct hgi_region *region, const struct hgi_backing *backing)
{
    memset(region, 0, sizeof(*region));
    HGI_BUG_ON(backing->memory.size < REGION_MIN_BYTES ||
               backing->memory.size > HGI_MEMORY_MAX_BYTES);
    region->backing = *backing;
    region->memory = backing->memory;
    return begin(region);
}

bool hgi_region_init(struct hgi_region *region, size_t size)
{
    memset(region, 0, sizeof(*region));
    size = size < REGION_MIN_BYTES       ? REGION_MIN_BYTES
           : size > HGI_MEMORY_MAX_BYTES ? HGI_MEMORY_MAX_BYTES
                                         : size;
    size -= size % HGI_WORD_BYTES;
    region->memory.base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region->memory.base == MAP_FAILED) {
        region->memory.base = NULL;
        return false;
    }
    /* A read of a large table misses the TLB more than anything else. Refused: as good, slower. */
    if (size >= HUGE_MIN_BYTES) {
        (void)madvise(region->memory.base, size, MADV_HUGEPAGE);
    }
    region->memory.size = size;
    return begin(region);
}

void hgi_region_deinit(struct hgi_region *region)
{
    if (region->memory.base) {
        if (!region->backing.reserve) {
            munmap(region->memory.base, region->memory.size);
        }
        hgi_lock_deinit(&region->lock);
        region->memory.base = NULL;
    }
}

/* 0: more than any block. */
static uint32_t words_for(size_t size)
{
    size_t words = (size + HGI_WORD_BYTES - 1) / HGI_WORD_BYTES;

    if (words > WORDS_MAX) {
        return 0;
    }
    return words < WORDS_MIN ? WORDS_MIN : (uint32_t)words;
}

size_t hgi_region_taken_bytes(size_t size)
{
    size_t words = (size + HGI_WORD_BYTES - 1) / HGI_WORD_BYTES;

    return (words < WORDS_MIN ? WORDS_MIN : words) * HGI_WORD_BYTES;
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
    do {
        place = find(region, words);
    } while (!place && extend(region));
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

void hgi_region_free(struct hgi_region *region, uint32_t place)
{
    hgi_lock_region(&region->lock);
    HGI_BUG_ON(get(region, place) & IS_FREE);
    give(region, place);
    hgi_unlock_region(&region->lock);
}
