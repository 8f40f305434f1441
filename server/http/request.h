/* SPDX-License-Identifier: Apache-2.0 */
/* request: what came over HTTP, as far as its head tells.
 * Owns:     nothing; all is borrowed from who took it in.
 * Threads:  one at a time.
 * Limits:   HGI_HTTP_HEAD_MAX bytes of target and fields, HGI_HTTP_FIELDS_MAX fields.
 * Errors:   none; what is not there is empty.
 * Not here: the library that reads sockets (listener), what is done with it. */
#ifndef HGI_SERVER_HTTP_REQUEST_H
#define HGI_SERVER_HTTP_REQUEST_H

#include "base/bytes.h"

#define HGI_HTTP_HEAD_MAX   65536u
#define HGI_HTTP_FIELDS_MAX 200u

struct hgi_http_field {
    struct hg_slice name;
    struct hg_slice value;
};

struct hgi_http_request {
    struct hg_slice method;
    struct hg_slice path;  /* as it came, not decoded: from the first slash to the query */
    struct hg_slice query; /* behind the question mark */
    const struct hgi_http_field *fields;
    size_t field_count;
    struct hg_slice body;
};

/* Path and query of a target: "/a?b=c", or the same behind a scheme and an authority. */
void hgi_http_target_split(struct hg_slice target, struct hg_slice *ret_path,
                           struct hg_slice *ret_query);
/* How often the field is there, whatever the case of its name; ret_value: the first one, trimmed.
 */
size_t hgi_http_field_find(const struct hgi_http_request *request, const char *name,
                           struct hg_slice *ret_value);
bool hgi_http_is_method(const struct hgi_http_request *request, const char *method);

#endif
