/* SPDX-License-Identifier: Apache-2.0 */
/* response: what is answered over HTTP, before it is sent.
 * Owns:     nothing; texts are copied into the arena it was begun with.
 * Threads:  one at a time.
 * Limits:   HGI_HTTP_SET_MAX fields.
 * Errors:   set: false for what cannot be a field's value, or without memory; what it did not set
 * is not there.
 * Not here: sending (listener), which answer is right. */
#ifndef HGI_SERVER_HTTP_RESPONSE_H
#define HGI_SERVER_HTTP_RESPONSE_H

#include "base/bytes.h"

#define HGI_HTTP_SET_MAX 64u

struct hgi_http_response {
    unsigned status;
    size_t field_count;
    struct {
        const char *name;
        const char *value;
    } fields[HGI_HTTP_SET_MAX];
    struct hg_slice body; /* in the arena, or there as long as the program */
    struct hgi_arena *arena;
};

void hgi_http_response_init(struct hgi_http_response *response, struct hgi_arena *arena);
/* `name` is borrowed, `value` copied. An empty value is sent as one space: the library under this
 * refuses an empty one. False: control bytes, which would begin another field. */
HG_NODISCARD bool hgi_http_response_set(struct hgi_http_response *response, const char *name,
                                        struct hg_slice value);
/* The same, of a value known to be right; without memory the response becomes a 500. */
void hgi_http_response_say(struct hgi_http_response *response, const char *name, const char *format,
                           ...) HG_PRINTF(3, 4);
/* Status and a body that is copied into the arena; without memory the response becomes a 500. */
void hgi_http_response_body(struct hgi_http_response *response, unsigned status,
                            const char *content_type, struct hg_slice body);
/* Everything set so far is forgotten. */
void hgi_http_response_reset(struct hgi_http_response *response, unsigned status);

#endif
