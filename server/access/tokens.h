/* SPDX-License-Identifier: Apache-2.0 */
/* tokens: who may come in by showing one, now.
 * Owns:     the tokens' digests, the file they are in, the thread `tokens` that writes it.
 * Threads:  any; one lock. `done` comes on the thread `tokens`, without it.
 * Limits:   HGI_TOKENS_MAX tokens.
 * Errors:   a new token counts, and is answered, once it is on disk; a revoked one ends at once,
 * and is answered once that is on disk: UNAVAILABLE means that a restart may bring it back.
 * Not here: what a principal may do (right), a token's text (token), the file (tokens_file).
 *
 * A token is never kept, only its keyed digest, in the place that its id names. Whatever is shown
 * costs one digest and one comparison of all its bytes. */
#ifndef HGI_SERVER_ACCESS_TOKENS_H
#define HGI_SERVER_ACCESS_TOKENS_H

#include "server/access/right.h"
#include "server/access/token.h"
#include "server/access/tokens_file.h"

struct hgi_tokens;

struct hgi_tokens_options {
    const char *path;
    const char *key_path;
    const struct hgi_principal *principals;
    size_t principal_count;
};

/* How it went; borrowed for the call. */
struct hgi_tokens_done {
    enum hg_status status; /* HG_OK: on disk; UNAVAILABLE: not */
    const char *sentence;
    const struct hgi_token_text *token; /* of a new one that counts now */
    size_t revoked;
};

typedef void (*hgi_tokens_done_fn)(void *context, const struct hgi_tokens_done *done);

/* Who showed a token, and which. */
struct hgi_bearer {
    const struct hgi_principal *principal;
    uint32_t id;
    uint64_t ended; /* tokens revoked by then */
};

/* Reads the file, if there is one. `options` is copied; what it points at is borrowed until close.
 * UNAVAILABLE: another server has the file; FAILED_PRECONDITION: what is there cannot be used;
 * RESOURCE_EXHAUSTED: no memory or no thread. With a sentence (HGI_SENTENCE_MAX bytes). */
HG_NODISCARD enum hg_status hgi_tokens_open(const struct hgi_tokens_options *options,
                                            struct hgi_tokens **ret_tokens, char *ret_sentence);
/* Nobody asks any more; what was asked is still done and answered. */
void hgi_tokens_close(struct hgi_tokens **tokens);

/* Whose token this is. False: nobody's, or not any more. Looks at the tokens as they are now. */
HG_NODISCARD bool hgi_tokens_check(struct hgi_tokens *tokens, struct hg_slice text,
                                   int64_t now_wall_ms, struct hgi_bearer *ret_bearer);
/* Whether it has been revoked since. Costs nothing as long as none has. */
bool hgi_tokens_is_live(struct hgi_tokens *tokens, const struct hgi_bearer *bearer);

/* What principals may from here on, in the next request of each; one that is not there any more may
 * nothing. Borrowed until close, as are those of before. */
void hgi_tokens_set_principals(struct hgi_tokens *tokens, const struct hgi_principal *principals,
                               size_t count);
/* OK: `done` comes, once, perhaps before this returns. Else it does not: NOT_FOUND: no such
 * principal; FAILED_PRECONDITION: expired from the start; RESOURCE_EXHAUSTED: no place or no
 * memory; UNAVAILABLE: closing. expires_at_ms: unix, 0: never. */
HG_NODISCARD enum hg_status hgi_tokens_new(struct hgi_tokens *tokens, struct hg_slice principal,
                                           int64_t expires_at_ms, int64_t now_wall_ms,
                                           hgi_tokens_done_fn done, void *context,
                                           char *ret_sentence);
/* Ends the token with this id, or all of a principal (then `id` is empty). From here on they are
 * not known; `done` as above. NOT_FOUND: there is none, in memory or on disk. */
HG_NODISCARD enum hg_status hgi_tokens_revoke(struct hgi_tokens *tokens, struct hg_slice id,
                                              struct hg_slice principal, hgi_tokens_done_fn done,
                                              void *context, char *ret_sentence);
/* At most HGI_TOKENS_MAX, the oldest first; returns how many. */
size_t hgi_tokens_list(struct hgi_tokens *tokens, struct hgi_token_record *ret_records);

#endif
