/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the walk stands. Each folder is held by its descriptor, so what was checked is what the
 * next step starts from. */
struct walk {
    const struct hgi_trust *trust;
    char *sentence;
    int dir_fd;
    char dir[PATH_MAX];  /* its name, for sentences */
    char rest[PATH_MAX]; /* what is still to go */
    unsigned links;
};

HG_PRINTF(2, 3)
static enum hg_status refuse(const struct walk *walk, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(walk->sentence, HGI_TRUST_SENTENCE_MAX, format, args);
    va_end(args);
    return HG_FAILED_PRECONDITION;
}

static bool is_trusted(const struct hgi_trust *trust, uid_t uid)
{
    bool is_named = uid == 0 || uid == geteuid();

    for (size_t i = 0; i < trust->owner_count; i++) {
        is_named = is_named || trust->owners[i] == uid;
    }
    return is_named;
}

static enum hg_status check_folder(const struct walk *walk)
{
    struct stat about;
    unsigned mode;

    if (fstat(walk->dir_fd, &about) != 0) {
        return refuse(walk, "cannot be opened: %s", strerror(errno));
    }
    mode = about.st_mode & 07777;
    if (!is_trusted(walk->trust, about.st_uid)) {
        return refuse(walk,
                      "lies in %.200s, a folder of user %u, who could put another file there; it "
                      "must belong to root, to user %u or to a trusted owner",
                      walk->dir, (unsigned)about.st_uid, (unsigned)geteuid());
    }
    if ((mode & 022) && !(about.st_uid == 0 && (mode & S_ISVTX))) {
        return refuse(walk,
                      "lies in %.200s, a folder of user %u to which others may write (mode %04o); "
                      "chmod go-w %.60s",
                      walk->dir, (unsigned)about.st_uid, mode, walk->dir);
    }
    return HG_OK;
}

static enum hg_status check_file(const struct walk *walk, int fd)
{
    struct stat about;
    unsigned mode;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return refuse(walk, "is not a regular file");
    }
    mode = about.st_mode & 07777;
    if (!is_trusted(walk->trust, about.st_uid)) {
        return refuse(
            walk, "belongs to user %u; it must belong to root, to user %u or to a trusted owner",
            (unsigned)about.st_uid, (unsigned)geteuid());
    }
    if (mode & 022) {
        return refuse(walk, "can be written by others than its owner (mode %04o); chmod go-w it",
                      mode);
    }
    return HG_OK;
}

static enum hg_status enter(struct walk *walk, int fd, const char *name)
{
    size_t len = strlen(walk->dir);

    if (walk->dir_fd >= 0) {
        close(walk->dir_fd);
    }
    walk->dir_fd = fd;
    snprintf(walk->dir + len, sizeof(walk->dir) - len, "%s%s", len > 1 ? "/" : "", name);
    return check_folder(walk);
}

static enum hg_status enter_root(struct walk *walk)
{
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    walk->dir[0] = '\0';
    return fd < 0 ? refuse(walk, "cannot be opened: %s", strerror(errno)) : enter(walk, fd, "/");
}

/* The link's target takes its place in what is to go. Its folder is checked already, but in a
 * sticky one it may be anybody's. */
static enum hg_status follow(struct walk *walk, int fd, const char *name, uid_t owner)
{
    char target[PATH_MAX];
    char rest[PATH_MAX];
    ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);

    if (!is_trusted(walk->trust, owner)) {
        return refuse(walk, "is reached through the link %.120s/%.80s of user %u", walk->dir, name,
                      (unsigned)owner);
    }
    if (len <= 0 || ++walk->links > HGI_TRUST_LINKS_MAX) {
        return refuse(walk, "is reached through too many links");
    }
    target[len] = '\0';
    if (snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest) >= (int)sizeof(rest)) {
        return refuse(walk, "cannot be opened: %s", strerror(ENAMETOOLONG));
    }
    memcpy(walk->rest, rest, sizeof(rest));
    return target[0] == '/' ? enter_root(walk) : HG_OK;
}

static enum hg_status step(struct walk *walk, const char *name)
{
    int fd = openat(walk->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    enum hg_status status;
    struct stat about;

    if (fd < 0 || fstat(fd, &about) != 0) {
        status = refuse(walk, "cannot be opened: %s", strerror(errno));
    } else if (S_ISDIR(about.st_mode)) {
        return enter(walk, fd, name);
    } else if (S_ISLNK(about.st_mode)) {
        status = follow(walk, fd, name, about.st_uid);
    } else {
        status = refuse(walk, "cannot be opened: %s", strerror(ENOTDIR));
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

/* Not blocking, for it may be a pipe. */
static enum hg_status open_last(const struct walk *walk, const char *name, int *ret_fd)
{
    int fd = openat(walk->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    enum hg_status status;

    if (fd < 0) {
        return errno == ELOOP ? refuse(walk, "is a symbolic link; name the file itself")
                              : refuse(walk, "cannot be opened: %s", strerror(errno));
    }
    status = check_file(walk, fd);
    if (status == HG_OK) {
        *ret_fd = fd;
    } else {
        close(fd);
    }
    return status;
}

/* Takes the next name off what is to go; false: it was the last one. */
static bool cut_name(struct walk *walk, char ret_name[PATH_MAX])
{
    const char *at = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(at, "/");
    const char *next = at + len + strspn(at + len, "/");

    memcpy(ret_name, at, len);
    ret_name[len] = '\0';
    memmove(walk->rest, next, strlen(next) + 1);
    return walk->rest[0] != '\0';
}

enum hg_status hgi_trust_open(const char *path, const struct hgi_trust *trust, int *ret_fd,
                              char *ret_sentence)
{
    struct walk walk = {.trust = trust, .sentence = ret_sentence, .dir_fd = -1};
    char name[PATH_MAX];
    enum hg_status status;

    if (path[0] != '/') {
        return refuse(&walk, "is not an absolute path");
    }
    if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= (int)sizeof(walk.rest)) {
        return refuse(&walk, "cannot be opened: %s", strerror(ENAMETOOLONG));
    }
    status = enter_root(&walk);
    while (status == HG_OK && cut_name(&walk, name)) {
        status = step(&walk, name);
    }
    if (status == HG_OK) {
        status = open_last(&walk, name[0] ? name : ".", ret_fd);
    }
    if (walk.dir_fd >= 0) {
        close(walk.dir_fd);
    }
    return status;
}
