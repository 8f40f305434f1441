/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include "base/check.h"

enum method { GET = 1, POST = 2 };

static const struct {
    const char *path;
    enum method method;
    void (*run)(struct hgi_http_exchange *exchange);
} routes[] = {
    {"/livez", GET, hgi_http_livez},
    {"/readyz", GET, hgi_http_readyz},
    {"/healthz", GET, hgi_http_readyz},
    {"/metrics", GET, hgi_http_metrics},
    {"/v1/status", GET, hgi_http_status},
    {"/v1/get", POST, hgi_http_get},
    {"/v1/load", POST, hgi_http_load},
    {"/v1/put", POST, hgi_http_put},
    {"/v1/invalidate", POST, hgi_http_invalidate},
    {"/v1/clear", POST, hgi_http_clear},
};

static bool is_allowed(const struct hgi_http_request *request, enum method method)
{
    return method == POST
               ? hgi_http_is_method(request, "POST")
               : hgi_http_is_method(request, "GET") || hgi_http_is_method(request, "HEAD");
}

static bool allow(struct hgi_http_exchange *exchange, enum method method)
{
    const char *allowed = method == POST ? "POST" : "GET, HEAD";
    bool may = is_allowed(&exchange->request, method);

    if (!may) {
        hgi_http_refuse(exchange, 405, "UNIMPLEMENTED",
                        method == POST ? "this path takes POST" : "this path takes GET and HEAD");
        hgi_http_response_say(&exchange->response, "Allow", "%s", allowed);
    }
    return may;
}

void hgi_http_operator(struct hgi_http_exchange *exchange)
{
    for (size_t i = 0; i < HGI_COUNT_OF(routes); i++) {
        if (hgi_slice_equal(exchange->request.path, hg_slice_text(routes[i].path))) {
            if (allow(exchange, routes[i].method)) {
                routes[i].run(exchange);
            }
            return;
        }
    }
    if (is_allowed(&exchange->request, GET) && hgi_http_page(exchange)) {
        return;
    }
    hgi_http_refuse(exchange, 404, "NOT_FOUND",
                    "nothing is here; there are /, /metrics, /livez, /readyz and the calls of /v1");
}
