/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct fault_memory own;
struct fault_memory *fault_memory = &own;

void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

void fault_memory_begin(size_t fail_at, bool is_lasting)
{
    fault_memory->fail_at = fail_at;
    fault_memory->is_lasting = is_lasting;
    fault_memory->calls = 0;
    fault_memory->failures = 0;
    fault_memory->is_armed = true;
}

size_t fault_memory_end(void)
{
    fault_memory->is_armed = false;
    return fault_memory->calls;
}

bool fault_memory_fails(void)
{
    size_t call;

    if (!fault_memory->is_armed) {
        return false;
    }
    call = ++fault_memory->calls;
    if (!fault_memory->fail_at || call < fault_memory->fail_at ||
        (call > fault_memory->fail_at && !fault_memory->is_lasting)) {
        return false;
    }
    fault_memory->failures++;
    return true;
}

void *__wrap_realloc(void *pointer, size_t size)
{
    void *memory;

    if (fault_memory_fails()) {
        errno = ENOMEM;
        return NULL;
    }
    memory = __real_realloc(pointer, size);
    fault_memory->blocks += memory && !pointer;
    return memory;
}

void __wrap_free(void *pointer)
{
    fault_memory->blocks -= pointer != NULL;
    __real_free(pointer);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fault_memory_fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, size, protection, flags, fd, offset);
}
