/* SPDX-License-Identifier: Apache-2.0 */
/* The files of server/http/page, which the build puts into the program (cmake/HerdgateEmbed.cmake).
 * A page may ask this server only, and nothing else on it runs. */
#include "base/check.h"
#include "operator.h"
#include "page.h"

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

bool hgi_http_page(struct hgi_http_exchange *exchange)
{
    struct hgi_http_response *response = &exchange->response;
    struct hg_slice path = exchange->request.path;

    if (hgi_slice_equal(path, hg_slice_text("/"))) {
        path = hg_slice_text("/index.html");
    }
    for (size_t i = 0; hgi_page_files[i].path; i++) {
        const struct hgi_page_file *file = &hgi_page_files[i];

        if (!hgi_slice_equal(path, hg_slice_text(file->path))) {
            continue;
        }
        hgi_http_response_reset(response, 200);
        response->body = hg_slice_of(file->data, file->len);
        hgi_http_response_say(response, "Content-Type", "%s", file->content_type);
        hgi_http_response_say(response, "Content-Security-Policy", "%s", POLICY);
        hgi_http_response_say(response, "X-Content-Type-Options", "nosniff");
        hgi_http_response_say(response, "Referrer-Policy", "no-referrer");
        hgi_http_response_say(response, "Cache-Control", "no-cache");
        return true;
    }
    return false;
}
