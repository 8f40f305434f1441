/* SPDX-License-Identifier: Apache-2.0 */
/* bytes: owned, growing bytes, and small helpers on slices.
 * Owns:     its memory until deinit.
 * Threads:  one at a time.
 * Limits:   memory.
 * Errors:   false when memory is out; what was held is kept.
 * Not here: keys (kind). */
#ifndef HGI_BASE_BYTES_H
#define HGI_BASE_BYTES_H

#include "base/alloc.h"

struct hg_bytes {
    unsigned char *data;
    size_t len;
    size_t capacity;
    const struct hgi_allocator *allocator;
};

void hgi_bytes_init(struct hg_bytes *bytes, const struct hgi_allocator *allocator);
/* Wipes, then frees: bytes may hold credentials. */
void hgi_bytes_deinit(struct hg_bytes *bytes);
/* Room for `more` bytes behind the present ones. */
HG_NODISCARD bool hgi_bytes_reserve(struct hg_bytes *bytes, size_t more);
HG_NODISCARD bool hgi_bytes_append(struct hg_bytes *bytes, struct hg_slice slice);
/* Empties it. What is taken out here, and by the two below, is wiped. */
void hgi_bytes_clear(struct hg_bytes *bytes);
/* Replaces the contents by a copy; the slice is of other bytes. */
HG_NODISCARD bool hgi_bytes_set(struct hg_bytes *bytes, struct hg_slice slice);
/* Forgets the first `count` bytes and moves the rest to the front. */
void hgi_bytes_consume(struct hg_bytes *bytes, size_t count);

static inline struct hg_slice hgi_bytes_slice(const struct hg_bytes *bytes)
{
    return hg_slice_of(bytes->data, bytes->len);
}

bool hgi_slice_equal(struct hg_slice a, struct hg_slice b);
/* As memcmp orders them; what another begins with stands before it. */
int hgi_slice_compare(struct hg_slice a, struct hg_slice b);
/* Control bytes become '?': what somebody else wrote stays on one line, and steers no terminal. */
void hgi_text_flatten(char *text);
/* Without leading and trailing ASCII white space. */
struct hg_slice hgi_slice_trim(struct hg_slice slice);

#endif
