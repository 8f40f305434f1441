/* SPDX-License-Identifier: Apache-2.0 */
/* A loader that breaks down in each way there is. The first word of a bytes key says how; any other
 * key is its own value. It crashes by
 *   abort   segv   smash (the stack)   exit   close (every descriptor)
 *   memory (as much as it gets)   parent (kills it, or dies trying)
 *   fork (as often as it may, at most FORKS_MAX times; each of these does the same)
 * and hangs by
 *   spin   lock (one it holds)   term (with every signal blocked)
 *   disk (reads the file of the option "disk")
 * Before it breaks down it appends its process's number to the file of the option "journal". */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "herdgate/loader.h"

#define FORKS_MAX   100
#define EAT_BYTES   (64u << 20)
#define SMASH_BYTES 4096

static const struct hg_host_services *services;
static char journal[256];
static char disk[256];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void note(void)
{
    char line[32];
    int fd = open(journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    snprintf(line, sizeof(line), "%d\n", (int)getpid());
    if (fd >= 0 && write(fd, line, strlen(line)) < 0) {
        abort();
    }
    if (fd >= 0) {
        close(fd);
    }
}

__attribute__((noinline)) static void smash(volatile unsigned char *at)
{
    for (size_t i = 0; i < SMASH_BYTES; i++) {
        at[i] = 0x41;
    }
}

__attribute__((noinline)) static int smash_stack(void)
{
    volatile unsigned char small[8] = {0};

    smash(small);
    return small[3];
}

/* The first page of each piece, so that a machine without a limit is not harmed. */
static void eat(void)
{
    for (;;) {
        unsigned char *piece = mmap(NULL, EAT_BYTES, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (piece == MAP_FAILED) {
            abort();
        }
        piece[0] = 1;
    }
}

static void bomb(void)
{
    atomic_int *forks =
        mmap(NULL, sizeof(*forks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    /* Limits on processes mean nothing to root. */
    if (forks == MAP_FAILED || (geteuid() == 0 && setresuid(47123, 47123, 47123) != 0)) {
        abort();
    }
    while (atomic_fetch_add(forks, 1) < FORKS_MAX && fork() >= 0) {
        continue;
    }
    if (getpid() == getpgrp()) {
        abort();
    }
    note();
    for (;;) {
        pause();
    }
}

static void close_everything(void)
{
    close_range(0, ~0u, 0);
    for (;;) {
        pause();
    }
}

static void kill_parent(void)
{
    if (kill(getppid(), SIGKILL) != 0) {
        kill(getppid(), SIGTERM);
    }
    raise(SIGKILL);
}

static void lock_twice(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void block_and_hang(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        sleep(1000);
    }
}

static void read_disk(void)
{
    char byte;
    int fd = open(disk, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, &byte, 1) < 0) {
        abort();
    }
    close(fd);
}

static void break_down(const char *how)
{
    if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "segv") == 0) {
        *(volatile int *)(uintptr_t)16 = 1;
    } else if (strcmp(how, "smash") == 0) {
        smash_stack();
    } else if (strcmp(how, "exit") == 0) {
        _exit(0);
    } else if (strcmp(how, "close") == 0) {
        close_everything();
    } else if (strcmp(how, "memory") == 0) {
        eat();
    } else if (strcmp(how, "fork") == 0) {
        bomb();
    } else if (strcmp(how, "parent") == 0) {
        kill_parent();
    } else if (strcmp(how, "spin") == 0) {
        for (volatile unsigned turns = 0;; turns++) {
        }
    } else if (strcmp(how, "lock") == 0) {
        lock_twice();
    } else if (strcmp(how, "term") == 0) {
        block_and_hang();
    } else if (strcmp(how, "disk") == 0) {
        read_disk();
    }
}

static bool is_breakdown(const char *how)
{
    static const char *const all[] = {"abort", "segv",   "smash", "exit", "close", "memory",
                                      "fork",  "parent", "spin",  "lock", "term",  "disk"};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i], how) == 0) {
            return true;
        }
    }
    return false;
}

static void crash_load(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    char how[32];

    (void)self;
    snprintf(how, sizeof(how), "%.*s", (int)request->key.bytes.len,
             (const char *)request->key.bytes.data);
    how[strcspn(how, " ")] = '\0';
    if (is_breakdown(how)) {
        note();
        break_down(how);
    }
    services->done_bytes(load, request->key.bytes, NULL);
}

static enum hg_status crash_open(struct hg_host *host, const struct hg_host_services *given,
                                 const struct hg_loader_setting *settings, size_t setting_count,
                                 void **ret_self, char *error, size_t error_size)
{
    (void)host;
    (void)error;
    (void)error_size;
    services = given;
    for (size_t i = 0; i < setting_count; i++) {
        bool is_journal = strcmp(settings[i].name, "journal") == 0;

        snprintf(is_journal ? journal : disk, sizeof(journal), "%s", settings[i].value);
    }
    *ret_self = NULL;
    return HG_OK;
}

static void crash_close(void *self)
{
    (void)self;
}

static const struct hg_loader_option options[] = {
    {.name = "journal", .help = "file of processes that broke down"},
    {.name = "disk", .help = "file that does not answer"},
    {.name = NULL},
};

static const struct hg_loader crash = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(crash),
    .name = "crash",
    .version = "1",
    .options = options,
    .open = crash_open,
    .load = crash_load,
    .close = crash_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &crash;
}
