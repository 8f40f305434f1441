/* SPDX-License-Identifier: Apache-2.0 */
/* frame: what the server and a loader's child say to each other (loader.proto).
 * Owns:     nothing; what is decoded borrows from the arena, what is encoded is appended.
 * Threads:  any.
 * Limits:   a frame is at most the reader's frame_max bytes; the arena's budget bounds decoding.
 * Errors:   cut: BAD for a length past the limit or 0; decode: INVALID_ARGUMENT and one sentence.
 *           Both sides treat the other's bytes as hostile: any input ends in one of these.
 * Not here: reading and writing (server/loader/child, loaders/host). */
#ifndef HGI_PROTO_FRAME_H
#define HGI_PROTO_FRAME_H

#include "base/bytes.h"
#include "base/kind.h"
#include "herdgate/loader.h"

#define HGI_FRAME_HEAD_BYTES  4u         /* u32 big-endian length of the body */
#define HGI_FRAME_SERVER_MAX  (1u << 20) /* a frame of the server: Hello with its settings */
#define HGI_FRAME_MESSAGE_MAX 512u       /* longest text of Ready, Done, Log, HealthReply */
#define HGI_FRAME_CHILD_EXTRA 4096u      /* what a child's frame has beside a value */

enum hgi_frame_kind {
    HGI_FRAME_HELLO = 1,
    HGI_FRAME_READY,
    HGI_FRAME_LOAD,
    HGI_FRAME_CANCEL,
    HGI_FRAME_DONE,
    HGI_FRAME_LOG,
    HGI_FRAME_DRAIN,
    HGI_FRAME_HEALTH,
    HGI_FRAME_HEALTH_REPLY,
    HGI_FRAME_LOADS,
    HGI_FRAME_INVALIDATE,
};

struct hgi_frame_setting {
    struct hg_slice name;
    struct hg_slice value;
};

/* What a child forbids itself; see loader.proto. */
struct hgi_frame_confine {
    uint64_t memory_max_bytes;
    uint32_t descriptors_max;
    uint32_t processes_max;
    uint32_t cpu_max_s;
    struct hg_slice files_read;
    struct hg_slice files_write;
    bool is_offline;
    bool may_dump;
    bool has_user;
    uint32_t uid;
    uint32_t gid;
};

struct hgi_frame_hello {
    struct hg_slice plugin;
    uint32_t workers;
    uint32_t value_max_bytes;
    const struct hgi_frame_setting *settings;
    size_t setting_count;
    struct hg_slice pin;
    const uint32_t *owners;
    size_t owner_count;
    struct hgi_frame_confine confine;
    bool log_json;
    bool is_program; /* `plugin` is one that the child becomes */
};

struct hgi_frame_ready {
    enum hg_status status;
    struct hg_slice message;
    struct hg_slice name;
    struct hg_slice version;
    uint32_t abi;
    uint32_t max_inflight;
    bool has_health;
    uint32_t batch_max;
    bool is_async;
    bool wants_old;
    bool invalidates; /* everything its caches hold */
};

struct hgi_frame_load {
    uint64_t id;
    struct hg_slice cache;
    struct hg_slice key; /* canonical */
    enum hg_value_type value_type;
    uint32_t attempt;
    uint32_t remaining_ms;
    bool has_old;
    struct hg_slice old_value;
    struct hg_slice etag;
    struct hg_slice traceparent; /* well-formed; empty: none */
};

struct hgi_frame_loads {
    const struct hgi_frame_load *loads;
    size_t count;
};

struct hgi_frame_done {
    uint64_t id;
    enum hg_status status;
    enum hg_outcome outcome; /* with status OK: VALUE, ABSENT or DENIED */
    struct hg_slice value;
    struct hg_slice message;
    bool no_store;
    int64_t ttl_ms; /* these three: 0 = none given, never negative */
    int64_t stale_ttl_ms;
    int64_t expires_at_ms;
    const struct hg_slice *tags; /* at most HG_TAGS_MAX of 1 to HG_TAG_MAX bytes */
    size_t tag_count;
    struct hg_slice user; /* of an auth value; at most HG_KEY_MAX bytes */
    struct hg_slice etag; /* at most HG_ETAG_MAX bytes */
    bool is_unchanged;    /* with VALUE, and without one here: the load's old value is right */
};

struct hgi_frame_log {
    enum hg_log_level level;
    struct hg_slice text;
};

struct hgi_frame_health {
    enum hg_status status;
    struct hg_slice message;
};

struct hgi_frame_invalidate {
    enum hg_invalidated what;
    struct hg_slice cache; /* empty: every cache of the loader */
    struct hg_slice key;   /* with KEY; canonical, or so it says */
    struct hg_slice name;  /* with TAG 1 to HG_TAG_MAX, with USER 1 to HG_KEY_MAX bytes */
};

struct hgi_frame {
    enum hgi_frame_kind kind;
    union {
        struct hgi_frame_hello hello;
        struct hgi_frame_ready ready;
        struct hgi_frame_load load;
        struct hgi_frame_loads loads;
        uint64_t cancel_id;
        struct hgi_frame_done done;
        struct hgi_frame_log log;
        struct hgi_frame_health health; /* of a HealthReply */
        struct hgi_frame_invalidate invalidate;
    } u;
};

enum hgi_frame_cut { HGI_FRAME_PARTIAL, HGI_FRAME_WHOLE, HGI_FRAME_BAD };

/* Cuts the first frame off `bytes`. WHOLE: its body (borrowed from `bytes`) and the bytes used up.
 * PARTIAL: more is needed. BAD: no frame can follow, the connection is to be given up. */
enum hgi_frame_cut hgi_frame_cut(struct hg_slice bytes, size_t frame_max, struct hg_slice *ret_body,
                                 size_t *ret_used);

/* Appends the frame with its length in front; false when memory is out or the body is past
 * `frame_max`, and then nothing is appended. */
HG_NODISCARD bool hgi_frame_encode(const struct hgi_frame *frame, size_t frame_max,
                                   struct hg_bytes *ret_bytes);

/* A body is exactly one message of loader.proto's Frame. Numbers are checked against their enums.
 * ret_sentence: HGI_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_frame_decode(struct hg_slice body, struct hgi_arena *arena,
                                             struct hgi_frame *ret_frame, char *ret_sentence);

/* The longest frame a child may send when values are at most `value_max_bytes`. */
static inline size_t hgi_frame_child_max(size_t value_max_bytes)
{
    return value_max_bytes + HGI_FRAME_CHILD_EXTRA;
}

#endif
