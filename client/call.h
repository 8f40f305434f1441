/* SPDX-License-Identifier: Apache-2.0 */
/* call: one request and its reply, waited for or called back.
 * Owns:     a reply's memory until its deinit.
 * Threads:  any; a waiting call from a callback is refused (it would stop the connection).
 * Limits:   a request is at most the client's message_max_bytes; a reply may take 24 times its
 *           length of memory, and never more than that.
 * Errors:   a status and one sentence in struct hg_error.
 * Not here: which calls there are (ops_cache, ops_admin); ids and deadlines (client). */
#ifndef HGI_CLIENT_CALL_H
#define HGI_CLIENT_CALL_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "herdgate/client.h"
#include "proto/envelope.h"

struct hg_memory {
    struct hgi_arena arena;
    struct hg_bytes value; /* of an answer that was read locally */
};

#define HGI_REPLY_NO_MEMORY SIZE_MAX

/* One kind of call. */
struct hgi_op {
    enum hgi_method method;
    /* ret_sentence: HGI_SENTENCE_MAX bytes, written on failure. */
    enum hg_status (*encode)(const void *request, struct hg_bytes *ret_payload, char *ret_sentence);
    /* What is decoded lives in the arena. key_count: of the request. */
    enum hg_status (*decode)(struct hg_slice payload, struct hgi_arena *arena, size_t key_count,
                             void *ret_reply, char *ret_sentence);
    void (*deliver)(void (*done)(void), void *arg, const struct hg_error *error, const void *reply);
    size_t reply_size;
    bool ends_waits;      /* those of others: it is sent before what waits for room */
    size_t memory_offset; /* of the reply's `struct hg_memory *`, or HGI_REPLY_NO_MEMORY */
    /* How much longer than the server the client waits, for a call that is answered when its time
     * is up and not before. 0: the server is told to answer a little early instead. */
    uint32_t grace_ms;
    /* Optional: whose load an error comes from. */
    enum hg_source (*source)(struct hg_slice payload, struct hgi_arena *arena);
};

/* What every call has. */
struct hgi_call_args {
    const void *request;
    const unsigned char *op_id;
    uint32_t timeout_ms;
    size_t key_count;        /* of a request whose reply must have as many answers */
    const char *traceparent; /* NULL: none */
};

HG_NODISCARD enum hg_status hgi_call_wait(struct hg_client *client, const struct hgi_op *op,
                                          const struct hgi_call_args *args, void *ret_reply,
                                          struct hg_error *ret_error);
HG_NODISCARD enum hg_status hgi_call_begin(struct hg_client *client, const struct hgi_op *op,
                                           const struct hgi_call_args *args, void (*done)(void),
                                           void *arg, struct hg_error *ret_error);
/* NULL is nothing to give back. */
void hgi_memory_destroy(struct hg_memory **memory);
HG_NODISCARD struct hg_memory *hgi_memory_create(size_t budget_bytes);

#endif
