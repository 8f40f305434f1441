/* SPDX-License-Identifier: Apache-2.0 */
/* disk_fault: calls of the system on names and folders that fail when told to.
 * Owns:     rename, unlink and fsync of a test that is linked with --wrap for them.
 * Threads:  one at a time.
 * Limits:   these three; sqlite's own writes and syncs are fault_vfs's.
 * Errors:   EIO, where it is told to.
 * Not here: what should become of them. */
#ifndef DISK_FAULT_H
#define DISK_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum disk_call { DISK_RENAME, DISK_UNLINK, DISK_FSYNC, DISK_CALLS };

struct disk_fault {
    size_t fail_at[DISK_CALLS]; /* counts down; the call that finds it at 1 fails, 0: none */
    bool has_failed;
    bool is_deadly; /* the process ends instead, with FAULT_DEATH (fault_vfs) */
};

extern struct disk_fault disk_fault;

#endif
