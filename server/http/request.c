/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <string.h>
#include <strings.h>

static const char *find_byte(struct hg_slice text, char byte)
{
    return text.len ? memchr(text.data, byte, text.len) : NULL;
}

void hgi_http_target_split(struct hg_slice target, struct hg_slice *ret_path,
                           struct hg_slice *ret_query)
{
    const char *start = target.len ? target.data : "";
    const char *end = start + target.len;
    const char *mark;

    if (start[0] != '/') {
        const char *authority = target.len > 8 ? memmem(start, target.len, "://", 3) : NULL;

        if (authority) {
            authority += 3;
            start = memchr(authority, '/', (size_t)(end - authority));
            start = start ? start : end;
        }
    }
    mark = find_byte(hg_slice_of(start, (size_t)(end - start)), '?');
    *ret_path = hg_slice_of(start, (size_t)((mark ? mark : end) - start));
    *ret_query = mark ? hg_slice_of(mark + 1, (size_t)(end - mark - 1)) : hg_slice_of(NULL, 0);
}

size_t hgi_http_field_find(const struct hgi_http_request *request, const char *name,
                           struct hg_slice *ret_value)
{
    size_t len = strlen(name);
    size_t count = 0;

    for (size_t i = 0; i < request->field_count; i++) {
        const struct hgi_http_field *field = &request->fields[i];

        if (field->name.len == len && strncasecmp(field->name.data, name, len) == 0) {
            if (count++ == 0) {
                *ret_value = hgi_slice_trim(field->value);
            }
        }
    }
    return count;
}

bool hgi_http_is_method(const struct hgi_http_request *request, const char *method)
{
    return hgi_slice_equal(request->method, hg_slice_text(method));
}
