/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_fault.h"

#include <errno.h>
#include <unistd.h>

#include "fault_vfs.h"

struct disk_fault disk_fault;

/* The linker puts these in the place of the system's, which have the other name. */
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_fsync(int fd);

static bool is_due(enum disk_call call)
{
    size_t *at = &disk_fault.fail_at[call];

    if (*at == 0 || --*at > 0) {
        return false;
    }
    if (disk_fault.is_deadly) {
        _exit(FAULT_DEATH);
    }
    disk_fault.has_failed = true;
    errno = EIO;
    return true;
}

int __wrap_rename(const char *from, const char *to)
{
    return is_due(DISK_RENAME) ? -1 : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    return is_due(DISK_UNLINK) ? -1 : __real_unlink(path);
}

int __wrap_fsync(int fd)
{
    return is_due(DISK_FSYNC) ? -1 : __real_fsync(fd);
}
