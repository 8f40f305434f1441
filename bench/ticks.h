/* SPDX-License-Identifier: Apache-2.0 */
/* ticks: time as benchmarks need it: nanoseconds that passed, and processor time that was used.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   another process's processor time is known to 10 ms.
 * Errors:   of a process that is not there: 0.
 * Not here: the server's own clock (base/clock). */
#ifndef BENCH_TICKS_H
#define BENCH_TICKS_H

#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC. */
uint64_t ticks_now_ns(void);
/* Of the calling thread, or of this whole process. */
uint64_t ticks_thread_cpu_ns(void);
uint64_t ticks_own_cpu_ns(void);
/* User and system time of the process and of all its children. */
double ticks_cpu_s(pid_t pid);
/* Resident bytes of the process; 0 for pid 0 is this one. */
uint64_t ticks_rss_bytes(pid_t pid);

#endif
