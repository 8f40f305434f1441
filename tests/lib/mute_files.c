/* SPDX-License-Identifier: Apache-2.0 */
#include "mute_files.h"

#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hg_test.h"

#define FILE_NAME  "file"
#define FILE_INO   2u
#define FILE_BYTES 4096
#define FOREVER_S  1e9 /* what the kernel knows of names and files, it need not ask again */

/* ---- what is asked ---- */

static bool describe(fuse_ino_t ino, struct stat *ret_stat)
{
    struct stat found = {.st_ino = ino, .st_nlink = 1};

    if (ino == FUSE_ROOT_ID) {
        found.st_mode = S_IFDIR | 0755;
    } else if (ino == FILE_INO) {
        found.st_mode = S_IFREG | 0644;
        found.st_size = FILE_BYTES;
    } else {
        return false;
    }
    *ret_stat = found;
    return true;
}

static void look_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = {
        .ino = FILE_INO, .attr_timeout = FOREVER_S, .entry_timeout = FOREVER_S};

    if (parent != FUSE_ROOT_ID || strcmp(name, FILE_NAME) != 0 ||
        !describe(FILE_INO, &entry.attr)) {
        fuse_reply_err(req, ENOENT);
    } else {
        fuse_reply_entry(req, &entry);
    }
}

static void get_attributes(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
    struct stat found;

    (void)info;
    if (describe(ino, &found)) {
        fuse_reply_attr(req, &found, FOREVER_S);
    } else {
        fuse_reply_err(req, ENOENT);
    }
}

/* Past the page cache: who waits for a page can be killed, who waits for an answer can not. */
static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
    (void)ino;
    info->direct_io = 1;
    fuse_reply_open(req, info);
}

static void hold_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                      struct fuse_file_info *info)
{
    struct mute_files *files = fuse_req_userdata(req);
    unsigned count = atomic_load(&files->read_count);

    (void)ino;
    (void)size;
    (void)at;
    (void)info;
    if (count == MUTE_FILES_READS_MAX) {
        fuse_reply_err(req, EBUSY);
        return;
    }
    files->reads[count] = req;
    atomic_store(&files->read_count, count + 1);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = look_up,
    .getattr = get_attributes,
    .open = open_file,
    .read = hold_read,
};

/* ---- the thread ---- */

static void release_reads(struct mute_files *files)
{
    unsigned wanted = atomic_load(&files->releases_wanted);
    unsigned count = atomic_load(&files->read_count);

    for (unsigned i = 0; i < count; i++) {
        fuse_reply_err(files->reads[i], EIO);
    }
    atomic_store(&files->read_count, 0);
    atomic_store(&files->releases_done, wanted);
}

static void take_requests(void *arg)
{
    struct mute_files *files = arg;
    struct fuse_buf buffer = {.mem = NULL};
    struct pollfd waits[] = {{.fd = fuse_session_fd(files->channel), .events = POLLIN},
                             {.fd = files->wake_fd, .events = POLLIN}};
    uint64_t wakes;

    while (!atomic_load(&files->is_over)) {
        if (poll(waits, 2, -1) < 0) {
            continue;
        }
        if (waits[1].revents && read(files->wake_fd, &wakes, sizeof(wakes)) > 0) {
            release_reads(files);
        }
        if (waits[0].revents && fuse_session_receive_buf(files->channel, &buffer) > 0) {
            fuse_session_process_buf(files->channel, &buffer);
        }
    }
    free(buffer.mem);
}

static void wake(struct mute_files *files)
{
    const uint64_t one = 1;

    ck_assert_int_eq(write(files->wake_fd, &one, sizeof(one)), sizeof(one));
}

/* ---- the mount ---- */

/* By hand and not by the library, so that it is seen what is missing, and nobody else sees the
 * mount. -1: errno says why, and *ret_step what. */
static int mount_here(const char *dir, const char **ret_step)
{
    char options[128];
    int fd;

    *ret_step = "open /dev/fuse";
    fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
             fd, (unsigned)getuid(), (unsigned)getgid());
    *ret_step = "have mounts of its own";
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        *ret_step = "mount";
        if (mount("mute_files", dir, "fuse.mute_files", MS_NOSUID | MS_NODEV, options) == 0) {
            return fd;
        }
    }
    close(fd);
    return -1;
}

bool mute_files_open(struct mute_files *files, const char *dir, char *ret_sentence)
{
    char *argv[] = {"mute_files", NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    const char *step;
    char place[32];
    int fd = mount_here(dir, &step);

    if (fd < 0) {
        snprintf(ret_sentence, MUTE_FILES_SENTENCE_MAX, "this machine does not let us %s: %s", step,
                 strerror(errno));
        return false;
    }
    memset(files, 0, sizeof(*files));
    snprintf(files->dir, sizeof(files->dir), "%s", dir);
    snprintf(files->file, sizeof(files->file), "%s/%s", dir, FILE_NAME);
    files->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(files->wake_fd, 0);
    files->channel = fuse_session_new(&args, &operations, sizeof(operations), files);
    ck_assert_ptr_nonnull(files->channel);
    fuse_opt_free_args(&args);
    snprintf(place, sizeof(place), "/dev/fd/%d", fd);
    ck_assert_int_eq(fuse_session_mount(files->channel, place), 0);
    ck_assert(hgi_thread_start(&files->thread, "mute_files", take_requests, files));
    return true;
}

unsigned mute_files_read_count(struct mute_files *files)
{
    return atomic_load(&files->read_count);
}

void mute_files_release(struct mute_files *files)
{
    unsigned wanted = atomic_fetch_add(&files->releases_wanted, 1) + 1;

    wake(files);
    while (atomic_load(&files->releases_done) < wanted) {
        hgi_thread_pause(1);
    }
}

void mute_files_close(struct mute_files *files)
{
    mute_files_release(files);
    atomic_store(&files->is_over, true);
    wake(files);
    hgi_thread_join(&files->thread);
    ck_assert_int_eq(umount2(files->dir, MNT_DETACH), 0);
    fuse_session_destroy(files->channel); /* closes its descriptor: who still waits is let go */
    close(files->wake_fd);
}
