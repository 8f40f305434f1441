/* SPDX-License-Identifier: Apache-2.0 */
/* record: the keys and values every benchmark asks for, each made of a number.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   keys of 17 to RECORD_KEY_MAX bytes, values to RECORD_VALUE_MAX; numbers below 10^12.
 * Errors:   none.
 * Not here: which number is asked for (draw). The keys are those that redis-benchmark makes of
 * "sess:00000000000000000000000__rand_int__". */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include "herdgate/types.h"

#define RECORD_KEY_LEN   40u
#define RECORD_VALUE_LEN 100u
#define RECORD_KEY_MAX   64u
#define RECORD_VALUE_MAX 4096u

void record_key(uint64_t number, size_t len, unsigned char *ret_key);
void record_value(uint64_t number, size_t len, unsigned char *ret_value);
bool record_value_is(uint64_t number, size_t len, struct hg_slice value);

#endif
