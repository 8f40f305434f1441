/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the only clock_gettime.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   milliseconds.
 * Errors:   none.
 * Not here: deadlines (heap). The engine never calls this: `now` is a parameter there. */
#ifndef HGI_BASE_CLOCK_H
#define HGI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* One instant on both clocks. Ages and ttls are boot time (it goes on in suspend and is never set);
 * expires_at comes from outside and is wall time. */
struct hgi_now {
    int64_t boot_ms;
    int64_t wall_ms;
};

struct hgi_now hgi_clock_now(void);
/* Microseconds of the boot clock. */
int64_t hgi_clock_boot_us(void);
/* Microseconds of CLOCK_MONOTONIC, for who asks for that. */
int64_t hgi_clock_monotonic_us(void);
/* Unix microseconds. */
int64_t hgi_clock_wall_us(void);
/* The instant `delay_ms` from now on CLOCK_MONOTONIC, the clock of timed waits. */
struct timespec hgi_clock_after_ms(int64_t delay_ms);

#endif
