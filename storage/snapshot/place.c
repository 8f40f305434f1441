/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "storage/snapshot/snapshot.h"

#define SUFFIX_MAX 48u /* ".corrupt-" and a 64-bit number, "-journal" behind it */

/* What sqlite may have put beside the file, the file itself first. */
static const char *const companions[] = {"", "-wal", "-shm", "-journal"};

static enum hg_status complain(const char *what, const char *path, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "%s %.300s: %s", what, path,
             strerrordesc_np(errno));
    return HG_UNAVAILABLE;
}

/* A rename or a new name is there after a power cut only once its folder is synced. */
static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_done = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return is_done;
}

/* Splits at the last slash; `ret_name` points into `path`. */
static void split(const char *path, char *ret_folder, const char **ret_name)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        memcpy(ret_folder, ".", 2);
        *ret_name = path;
        return;
    }
    *ret_name = slash + 1;
    if (slash == path) {
        memcpy(ret_folder, "/", 2);
        return;
    }
    memcpy(ret_folder, path, (size_t)(slash - path));
    ret_folder[slash - path] = '\0';
}

static enum hg_status find_folder(struct hgi_place *place, const char *path, bool makes,
                                  char *ret_sentence)
{
    char folder[PATH_MAX];
    const char *name;
    int len;

    if (strlen(path) >= sizeof(folder) - SUFFIX_MAX) {
        errno = ENAMETOOLONG;
        return complain("the snapshot path cannot be used,", "it", ret_sentence);
    }
    split(path, folder, &name);
    if (name[0] == '\0') {
        errno = EISDIR;
        return complain("the snapshot needs the path of a file, not", path, ret_sentence);
    }
    if (makes && mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return complain("cannot make the snapshot's folder", folder, ret_sentence);
    }
    if (!realpath(folder, place->folder)) {
        return complain("cannot use the snapshot's folder", folder, ret_sentence);
    }
    len = snprintf(place->path, sizeof(place->path) - SUFFIX_MAX, "%s/%s",
                   strcmp(place->folder, "/") == 0 ? "" : place->folder, name);
    if (len < 0 || (size_t)len >= sizeof(place->path) - SUFFIX_MAX) {
        errno = ENAMETOOLONG;
        return complain("the snapshot path cannot be used,", "it", ret_sentence);
    }
    return HG_OK;
}

/* flags: O_CREAT, or 0: without a lock file nobody has the file. */
static enum hg_status take_lock(struct hgi_place *place, int flags, char *ret_sentence)
{
    char lock_path[PATH_MAX];

    snprintf(lock_path, sizeof(lock_path), "%.*s.lock", (int)(PATH_MAX - SUFFIX_MAX), place->path);
    place->lock_fd = open(lock_path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (place->lock_fd < 0) {
        return errno == ENOENT && !flags
                   ? HG_OK
                   : complain("cannot use the snapshot's lock file", lock_path, ret_sentence);
    }
    if (flock(place->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        return HG_OK;
    }
    if (errno != EWOULDBLOCK) {
        return complain("cannot lock", lock_path, ret_sentence);
    }
    snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
             "another process has the snapshot %.200s (it holds %.200s)", place->path, lock_path);
    return HG_FAILED_PRECONDITION;
}

enum hg_status hgi_place_init(struct hgi_place *place, const char *path, char *ret_sentence)
{
    enum hg_status status;

    place->lock_fd = -1;
    status = find_folder(place, path, true, ret_sentence);
    if (status == HG_OK) {
        status = take_lock(place, O_CREAT, ret_sentence);
    }
    if (status != HG_OK) {
        hgi_place_deinit(place);
    }
    return status;
}

static uint64_t size_of(const struct hgi_place *place, const char *suffix)
{
    char path[PATH_MAX + SUFFIX_MAX];
    struct stat found;

    snprintf(path, sizeof(path), "%s%s", place->path, suffix);
    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

enum hg_status hgi_place_find(struct hgi_place *place, const char *path, bool *ret_has_log,
                              char *ret_sentence)
{
    struct stat found;
    enum hg_status status;

    place->lock_fd = -1;
    if (stat(path, &found) != 0) {
        (void)complain("cannot look at the snapshot", path, ret_sentence);
        return errno == ENOENT || errno == ENOTDIR ? HG_NOT_FOUND : HG_UNAVAILABLE;
    }
    status = find_folder(place, path, false, ret_sentence);
    if (status != HG_OK) {
        return status;
    }
    if (lstat(place->path, &found) != 0 || !S_ISREG(found.st_mode)) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
                 "the snapshot %.400s is not a regular file", place->path);
        return HG_UNAVAILABLE;
    }
    *ret_has_log = size_of(place, "-wal") > 0;
    return take_lock(place, 0, ret_sentence);
}

void hgi_place_sizes(const struct hgi_place *place, uint64_t *ret_file_bytes,
                     uint64_t *ret_log_bytes)
{
    *ret_file_bytes = size_of(place, "");
    *ret_log_bytes = size_of(place, "-wal");
}

void hgi_place_deinit(struct hgi_place *place)
{
    /* The lock file stays: removing it would let two processes lock two files of that name. */
    if (place->lock_fd >= 0) {
        close(place->lock_fd);
        place->lock_fd = -1;
    }
}

enum hg_status hgi_place_make_file(struct hgi_place *place, bool *ret_is_new, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct stat found;
    int fd = open(place->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

    if (fd < 0) {
        return complain("cannot open the snapshot", place->path, ret_sentence);
    }
    if (fstat(fd, &found) != 0) {
        status = complain("cannot look at the snapshot", place->path, ret_sentence);
        goto out;
    }
    if (!S_ISREG(found.st_mode)) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
                 "the snapshot %.400s is not a regular file", place->path);
        status = HG_UNAVAILABLE;
        goto out;
    }
    if ((found.st_mode & 07777) != 0600 && fchmod(fd, 0600) != 0) {
        status = complain("others can read the snapshot, and its mode cannot be set:", place->path,
                          ret_sentence);
        goto out;
    }
    if (found.st_size == 0 && !sync_folder(place->folder)) {
        status = complain("cannot sync the snapshot's folder", place->folder, ret_sentence);
        goto out;
    }
    *ret_is_new = found.st_size == 0;
out:
    close(fd);
    return status;
}

enum hg_status hgi_place_beside(struct hgi_place *place, struct hgi_place *ret_beside,
                                char *ret_sentence)
{
    memcpy(ret_beside->folder, place->folder, sizeof(ret_beside->folder));
    snprintf(ret_beside->path, sizeof(ret_beside->path), "%.*s.new", (int)(PATH_MAX - SUFFIX_MAX),
             place->path);
    ret_beside->lock_fd = -1;
    return hgi_place_remove(ret_beside, ret_sentence);
}

enum hg_status hgi_place_replace(struct hgi_place *place, struct hgi_place *beside,
                                 char *ret_sentence)
{
    /* Nothing of the old log may be read into the new file. */
    for (size_t i = 1; i < HGI_COUNT_OF(companions); i++) {
        char name[PATH_MAX + SUFFIX_MAX];

        snprintf(name, sizeof(name), "%s%s", place->path, companions[i]);
        if (unlink(name) != 0 && errno != ENOENT) {
            return complain("cannot remove", name, ret_sentence);
        }
    }
    if (!sync_folder(place->folder)) {
        return complain("cannot sync the snapshot's folder", place->folder, ret_sentence);
    }
    if (rename(beside->path, place->path) != 0) {
        return complain("cannot put the new snapshot in its place,", beside->path, ret_sentence);
    }
    if (!sync_folder(place->folder)) {
        return complain("cannot sync the snapshot's folder", place->folder, ret_sentence);
    }
    return HG_OK;
}

/* Finds the oldest file of ours moved aside; returns how many there are. */
static size_t find_quarantined(const struct hgi_place *place, long long *ret_oldest)
{
    const char *name = strrchr(place->path, '/') + 1;
    size_t name_len = strlen(name);
    size_t count = 0;
    DIR *folder = opendir(place->folder);

    if (!folder) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        static const char mark[] = ".corrupt-";
        char *end;
        long long number;

        if (strncmp(entry->d_name, name, name_len) != 0 ||
            strncmp(entry->d_name + name_len, mark, sizeof(mark) - 1) != 0) {
            continue;
        }
        number = strtoll(entry->d_name + name_len + sizeof(mark) - 1, &end, 10);
        if (*end != '\0') {
            continue; /* a companion: it goes with its file */
        }
        if (count == 0 || number < *ret_oldest) {
            *ret_oldest = number;
        }
        count++;
    }
    closedir(folder);
    return count;
}

static void remove_oldest_quarantined(const struct hgi_place *place)
{
    long long oldest = 0;

    while (find_quarantined(place, &oldest) > HGI_PLACE_QUARANTINED_MAX) {
        for (size_t i = 0; i < HGI_COUNT_OF(companions); i++) {
            char name[PATH_MAX + SUFFIX_MAX];

            snprintf(name, sizeof(name), "%s.corrupt-%lld%s", place->path, oldest, companions[i]);
            if (unlink(name) != 0 && i == 0) {
                return; /* it will not go; the next quarantine tries again */
            }
        }
    }
}

enum hg_status hgi_place_quarantine(struct hgi_place *place, int64_t unix_s, char *ret_moved_to,
                                    char *ret_sentence)
{
    char base[PATH_MAX + SUFFIX_MAX];
    struct stat found;

    do {
        snprintf(base, sizeof(base), "%s.corrupt-%lld", place->path, (long long)unix_s++);
    } while (lstat(base, &found) == 0);
    for (size_t i = 0; i < HGI_COUNT_OF(companions); i++) {
        char from[PATH_MAX + SUFFIX_MAX];
        char to[PATH_MAX + 2 * SUFFIX_MAX];

        snprintf(from, sizeof(from), "%s%s", place->path, companions[i]);
        snprintf(to, sizeof(to), "%s%s", base, companions[i]);
        if (rename(from, to) != 0 && errno != ENOENT) {
            return complain("cannot move the unusable snapshot aside,", from, ret_sentence);
        }
    }
    if (!sync_folder(place->folder)) {
        return complain("cannot sync the snapshot's folder", place->folder, ret_sentence);
    }
    remove_oldest_quarantined(place);
    snprintf(ret_moved_to, PATH_MAX, "%.*s", PATH_MAX - 1, base);
    return HG_OK;
}

enum hg_status hgi_place_remove(struct hgi_place *place, char *ret_sentence)
{
    for (size_t i = 0; i < HGI_COUNT_OF(companions); i++) {
        char name[PATH_MAX + SUFFIX_MAX];

        snprintf(name, sizeof(name), "%s%s", place->path, companions[i]);
        if (unlink(name) != 0 && errno != ENOENT) {
            return complain("cannot remove", name, ret_sentence);
        }
        if (i == 0 && !sync_folder(place->folder)) {
            return complain("cannot sync the snapshot's folder", place->folder, ret_sentence);
        }
    }
    return HG_OK;
}
