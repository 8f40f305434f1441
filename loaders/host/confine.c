/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process.h"

/* What a thread takes of the address space though nobody uses it: its stack, and what the C library
 * sets aside for its memory. */
#define THREAD_STACK_BYTES (UINT64_C(8) << 20)
#define THREAD_ARENA_BYTES (UINT64_C(128) << 20)
#define THREADS_BESIDE     8u /* the main one, the health's, some of the plugin */

/* Limits only sink: one that is lower already stays. Limits of 0 are none of ours. */
static bool lower(__rlimit_resource_t resource, uint64_t max)
{
    struct rlimit limit;

    if (max == 0) {
        return true;
    }
    if (getrlimit(resource, &limit) != 0) {
        return false;
    }
    limit.rlim_max = limit.rlim_max < max ? limit.rlim_max : max;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

/* The address space in use now. 0: the system does not tell. */
static uint64_t used_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file) {
        return 0;
    }
    if (fscanf(file, "%llu", &pages) != 1) {
        pages = 0;
    }
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Beside what is there already, because the sanitizers of a test build have terabytes reserved. */
static bool lower_memory(const struct hgi_frame_hello *hello)
{
    uint64_t threads = hello->workers + THREADS_BESIDE;
    uint64_t used = used_bytes();
    uint64_t max = hello->confine.memory_max_bytes;

    if (max == 0) {
        return true;
    }
    return used > 0 &&
           lower(RLIMIT_AS, used + max + threads * (THREAD_STACK_BYTES + THREAD_ARENA_BYTES));
}

/* With all its rights and groups, for good. Whoever is that user already has nothing to change, and
 * may have no right to. */
static bool become_user(const struct hgi_frame_confine *confine)
{
    if (!confine->has_user || (geteuid() == confine->uid && getegid() == confine->gid)) {
        return true;
    }
    return setgroups(0, NULL) == 0 && setresgid(confine->gid, confine->gid, confine->gid) == 0 &&
           setresuid(confine->uid, confine->uid, confine->uid) == 0;
}

enum hg_status hgi_confine(const struct hgi_frame_hello *hello, char *ret_sentence)
{
    const struct hgi_frame_confine *confine = &hello->confine;
    enum hg_status status;

    if (!become_user(confine)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "its process cannot become user %u: %s; a server started by root can do that",
                 confine->uid, strerror(errno));
        return HG_FAILED_PRECONDITION;
    }
    if (!lower_memory(hello) || !lower(RLIMIT_NOFILE, confine->descriptors_max) ||
        !lower(RLIMIT_NPROC, confine->processes_max) || !lower(RLIMIT_CPU, confine->cpu_max_s) ||
        (confine->may_dump ? prctl(PR_SET_DUMPABLE, 1) != 0 : !hgi_process_forbid_dumps()) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "its process cannot limit itself: %s",
                 strerror(errno));
        return HG_FAILED_PRECONDITION;
    }
    status = hgi_confine_files(hello, ret_sentence);
    return status == HG_OK ? hgi_confine_calls(confine->is_offline, ret_sentence) : status;
}
