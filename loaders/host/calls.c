/* SPDX-License-Identifier: Apache-2.0 */
/* Which system calls the plugin may make: it has the server's user, so nothing else keeps it from
 * signalling the server, or from reading its memory. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"

/* The leak detector of a test build looks at its own threads by ptrace. */
#if defined(__SANITIZE_ADDRESS__)
#define NEEDS_PTRACE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEEDS_PTRACE
#endif
#endif

/* Reaching into another process, or leaving the group by which the server ends what was started. */
static const int never[] = {
    SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    SCMP_SYS(tkill),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp),
#ifndef NEEDS_PTRACE
    SCMP_SYS(ptrace),
#endif
};

/* Only to itself: the first argument is the process. */
static const int only_self[] = {
    SCMP_SYS(kill),
    SCMP_SYS(tgkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
};

/* The ring would open sockets, too. */
static const int never_offline[] = {SCMP_SYS(socket), SCMP_SYS(io_uring_setup)};

static int forbid(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
    }
    return error;
}

static int forbid_others(scmp_filter_ctx filter)
{
    const scmp_datum_t own = (scmp_datum_t)getpid();
    /* Of limits the C library names itself by 0. */
    int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                                 SCMP_A0_64(SCMP_CMP_NE, 0, 0));

    for (size_t i = 0; i < sizeof(only_self) / sizeof(only_self[0]) && !error; i++) {
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), only_self[i], 1,
                                 SCMP_A0_64(SCMP_CMP_NE, own, 0));
    }
    return error;
}

enum hg_status hgi_confine_calls(bool is_offline, char *ret_sentence)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? forbid_others(filter) : -ENOMEM;

    if (!error) {
        error = forbid(filter, never, sizeof(never) / sizeof(never[0]));
    }
    if (!error && is_offline) {
        error = forbid(filter, never_offline, sizeof(never_offline) / sizeof(never_offline[0]));
    }
    if (!error) {
        error = seccomp_load(filter);
    }
    if (filter) {
        seccomp_release(filter);
    }
    if (error) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "its process cannot forbid itself system calls: %s; the kernel must have "
                 "CONFIG_SECCOMP_FILTER",
                 strerror(-error));
        return HG_FAILED_PRECONDITION;
    }
    return HG_OK;
}
