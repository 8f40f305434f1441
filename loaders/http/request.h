/* SPDX-License-Identifier: Apache-2.0 */
/* request: one load as a request of libcurl, from its making to its answer.
 * Owns:     the handle, what it sends and what it receives, until destroy.
 * Threads:  made by the thread of `load`, then the pump's alone.
 * Limits:   response_max_bytes of a body; the load's remaining time.
 * Errors:   create: a status and one sentence. Transfers that fail end the load with one, too.
 * Not here: running it (pump), what the response means (answer). */
#ifndef HG_LOADERS_HTTP_REQUEST_H
#define HG_LOADERS_HTTP_REQUEST_H

#include <curl/curl.h>

#include "answer.h"

struct request {
    struct request *next; /* in a list of the pump's */
    const struct settings *settings;
    const struct hg_host_services *services;
    struct hg_load *load;
    const struct hg_load_request *asked;
    CURL *easy;
    struct curl_slist *headers;
    struct text url;
    struct text sent;
    struct text body;
    char etag[HG_ETAG_MAX + 1];
    size_t etag_len;
    bool is_too_long;
    char error[CURL_ERROR_SIZE];
};

/* NULL, a status and a sentence: the load is the caller's to end. */
struct request *request_create(const struct settings *settings,
                               const struct hg_host_services *services, struct hg_load *load,
                               const struct hg_load_request *asked, enum hg_status *ret_status,
                               char *sentence, size_t sentence_size);
/* The load is done, or was never begun. */
void request_destroy(struct request **request);
/* Completes the load as the transfer has ended. */
void request_finish(struct request *request, CURLcode result);
/* What all requests have in common, for one that asks how the server is, too. */
HG_NODISCARD bool request_prepare(CURL *easy, const struct settings *settings);

#endif
