/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <string.h>

#include "base/check.h"

#define BYTES_MIN 64u

void hgi_bytes_init(struct hg_bytes *bytes, const struct hgi_allocator *allocator)
{
    bytes->data = NULL;
    bytes->len = 0;
    bytes->capacity = 0;
    bytes->allocator = allocator;
}

void hgi_bytes_deinit(struct hg_bytes *bytes)
{
    if (bytes->data) {
        explicit_bzero(bytes->data, bytes->capacity);
        hgi_free(bytes->allocator, bytes->data);
    }
    hgi_bytes_init(bytes, bytes->allocator);
}

bool hgi_bytes_reserve(struct hg_bytes *bytes, size_t more)
{
    size_t capacity = bytes->capacity ? bytes->capacity : BYTES_MIN;
    unsigned char *data;

    if (more <= bytes->capacity - bytes->len) {
        return true;
    }
    if (more > SIZE_MAX / 2 - bytes->len) {
        return false;
    }
    while (capacity < bytes->len + more) {
        capacity *= 2;
    }
    /* Not realloc: what it leaves behind would not be wiped. */
    data = hgi_resize(bytes->allocator, NULL, capacity);
    if (!data) {
        return false;
    }
    if (bytes->data) {
        memcpy(data, bytes->data, bytes->len);
        explicit_bzero(bytes->data, bytes->len);
        hgi_free(bytes->allocator, bytes->data);
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

bool hgi_bytes_append(struct hg_bytes *bytes, struct hg_slice slice)
{
    if (!hgi_bytes_reserve(bytes, slice.len)) {
        return false;
    }
    if (slice.len) {
        memcpy(bytes->data + bytes->len, slice.data, slice.len);
        bytes->len += slice.len;
    }
    return true;
}

void hgi_bytes_clear(struct hg_bytes *bytes)
{
    if (bytes->len) {
        explicit_bzero(bytes->data, bytes->len);
        bytes->len = 0;
    }
}

bool hgi_bytes_set(struct hg_bytes *bytes, struct hg_slice slice)
{
    if (slice.len > bytes->len && !hgi_bytes_reserve(bytes, slice.len - bytes->len)) {
        return false;
    }
    hgi_bytes_clear(bytes);
    if (slice.len) {
        memcpy(bytes->data, slice.data, slice.len);
        bytes->len = slice.len;
    }
    return true;
}

void hgi_bytes_consume(struct hg_bytes *bytes, size_t count)
{
    HGI_BUG_ON(count > bytes->len);
    if (count && count < bytes->len) {
        memmove(bytes->data, bytes->data + count, bytes->len - count);
    }
    bytes->len -= count;
    if (count) {
        explicit_bzero(bytes->data + bytes->len, count);
    }
}

bool hgi_slice_equal(struct hg_slice a, struct hg_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int hgi_slice_compare(struct hg_slice a, struct hg_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.data, b.data, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void hgi_text_flatten(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
        }
    }
}

struct hg_slice hgi_slice_trim(struct hg_slice slice)
{
    const unsigned char *start = slice.data;
    size_t len = slice.len;

    while (len && is_space(start[0])) {
        start++;
        len--;
    }
    while (len && is_space(start[len - 1])) {
        len--;
    }
    return hg_slice_of(start, len);
}
