/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_vfs.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

struct fault fault;

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* in the memory behind this */
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static bool is_due(size_t *at)
{
    if (*at == 0) {
        return false;
    }
    if (*at > 1) {
        (*at)--;
        return false;
    }
    if (fault.is_deadly) {
        _exit(FAULT_DEATH);
    }
    if (!fault.is_lasting) {
        *at = 0;
    }
    return true;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

static int on_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int on_read(sqlite3_file *file, void *into, int amount, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), into, amount, offset);
}

static int on_write(sqlite3_file *file, const void *from, int amount, sqlite3_int64 offset)
{
    fault.writes++;
    if (is_due(&fault.fail_write_at)) {
        return SQLITE_FULL;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), from, amount, offset);
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    fault.writes++;
    if (is_due(&fault.fail_write_at)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int on_sync(sqlite3_file *file, int flags)
{
    fault.syncs++;
    if (is_due(&fault.fail_sync_at)) {
        return SQLITE_IOERR_FSYNC;
    }
    return fault.is_hasty ? SQLITE_OK : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int on_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int on_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int on_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int on_check_reserved(sqlite3_file *file, int *is_reserved)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_reserved);
}

static int on_control(sqlite3_file *file, int operation, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, arg);
}

static int on_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int on_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* Version 1: no shared memory. An exclusive connection needs none, and would say so if it did. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_file_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
};

static int on_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags,
                   int *out_flags)
{
    struct fault_file *faulty = (struct fault_file *)file;
    int code;

    (void)self;
    faulty->real = (sqlite3_file *)(void *)(faulty + 1);
    code = real_vfs->xOpen(real_vfs, name, faulty->real, flags, out_flags);
    faulty->base.pMethods = faulty->real->pMethods ? &methods : NULL;
    return code;
}

void fault_install(void)
{
    memset(&fault, 0, sizeof(fault));
    if (real_vfs) {
        return;
    }
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
    vfs.xOpen = on_open;
    sqlite3_vfs_register(&vfs, 1);
}
