/* SPDX-License-Identifier: Apache-2.0 */
/* racy: copying memory that somebody else may be writing.
 * Owns:     nothing.
 * Threads:  any; what a reader copied means something only once it has checked the version that
 *           the writer raises before and after (bucket.h).
 * Limits:   none.
 * Errors:   none.
 * Not here: versions and their order.
 *
 * C has no name for a plain copy that may race and whose result is thrown away then; memcpy is what
 * every seqlock uses. Under the thread sanitizer each byte is an atomic of its own, so that it sees
 * the races that are meant as none, and finds those that are not. */
#ifndef HGI_STORAGE_FLAT_RACY_H
#define HGI_STORAGE_FLAT_RACY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define HGI_RACY_BYTES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HGI_RACY_BYTES 1
#endif
#endif

static inline void hgi_racy_load(void *ret_bytes, const void *from, size_t size)
{
#ifdef HGI_RACY_BYTES
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)ret_bytes)[i] =
            __atomic_load_n((const unsigned char *)from + i, __ATOMIC_RELAXED);
    }
#else
    memcpy(ret_bytes, from, size);
#endif
}

/* `from` is the writer's own. */
static inline void hgi_racy_store(void *to, const void *from, size_t size)
{
#ifdef HGI_RACY_BYTES
    for (size_t i = 0; i < size; i++) {
        __atomic_store_n((unsigned char *)to + i, ((const unsigned char *)from)[i],
                         __ATOMIC_RELAXED);
    }
#else
    if (size) {
        memcpy(to, from, size);
    }
#endif
}

/* Never left out by the compiler. */
static inline void hgi_racy_wipe(void *to, size_t size)
{
#ifdef HGI_RACY_BYTES
    for (size_t i = 0; i < size; i++) {
        __atomic_store_n((unsigned char *)to + i, 0, __ATOMIC_RELAXED);
    }
#else
    explicit_bzero(to, size);
#endif
}

static inline uint32_t hgi_racy_word(const void *from)
{
    return __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
}

static inline void hgi_racy_set_word(void *to, uint32_t word)
{
    __atomic_store_n((uint32_t *)to, word, __ATOMIC_RELAXED);
}

#endif
