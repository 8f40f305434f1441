/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

static int64_t read_us(clockid_t id)
{
    struct timespec time;

    clock_gettime(id, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

struct hgi_now hgi_clock_now(void)
{
    struct hgi_now now = {
        .boot_ms = read_us(CLOCK_BOOTTIME) / 1000,
        .wall_ms = read_us(CLOCK_REALTIME) / 1000,
    };

    return now;
}

int64_t hgi_clock_boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

int64_t hgi_clock_monotonic_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t hgi_clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

struct timespec hgi_clock_after_ms(int64_t delay_ms)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += delay_ms / 1000;
    time.tv_nsec += (delay_ms % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}
