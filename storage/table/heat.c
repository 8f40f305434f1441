/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <sys/mman.h>

bool hgi_heat_init(struct hgi_heat *heat, const struct hgi_region *region)
{
    void *counts;

    heat->size = region->size / HGI_REGION_WORD_BYTES / (1u << (HGI_HEAT_WORDS_LOG + 2)) + 1;
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
