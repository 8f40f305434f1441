/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: the known word a mistyped one was probably meant to be.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   words are compared in their first 31 bytes.
 * Errors:   none.
 * Not here: what is done with it. */
#ifndef HGI_CLI_NEAREST_H
#define HGI_CLI_NEAREST_H

#include <stddef.h>

/* The word with the fewest letters to add, drop, change or swap; the first of several. NULL: each
 * needs more than half of the word's letters. */
const char *hgi_nearest(const char *word, const char *const *known, size_t count);

#endif
