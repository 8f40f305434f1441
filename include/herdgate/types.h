/* SPDX-License-Identifier: Apache-2.0 */
/* types: the nouns that a gateway, a loader and the server share.
 * Owns:     nothing; slices borrow.
 * Threads:  any.
 * Limits:   key parts together at most HG_KEY_MAX bytes; see docs/PROTOCOL.md for the wire's.
 * Errors:   none.
 * Not here: how a key becomes bytes (base/kind), messages (proto). */
#ifndef HERDGATE_TYPES_H
#define HERDGATE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes: valid as long as their owner says; never NUL-terminated by promise. */
struct hg_slice {
    const void *data;
    size_t len;
};

/* What a load or a put says of a key. All three are answers: the status is OK. */
enum hg_outcome {
    HG_NOT_CACHED = 0, /* only from a peek: nothing fresh here, and nothing was loaded */
    HG_VALUE = 1,
    HG_ABSENT = 2, /* looked, and it is not there (the seeds' None) */
    HG_DENIED = 3, /* known, and refused */
};

/* How an answer was come by. */
enum hg_source {
    HG_SOURCE_NONE = 0,
    HG_SOURCE_FRESH = 1,  /* from the cache, within its ttl */
    HG_SOURCE_STALE = 2,  /* from the cache, past its ttl, within its stale_ttl */
    HG_SOURCE_LOADED = 3, /* this call began the load */
    HG_SOURCE_JOINED = 4, /* another call's load or put answered it */
    HG_SOURCE_LEASED = 5, /* no answer but a lease: this caller is to load */
};

/* How a read treats age. DEFAULT is the cache's own mode. */
enum hg_mode {
    HG_MODE_DEFAULT = 0,
    HG_MODE_FRESH = 1,       /* fresh or load */
    HG_MODE_ALLOW_STALE = 2, /* stale is served and no refresh is started */
    HG_MODE_REVALIDATE = 3,  /* stale is served at once and one refresh runs behind */
    HG_MODE_PEEK = 4,        /* fresh or nothing; never loads */
};

/* The four shapes of a key. A cache of type `auth` takes KEY_HASH and USER_API_KEY. */
enum hg_key_kind {
    HG_KEY_BYTES = 1,        /* `bytes`, compared exactly */
    HG_KEY_KEY_HASH = 2,     /* `bytes` holds text, trimmed */
    HG_KEY_USER_API_KEY = 3, /* user_id and api_key_id, both needed, trimmed */
    HG_KEY_API_KEY_FEATURE =
        4, /* api_key_id needed, user_id needed unless is_standalone; trimmed */
};

/* A typed key. Fields that its kind does not name are ignored. */
struct hg_key {
    enum hg_key_kind kind;
    struct hg_slice bytes;
    struct hg_slice user_id;
    struct hg_slice api_key_id;
    bool is_standalone;
};

#define HG_KEY_MAX  1024u
#define HG_TAGS_MAX 16u  /* of one value */
#define HG_TAG_MAX  128u /* bytes of a tag */
#define HG_ETAG_MAX 255u /* bytes of an etag */

/* What a cache's values are. */
enum hg_value_type {
    HG_TYPE_BYTES = 1,
    HG_TYPE_JSON = 2, /* well-formed JSON text */
    HG_TYPE_AUTH = 3, /* an AuthValue message of herdgate.proto */
};

/* What an event tells of. A number this library does not know is OTHER. */
enum hg_event_kind {
    HG_EVENT_OTHER = 0,
    HG_EVENT_CLEAR = 1,      /* of the whole cache */
    HG_EVENT_INVALIDATE = 2, /* of the key; without one, of some keys not named */
    HG_EVENT_PUT = 3,        /* a put without if_generation: counts as an invalidation of the key */
    HG_EVENT_LOADER = 4,     /* a loader was reloaded */
};

/* One name and value of an auth value's free attributes. */
struct hg_attribute {
    struct hg_slice name;
    struct hg_slice value;
};

/* What an `auth` cache knows of a credential. not_after_ms: unix milliseconds, 0 = no end. */
struct hg_auth {
    struct hg_slice user_id;
    struct hg_slice api_key_id;
    bool allowed;
    const struct hg_slice *scopes;
    size_t scope_count;
    const struct hg_attribute *attributes;
    size_t attribute_count;
    int64_t not_after_ms;
};

static inline struct hg_slice hg_slice_of(const void *data, size_t len)
{
    struct hg_slice slice = {data, len};
    return slice;
}

/* The text without its NUL; NULL is the empty slice. */
static inline struct hg_slice hg_slice_text(const char *text)
{
    return hg_slice_of(text, text ? strlen(text) : 0);
}

#endif
