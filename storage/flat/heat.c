/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <sys/mman.h>

bool hgi_heat_init(struct hgi_heat *heat, size_t memory_size)
{
    void *counts;

    heat->size = hgi_heat_size(memory_size);
    /* Touched only where items are read. */
    counts = mmap(NULL, heat->size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    heat->counts = counts == MAP_FAILED ? NULL : counts;
    return heat->counts != NULL;
}

void hgi_heat_deinit(struct hgi_heat *heat)
{
    munmap((void *)heat->counts, heat->size);
    heat->counts = NULL;
}
