/* SPDX-License-Identifier: Apache-2.0 */
/* postgres: a loader that asks PostgreSQL. README.md beside this file says what its options and
 * columns mean.
 *
 * Loads become jobs, one query for as many keys as came together; one thread sends them down
 * pipelines and takes what comes back (pump). A connection of its own listens for changes. */
#include <stdio.h>
#include <stdlib.h>

#include "loaders/kit/sockets.h"
#include "pump.h"

#define SENTENCE_MAX 256
#define INFLIGHT_MAX 512

struct self {
    const struct hg_host_services *services;
    struct settings settings;
    struct pump pump;
};

static void destroy(struct self *self)
{
    settings_clear(&self->settings);
    free(self);
}

static enum hg_status plugin_open(struct hg_host *host, const struct hg_host_services *services,
                                  const struct hg_loader_setting *settings, size_t setting_count,
                                  void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));

    if (!self) {
        snprintf(error, error_size, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    self->services = services;
    if (!sockets_check("postgres", error, error_size) ||
        !settings_read(&self->settings, settings, setting_count, error, error_size) ||
        !pump_open(&self->pump, &self->settings, host, services, error, error_size)) {
        destroy(self);
        return HG_FAILED_PRECONDITION;
    }
    *ret_self = self;
    return HG_OK;
}

static void refuse_kind(const struct self *self, struct hg_load *load, enum hg_key_kind kind)
{
    static const char *const kinds[] = {
        [HG_KEY_BYTES] = "bytes",
        [HG_KEY_KEY_HASH] = "key_hash",
        [HG_KEY_USER_API_KEY] = "user_api_key",
        [HG_KEY_API_KEY_FEATURE] = "api_key_feature",
    };
    char sentence[SENTENCE_MAX];

    snprintf(sentence, sizeof(sentence), "this loader has no query for a key of kind %s",
             kinds[kind]);
    self->services->done_error(load, HG_INVALID_ARGUMENT, sentence);
}

/* Loads of one kind of key that came together. A request is gone when its load is done, which may
 * be as soon as its job is added: so the kinds are known before. */
struct batch {
    struct hg_load *const *loads;
    const struct hg_load_request *const *requests;
    size_t count;
    enum hg_key_kind kinds[JOB_LOADS_MAX];
};

static void begin(struct self *self, const struct batch *batch, enum hg_key_kind kind)
{
    enum query query = QUERY_ANY;
    bool is_known = settings_query_of(&self->settings, kind, &query);
    struct job *job = is_known ? job_create(self->services, kind, query) : NULL;
    int64_t now_ms = pump_now_ms();

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->kinds[i] != kind) {
            continue;
        }
        if (job) {
            (void)job_add(job, batch->loads[i], batch->requests[i], now_ms);
        } else if (is_known) {
            self->services->done_error(batch->loads[i], HG_RESOURCE_EXHAUSTED, "out of memory");
        } else {
            refuse_kind(self, batch->loads[i], kind);
        }
    }
    if (!job) {
        return;
    }
    if (job->count == 0 || !job_close(job)) {
        job_fail(job, HG_RESOURCE_EXHAUSTED, "out of memory");
        job_destroy(&job);
        return;
    }
    pump_add(&self->pump, job);
}

static void plugin_load_batch(void *context, struct hg_load *const *loads,
                              const struct hg_load_request *const *requests, size_t count)
{
    struct batch batch = {.loads = loads, .requests = requests, .count = count};
    bool is_there[HG_KEY_API_KEY_FEATURE + 1] = {false};

    for (size_t i = 0; i < count; i++) {
        batch.kinds[i] = requests[i]->key.kind;
        is_there[batch.kinds[i]] = true;
    }
    for (int kind = HG_KEY_BYTES; kind <= HG_KEY_API_KEY_FEATURE; kind++) {
        if (is_there[kind]) {
            begin(context, &batch, (enum hg_key_kind)kind);
        }
    }
}

static void plugin_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    plugin_load_batch(context, &load, &request, 1);
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

    return pump_health(&self->pump, text, text_size);
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
    .name = "postgres",
    .version = HERDGATE_VERSION,
    .max_inflight = INFLIGHT_MAX,
    .options = settings_options,
    .open = plugin_open,
    .load = plugin_load,
    .cancel = plugin_cancel,
    .health = plugin_health,
    .close = plugin_close,
    .max_batch = JOB_LOADS_MAX,
    .load_batch = plugin_load_batch,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
