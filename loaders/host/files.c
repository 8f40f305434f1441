/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the plugin may touch: Landlock, by its three system calls, for no library of Debian
 * 12 speaks it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

/* Newer than Debian 12's header. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define READ  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE (~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE)
/* What can be done to something that is no folder. */
#define OF_FILE                                                                                    \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
     LANDLOCK_ACCESS_FS_TRUNCATE)

/* What libraries, the name service and TLS need; nothing in here is a secret. */
static const struct place {
    const char *path;
    uint64_t access;
} places[] = {
    {"/usr", READ | LANDLOCK_ACCESS_FS_EXECUTE},
    {"/lib", READ | LANDLOCK_ACCESS_FS_EXECUTE},
    {"/lib64", READ | LANDLOCK_ACCESS_FS_EXECUTE},
    {"/etc/ld.so.cache", READ},
    {"/etc/nsswitch.conf", READ},
    {"/etc/resolv.conf", READ},
    {"/etc/host.conf", READ},
    {"/etc/hosts", READ},
    {"/etc/gai.conf", READ},
    {"/etc/services", READ},
    {"/etc/protocols", READ},
    {"/etc/passwd", READ},
    {"/etc/group", READ},
    {"/etc/localtime", READ},
    {"/etc/ssl/certs", READ},
    {"/etc/ssl/openssl.cnf", READ},
    {"/etc/ca-certificates", READ},
    {"/dev/null", READ | LANDLOCK_ACCESS_FS_WRITE_FILE},
    {"/dev/zero", READ},
    {"/dev/random", READ},
    {"/dev/urandom", READ},
    {"/proc/self", READ},
    {"/sys/devices/system/cpu", READ},
};

static uint64_t accesses_of(long abi)
{
    uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* those of the first one */

    all |= abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    all |= abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0;
    return all;
}

static bool add_rule(int ruleset, uint64_t handled, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access & handled,
                                              .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat about;
    bool is_done = false;

    if (rule.parent_fd < 0) {
        return false;
    }
    if (fstat(rule.parent_fd, &about) == 0) {
        if (!S_ISDIR(about.st_mode)) {
            rule.allowed_access &= OF_FILE;
        }
        is_done =
            syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    close(rule.parent_fd);
    return is_done;
}

/* The paths of an option, with ':' between them. */
static enum hg_status add_paths(int ruleset, uint64_t handled, const char *option,
                                struct hg_slice paths, uint64_t access, char *ret_sentence)
{
    const char *at = paths.len ? paths.data : "";
    const char *end = at + paths.len;
    char path[PATH_MAX];

    while (at < end) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        size_t len = (size_t)((colon ? colon : end) - at);

        if (snprintf(path, sizeof(path), "%.*s", (int)len, at) >= (int)sizeof(path) ||
            !add_rule(ruleset, handled, path, access)) {
            snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s names %.120s, which cannot be opened: %s",
                     option, path, strerror(errno));
            return HG_FAILED_PRECONDITION;
        }
        at += len + (colon ? 1 : 0);
    }
    return HG_OK;
}

static enum hg_status add_rules(int ruleset, uint64_t handled, const struct hgi_frame_hello *hello,
                                char *ret_sentence)
{
    enum hg_status status;
    char plugin[PATH_MAX];

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bool is_there = add_rule(ruleset, handled, places[i].path, places[i].access);

        (void)is_there; /* not every system has all of them */
    }
    /* One that is not there is told by who opens it. */
    snprintf(plugin, sizeof(plugin), "%.*s", (int)hello->plugin.len,
             hello->plugin.len ? (const char *)hello->plugin.data : "");
    if (!add_rule(ruleset, handled, plugin,
                  hello->is_program ? READ | LANDLOCK_ACCESS_FS_EXECUTE : READ) &&
        errno != ENOENT && errno != ENOTDIR) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "plugin %.120s cannot be opened: %s", plugin,
                 strerror(errno));
        return HG_FAILED_PRECONDITION;
    }
    status =
        add_paths(ruleset, handled, "files_read", hello->confine.files_read, READ, ret_sentence);
    if (status == HG_OK) {
        status = add_paths(ruleset, handled, "files_write", hello->confine.files_write, WRITE,
                           ret_sentence);
    }
    return status;
}

enum hg_status hgi_confine_files(const struct hgi_frame_hello *hello, char *ret_sentence)
{
    struct landlock_ruleset_attr ruleset = {.handled_access_fs = 0};
    enum hg_status status = HG_FAILED_PRECONDITION;
    long abi;
    int fd;

    if (!hello->confine.files_read.len && !hello->confine.files_write.len) {
        return HG_OK;
    }
    abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "files_read and files_write need Landlock, which this kernel does not have or has "
                 "not switched on (%s); take them out, or start it with landlock among lsm=",
                 strerror(errno));
        return HG_FAILED_PRECONDITION;
    }
    ruleset.handled_access_fs = accesses_of(abi);
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
    if (fd >= 0) {
        status = add_rules(fd, ruleset.handled_access_fs, hello, ret_sentence);
    }
    if (fd < 0 || (status == HG_OK && syscall(SYS_landlock_restrict_self, fd, 0) != 0)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "Landlock refuses its rules: %s", strerror(errno));
        status = HG_FAILED_PRECONDITION;
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}
