/* SPDX-License-Identifier: Apache-2.0 */
/* redis: RESP 2. A batch is so many GETs in one write, answered by so many bulk strings. */
#include <stdio.h>

#include "wire.h"

static bool build_put(struct wire *wire)
{
    char text[64];
    char ttl[16];
    int ttl_len = snprintf(ttl, sizeof(ttl), "%u", wire->plan.ttl_s);

    snprintf(text, sizeof(text), "*5\r\n$3\r\nSET\r\n$%zu\r\n", wire->plan.key_len);
    if (!wire_add_text(wire, text) || !wire_add_key(wire, 0)) {
        return false;
    }
    snprintf(text, sizeof(text), "\r\n$%zu\r\n", wire->plan.value_len);
    if (!wire_add_text(wire, text) || !wire_add_value(wire)) {
        return false;
    }
    snprintf(text, sizeof(text), "\r\n$2\r\nEX\r\n$%d\r\n%s\r\n", ttl_len, ttl);
    return wire_add_text(wire, text);
}

static bool build(struct wire *wire)
{
    char text[64];

    if (wire->plan.op == WIRE_PUT) {
        return build_put(wire);
    }
    snprintf(text, sizeof(text), "*2\r\n$3\r\nGET\r\n$%zu\r\n", wire->plan.key_len);
    for (uint32_t i = 0; i < wire->plan.batch; i++) {
        if (!wire_add_text(wire, text) || !wire_add_key(wire, i) || !wire_add_text(wire, "\r\n")) {
            return false;
        }
    }
    return true;
}

/* The first line, without its end; *ret_used counts the end. */
static enum wire_cut cut_line(struct hg_slice input, struct hg_slice *ret_line, size_t *ret_used)
{
    const char *text = input.data;
    const char *end = input.len ? memchr(text, '\n', input.len) : NULL;

    if (!end) {
        return input.len > 4096 ? WIRE_BAD : WIRE_MORE;
    }
    if (end == text || end[-1] != '\r') {
        return WIRE_BAD;
    }
    *ret_line = hg_slice_of(text, (size_t)(end - text) - 1);
    *ret_used = (size_t)(end - text) + 1;
    return WIRE_REPLY;
}

/* A length in decimal, or -1: none. False: neither. */
static bool parse_len(struct hg_slice digits, int64_t *ret_len)
{
    const char *text = digits.data;
    int64_t len = 0;

    if (digits.len == 2 && memcmp(text, "-1", 2) == 0) {
        *ret_len = -1;
        return true;
    }
    if (digits.len == 0 || digits.len > 9) {
        return false;
    }
    for (size_t i = 0; i < digits.len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        len = len * 10 + (text[i] - '0');
    }
    *ret_len = len;
    return len <= WIRE_REPLY_MAX;
}

static enum wire_cut cut_bulk(struct hg_slice input, struct hg_slice line, size_t used,
                              struct wire_reply *ret_reply, size_t *ret_consumed)
{
    const char *text = input.data;
    int64_t len;

    if (!parse_len(hg_slice_of((const char *)line.data + 1, line.len - 1), &len)) {
        return WIRE_BAD;
    }
    if (len < 0) {
        *ret_consumed = used;
        return WIRE_REPLY;
    }
    if (input.len < used + (size_t)len + 2) {
        return WIRE_MORE;
    }
    if (memcmp(text + used + len, "\r\n", 2) != 0) {
        return WIRE_BAD;
    }
    ret_reply->answers[0] = (struct wire_answer){true, hg_slice_of(text + used, (size_t)len)};
    *ret_consumed = used + (size_t)len + 2;
    return WIRE_REPLY;
}

static enum wire_cut cut(const struct wire *wire, struct hg_slice input,
                         struct wire_reply *ret_reply, size_t *ret_consumed)
{
    struct hg_slice line;
    size_t used;
    enum wire_cut found = cut_line(input, &line, &used);

    if (found != WIRE_REPLY) {
        return found;
    }
    ret_reply->slot = 0;
    ret_reply->count = 1;
    ret_reply->answers[0] = (struct wire_answer){false, hg_slice_of(NULL, 0)};
    switch (line.len ? *(const char *)line.data : 0) {
    case '$':
        return cut_bulk(input, line, used, ret_reply, ret_consumed);
    case '+':
        ret_reply->answers[0].is_there = wire->plan.op == WIRE_PUT;
        *ret_consumed = used;
        return WIRE_REPLY;
    case '-': /* an error is an answer that is not there */
        *ret_consumed = used;
        return WIRE_REPLY;
    default:
        return WIRE_BAD;
    }
}

const struct wire_kind wire_resp = {"redis", true, build, cut};
