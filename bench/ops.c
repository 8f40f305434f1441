/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

#include <stdlib.h>

bool ops_init(struct ops *ops, size_t count, uint32_t records, const struct zipf *zipf,
              uint64_t seed)
{
    struct draw draw = draw_seeded(seed);
    unsigned char value[RECORD_VALUE_LEN];

    ops->count = count;
    ops->keys = malloc(count * RECORD_KEY_LEN);
    ops->numbers = malloc(count * sizeof(*ops->numbers));
    ops->words = malloc(count * sizeof(*ops->words));
    if (!ops->keys || !ops->numbers || !ops->words) {
        ops_deinit(ops);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t number =
            zipf ? zipf_scatter(zipf, zipf_draw(zipf, &draw)) : draw_below(&draw, records);

        ops->numbers[i] = number;
        record_key(number, RECORD_KEY_LEN, ops->keys + i * RECORD_KEY_LEN);
        record_value(number, sizeof(value), value);
        memcpy(&ops->words[i], value, sizeof(ops->words[i]));
    }
    return true;
}

void ops_deinit(struct ops *ops)
{
    free(ops->keys);
    free(ops->numbers);
    free(ops->words);
    memset(ops, 0, sizeof(*ops));
}
