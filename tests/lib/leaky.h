/* SPDX-License-Identifier: Apache-2.0 */
/* leaky: libraries that do not close what they are told to, and a clock of the boot that is ahead:
 * preloaded into a program (LD_PRELOAD), told what to do by a file that both map.
 * Owns:     the kept descriptors, which nobody else knows of.
 * Threads:  any.
 * Limits:   connections accepted on ipc; streams of nng that are closed.
 * Errors:   a program that cannot map the file LEAKY_FILE names ends at once.
 * Not here: who notices (server/census). */
#ifndef HG_TEST_LEAKY_H
#define HG_TEST_LEAKY_H

#include <stdatomic.h>
#include <stdint.h>

#define LEAKY_FILE "HERDGATE_TEST_LEAKY_FILE"

struct leaky {
    _Atomic int64_t ahead_s; /* the boot clock, from the next look at it on */
    _Atomic int keeps_descriptors;
    _Atomic int keeps_streams;
    _Atomic unsigned kept_count; /* descriptors and streams */
};

#endif
