/* SPDX-License-Identifier: Apache-2.0 */
#include "ticks.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec time;

    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t ticks_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t ticks_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t ticks_own_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* The fields behind the name in /proc/PID/stat: 14 and 15 are the two times. */
static double stat_cpu_s(pid_t pid)
{
    char path[64];
    char text[1024];
    unsigned long user = 0;
    unsigned long system = 0;
    const char *at;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file) {
        return 0;
    }
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = 0;
    at = strrchr(text, ')');
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                      &system) != 2) {
        return 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double ticks_cpu_s(pid_t pid)
{
    double sum = stat_cpu_s(pid);
    char path[64];
    FILE *file;
    int child;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "r");
    if (!file) {
        return sum;
    }
    while (fscanf(file, "%d", &child) == 1) {
        sum += ticks_cpu_s(child);
    }
    fclose(file);
    return sum;
}

uint64_t ticks_rss_bytes(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", pid ? (int)pid : (int)getpid());
    file = fopen(path, "r");
    if (!file) {
        return 0;
    }
    if (fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
