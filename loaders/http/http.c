/* SPDX-License-Identifier: Apache-2.0 */
/* http: a loader that asks a web server. README.md beside this file says what its options mean.
 *
 * `load` makes a request and hands it to one thread, which runs them all at once over as few
 * connections as there need be (pump). */
#include <stdio.h>
#include <stdlib.h>

#include "loaders/kit/sockets.h"
#include "pump.h"

#define SENTENCE_MAX 256
#define INFLIGHT_MAX 256

struct self {
    const struct hg_host_services *services;
    struct settings settings;
    struct pump pump;
    CURL *health; /* NULL: no option health_url */
};

static size_t pass_over(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

static bool prepare_health(struct self *self)
{
    const char *url = self->settings.health_url;

    if (!url) {
        return true;
    }
    self->health = curl_easy_init();
    return self->health && request_prepare(self->health, &self->settings) &&
           curl_easy_setopt(self->health, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(self->health, CURLOPT_TIMEOUT_MS, 2000L) == CURLE_OK &&
           curl_easy_setopt(self->health, CURLOPT_WRITEFUNCTION, pass_over) == CURLE_OK;
}

static void destroy(struct self *self)
{
    if (self->health) {
        curl_easy_cleanup(self->health);
    }
    settings_clear(&self->settings);
    free(self);
    curl_global_cleanup();
}

static enum hg_status plugin_open(struct hg_host *host, const struct hg_host_services *services,
                                  const struct hg_loader_setting *settings, size_t setting_count,
                                  void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));

    (void)host;
    if (!self || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(self);
        snprintf(error, error_size, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    self->services = services;
    if (!settings_read(&self->settings, settings, setting_count, error, error_size) ||
        !sockets_check("http", error, error_size)) {
        destroy(self);
        return HG_FAILED_PRECONDITION;
    }
    if (!prepare_health(self)) {
        snprintf(error, error_size, "option \"health_url\": libcurl does not take it");
        destroy(self);
        return HG_FAILED_PRECONDITION;
    }
    if (!pump_start(&self->pump, &self->settings, error, error_size)) {
        destroy(self);
        return HG_RESOURCE_EXHAUSTED;
    }
    *ret_self = self;
    return HG_OK;
}

static void plugin_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    struct self *self = context;
    char sentence[SENTENCE_MAX];
    enum hg_status status;
    struct request *made = request_create(&self->settings, self->services, load, request, &status,
                                          sentence, sizeof(sentence));

    if (made) {
        pump_add(&self->pump, made);
    } else {
        self->services->done_error(load, status, sentence);
    }
}

static void plugin_cancel(void *context, struct hg_load *load)
{
    struct self *self = context;

    (void)load;
    pump_look(&self->pump);
}

static enum hg_status plugin_health(void *context, char *text, size_t text_size)
{
    struct self *self = context;
    CURLcode result;
    long code = 0;

    if (!self->health) {
        return HG_OK;
    }
    result = curl_easy_perform(self->health);
    if (result != CURLE_OK) {
        snprintf(text, text_size, "health_url cannot be asked: %s", curl_easy_strerror(result));
        return HG_UNAVAILABLE;
    }
    curl_easy_getinfo(self->health, CURLINFO_RESPONSE_CODE, &code);
    if (code < 200 || code > 299) {
        snprintf(text, text_size, "health_url answers %ld; 2xx is right", code);
        return HG_UNAVAILABLE;
    }
    return HG_OK;
}

static void plugin_close(void *context)
{
    struct self *self = context;

    pump_stop(&self->pump);
    destroy(self);
}

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .caps = HG_LOADER_ASYNC | HG_LOADER_REVALIDATE,
    .name = "http",
    .version = HERDGATE_VERSION,
    .max_inflight = INFLIGHT_MAX,
    .options = settings_options,
    .open = plugin_open,
    .load = plugin_load,
    .cancel = plugin_cancel,
    .health = plugin_health,
    .close = plugin_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
