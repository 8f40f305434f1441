/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#define PREFIX "sess:"
#define DIGITS 12u

void record_key(uint64_t number, size_t len, unsigned char *ret_key)
{
    memset(ret_key, '0', len);
    memcpy(ret_key, PREFIX, strlen(PREFIX));
    for (size_t i = 1; number > 0 && i <= DIGITS; i++) {
        ret_key[len - i] = (unsigned char)('0' + number % 10);
        number /= 10;
    }
}

/* One word, repeated: no two numbers share it, and it holds no byte that a text protocol minds. */
static uint64_t word_of(uint64_t number)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < 8; i++) {
        word |= (uint64_t)('@' + ((number >> (5 * i)) & 31)) << (8 * i);
    }
    return word;
}

void record_value(uint64_t number, size_t len, unsigned char *ret_value)
{
    uint64_t word = word_of(number);
    size_t at;

    for (at = 0; at + sizeof(word) <= len; at += sizeof(word)) {
        memcpy(ret_value + at, &word, sizeof(word));
    }
    memcpy(ret_value + at, &word, len - at);
}

bool record_value_is(uint64_t number, size_t len, struct hg_slice value)
{
    const unsigned char *bytes = value.data;
    uint64_t word = word_of(number);
    uint64_t differs = 0;
    size_t at;

    if (value.len != len) {
        return false;
    }
    for (at = 0; at + sizeof(word) <= len; at += sizeof(word)) {
        uint64_t found;

        memcpy(&found, bytes + at, sizeof(found));
        differs |= found ^ word;
    }
    return differs == 0 && memcmp(bytes + at, &word, len - at) == 0;
}
