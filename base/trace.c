/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <string.h>

/* Where the fields stand: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". */
#define ID_AT      3u
#define ID_LEN     32u
#define PARENT_AT  (ID_AT + ID_LEN + 1)
#define PARENT_LEN 16u
#define FLAGS_AT   (PARENT_AT + PARENT_LEN + 1)
#define FLAGS_LEN  2u
#define VERSION    "00"
#define NO_VERSION "ff"

_Static_assert(FLAGS_AT + FLAGS_LEN == HGI_TRACEPARENT_LEN, "its parts make the whole");

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0' || !strchr("0123456789abcdef", text[i])) {
            return false;
        }
    }
    return true;
}

static bool is_zero(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '0') {
            return false;
        }
    }
    return true;
}

/* A later version may have more behind a '-'; this one has no more. */
static bool has_form(const char *text, size_t len)
{
    return len >= HGI_TRACEPARENT_LEN && is_hex(text, 2) && memcmp(text, NO_VERSION, 2) != 0 &&
           text[ID_AT - 1] == '-' && is_hex(text + ID_AT, ID_LEN) && text[PARENT_AT - 1] == '-' &&
           is_hex(text + PARENT_AT, PARENT_LEN) && text[FLAGS_AT - 1] == '-' &&
           is_hex(text + FLAGS_AT, FLAGS_LEN) &&
           (len == HGI_TRACEPARENT_LEN ||
            (memcmp(text, VERSION, 2) != 0 && text[HGI_TRACEPARENT_LEN] == '-'));
}

bool hgi_trace_read(struct hg_slice text, struct hgi_trace *ret_trace)
{
    const char *data = text.data;

    if (!has_form(data, text.len) || is_zero(data + ID_AT, ID_LEN) ||
        is_zero(data + PARENT_AT, PARENT_LEN)) {
        return false;
    }
    memcpy(ret_trace->parent, data, HGI_TRACEPARENT_LEN);
    memcpy(ret_trace->parent, VERSION, 2);
    ret_trace->parent[HGI_TRACEPARENT_LEN] = '\0';
    return true;
}

static bool is_set(const struct hgi_trace *trace)
{
    return trace && trace->parent[0];
}

struct hg_slice hgi_trace_parent(const struct hgi_trace *trace)
{
    return is_set(trace) ? hg_slice_of(trace->parent, HGI_TRACEPARENT_LEN) : hg_slice_of(NULL, 0);
}

struct hg_slice hgi_trace_id(const struct hgi_trace *trace)
{
    return is_set(trace) ? hg_slice_of(trace->parent + ID_AT, ID_LEN) : hg_slice_of(NULL, 0);
}
