/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX  64u
#define BEGIN_MIN 3u /* letters that one word needs to be the other's abbreviation */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_abbreviation(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t len = least(a_len, b_len);

    return len >= BEGIN_MIN && memcmp(a, b, len) == 0;
}

/* Edit distance with neighbours swapped counted as one (optimal string alignment), and as one what
 * an abbreviation leaves out. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[WORD_MAX + 1][WORD_MAX + 1];
    size_t a_len = strnlen(a, WORD_MAX + 1);
    size_t b_len = strnlen(b, WORD_MAX + 1);

    if (a_len > WORD_MAX || b_len > WORD_MAX) {
        return SIZE_MAX;
    }
    if (a_len != b_len && is_abbreviation(a, a_len, b, b_len)) {
        return 1;
    }
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

bool hgi_nearer(const char *word, const char *candidate, const char **inout_best)
{
    size_t edits = distance(word, candidate);

    /* More than a third of the word changed is another word, not a slip. */
    if (edits > (strlen(candidate) + 2) / 3) {
        return false;
    }
    if (*inout_best && distance(word, *inout_best) <= edits) {
        return false;
    }
    *inout_best = candidate;
    return true;
}
