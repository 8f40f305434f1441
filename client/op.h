/* SPDX-License-Identifier: Apache-2.0 */
/* op: the two public functions of one kind of call, and small helpers of the tables.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   none.
 * Errors:   as call.
 * Not here: what the functions do (call). */
#ifndef HGI_CLIENT_OP_H
#define HGI_CLIENT_OP_H

#include <stdio.h>

#include "base/kind.h"
#include "client/call.h"

/* The status of an encoding or a decoding that can only run out of memory. */
static inline enum hg_status hgi_op_encoded(bool is_ok, char *ret_sentence)
{
    if (!is_ok) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "no memory left");
    }
    return is_ok ? HG_OK : HG_RESOURCE_EXHAUSTED;
}

static inline enum hg_status hgi_op_decoded(bool is_ok, char *ret_sentence)
{
    if (!is_ok) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "it takes more memory than its length allows");
    }
    return is_ok ? HG_OK : HG_RESOURCE_EXHAUSTED;
}

/* Of the calls that ask with an empty message: no bytes. */
static inline enum hg_status hgi_op_encode_nothing(const void *request,
                                                   struct hg_bytes *ret_payload, char *ret_sentence)
{
    (void)request;
    (void)ret_payload;
    (void)ret_sentence;
    return HG_OK;
}

static inline enum hg_status hgi_op_check_cache(const char *cache, char *ret_sentence)
{
    if (!cache || !*cache) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the request names no cache");
        return HG_INVALID_ARGUMENT;
    }
    return HG_OK;
}

/* The messages' plain structures have signed durations. */
static inline int64_t hgi_op_signed_ms(uint64_t wanted_ms)
{
    return wanted_ms > INT64_MAX ? INT64_MAX : (int64_t)wanted_ms;
}

/* deliver_<kind>: calls back with the callback's own type again. */
#define HGI_OP_DELIVER(kind, reply_type)                                                           \
    static void deliver_##kind(void (*done)(void), void *arg, const struct hg_error *error,        \
                               const void *reply)                                                  \
    {                                                                                              \
        ((void (*)(void *, const struct hg_error *, const reply_type *))done)(arg, error, reply);  \
    }

/* hg_client_<name> and hg_client_<name>_async over op_<name>; the rest is the struct hgi_call_args
 * made of `request`. */
#define HGI_OP_CALLS(name, request_type, reply_type, done_type, ...)                               \
    enum hg_status hg_client_##name(struct hg_client *client, const request_type *request,         \
                                    reply_type *ret_reply, struct hg_error *ret_error)             \
    {                                                                                              \
        struct hgi_call_args args = __VA_ARGS__;                                                   \
                                                                                                   \
        return hgi_call_wait(client, &op_##name, &args, ret_reply, ret_error);                     \
    }                                                                                              \
    HGI_OP_BEGINS(name, request_type, reply_type, done_type, __VA_ARGS__)

/* The same for a read, which may not have to ask: `local` is what looks first. */
#define HGI_OP_READS(name, local, request_type, reply_type, done_type, ...)                        \
    enum hg_status hg_client_##name(struct hg_client *client, const request_type *request,         \
                                    reply_type *ret_reply, struct hg_error *ret_error)             \
    {                                                                                              \
        struct hgi_call_args args = __VA_ARGS__;                                                   \
                                                                                                   \
        return local(hgi_client_local(client), request, ret_reply)                                 \
                   ? hgi_error_none(ret_error)                                                     \
                   : hgi_call_wait(client, &op_##name, &args, ret_reply, ret_error);               \
    }                                                                                              \
    HGI_OP_BEGINS(name, request_type, reply_type, done_type, __VA_ARGS__)

#define HGI_OP_BEGINS(name, request_type, reply_type, done_type, ...)                              \
    enum hg_status hg_client_##name##_async(struct hg_client *client, const request_type *request, \
                                            done_type done, void *arg, struct hg_error *ret_error) \
    {                                                                                              \
        struct hgi_call_args args = __VA_ARGS__;                                                   \
                                                                                                   \
        return hgi_call_begin(client, &op_##name, &args, (void (*)(void))done, arg, ret_error);    \
    }

#endif
