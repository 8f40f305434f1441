/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <string.h>

#define WORD_MAX 31u

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with neighbours swapped counted as one (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];
    size_t a_len = strnlen(a, WORD_MAX);
    size_t b_len = strnlen(b, WORD_MAX);

    for (size_t i = 0; i <= a_len; i++) {
        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            rows[i][j] = least(least(rows[i - 1][j], rows[i][j - 1]) + 1,
                               rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
            }
        }
    }
    return rows[a_len][b_len];
}

const char *hgi_nearest(const char *word, const char *const *known, size_t count)
{
    /* More than half of it wrong is no slip: a far-fetched word would only mislead. */
    size_t least_distance = strnlen(word, WORD_MAX) / 2 + 1;
    const char *best = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t it = distance(word, known[i]);

        if (it < least_distance) {
            least_distance = it;
            best = known[i];
        }
    }
    return best;
}
