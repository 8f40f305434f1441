/* SPDX-License-Identifier: Apache-2.0 */
/* digests: a number for each digest, in one array.
 * Owns:     the array.
 * Threads:  one at a time.
 * Limits:   what memory holds; a third of the places stays free.
 * Errors:   no memory is false, and nothing was changed.
 * Not here: what the digests are of (seal), what the numbers mean. */
#ifndef HGI_STORAGE_SNAPSHOT_DIGESTS_H
#define HGI_STORAGE_SNAPSHOT_DIGESTS_H

#include "base/alloc.h"

struct hgi_digest_place {
    uint64_t digest;
    uint64_t number; /* 0: a free place */
};

struct hgi_digests {
    struct hgi_digest_place *places;
    size_t mask; /* how many places there are, less one */
    size_t count;
};

/* Room for `count` digests; more are taken too. */
HG_NODISCARD bool hgi_digests_init(struct hgi_digests *digests, size_t count);
void hgi_digests_deinit(struct hgi_digests *digests);
/* Gives the digest the number, which is not 0, if the one it has is lower. */
HG_NODISCARD bool hgi_digests_raise(struct hgi_digests *digests, uint64_t digest, uint64_t number);
/* 0: it has none. */
uint64_t hgi_digests_find(const struct hgi_digests *digests, uint64_t digest);

/* The processor may fetch the digest's place before it is looked at. */
static inline void hgi_digests_fetch(const struct hgi_digests *digests, uint64_t digest)
{
    __builtin_prefetch(&digests->places[digest & digests->mask]);
}

#endif
