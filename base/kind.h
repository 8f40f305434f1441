/* SPDX-License-Identifier: Apache-2.0 */
/* kind: typed keys, and the bytes that stand for them.
 * Owns:     the canonical form: one byte of kind, then each part as u16 big-endian length and
 * bytes, so that no two different keys become the same bytes (docs/ARCHITECTURE.md, I17).
 * Threads:  any.
 * Limits:   the parts of a key together at most HG_KEY_MAX bytes.
 * Errors:   INVALID_ARGUMENT and one sentence.
 * Not here: hashing (hash); the values' types (proto/value). */
#ifndef HGI_BASE_KIND_H
#define HGI_BASE_KIND_H

#include "herdgate/attr.h"
#include "herdgate/status.h"
#include "herdgate/types.h"

/* What keys a cache takes. */
enum hgi_key_type {
    HGI_KEYS_BYTES = 1,
    HGI_KEYS_KEY_HASH,
    HGI_KEYS_USER_API_KEY,
    HGI_KEYS_API_KEY_FEATURE,
    HGI_KEYS_AUTH, /* KEY_HASH or USER_API_KEY */
};

#define HGI_KEY_CANONICAL_MAX (HG_KEY_MAX + 8u)
#define HGI_SENTENCE_MAX      256u

/* A key as the engine knows it. */
struct hgi_key {
    unsigned char data[HGI_KEY_CANONICAL_MAX];
    size_t len;
};

/* Trims and checks `key` against what the cache takes. On failure `ret_sentence` (HGI_SENTENCE_MAX
 * bytes) says what is wrong and what would be right; ret_key is untouched. */
HG_NODISCARD enum hg_status hgi_key_encode(enum hgi_key_type type, const struct hg_key *key,
                                           struct hgi_key *ret_key, char *ret_sentence);
/* The typed key again; its parts borrow from `canonical`. False: not a canonical form. */
HG_NODISCARD bool hgi_key_decode(struct hg_slice canonical, struct hg_key *ret_key);

static inline struct hg_slice hgi_key_slice(const struct hgi_key *key)
{
    return hg_slice_of(key->data, key->len);
}

/* Names as the configuration and the command write them; NULL / false for none. */
const char *hgi_key_type_name(enum hgi_key_type type);
HG_NODISCARD bool hgi_key_type_parse(const char *name, enum hgi_key_type *ret_type);
const char *hgi_value_type_name(enum hg_value_type type);
HG_NODISCARD bool hgi_value_type_parse(const char *name, enum hg_value_type *ret_type);
const char *hgi_mode_name(enum hg_mode mode);
HG_NODISCARD bool hgi_mode_parse(const char *name, enum hg_mode *ret_mode);
const char *hgi_outcome_name(enum hg_outcome outcome);
const char *hgi_source_name(enum hg_source source);
const char *hgi_key_kind_name(enum hg_key_kind kind);

#endif
