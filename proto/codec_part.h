/* SPDX-License-Identifier: Apache-2.0 */
/* codec_part: what several messages are made of: keys, tokens, lifetimes, enums.
 * Owns:     nothing; plain structures borrow from the unpacked message.
 * Threads:  any.
 * Limits:   numbers of milliseconds that mean something; HGI_BATCH_KEYS_MAX keys.
 * Errors:   INVALID_ARGUMENT and one sentence that names the field.
 * Not here: whole messages (codec_cache, codec_admin, codec_auth). */
#ifndef HGI_PROTO_CODEC_PART_H
#define HGI_PROTO_CODEC_PART_H

#include "herdgate.pb-c.h"

#include "proto/codec.h"
#include "proto/unpack.h"

/* Ten years: more is a mistake of unit, and stays far from where sums of times overflow. */
#define HGI_LIFETIME_MS_MAX INT64_C(315576000000)
/* The last millisecond of the year 9999: microseconds of today are beyond it. */
#define HGI_UNIX_MS_MAX INT64_C(253402300799999)

/* A key being packed: a generated Key and the messages it may point at. */
struct hgi_codec_key {
    Herdgate__V1__Key wire;
    Herdgate__V1__UserApiKey user_api_key;
    Herdgate__V1__ApiKeyFeature api_key_feature;
};

/* Fills *ret_key, which borrows from `key`; kind 0 becomes a key without a kind. */
void hgi_codec_key_borrow(const struct hg_key *key, struct hgi_codec_key *ret_key);
/* NULL, or a key without a kind, becomes kind 0. */
void hgi_codec_key_read(const Herdgate__V1__Key *wire, struct hg_key *ret_key);
/* The same of a packed Key that lies plain; false: it does not. */
HG_NODISCARD bool hgi_codec_key_plain(struct hg_slice bytes, struct hg_key *ret_key);
/* Repeated keys: checked before unpacking, `what` being "batch" or the like; read after it. */
HG_NODISCARD enum hg_status hgi_codec_keys_check(struct hg_slice bytes, uint32_t field,
                                                 const char *what, char *ret_sentence);
HG_NODISCARD enum hg_status hgi_codec_keys_read(Herdgate__V1__Key *const *wire, size_t count,
                                                struct hgi_arena *arena, struct hg_key **ret_keys,
                                                char *ret_sentence);
HG_NODISCARD bool hgi_codec_keys_pack(uint32_t field, const struct hg_key *keys, size_t count,
                                      struct hg_bytes *ret_bytes);

/* Repeated tags: counted before unpacking, then each has 1 to HG_TAG_MAX bytes. */
HG_NODISCARD enum hg_status hgi_codec_tags_check(struct hg_slice bytes, uint32_t field, size_t max,
                                                 const char *what, char *ret_sentence);
HG_NODISCARD enum hg_status hgi_codec_tags_read(const ProtobufCBinaryData *wire, size_t count,
                                                struct hgi_arena *arena,
                                                const struct hg_slice **ret_tags,
                                                char *ret_sentence);
HG_NODISCARD bool hgi_codec_tags_pack(uint32_t field, const struct hg_slice *tags, size_t count,
                                      struct hg_bytes *ret_bytes);

/* A number of an enum that goes from 0 to `max`. */
HG_NODISCARD enum hg_status hgi_codec_enum_check(const char *field, int number, int max,
                                                 char *ret_sentence);
HG_NODISCARD enum hg_status hgi_codec_lifetime_read(const char *field, uint64_t wire_ms,
                                                    int64_t *ret_ms, char *ret_sentence);
/* Unix milliseconds, 0 = none. */
HG_NODISCARD enum hg_status hgi_codec_unix_ms_check(const char *field, int64_t unix_ms,
                                                    char *ret_sentence);

#endif
