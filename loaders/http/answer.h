/* SPDX-License-Identifier: Apache-2.0 */
/* answer: what a response says of a key.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   those of the ABI; the body's length is the request's to bound.
 * Errors:   a response that is no answer ends its load with one sentence, which holds neither the
 *           key nor anything of the body.
 * Not here: how the response was come by (request, pump). */
#ifndef HG_LOADERS_HTTP_ANSWER_H
#define HG_LOADERS_HTTP_ANSWER_H

#include "settings.h"

struct response {
    long status;
    struct hg_slice body;
    struct hg_slice etag; /* empty: none, or one too long to be kept */
};

/* Completes the load. */
void answer_give(const struct settings *settings, const struct hg_host_services *services,
                 struct hg_load *load, const struct hg_load_request *request,
                 const struct response *response);

#endif
