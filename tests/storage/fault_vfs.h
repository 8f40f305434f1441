/* SPDX-License-Identifier: Apache-2.0 */
/* fault_vfs: a disk that fails when told to, under sqlite.
 * Owns:     the default VFS of the process once installed.
 * Threads:  one at a time.
 * Limits:   writes, cuts and syncs; reads are left alone.
 * Errors:   those it is told to make.
 * Not here: what should become of them. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <stdbool.h>
#include <stddef.h>

#define FAULT_DEATH 99

struct fault {
    size_t fail_write_at; /* counts down; the write that finds it at 1 fails, 0: none */
    size_t fail_sync_at;
    bool is_lasting; /* and all after it */
    bool is_deadly;  /* it ends the process instead, with FAULT_DEATH */
    bool is_hasty;   /* syncs are not done: the test is of something else, and many */
    size_t writes;   /* seen */
    size_t syncs;
};

/* Before the first open; may be called again. */
void fault_install(void);
extern struct fault fault;

#endif
