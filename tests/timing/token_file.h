/* SPDX-License-Identifier: Apache-2.0 */
/* token_file: a file of tokens in a folder of its own, all of one principal.
 * Owns:     the folder and the tokens, until close.
 * Threads:  one.
 * Limits:   TOKENS tokens.
 * Errors:   end the program.
 * Not here: what is looked at (the programs). */
#ifndef HGI_TIMING_TOKEN_FILE_H
#define HGI_TIMING_TOKEN_FILE_H

#include "server/access/tokens.h"

#define TOKENS       512
#define TOKEN_NOW_MS INT64_C(1796083871499)

extern struct hgi_tokens *tokens;
extern struct hgi_token_text known[TOKENS];

/* The principal is borrowed until close. */
void token_file_open(const struct hgi_principal *principal);
void token_file_close(void);

#endif
