/* SPDX-License-Identifier: Apache-2.0 */
#include "pump.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_MS 60000 /* adding, looking and stopping wake it before */

static void begin(struct pump *pump, struct request *request)
{
    if (request->services->is_cancelled(request->load)) {
        request->services->done_error(request->load, HG_CANCELLED, "cancelled");
        request_destroy(&request);
    } else if (curl_multi_add_handle(pump->multi, request->easy) != CURLM_OK) {
        request->services->done_error(request->load, HG_RESOURCE_EXHAUSTED,
                                      "libcurl cannot begin the request");
        request_destroy(&request);
    } else {
        request->next = pump->running;
        pump->running = request;
    }
}

static void end(struct pump *pump, struct request *request)
{
    struct request **at = &pump->running;

    while (*at != request) {
        at = &(*at)->next;
    }
    *at = request->next;
    curl_multi_remove_handle(pump->multi, request->easy);
    request_destroy(&request);
}

/* A cancel names a load, but may come before the load is here: so all are looked at. */
static void drop_cancelled(struct pump *pump)
{
    struct request *next;

    for (struct request *request = pump->running; request; request = next) {
        next = request->next;
        if (request->services->is_cancelled(request->load)) {
            request->services->done_error(request->load, HG_CANCELLED, "cancelled");
            end(pump, request);
        }
    }
}

static void finish_ended(struct pump *pump)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(pump->multi, &left))) {
        CURLcode result = message->data.result;
        struct request *request = NULL;

        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request) == CURLE_OK) {
            request_finish(request, result);
            end(pump, request);
        }
    }
}

/* False: it is to stop. */
static bool take_orders(struct pump *pump)
{
    struct request *queue;
    bool is_to_look;
    bool is_stopping;

    pthread_mutex_lock(&pump->lock);
    queue = pump->queue;
    is_to_look = pump->is_to_look;
    is_stopping = pump->is_stopping;
    pump->queue = NULL;
    pump->is_to_look = false;
    pthread_mutex_unlock(&pump->lock);
    while (queue) {
        struct request *request = queue;

        queue = request->next;
        begin(pump, request);
    }
    if (is_to_look) {
        drop_cancelled(pump);
    }
    return !is_stopping;
}

static void *run(void *context)
{
    struct pump *pump = context;
    int running;

    while (take_orders(pump)) {
        curl_multi_perform(pump->multi, &running);
        finish_ended(pump);
        curl_multi_poll(pump->multi, NULL, 0, IDLE_MS, NULL);
    }
    return NULL;
}

bool pump_start(struct pump *pump, const struct settings *settings, char *error, size_t error_size)
{
    pump->multi = curl_multi_init();
    if (!pump->multi ||
        curl_multi_setopt(pump->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX) != CURLM_OK ||
        curl_multi_setopt(pump->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, settings->connections_max) !=
            CURLM_OK ||
        curl_multi_setopt(pump->multi, CURLMOPT_MAXCONNECTS, settings->connections_max) !=
            CURLM_OK) {
        snprintf(error, error_size, "libcurl cannot start; out of memory?");
        curl_multi_cleanup(pump->multi);
        return false;
    }
    pthread_mutex_init(&pump->lock, NULL);
    if (pthread_create(&pump->thread, NULL, run, pump) != 0) {
        snprintf(error, error_size, "cannot start a thread");
        pthread_mutex_destroy(&pump->lock);
        curl_multi_cleanup(pump->multi);
        return false;
    }
    return true;
}

void pump_add(struct pump *pump, struct request *request)
{
    pthread_mutex_lock(&pump->lock);
    request->next = pump->queue;
    pump->queue = request;
    pthread_mutex_unlock(&pump->lock);
    curl_multi_wakeup(pump->multi);
}

void pump_look(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->is_to_look = true;
    pthread_mutex_unlock(&pump->lock);
    curl_multi_wakeup(pump->multi);
}

void pump_stop(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->is_stopping = true;
    pthread_mutex_unlock(&pump->lock);
    curl_multi_wakeup(pump->multi);
    pthread_join(pump->thread, NULL);
    pthread_mutex_destroy(&pump->lock);
    curl_multi_cleanup(pump->multi);
}
