/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: the known word a mistyped one was probably meant to be.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   words longer than 64 bytes are near to none.
 * Errors:   none.
 * Not here: which words are known, what is done with the one that was meant. */
#ifndef HGI_BASE_NEAREST_H
#define HGI_BASE_NEAREST_H

#include <stdbool.h>

/* True: `candidate` is near enough to be what `word` was meant to be, and nearer than *inout_best
 * (NULL: none so far), whose place it takes. Of several equally near the first one stays. */
bool hgi_nearer(const char *word, const char *candidate, const char **inout_best);

#endif
