/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway_upstream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct upstream {
    const char *url;
    CURLM *transfers;
    pthread_t thread;
    pthread_mutex_t lock;
    struct forwarding *queue; /* the newest first */
    bool is_ending;
};

bool text_grow(struct text *text, const char *more, size_t len)
{
    char *grown = len > BODY_MAX - text->len ? NULL : realloc(text->text, text->len + len + 1);

    if (!grown) {
        return false;
    }
    memcpy(grown + text->len, more, len);
    text->text = grown;
    text->len += len;
    text->text[text->len] = '\0';
    return true;
}

/* ---- one transfer ---- */

/* With the first line of a head (there may be one of 100) all before it is void. */
static size_t take_line(char *line, size_t size, size_t count, void *arg)
{
    struct forwarding *forwarding = arg;
    size_t len = size * count;
    struct curl_slist *longer;
    char *text;

    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        curl_slist_free_all(forwarding->fields);
        forwarding->fields = NULL;
        return len;
    }
    while (len && strchr("\r\n \t", line[len - 1])) {
        len--;
    }
    if (len && memchr(line, ':', len)) {
        text = strndup(line, len);
        longer = text ? curl_slist_append(forwarding->fields, text) : NULL;
        forwarding->is_short = forwarding->is_short || !longer;
        forwarding->fields = longer ? longer : forwarding->fields;
        free(text);
    }
    return size * count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct forwarding *forwarding = arg;

    return text_grow(&forwarding->body, bytes, size * count) ? size * count : 0;
}

static void finish(struct forwarding *forwarding, CURLcode code)
{
    curl_off_t announced = -1;
    long status = 0;

    forwarding->is_answered = code == CURLE_OK && !forwarding->is_short;
    if (forwarding->is_answered) {
        curl_easy_getinfo(forwarding->transfer, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(forwarding->transfer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    }
    forwarding->announced_len = announced;
    forwarding->status = forwarding->is_answered            ? (unsigned)status
                         : code == CURLE_OPERATION_TIMEDOUT ? 504
                                                            : 502;
    forwarding->done(forwarding);
}

static bool is_one_of(const char *text, const char *const *texts)
{
    while (*texts && strcmp(text, *texts) != 0) {
        texts++;
    }
    return *texts != NULL;
}

static void set_up_method(CURL *transfer, const char *method, const struct text *body)
{
    /* libcurl sends a request anew when a connection it has used before turns out to be closed. One
     * that must not happen twice gets a new connection. */
    static const char *const repeatable[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", NULL};
    /* These say how long their body is even if it is empty. */
    static const char *const with_body[] = {"POST", "PUT", "PATCH", NULL};

    curl_easy_setopt(transfer, CURLOPT_FRESH_CONNECT, is_one_of(method, repeatable) ? 0L : 1L);
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(transfer, CURLOPT_NOBODY, 1L);
        return;
    }
    if (body->len || is_one_of(method, with_body)) {
        curl_easy_setopt(transfer, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        curl_easy_setopt(transfer, CURLOPT_COPYPOSTFIELDS, body->text ? body->text : "");
    }
    curl_easy_setopt(transfer, CURLOPT_CUSTOMREQUEST, method);
}

static void set_up(struct forwarding *forwarding, const char *url)
{
    CURL *transfer = forwarding->transfer;

    curl_easy_setopt(transfer, CURLOPT_PRIVATE, forwarding);
    curl_easy_setopt(transfer, CURLOPT_URL, url);
    curl_easy_setopt(transfer, CURLOPT_REQUEST_TARGET, forwarding->target);
    curl_easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(transfer, CURLOPT_PROXY, "");
    curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(transfer, CURLOPT_TIMEOUT_MS, UPSTREAM_TIMEOUT_MS);
    curl_easy_setopt(transfer, CURLOPT_HTTPHEADER, forwarding->headers);
    curl_easy_setopt(transfer, CURLOPT_HEADERFUNCTION, take_line);
    curl_easy_setopt(transfer, CURLOPT_HEADERDATA, forwarding);
    curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(transfer, CURLOPT_WRITEDATA, forwarding);
    set_up_method(transfer, forwarding->method, &forwarding->body);
}

/* What libcurl would add to a request where the client did not say it. */
static bool add_nothing(struct curl_slist **headers)
{
    static const char *const added[] = {"Accept:", "Content-Type:", "Expect:"};
    struct curl_slist *longer = *headers;

    for (size_t i = 0; longer && i < sizeof(added) / sizeof(added[0]); i++) {
        longer = curl_slist_append(*headers, added[i]);
        *headers = longer ? longer : *headers;
    }
    return longer != NULL;
}

static void begin(struct upstream *upstream, struct forwarding *forwarding)
{
    forwarding->transfer = curl_easy_init();
    if (!forwarding->transfer || !add_nothing(&forwarding->headers)) {
        finish(forwarding, CURLE_OUT_OF_MEMORY);
        return;
    }
    set_up(forwarding, upstream->url);
    free(forwarding->body.text); /* libcurl has its copy; what comes back takes its place */
    forwarding->body = (struct text){NULL, 0};
    if (curl_multi_add_handle(upstream->transfers, forwarding->transfer) != CURLM_OK) {
        finish(forwarding, CURLE_OUT_OF_MEMORY);
    }
}

static void end(struct upstream *upstream)
{
    struct CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(upstream->transfers, &left)) != NULL) {
        CURL *transfer = message->easy_handle;
        CURLcode code = message->data.result;
        struct forwarding *forwarding = NULL;

        if (message->msg == CURLMSG_DONE) {
            curl_easy_getinfo(transfer, CURLINFO_PRIVATE, (char **)&forwarding);
            curl_multi_remove_handle(upstream->transfers, transfer);
            finish(forwarding, code);
        }
    }
}

void forwarding_deinit(struct forwarding *forwarding)
{
    if (forwarding->transfer) {
        curl_easy_cleanup(forwarding->transfer);
    }
    curl_slist_free_all(forwarding->fields);
    free(forwarding->body.text);
}

/* ---- all of them ---- */

static void *run(void *arg)
{
    struct upstream *upstream = arg;
    bool is_ending = false;
    int running = 0;

    while (!is_ending || running) {
        struct forwarding *queue;

        pthread_mutex_lock(&upstream->lock);
        queue = upstream->queue;
        upstream->queue = NULL;
        is_ending = upstream->is_ending;
        pthread_mutex_unlock(&upstream->lock);
        while (queue) {
            struct forwarding *forwarding = queue;

            queue = forwarding->next; /* before somebody else has it */
            begin(upstream, forwarding);
        }
        curl_multi_perform(upstream->transfers, &running);
        end(upstream);
        if (!is_ending || running) {
            curl_multi_poll(upstream->transfers, NULL, 0, 1000, NULL);
        }
    }
    return NULL;
}

bool upstream_is_url(const char *url)
{
    CURLU *parts = curl_url();
    char *scheme = NULL;
    bool is_good = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                   curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                   (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

    curl_free(scheme);
    curl_url_cleanup(parts);
    return is_good;
}

struct upstream *upstream_start(const char *url)
{
    struct upstream *upstream = calloc(1, sizeof(*upstream));

    if (!upstream) {
        return NULL;
    }
    upstream->url = url;
    upstream->transfers = curl_multi_init();
    pthread_mutex_init(&upstream->lock, NULL);
    if (!upstream->transfers || pthread_create(&upstream->thread, NULL, run, upstream) != 0) {
        curl_multi_cleanup(upstream->transfers);
        free(upstream);
        return NULL;
    }
    return upstream;
}

void upstream_submit(struct upstream *upstream, struct forwarding *forwarding)
{
    pthread_mutex_lock(&upstream->lock);
    forwarding->next = upstream->queue;
    upstream->queue = forwarding;
    pthread_mutex_unlock(&upstream->lock);
    curl_multi_wakeup(upstream->transfers);
}

void upstream_stop(struct upstream *upstream)
{
    pthread_mutex_lock(&upstream->lock);
    upstream->is_ending = true;
    pthread_mutex_unlock(&upstream->lock);
    curl_multi_wakeup(upstream->transfers);
    pthread_join(upstream->thread, NULL);
    curl_multi_cleanup(upstream->transfers);
    free(upstream);
}
