/* SPDX-License-Identifier: Apache-2.0 */
/* A loader that tries what its process may do, and answers each key with what came of it: "ok", or
 * errno's name. It tries twice: before anybody has asked, in a constructor, which opens a socket
 * and reads the file that the environment names as PROBE_FILE (its version says what came of that),
 * and in each load, whose key is one of read PATH    write PATH    list PATH    socket    pair ring
 *   kill PID     limit PID     trace PID    peek PID    memory MIB    files COUNT    start COUNT
 *   leave (its process group, from a helper process)
 *   flags        no-new-privs, dumpable, the size of core files, the signal at the parent's death,
 * the user, its group and how many other groups, as numbers */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "herdgate/loader.h"

static const struct hg_host_services *services;
static char version[128] = "1";
static int death_signal; /* of the main thread, which is the one that has it */

/* Negative: errno says why. */
static int end(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
    return fd;
}

static const char *word(int result)
{
    return result >= 0 ? "ok" : strerrorname_np(errno);
}

static int try_files(int count)
{
    int opened[4096];
    int made = 0;
    int result = 0;

    while (made < count && made < 4096 && result >= 0) {
        result = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (result >= 0) {
            opened[made++] = result;
        }
    }
    for (int i = 0, saved = errno; i < made; i++, errno = saved) {
        close(opened[i]);
    }
    return result;
}

static int try_memory(long mib)
{
    size_t size = (size_t)mib << 20;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return -1;
    }
    munmap(memory, size);
    return 0;
}

/* Limits on processes mean nothing to root, so root becomes somebody else first, for good. */
static int try_start(int count)
{
    pid_t started[256];
    int made = 0;
    pid_t pid = 0;

    if (geteuid() == 0 && setresuid(47123, 47123, 47123) != 0) {
        return -1;
    }
    while (made < count && made < 256 && (pid = fork()) >= 0) {
        if (pid == 0) {
            pause();
            _exit(0);
        }
        started[made++] = pid;
    }
    if (made == count) {
        return 0;
    }
    for (int i = 0, saved = errno; i < made; i++, errno = saved) {
        kill(started[i], SIGKILL); /* not allowed: whoever ends this process ends them */
    }
    return -1;
}

/* A helper that wants to outlive us. */
static int try_leave(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(setsid() < 0 ? errno : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return -1;
    }
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static int try_limit(pid_t pid)
{
    struct rlimit limit;

    return prlimit(pid, RLIMIT_NOFILE, NULL, &limit);
}

static int try_peek(pid_t pid)
{
    static char byte; /* at the same place in a process of the same program */
    struct iovec to = {&byte, 1};
    struct iovec from = {&byte, 1};

    return process_vm_readv(pid, &to, 1, &from, 1, 0) >= 0 ? 0 : -1;
}

static int try_key(const char *verb, const char *argument)
{
    int pair[2];

    if (strcmp(verb, "read") == 0) {
        return end(open(argument, O_RDONLY | O_CLOEXEC));
    }
    if (strcmp(verb, "list") == 0) {
        return end(open(argument, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    if (strcmp(verb, "write") == 0) {
        return end(open(argument, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    if (strcmp(verb, "socket") == 0) {
        return end(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    }
    if (strcmp(verb, "pair") == 0) {
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0
                   ? -1
                   : (end(pair[0]), end(pair[1]));
    }
    if (strcmp(verb, "ring") == 0) {
        return end((int)syscall(SYS_io_uring_setup, 1, NULL));
    }
    if (strcmp(verb, "kill") == 0) {
        return kill(atoi(argument), 0);
    }
    if (strcmp(verb, "leave") == 0) {
        return try_leave();
    }
    if (strcmp(verb, "limit") == 0) {
        return try_limit(atoi(argument));
    }
    if (strcmp(verb, "trace") == 0) {
        return (int)ptrace(PTRACE_SEIZE, atoi(argument), NULL, NULL);
    }
    if (strcmp(verb, "peek") == 0) {
        return try_peek(atoi(argument));
    }
    if (strcmp(verb, "memory") == 0) {
        return try_memory(atol(argument));
    }
    if (strcmp(verb, "files") == 0) {
        return try_files(atoi(argument));
    }
    if (strcmp(verb, "start") == 0) {
        return try_start(atoi(argument));
    }
    errno = ENOSYS;
    return -1;
}

__attribute__((constructor)) static void try_early(void)
{
    const char *path = getenv("PROBE_FILE");
    const char *of_socket = word(try_key("socket", ""));

    prctl(PR_GET_PDEATHSIG, &death_signal);

    snprintf(version, sizeof(version), "socket %s, file %s", of_socket,
             path ? word(try_key("read", path)) : "not named");
}

static void probe_load(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    char text[HG_KEY_MAX + 1];
    char answer[128];
    char *argument = text;
    const char *verb = NULL;
    struct rlimit core = {0, 0};

    (void)self;
    snprintf(text, sizeof(text), "%.*s", (int)request->key.bytes.len,
             (const char *)request->key.bytes.data);
    verb = strsep(&argument, " ");
    if (strcmp(verb, "flags") == 0) {
        getrlimit(RLIMIT_CORE, &core);
        snprintf(answer, sizeof(answer), "%d %d %lu %d, %u %u %d",
                 prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE),
                 (unsigned long)core.rlim_max, death_signal, (unsigned)geteuid(),
                 (unsigned)getegid(), getgroups(0, NULL));
    } else {
        snprintf(answer, sizeof(answer), "%s", word(try_key(verb, argument ? argument : "")));
    }
    services->done_bytes(load, hg_slice_text(answer), NULL);
}

static enum hg_status probe_open(struct hg_host *host, const struct hg_host_services *given,
                                 const struct hg_loader_setting *settings, size_t setting_count,
                                 void **ret_self, char *error, size_t error_size)
{
    (void)host;
    (void)settings;
    (void)setting_count;
    (void)error;
    (void)error_size;
    services = given;
    *ret_self = NULL;
    return HG_OK;
}

static void probe_close(void *self)
{
    (void)self;
}

static const struct hg_loader probe = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(probe),
    .name = "probe",
    .version = version,
    .open = probe_open,
    .load = probe_load,
    .close = probe_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &probe;
}
