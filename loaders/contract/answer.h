/* SPDX-License-Identifier: Apache-2.0 */
/* answer: what a plugin said of a load, checked and turned into a Done.
 * Owns:     nothing; the Done borrows from the draft, which lives until it is encoded.
 * Threads:  any.
 * Limits:   value_max_bytes; texts are cut at HGI_ANSWER_TEXT_MAX.
 * Errors:   none: an answer that breaks a rule becomes the error INTERNAL with one sentence, for
 *           the callers of a load are not to blame for their loader.
 * Not here: who may complete a load, and once (whoever runs the plugin). */
#ifndef HGI_LOADERS_CONTRACT_ANSWER_H
#define HGI_LOADERS_CONTRACT_ANSWER_H

#include "proto/frame.h"
#include "proto/value.h"

#define HGI_ANSWER_TEXT_MAX 256u

enum hgi_answer_kind {
    HGI_ANSWER_BYTES,
    HGI_ANSWER_JSON,
    HGI_ANSWER_AUTH,
    HGI_ANSWER_ABSENT,
    HGI_ANSWER_DENIED,
    HGI_ANSWER_UNCHANGED,
    HGI_ANSWER_ERROR,
};

struct hgi_answer_draft {
    enum hgi_answer_kind kind;
    struct hg_slice value; /* AUTH: packed */
    const struct hg_lifetime *lifetime;
    enum hg_status status; /* ERROR */
    const char *text;
    bool has_old_value; /* UNCHANGED: the load was given one */
    /* the check's own */
    char sentence[HGI_ANSWER_TEXT_MAX];
    struct hgi_value_user user;
};

/* Appends the packed auth value; false when memory is out. */
HG_NODISCARD bool hgi_answer_pack(const struct hg_auth *auth, struct hg_bytes *ret_bytes);
/* A status that a plugin may fail with: not OK, and a row of status.def. */
bool hgi_answer_is_error(enum hg_status status);
/* Fills all of *ret_done but its id. */
void hgi_answer_check(struct hgi_answer_draft *draft, enum hg_value_type type,
                      size_t value_max_bytes, struct hgi_frame_done *ret_done);

#endif
