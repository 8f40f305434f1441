/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: what every target shares: its one entry, and reading numbers and slices off its input.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   HGI_FUZZ_INPUT_MAX bytes an input; longer ones say no more.
 * Errors:   HGI_BUG_ON: a broken promise ends the program, which is how a fuzzer learns of it.
 * Not here: who makes the inputs up (libFuzzer) or reads them from files (replay.c). */
#ifndef HGI_TEST_FUZZ_H
#define HGI_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/check.h"

#define HGI_FUZZ_INPUT_MAX 65536u

/* libFuzzer's names. Each target defines the first; the second is in fuzz.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Takes from the front. An input that has run out goes on with zeros and empty slices. */
uint64_t fuzz_number(struct hg_slice *input, size_t bytes);
struct hg_slice fuzz_slice(struct hg_slice *input, size_t len);
/* Two bytes of length, then so many. */
struct hg_slice fuzz_sized(struct hg_slice *input);

/* What lies between two calls may find no memory (fault.c); the rest of a target always does. */
void fuzz_memory_may_fail(bool may_fail);
/* Some was refused in this input: an answer may say so. */
bool fuzz_has_failed(void);

/* A refusal has words: some, and an end within `size`. */
void fuzz_check_sentence(const char *sentence, size_t size);

#endif
