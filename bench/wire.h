/* SPDX-License-Identifier: Apache-2.0 */
/* wire: one protocol as the load generator sees it: a request to copy and patch, replies to cut.
 * Owns:     the request, until deinit.
 * Threads:  any once made.
 * Limits:   WIRE_BATCH_MAX keys a request; WIRE_REPLY_MAX bytes a reply.
 * Errors:   init: false when memory is out. cut: BAD for bytes that are no reply.
 * Not here: sockets, time (load). Asking is the same code for every protocol: copy the request, write
 * keys, values and the slot over it. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "base/bytes.h"

#define WIRE_BATCH_MAX 256u
#define WIRE_REPLY_MAX (16u << 20)
#define WIRE_HELLO_MAX 8u

enum wire_op {
    WIRE_GET,
    WIRE_GET_OR_LOAD, /* where there is such a thing; else GET */
    WIRE_PUT,
};

struct wire_plan {
    enum wire_op op;
    uint32_t batch; /* keys a request; more than 1 is for reads */
    size_t key_len;
    size_t value_len;
    uint32_t ttl_s;    /* of what is put */
    const char *cache; /* where there are several */
    bool is_ipc;       /* its socket is a unix socket */
};

/* Of one key, in the order asked. */
struct wire_answer {
    bool is_there; /* read: there is a value; put: it was taken */
    struct hg_slice value;
};

struct wire_reply {
    uint32_t slot; /* which request it answers; meaningless if replies come in order */
    uint32_t count;
    struct wire_answer answers[WIRE_BATCH_MAX];
};

enum wire_cut { WIRE_MORE, WIRE_REPLY, WIRE_BAD };

struct wire;

struct wire_kind {
    const char *name;
    bool is_ordered; /* replies come in the order of the requests, one for each key */
    bool (*build)(struct wire *wire);
    enum wire_cut (*cut)(const struct wire *wire, struct hg_slice input,
                         struct wire_reply *ret_reply, size_t *ret_consumed);
};

extern const struct wire_kind wire_resp;      /* redis */
extern const struct wire_kind wire_memcached; /* its text protocol */
extern const struct wire_kind wire_sp;        /* ours */

struct wire {
    const struct wire_kind *kind;
    struct wire_plan plan;
    struct hg_bytes request;
    size_t key_at[WIRE_BATCH_MAX];
    size_t value_at;
    size_t slot_at; /* 4 bytes, big-endian, slot + 1 with the highest bit set; 0: none */
    unsigned char hello[WIRE_HELLO_MAX]; /* said first, */
    size_t hello_len;
    unsigned char greeting[WIRE_HELLO_MAX]; /* and what must be heard first; as long */
};

HG_NODISCARD bool wire_init(struct wire *wire, const struct wire_kind *kind,
                            const struct wire_plan *plan);
void wire_deinit(struct wire *wire);
/* Writes request.len bytes that ask for (or put) the records of these numbers. */
void wire_ask(const struct wire *wire, uint32_t slot, const uint32_t *numbers,
              unsigned char *ret_request);
/* One of the three by name; NULL: no such. */
const struct wire_kind *wire_find(const char *name);

/* For the builders: appends text, or room for a key, and notes where it stands. */
HG_NODISCARD bool wire_add_text(struct wire *wire, const char *text);
HG_NODISCARD bool wire_add_key(struct wire *wire, uint32_t index);
HG_NODISCARD bool wire_add_value(struct wire *wire);

#endif
