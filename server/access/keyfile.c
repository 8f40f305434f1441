/* SPDX-License-Identifier: Apache-2.0 */
#include "keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

static enum hg_status refuse(const char *path, const char *why, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: %s", path, why);
    return HG_FAILED_PRECONDITION;
}

enum hg_status hgi_private_open(const char *path, int *ret_fd, char *ret_sentence)
{
    const struct hgi_trust nobody_else = {NULL, 0};
    char why[HGI_TRUST_SENTENCE_MAX];
    struct stat info;
    int fd;

    if (lstat(path, &info) != 0 && errno == ENOENT) {
        return HG_NOT_FOUND;
    }
    if (hgi_trust_open(path, &nobody_else, &fd, why) != HG_OK) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.100s %.150s", path, why);
        return HG_FAILED_PRECONDITION;
    }
    if (fstat(fd, &info) != 0 || info.st_mode & 077) {
        close(fd);
        return refuse(path, "others may read it; chmod 0600 it", ret_sentence);
    }
    *ret_fd = fd;
    return HG_OK;
}

enum hg_status hgi_private_lock(const char *path, int *ret_fd, char *ret_sentence)
{
    char lock_path[PATH_MAX];
    int fd;

    snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
    fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s.lock cannot be opened: %s", path,
                 strerror(errno));
        return HG_FAILED_PRECONDITION;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: another server is using this file", path);
        return HG_UNAVAILABLE;
    }
    *ret_fd = fd;
    return HG_OK;
}

bool hgi_sync_folder_of(const char *path)
{
    char copy[PATH_MAX];
    bool is_synced = false;
    int fd;

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        is_synced = fsync(fd) == 0;
        close(fd);
    }
    return is_synced;
}

static enum hg_status make(const char *path, struct hgi_digest_key *ret_key, char *ret_sentence)
{
    struct hgi_digest_key key = hgi_digest_key_new();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_made = fd >= 0 && write(fd, key.bytes, sizeof(key.bytes)) == sizeof(key.bytes) &&
                   fsync(fd) == 0 && hgi_sync_folder_of(path);
    const char *why = strerror(errno);

    if (fd >= 0) {
        close(fd);
    }
    if (is_made) {
        *ret_key = key;
    }
    explicit_bzero(&key, sizeof(key));
    if (is_made) {
        return HG_OK;
    }
    if (fd >= 0) {
        (void)unlink(path); /* half a key is none; if it stays, the next start says so */
    }
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: the key cannot be made: %s", path, why);
    return HG_FAILED_PRECONDITION;
}

enum hg_status hgi_keyfile_read(const char *path, bool makes, struct hgi_digest_key *ret_key,
                                char *ret_sentence)
{
    unsigned char bytes[HGI_DIGEST_BYTES + 1];
    ssize_t len;
    int fd;
    enum hg_status status = hgi_private_open(path, &fd, ret_sentence);

    if (status == HG_NOT_FOUND) {
        return makes ? make(path, ret_key, ret_sentence)
                     : refuse(path,
                              "there is no such file, but there are tokens that were made with "
                              "it; bring it back, or remove the file of tokens",
                              ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    len = read(fd, bytes, sizeof(bytes));
    close(fd);
    if (len != HGI_DIGEST_BYTES) {
        status = refuse(path, "not a key, which has 32 random bytes; remove it and one is made",
                        ret_sentence);
    } else {
        memcpy(ret_key->bytes, bytes, HGI_DIGEST_BYTES);
    }
    explicit_bzero(bytes, sizeof(bytes));
    return status;
}
