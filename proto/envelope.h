/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: what is around every message: method, deadline, op id; status.
 * Owns:     the methods (methods.def).
 * Threads:  any.
 * Limits:   16 metadata pairs; an op id is 16 bytes or none.
 * Errors:   INVALID_ARGUMENT and one sentence; an unknown method is not an error here (id NONE).
 * Not here: the messages inside (codec). */
#ifndef HGI_PROTO_ENVELOPE_H
#define HGI_PROTO_ENVELOPE_H

#include "base/bytes.h"
#include "herdgate/status.h"
#include "proto/pieces.h"

#define HGI_OP_ID_LEN           16u
#define HGI_METADATA_MAX        16u
#define HGI_METADATA_LOCAL_HITS "local-hits" /* "COUNT CACHE": reads that nobody was asked for */

enum hgi_method {
    HGI_METHOD_NONE = 0,
#define HGI_METHOD_ROW(id, path, right, verb, scope, mutates) HGI_METHOD_##id,
#include "proto/methods.def"
#undef HGI_METHOD_ROW
    HGI_METHOD_COUNT
};

/* What a token's principal must be granted. */
enum hgi_verb { HGI_VERB_READ, HGI_VERB_LOAD, HGI_VERB_WRITE, HGI_VERB_CLEAR, HGI_VERB_ADMIN };

/* Where: in the cache that the message names; in every cache; anywhere, be it nothing. */
enum hgi_scope { HGI_SCOPE_CACHE, HGI_SCOPE_SERVER, HGI_SCOPE_NONE };

enum hgi_right { HGI_RIGHT_DATA, HGI_RIGHT_OWNER, HGI_RIGHT_ADMIN };

struct hgi_method_info {
    const char *path;
    enum hgi_right right;
    enum hgi_verb verb;
    enum hgi_scope scope;
    bool mutates;
};

struct hgi_metadata {
    struct hg_slice name;
    struct hg_slice value;
};

struct hgi_request {
    enum hgi_method method;
    struct hg_slice path; /* as it came, for the message about an unknown one */
    uint32_t timeout_ms;
    struct hg_slice payload;
    struct hg_slice op_id; /* empty or HGI_OP_ID_LEN bytes */
    struct hgi_metadata metadata[HGI_METADATA_MAX];
    size_t metadata_count;
};

struct hgi_reply {
    enum hg_status status;
    struct hg_slice message;
    struct hg_slice payload;
    uint32_t retry_after_ms;
};

/* method must be in the table. */
const struct hgi_method_info *hgi_method_info(enum hgi_method method);
enum hgi_method hgi_method_find(struct hg_slice path);

/* Everything decoded borrows from the arena or, of a request, from `bytes`. ret_sentence:
 * HGI_SENTENCE_MAX bytes (base/kind.h). */
HG_NODISCARD enum hg_status hgi_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                               struct hgi_request *ret_request, char *ret_sentence);
/* Appends; false when memory is out. `path` is taken from the method, not from the struct. */
HG_NODISCARD bool hgi_request_encode(const struct hgi_request *request, struct hg_bytes *ret_bytes);
HG_NODISCARD enum hg_status hgi_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_reply *ret_reply);
HG_NODISCARD bool hgi_reply_encode(const struct hgi_reply *reply, struct hg_bytes *ret_bytes);
/* The same, not copied yet; `payload`, unless NULL, stands for the reply's. All is borrowed. */
void hgi_reply_pieces(const struct hgi_reply *reply, const struct hgi_pieces *payload,
                      struct hgi_pieces *ret_pieces);

#endif
