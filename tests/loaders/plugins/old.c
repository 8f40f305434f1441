/* SPDX-License-Identifier: Apache-2.0 */
/* A loader as 0.1.0 built it: its descriptor ends before what was appended since. Behind it lies
 * what must not be read as more of it. */
#include <stdlib.h>

#include "herdgate/loader.h"

static const struct hg_host_services *services;

static enum hg_status old_open(struct hg_host *host, const struct hg_host_services *given,
                               const struct hg_loader_setting *settings, size_t setting_count,
                               void **ret_self, char *error, size_t error_size)
{
    (void)host;
    (void)settings;
    (void)setting_count;
    (void)error;
    (void)error_size;
    services = given;
    *ret_self = NULL;
    return HG_OK;
}

static void old_load(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    (void)self;
    services->done_bytes(load, request->key.bytes, NULL);
}

static void old_close(void *self)
{
    (void)self;
}

static void trap(void *self, struct hg_load *const *loads,
                 const struct hg_load_request *const *requests, size_t count)
{
    (void)self;
    (void)loads;
    (void)requests;
    (void)count;
    abort();
}

/* struct hg_loader of 0.1.0, field by field, and then the trap. */
static const struct {
    uint32_t magic;
    uint32_t abi;
    uint32_t size;
    uint32_t caps;
    const char *name;
    const char *version;
    uint32_t max_inflight;
    const struct hg_loader_option *options;
    enum hg_status (*open)(struct hg_host *host, const struct hg_host_services *services,
                           const struct hg_loader_setting *settings, size_t setting_count,
                           void **ret_self, char *error, size_t error_size);
    void (*load)(void *self, struct hg_load *load, const struct hg_load_request *request);
    void (*cancel)(void *self, struct hg_load *load);
    enum hg_status (*health)(void *self, char *text, size_t text_size);
    void (*close)(void *self);
    uint32_t not_max_batch;
    void (*not_load_batch)(void *self, struct hg_load *const *loads,
                           const struct hg_load_request *const *requests, size_t count);
} loader = {
    .magic = 0x48474C44u,
    .abi = 1,
    .size = 88,
    .name = "old",
    .version = "0.1.0",
    .open = old_open,
    .load = old_load,
    .close = old_close,
    .not_max_batch = 77,
    .not_load_batch = trap,
};

const struct hg_loader *hg_loader_query(void)
{
    return (const struct hg_loader *)(const void *)&loader;
}
