/* SPDX-License-Identifier: Apache-2.0 */
/* label: the first page of a published cache's file: what it is, and whether it still counts.
 * Owns:     nothing.
 * Threads:  the publisher writes; readers of any process look.
 * Limits:   HGI_LABEL_ALIVE_MS: how long a server that has died without a word is believed.
 * Errors:   hgi_label_problem: half a sentence.
 * Not here: the table's memory behind it (front), whose files these are (storage/local).
 *
 * The file NAME.cache is one page of label and then the table's memory, at the size it will always
 * have; NAME.heat is the readers' counts (heat). A new size, configuration or server is a new file:
 * the old one is marked HGI_LABEL_RETIRED first, and its readers see that in the mapping. */
#ifndef HGI_STORAGE_FLAT_LABEL_H
#define HGI_STORAGE_FLAT_LABEL_H

#include <stdatomic.h>

#include "base/kind.h"
#include "storage/flat/memory.h"

#define HGI_LABEL_BYTES    4096u
#define HGI_LABEL_MAGIC    0x3167646872656468u /* "hderhdg1" */
#define HGI_LABEL_NAME_MAX 255u
#define HGI_LABEL_ALIVE_MS 1000
#define HGI_LABEL_SUFFIX   ".cache"
#define HGI_HEAT_SUFFIX    ".heat"

enum hgi_label_state {
    HGI_LABEL_UNDER_WAY = 0,
    HGI_LABEL_LIVE = 1,
    HGI_LABEL_RETIRED = 2, /* for good */
};

struct hgi_label {
    /* set before LIVE */
    uint64_t magic;
    uint64_t memory_size;
    uint64_t epoch;         /* of the server, as its replies tell it */
    uint64_t time_space;    /* inode of the time namespace: boot clocks of two differ */
    uint32_t key_type;      /* enum hgi_key_type */
    uint32_t value_type;    /* enum hg_value_type */
    uint32_t refresh_part;  /* with so many percent of its ttl left a read is the server's */
    uint32_t refresh_reach; /* the same with so many load times left */
    char name[HGI_LABEL_NAME_MAX + 1];
    /* changing, on a line of their own */
    _Alignas(64) _Atomic uint32_t state;
    _Atomic int64_t alive_until_ms; /* boot clock; past it nobody is there to clear anything */
};

_Static_assert(sizeof(struct hgi_label) <= HGI_LABEL_BYTES, "the memory begins on a page");

/* What keeps this copy of a label's first part, and the size of its file, from being those of the
 * cache `name`; NULL: nothing. */
const char *hgi_label_problem(const struct hgi_label *label, const char *name, size_t file_size);
/* This process's; 0: unknown. */
uint64_t hgi_label_time_space(void);

/* What is read from the memory now may be answered. */
static inline bool hgi_label_counts(const struct hgi_label *label, int64_t boot_ms)
{
    struct hgi_label *shared = (struct hgi_label *)(uintptr_t)label;

    return atomic_load_explicit(&shared->state, memory_order_acquire) == HGI_LABEL_LIVE &&
           boot_ms < atomic_load_explicit(&shared->alive_until_ms, memory_order_relaxed);
}

#endif
