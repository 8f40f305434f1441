/* SPDX-License-Identifier: Apache-2.0 */
/* check: the kinds of assertion.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   none.
 * Errors:   HGI_BUG_ON stays in release builds and aborts: a broken invariant in a cache of
 * credentials must stop it. HGI_COSTLY is checked in debug builds only.
 * Not here: outside faults (bad input, full disk), which return a status.
 */
#ifndef HGI_BASE_CHECK_H
#define HGI_BASE_CHECK_H

_Noreturn void hgi_bug(const char *file, int line, const char *condition);

#define HGI_BUG_ON(condition)                                                                      \
    do {                                                                                           \
        if (__builtin_expect(!!(condition), 0)) {                                                  \
            hgi_bug(__FILE__, __LINE__, #condition);                                               \
        }                                                                                          \
    } while (0)

#ifdef NDEBUG
#define HGI_COSTLY(condition) ((void)0)
#else
#define HGI_COSTLY(condition) HGI_BUG_ON(!(condition))
#endif

#define HGI_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The structure around a member. */
#define HGI_CONTAINER(pointer, type, member)                                                       \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
