/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

bool hgi_process_forbid_dumps(void)
{
    const struct rlimit none = {0, 0};

    /* The limit alone does not bind a kernel that pipes core files to a program. */
    return setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

static bool count_fds(uint64_t *ret_count)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t count = 0;

    if (!dir) {
        return false;
    }
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    *ret_count = count - 1; /* not the one it is read through */
    return true;
}

static bool read_resident(uint64_t *ret_bytes)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;
    bool is_read = file && fscanf(file, "%*u %llu", &pages) == 1;

    if (file) {
        fclose(file);
    }
    if (is_read) {
        *ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    return is_read;
}

static int64_t ms_of(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

bool hgi_process_use(struct hgi_process_use *ret_use)
{
    struct hgi_process_use use = {0};
    struct rusage usage;
    struct rlimit fds;

    if (getrusage(RUSAGE_SELF, &usage) != 0 || getrlimit(RLIMIT_NOFILE, &fds) != 0 ||
        !read_resident(&use.resident_bytes)) {
        return false;
    }
    use.cpu_ms = ms_of(&usage.ru_utime) + ms_of(&usage.ru_stime);
    use.max_fds = fds.rlim_cur;
    use.has_open_fds = count_fds(&use.open_fds);
    *ret_use = use;
    return true;
}
