/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SENTENCE_MAX 256
#define ETAG_HEADER  "etag:"

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct request *request = context;
    size_t len = size * count;

    if (request->body.len + len > (size_t)request->settings->response_max_bytes) {
        request->is_too_long = true;
        return 0; /* which ends the transfer */
    }
    return text_append(&request->body, data, len) ? len : 0;
}

/* One line of a response's head, of each response if redirects are followed. */
static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    struct request *request = context;
    size_t len = size * count;
    size_t from = strlen(ETAG_HEADER);
    size_t to = len;

    if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        request->etag_len = 0;
    }
    if (len > from && strncasecmp(data, ETAG_HEADER, from) == 0) {
        while (from < to && (data[from] == ' ' || data[from] == '\t')) {
            from++;
        }
        while (to > from && strchr("\r\n \t", data[to - 1])) {
            to--;
        }
        request->etag_len = to - from <= HG_ETAG_MAX ? to - from : 0;
        memcpy(request->etag, data + from, request->etag_len);
    }
    return len;
}

/* Nothing is taken from the environment, nothing but HTTP is spoken, what was to go under TLS is
 * redirected nowhere else, and a certificate is checked: libcurl's own default, said here because
 * no option undoes it. */
static bool prepare_safety(CURL *easy, const struct settings *settings)
{
    return curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                            settings->is_tls ? "https" : "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, settings->proxy ? settings->proxy : "") ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, settings->redirects_max ? 1L : 0L) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXREDIRS, settings->redirects_max) == CURLE_OK;
}

static bool prepare_credentials(CURL *easy, const struct settings *settings)
{
    if (settings->user) {
        return curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_USERNAME, settings->user) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_PASSWORD,
                                settings->password.len ? settings->password.data : "") == CURLE_OK;
    }
    if (settings->bearer.len) {
        return curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, settings->bearer.data) == CURLE_OK;
    }
    return true;
}

static bool prepare_peer(CURL *easy, const struct settings *settings)
{
    const struct {
        CURLoption option;
        const char *value;
    } texts[] = {{CURLOPT_CAINFO, settings->ca_file},
                 {CURLOPT_SSLCERT, settings->client_cert},
                 {CURLOPT_SSLKEY, settings->client_key},
                 {CURLOPT_UNIX_SOCKET_PATH, settings->unix_socket}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].value && curl_easy_setopt(easy, texts[i].option, texts[i].value) != CURLE_OK) {
            return false;
        }
    }
    return true;
}

bool request_prepare(CURL *easy, const struct settings *settings)
{
    long version = strcmp(settings->http, "1.1") == 0 ? (long)CURL_HTTP_VERSION_1_1
                   : strcmp(settings->http, "2") == 0 ? (long)CURL_HTTP_VERSION_2TLS
                                                      : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;

    return prepare_safety(easy, settings) && prepare_credentials(easy, settings) &&
           prepare_peer(easy, settings) &&
           curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
           /* Rather wait for a connection that many can share than open one more; only TLS tells
            * whether it can be while it is being made. */
           curl_easy_setopt(easy, CURLOPT_PIPEWAIT, settings->is_tls ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "herdgate-http/" HERDGATE_VERSION) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, settings->connect_timeout_ms) ==
               CURLE_OK;
}

static bool add_line(struct request *request, const char *line)
{
    struct curl_slist *longer = curl_slist_append(request->headers, line);

    if (longer) {
        request->headers = longer;
    }
    return longer != NULL;
}

static bool add_header(struct request *request, const char *name, const char *value)
{
    struct text line = {NULL, 0, 0};
    bool is_done;

    /* Without a value libcurl would take the header away; a semicolon sends it empty. */
    is_done = text_append_word(&line, name) && text_append_word(&line, *value ? ": " : ";") &&
              text_append_word(&line, value) && add_line(request, line.data);
    text_clear(&line);
    return is_done;
}

static bool has_header(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->header_count; i++) {
        if (strcasecmp(settings->headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An etag that came as a header may go back as one; what else a cache holds for one may not. */
static bool add_etag(struct request *request)
{
    char etag[HG_ETAG_MAX + 1];
    struct hg_slice given = request->asked->etag;

    if (request->settings->is_post || !request->asked->has_old_value || given.len == 0) {
        return true;
    }
    memcpy(etag, given.data, given.len);
    etag[given.len] = '\0';
    return strlen(etag) != given.len || strpbrk(etag, "\r\n") ||
           add_header(request, "If-None-Match", etag);
}

/* A host that is older than the field has none to give. */
static bool add_trace(struct request *request)
{
    const struct hg_load_request *asked = request->asked;
    char trace[64];

    if (asked->size < offsetof(struct hg_load_request, traceparent) + sizeof(asked->traceparent) ||
        asked->traceparent.len == 0 || asked->traceparent.len >= sizeof(trace) ||
        has_header(request->settings, "traceparent")) {
        return true;
    }
    memcpy(trace, asked->traceparent.data, asked->traceparent.len);
    trace[asked->traceparent.len] = '\0';
    return add_header(request, "traceparent", trace);
}

static enum hg_status fill_headers(struct request *request, char *sentence, size_t sentence_size)
{
    const struct settings *settings = request->settings;
    bool is_done = add_etag(request) && add_trace(request);

    for (size_t i = 0; i < settings->header_count && is_done; i++) {
        struct text value = {NULL, 0, 0};
        enum hg_status status = template_fill(&settings->headers[i].value, request->asked, &value,
                                              sentence, sentence_size);

        if (status != HG_OK) {
            text_clear(&value);
            return status;
        }
        is_done = add_header(request, settings->headers[i].name, value.len ? value.data : "");
        text_clear(&value);
    }
    if (is_done && settings->preset != PRESET_BODY && !has_header(settings, "Accept")) {
        is_done = add_header(request, "Accept", "application/json");
    }
    if (is_done && settings->is_post) {
        is_done = add_header(request, "Content-Type",
                             settings->content_type ? settings->content_type
                                                    : "application/x-www-form-urlencoded") &&
                  add_line(request, "Expect:"); /* takes it away: a body is short */
    }
    if (!is_done) {
        snprintf(sentence, sentence_size, "out of memory");
    }
    return is_done ? HG_OK : HG_RESOURCE_EXHAUSTED;
}

static bool set_up(struct request *request)
{
    const struct settings *settings = request->settings;
    CURL *easy = request->easy = curl_easy_init();
    long left_ms = (long)request->asked->remaining_ms;

    if (settings->timeout_ms && settings->timeout_ms < left_ms) {
        left_ms = settings->timeout_ms;
    }
    if (!easy || !request_prepare(easy, settings)) {
        return false;
    }
    if (settings->is_post &&
        (curl_easy_setopt(easy, CURLOPT_POST, 1L) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->sent.len) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->sent.len ? request->sent.data : "") !=
             CURLE_OK)) {
        return false;
    }
    return curl_easy_setopt(easy, CURLOPT_URL, request->url.data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers) == CURLE_OK &&
           /* 0 would be none at all. */
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, left_ms > 0 ? left_ms : 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, request) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, request) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, request) == CURLE_OK;
}

struct request *request_create(const struct settings *settings,
                               const struct hg_host_services *services, struct hg_load *load,
                               const struct hg_load_request *asked, enum hg_status *ret_status,
                               char *sentence, size_t sentence_size)
{
    struct request *request = calloc(1, sizeof(*request));
    enum hg_status status = HG_RESOURCE_EXHAUSTED;

    snprintf(sentence, sentence_size, "out of memory");
    if (request) {
        request->settings = settings;
        request->services = services;
        request->load = load;
        request->asked = asked;
        status = template_fill(&settings->url, asked, &request->url, sentence, sentence_size);
    }
    if (status == HG_OK && settings->has_body) {
        status = template_fill(&settings->body, asked, &request->sent, sentence, sentence_size);
    }
    if (status == HG_OK) {
        status = fill_headers(request, sentence, sentence_size);
    }
    if (status == HG_OK && !set_up(request)) {
        snprintf(sentence, sentence_size, "libcurl does not take the request");
        status = HG_INTERNAL;
    }
    if (status != HG_OK) {
        request_destroy(&request);
    }
    *ret_status = status;
    return request;
}

void request_destroy(struct request **request)
{
    struct request *r = *request;

    if (!r) {
        return;
    }
    if (r->easy) {
        curl_easy_cleanup(r->easy);
    }
    curl_slist_free_all(r->headers);
    text_clear(&r->url);
    text_clear(&r->sent);
    text_clear(&r->body);
    free(r);
    *request = NULL;
}

static void fail(const struct request *request, CURLcode result)
{
    const struct hg_host_services *services = request->services;
    char sentence[SENTENCE_MAX];

    if (request->is_too_long) {
        snprintf(sentence, sizeof(sentence), "the server's answer is longer than %ld bytes",
                 request->settings->response_max_bytes);
        services->done_error(request->load, HG_INTERNAL, sentence);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        services->done_error(request->load, HG_DEADLINE_EXCEEDED,
                             "the server did not answer in time");
    } else if (result == CURLE_OUT_OF_MEMORY) {
        services->done_error(request->load, HG_RESOURCE_EXHAUSTED, "out of memory");
    } else if (result == CURLE_TOO_MANY_REDIRECTS) {
        services->done_error(request->load, HG_FAILED_PRECONDITION,
                             "the server redirects more often than redirects_max allows");
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL) {
        snprintf(sentence, sizeof(sentence), "the server redirects to what is not %s",
                 request->settings->is_tls ? "https" : "http or https");
        services->done_error(request->load, HG_FAILED_PRECONDITION, sentence);
    } else {
        /* Not the error's own text, which may name what was asked for. */
        snprintf(sentence, sizeof(sentence), "the server cannot be asked: %s",
                 curl_easy_strerror(result));
        services->done_error(request->load, HG_UNAVAILABLE, sentence);
    }
}

void request_finish(struct request *request, CURLcode result)
{
    struct response response = {.status = 0};

    if (result != CURLE_OK) {
        fail(request, result);
        return;
    }
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &response.status);
    response.body = hg_slice_of(request->body.data, request->body.len);
    response.etag = hg_slice_of(request->etag, request->etag_len);
    answer_give(request->settings, request->services, request->load, request->asked, &response);
}
