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

/* The larger of each of a byte's four counts. */
static uint8_t larger(uint8_t a, uint8_t b)
{
    unsigned sum = 0;

    for (unsigned shift = 0; shift < 8; shift += 2) {
        unsigned of_a = a >> shift & HGI_HEAT_MAX;
        unsigned of_b = b >> shift & HGI_HEAT_MAX;

        sum |= (of_a > of_b ? of_a : of_b) << shift;
    }
    return (uint8_t)sum;
}

void hgi_heat_join(struct hgi_heat *heat, size_t at, const unsigned char *counts, size_t size)
{
    for (size_t i = 0; i < size && at + i < heat->size; i++) {
        _Atomic uint8_t *own = &heat->counts[at + i];

        if (counts[i]) {
            atomic_store_explicit(
                own, larger(atomic_load_explicit(own, memory_order_relaxed), counts[i]),
                memory_order_relaxed);
        }
    }
}
