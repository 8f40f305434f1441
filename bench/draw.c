/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

bool zipf_init(struct zipf *z, uint32_t count, double alpha)
{
    double sum = 0;

    z->count = count;
    z->sums = malloc(count * sizeof(*z->sums));
    if (!z->sums) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += pow((double)i + 1, -alpha);
        z->sums[i] = sum;
    }
    for (uint32_t i = 0; i < count; i++) {
        z->sums[i] /= sum;
    }
    return true;
}

void zipf_deinit(struct zipf *z)
{
    free(z->sums);
    z->sums = NULL;
}

uint32_t zipf_draw(const struct zipf *z, struct draw *d)
{
    double share = draw_share(d);
    uint32_t low = 0;
    uint32_t high = z->count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (z->sums[middle] > share) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Multiplying by a prime that does not divide the count is a permutation. */
uint32_t zipf_scatter(const struct zipf *z, uint32_t rank)
{
    return (uint32_t)(((uint64_t)rank * UINT64_C(2654435761)) % z->count);
}
