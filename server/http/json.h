/* SPDX-License-Identifier: Apache-2.0 */
/* json: keys, values and answers as JSON and back.
 * Owns:     nothing; what is read borrows from the JSON and the arena.
 * Threads:  one at a time.
 * Limits:   those of keys, tags and messages.
 * Errors:   read: false, and one sentence (HGI_SENTENCE_MAX): what is wrong, and what would be
 * right. write: NULL without memory.
 * Not here: which call takes what (v1). */
#ifndef HGI_SERVER_HTTP_JSON_H
#define HGI_SERVER_HTTP_JSON_H

#include <jansson.h>

#include "base/kind.h"
#include "proto/codec.h"

/* A text, for keys of one part, or {"user_id": ..., "api_key_id": ..., "standalone": true}. What a
 * text is depends on the cache; type 0: nobody knows the cache. */
HG_NODISCARD bool hgi_json_read_key(const json_t *json, enum hgi_key_type type,
                                    struct hg_key *ret_key, char *ret_sentence);
/* `name` or `name`_base64 of the object: any JSON for json values, an object for auth ones, a text
 * else. In the arena. */
HG_NODISCARD bool hgi_json_read_value(const json_t *object, const char *name,
                                      enum hg_value_type type, struct hgi_arena *arena,
                                      struct hg_slice *ret_value, char *ret_sentence);
/* A list of texts; NULL is none. In the arena. */
HG_NODISCARD bool hgi_json_read_texts(const json_t *list, const char *name, size_t max,
                                      struct hgi_arena *arena, const struct hg_slice **ret_texts,
                                      size_t *ret_count, char *ret_sentence);
json_t *hgi_json_of_answer(const struct hgi_msg_answer *answer, struct hgi_arena *arena);
json_t *hgi_json_of_report(const struct hgi_msg_report *report);
/* Appends it as text. False: no memory. */
HG_NODISCARD bool hgi_json_write(const json_t *json, struct hg_bytes *ret_bytes);
/* The text; NULL: it is no UTF-8, or there is no memory. */
json_t *hgi_json_of_text(struct hg_slice text);

#endif
