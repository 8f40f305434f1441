/* SPDX-License-Identifier: Apache-2.0 */
/* memcached: its text protocol. A batch is so many gets in one write. */
#include <stdio.h>

#include "wire.h"

static bool build(struct wire *wire)
{
    char text[64];

    if (wire->plan.op == WIRE_PUT) {
        snprintf(text, sizeof(text), " 0 %u %zu\r\n", wire->plan.ttl_s, wire->plan.value_len);
        return wire_add_text(wire, "set ") && wire_add_key(wire, 0) && wire_add_text(wire, text) &&
               wire_add_value(wire) && wire_add_text(wire, "\r\n");
    }
    for (uint32_t i = 0; i < wire->plan.batch; i++) {
        if (!wire_add_text(wire, "get ") || !wire_add_key(wire, i) ||
            !wire_add_text(wire, "\r\n")) {
            return false;
        }
    }
    return true;
}

static bool is_line(const char *line, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(line, text, len) == 0;
}

/* VALUE key flags bytes, the bytes, END. */
static enum wire_cut cut_value(struct hg_slice input, size_t line_len, struct wire_reply *ret_reply,
                               size_t *ret_consumed)
{
    static const char end[] = "\r\nEND\r\n";
    const char *text = input.data;
    const char *last = memrchr(text, ' ', line_len);
    size_t used = line_len + 2;
    size_t len = 0;

    if (!last) {
        return WIRE_BAD;
    }
    for (const char *at = last + 1; at < text + line_len; at++) {
        if (*at < '0' || *at > '9' || len > WIRE_REPLY_MAX) {
            return WIRE_BAD;
        }
        len = len * 10 + (size_t)(*at - '0');
    }
    if (input.len < used + len + strlen(end)) {
        return WIRE_MORE;
    }
    if (memcmp(text + used + len, end, strlen(end)) != 0) {
        return WIRE_BAD;
    }
    ret_reply->answers[0] = (struct wire_answer){true, hg_slice_of(text + used, len)};
    *ret_consumed = used + len + strlen(end);
    return WIRE_REPLY;
}

static enum wire_cut cut(const struct wire *wire, struct hg_slice input,
                         struct wire_reply *ret_reply, size_t *ret_consumed)
{
    const char *text = input.data;
    const char *end = input.len ? memchr(text, '\n', input.len) : NULL;
    size_t line_len;

    (void)wire;
    if (!end) {
        return input.len > 4096 ? WIRE_BAD : WIRE_MORE;
    }
    if (end == text || end[-1] != '\r') {
        return WIRE_BAD;
    }
    line_len = (size_t)(end - text) - 1;
    ret_reply->slot = 0;
    ret_reply->count = 1;
    ret_reply->answers[0] = (struct wire_answer){false, hg_slice_of(NULL, 0)};
    if (line_len > 6 && memcmp(text, "VALUE ", 6) == 0) {
        return cut_value(input, line_len, ret_reply, ret_consumed);
    }
    ret_reply->answers[0].is_there = is_line(text, line_len, "STORED");
    *ret_consumed = line_len + 2;
    return WIRE_REPLY;
}

const struct wire_kind wire_memcached = {"memcached", true, build, cut};
