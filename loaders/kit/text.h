/* SPDX-License-Identifier: Apache-2.0 */
/* text: bytes that grow, for plugins; and what they often hold: words, a secret from a file.
 * Owns:     its bytes, until clear.
 * Threads:  one at a time.
 * Limits:   memory; HG_SECRET_MAX bytes of a secret.
 * Errors:   false: no memory, and nothing was appended; a secret's fault is one sentence.
 * Not here: what is made of them. */
#ifndef HG_LOADERS_KIT_TEXT_H
#define HG_LOADERS_KIT_TEXT_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HG_SECRET_MAX 8192u

struct text {
    char *data; /* NUL behind its end; NULL: nothing yet */
    size_t len;
    size_t size;
};

HG_NODISCARD bool text_append(struct text *text, const void *data, size_t len);
HG_NODISCARD bool text_append_word(struct text *text, const char *word);
/* Overwrites what was there, for it may have been a secret. */
void text_clear(struct text *text);

/* Cuts "read, write" into its words between spaces, commas and line ends; borrowed from `bytes`.
 * The array is the caller's to free; NULL: no memory. */
HG_NODISCARD struct hg_slice *text_words(struct hg_slice bytes, size_t *ret_count);

/* The value of an option that may be a secret: "file:/run/keys/db" is what that file holds, without
 * a line end behind it; anything else is itself. False and a sentence that names the option: the
 * file cannot be read, all may read it, or it is too long. */
HG_NODISCARD bool text_secret(struct text *text, const char *option, const char *value, char *error,
                              size_t error_size);

#endif
