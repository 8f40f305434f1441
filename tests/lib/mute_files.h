/* SPDX-License-Identifier: Apache-2.0 */
/* mute_files: a file system that takes requests and does not answer, as a network's does whose
 * server is gone: who reads its file is in the kernel's hands, and SIGKILL waits until it answers.
 * Owns:     the mount, in a mount namespace that only the calling thread and what it starts later
 * see: whatever ends the test, nothing of it is left; and the thread that takes the requests.
 * Threads:  open, release and close from one that has started nothing yet that needs the file.
 * Limits:   MUTE_FILES_READS_MAX reads that wait.
 * Errors:   open: one sentence; it takes /dev/fuse and CAP_SYS_ADMIN, which a machine may not give.
 * Not here: who reads (tests/loaders/plugins/crash.c). */
#ifndef HG_TEST_MUTE_FILES_H
#define HG_TEST_MUTE_FILES_H

#include <stdatomic.h>

#include "base/thread.h"

#define MUTE_FILES_READS_MAX    64u
#define MUTE_FILES_SENTENCE_MAX 256u

struct mute_files {
    char dir[128];
    char file[160]; /* opens at once; each read of it waits */
    int wake_fd;
    struct fuse_session *channel;
    struct hgi_thread thread;
    atomic_bool is_over;
    atomic_uint releases_wanted;
    atomic_uint releases_done;
    atomic_uint read_count; /* that wait */
    /* the thread's */
    struct fuse_req *reads[MUTE_FILES_READS_MAX];
};

/* Mounts it on the folder. False: this machine does not allow it. */
HG_NODISCARD bool mute_files_open(struct mute_files *files, const char *dir, char *ret_sentence);
/* How many reads have come and wait. */
unsigned mute_files_read_count(struct mute_files *files);
/* Those that wait fail. Later ones wait again. */
void mute_files_release(struct mute_files *files);
/* Releases, and unmounts. */
void mute_files_close(struct mute_files *files);

#endif
