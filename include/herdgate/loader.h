/* SPDX-License-Identifier: Apache-2.0 */
/* loader: what a loader plugin and its host promise each other.
 * Owns:     the ABI number and its history.
 * Threads:  `open`, `close` and `health` are called one at a time; `load` from `workers` threads
 * at once; `cancel` from another thread while `load` runs. Host services may be called from any
 * thread.
 * Limits:   error text 256 bytes, value 64 KiB unless configured otherwise.
 * Errors:   a load ends in exactly one call of a `done_*` service; a second one is dropped and
 * counted.
 * Not here: how the host runs a plugin (its own process, or a gateway's: docs/LOADERS.md).
 *
 * A plugin is a shared object that exports one function, `hg_loader_query`, which returns a static
 * descriptor. Its first three fields are frozen for ever and are read before any other. Structures
 * that cross the boundary carry their own size and only grow at the end: read a field only if it
 * lies within the size you were given, treat a missing service as not there.
 *
 * ABI history
 *   1  first: open, load, cancel, close, health; value, absent, denied, error; ttl, stale_ttl,
 *      expires_at, no_store; typed keys, remaining time, attempt.
 *      0.2.0 appends max_batch and load_batch to struct hg_loader. A descriptor that ends before
 *      them (HG_LOADER_SIZE_FIRST) is as good as ever.
 *      0.2.0 appends tags and tag_count to struct hg_lifetime.
 *      0.2.0 appends has_old_value, old_value and etag to struct hg_load_request, etag to struct
 *      hg_lifetime, done_unchanged to struct hg_host_services, and HG_LOADER_REVALIDATE.
 *      0.2.0 appends traceparent to struct hg_load_request.
 *      0.2.0 appends invalidate to struct hg_host_services. */
#ifndef HERDGATE_LOADER_H
#define HERDGATE_LOADER_H

#include <stddef.h>

#include "herdgate/attr.h"
#include "herdgate/status.h"
#include "herdgate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HG_LOADER_MAGIC 0x48474C44u /* "HGLD" */
#define HG_LOADER_ABI   1u

/* Levels of the `log` service. */
enum hg_log_level { HG_LOG_ERROR = 0, HG_LOG_WARN = 1, HG_LOG_INFO = 2, HG_LOG_DEBUG = 3 };

struct hg_host; /* the host's side of one opened plugin */
struct hg_load; /* one load in flight: a handle until its done_* call */

/* What is wanted. Borrowed until the load's done_* call. */
struct hg_load_request {
    uint32_t size;
    uint32_t attempt;      /* 1, or 2 after the process that ran attempt 1 died */
    struct hg_slice cache; /* name of the cache that asks */
    struct hg_key key;     /* typed, trimmed and checked by the server */
    enum hg_value_type value_type;
    uint32_t remaining_ms; /* what is left of the cache's load_timeout */
    /* Appended. With HG_LOADER_REVALIDATE: what is cached of the key now, and the etag it was given
     * with (empty: none). has_old_value = false: nothing is, or it did not fit; load it anew. */
    bool has_old_value;
    struct hg_slice old_value; /* as in done_bytes; of an auth cache: packed, for comparing only */
    struct hg_slice etag;
    /* Appended. Which trace of the caller's this load is part of: the traceparent of W3C Trace
     * Context ("00-...", 55 bytes, well-formed) of the request that led to it, for the backend to
     * be told as it is. Empty: there is none, so send none. */
    struct hg_slice traceparent;
};

/* How long an answer may live. 0 = the cache's own; a loader can only shorten. */
struct hg_lifetime {
    uint32_t size;
    bool no_store;         /* answer the callers, keep nothing */
    int64_t ttl_ms;        /* fresh for */
    int64_t stale_ttl_ms;  /* servable for, in all */
    int64_t expires_at_ms; /* unix milliseconds; never served after it; 0 = none */
    /* Appended. What else the answer depends on, for an invalidation by tag: at most HG_TAGS_MAX of
     * 1 to HG_TAG_MAX bytes. */
    const struct hg_slice *tags;
    size_t tag_count;
    /* Appended. A name of this state of the value, for done_unchanged later: at most HG_ETAG_MAX
     * bytes. */
    struct hg_slice etag;
};

/* One option of the configuration, as text. */
struct hg_loader_setting {
    const char *name;
    const char *value;
};

/* What a plugin has learned to be no longer so. */
enum hg_invalidated {
    HG_INVALIDATED_ALL = 1, /* everything */
    HG_INVALIDATED_KEY = 2,
    HG_INVALIDATED_TAG = 3,  /* what was given with the tag `name` */
    HG_INVALIDATED_USER = 4, /* of the user `name`: typed keys, and auth values */
};

struct hg_invalidation {
    uint32_t size;
    enum hg_invalidated what;
    struct hg_slice cache; /* empty: every cache that this loader fills; another's is not touched */
    struct hg_key key;     /* a cache whose keys are of another kind does not have it */
    struct hg_slice name;
};

/* What the host does for a plugin. All done_* services copy what they are given; `lifetime` may be
 * NULL. */
struct hg_host_services {
    uint32_t size;
    void (*log)(struct hg_host *host, enum hg_log_level level, const char *text);
    int64_t (*now_ms)(struct hg_host *host); /* unix milliseconds */
    void (*done_bytes)(struct hg_load *load, struct hg_slice value,
                       const struct hg_lifetime *lifetime);
    void (*done_json)(struct hg_load *load, struct hg_slice text,
                      const struct hg_lifetime *lifetime);
    /* auth->allowed = false is the outcome DENIED. */
    void (*done_auth)(struct hg_load *load, const struct hg_auth *auth,
                      const struct hg_lifetime *lifetime);
    void (*done_absent)(struct hg_load *load, const struct hg_lifetime *lifetime);
    void (*done_denied)(struct hg_load *load, const struct hg_lifetime *lifetime);
    /* status: not HG_OK; text goes to the callers, at most 256 bytes, so keep secrets out of it. */
    void (*done_error)(struct hg_load *load, enum hg_status status, const char *text);
    /* True once nobody wants the result any more: a long load may stop early (done_error
     * CANCELLED). */
    bool (*is_cancelled)(const struct hg_load *load);
    /* Appended. The old value of the request is right still (as HTTP's 304): its lifetimes begin
     * anew, given as with a value. It keeps its tags, its etag and, if it had an earlier one, its
     * expires_at; those of `lifetime` are not looked at, and no_store is refused. */
    void (*done_unchanged)(struct hg_load *load, const struct hg_lifetime *lifetime);
    /* Appended. Nothing that was loaded before is served any more, nor what is being loaded just
     * now: as the command `herdgate del` does. From any thread, also in `open`: then it is of
     * whatever the caches hold when the loader takes over. Copies. It does not wait: callers see it
     * shortly after. Where there are too many to be told one by one, everything is invalidated
     * instead; none is lost. INVALID_ARGUMENT: it names nothing that can be. UNIMPLEMENTED: this
     * host has no caches (a plugin in a gateway). */
    enum hg_status (*invalidate)(struct hg_host *host, const struct hg_invalidation *invalidation);
};

/* `load` may return before the load is done; the host then sends it up to max_inflight loads at
 * once. Without it the host sends at most `workers` loads at once and `load` may block. */
#define HG_LOADER_ASYNC 1u
/* It can tell whether a value has changed: it is given the old one, and may answer done_unchanged.
 * A host that has no such service (see the size of struct hg_host_services) gives none. */
#define HG_LOADER_REVALIDATE 2u

/* One option a plugin knows. `name` may end in '*' (a family, such as "query_*"). The last row has
 * name NULL. */
struct hg_loader_option {
    const char *name;
    const char *help;
    bool required;
};

struct hg_loader {
    /* frozen */
    uint32_t magic; /* HG_LOADER_MAGIC */
    uint32_t abi;   /* HG_LOADER_ABI */
    uint32_t size;  /* sizeof(struct hg_loader) */
    /* grows at the end */
    uint32_t caps;
    const char *name;
    const char *version;
    uint32_t max_inflight; /* with HG_LOADER_ASYNC; 0 = 64 */
    const struct hg_loader_option *options;
    /* Checks the settings and opens what is needed. On failure writes one sentence into `error`
     * (NUL ended) and returns a status; on success *ret_self is handed to every other call. May
     * block. */
    enum hg_status (*open)(struct hg_host *host, const struct hg_host_services *services,
                           const struct hg_loader_setting *settings, size_t setting_count,
                           void **ret_self, char *error, size_t error_size);
    /* Begins one load; exactly one done_* call must follow, now or later, from any thread. */
    void (*load)(void *self, struct hg_load *load, const struct hg_load_request *request);
    /* Optional. A hint that the result is not wanted any more; may race with done_*. */
    void (*cancel)(void *self, struct hg_load *load);
    /* Optional. HG_OK, or a status and one sentence of what is wrong. */
    enum hg_status (*health)(void *self, char *text, size_t text_size);
    /* Called once, after the last load is done. */
    void (*close)(void *self);
    /* Appended in 0.2.0. Several loads of one cache in one call, at most max_batch (2 to 256; less:
     * load_batch is not called). Both optional. */
    uint32_t max_batch;
    /* Like `load` for each of them: exactly one done_* call a load, in any order, each as soon as
     * its answer is known. The two arrays are borrowed for the call, each request until its load is
     * done. `load` must be there too: a load that comes alone goes there. */
    void (*load_batch)(void *self, struct hg_load *const *loads,
                       const struct hg_load_request *const *requests, size_t count);
};

/* The shortest descriptor of ABI 1. */
#define HG_LOADER_SIZE_FIRST offsetof(struct hg_loader, max_batch)

/* The only symbol a plugin exports. */
HG_EXPORT const struct hg_loader *hg_loader_query(void);

#ifdef __cplusplus
}
#endif

#endif
