/* SPDX-License-Identifier: Apache-2.0 */
#include "response.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAID_MAX 512u

void hgi_http_response_init(struct hgi_http_response *response, struct hgi_arena *arena)
{
    *response = (struct hgi_http_response){.status = 500, .arena = arena};
}

void hgi_http_response_reset(struct hgi_http_response *response, unsigned status)
{
    response->status = status;
    response->field_count = 0;
    response->body = hg_slice_of(NULL, 0);
}

/* Text a field may hold: no control byte but a tab between words. */
static bool is_sendable(struct hg_slice value)
{
    const unsigned char *bytes = value.data;

    for (size_t i = 0; i < value.len; i++) {
        if ((bytes[i] < ' ' && bytes[i] != '\t') || bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static char *keep(struct hgi_http_response *response, struct hg_slice text)
{
    char *copy = hgi_arena_alloc(response->arena, text.len + 1);

    if (copy && text.len) {
        memcpy(copy, text.data, text.len);
    }
    return copy;
}

bool hgi_http_response_set(struct hgi_http_response *response, const char *name,
                           struct hg_slice value)
{
    const char *copy;

    value = hgi_slice_trim(value);
    if (!is_sendable(value) || response->field_count == HGI_HTTP_SET_MAX) {
        return false;
    }
    copy = value.len ? keep(response, value) : " ";
    if (!copy) {
        return false;
    }
    response->fields[response->field_count].name = name;
    response->fields[response->field_count].value = copy;
    response->field_count++;
    return true;
}

void hgi_http_response_say(struct hgi_http_response *response, const char *name, const char *format,
                           ...)
{
    char text[SAID_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!hgi_http_response_set(response, name, hg_slice_text(text))) {
        hgi_http_response_reset(response, 500);
    }
}

void hgi_http_response_body(struct hgi_http_response *response, unsigned status,
                            const char *content_type, struct hg_slice body)
{
    const char *copy = keep(response, body);

    if (!copy) {
        hgi_http_response_reset(response, 500);
        return;
    }
    response->status = status;
    response->body = hg_slice_of(copy, body.len);
    hgi_http_response_say(response, "Content-Type", "%s", content_type);
}
