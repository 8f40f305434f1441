/* SPDX-License-Identifier: Apache-2.0 */
/* attr: the words a public prototype may use.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   none.
 * Errors:   none.
 * Not here: lock words (base/lock.h). */
#ifndef HERDGATE_ATTR_H
#define HERDGATE_ATTR_H

#if defined(__GNUC__)
#define HG_EXPORT       __attribute__((visibility("default")))
#define HG_NODISCARD    __attribute__((warn_unused_result))
#define HG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define HG_EXPORT
#define HG_NODISCARD
#define HG_PRINTF(f, a)
#endif

/* On a pointer parameter: the callee owns it after success. */
#define HG_TAKES

#endif
