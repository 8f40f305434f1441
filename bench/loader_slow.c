/* SPDX-License-Identifier: Apache-2.0 */
/* A loader plugin that takes its time. Its value says how many loads there were, and when this one
 * ended: "COUNT NANOSECONDS" of CLOCK_MONOTONIC, which all processes of a host share. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "herdgate/loader.h"

#define DELAY_NS 500000000L

struct self {
    const struct hg_host_services *services;
    atomic_uint count;
};

static enum hg_status slow_open(struct hg_host *host, const struct hg_host_services *services,
                                const struct hg_loader_setting *settings, size_t setting_count,
                                void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));

    (void)host;
    (void)settings;
    (void)setting_count;
    if (!self) {
        snprintf(error, error_size, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    self->services = services;
    *ret_self = self;
    return HG_OK;
}

static void slow_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    struct timespec delay = {.tv_nsec = DELAY_NS};
    struct self *self = context;
    struct timespec now;
    char value[64];

    (void)request;
    nanosleep(&delay, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(value, sizeof(value), "%u %llu", atomic_fetch_add(&self->count, 1) + 1,
             (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec);
    self->services->done_bytes(load, hg_slice_of(value, strlen(value)), NULL);
}

static void slow_close(void *context)
{
    free(context);
}

static const struct hg_loader_option options[] = {{.name = NULL}};

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .name = "slow",
    .version = "0.1.0",
    .options = options,
    .open = slow_open,
    .load = slow_load,
    .close = slow_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
