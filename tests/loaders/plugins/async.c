/* SPDX-License-Identifier: Apache-2.0 */
/* A loader whose `load` returns at once. It waits until BATCH loads are there and then completes
 * them from its own thread, last one first: with one worker that only works if the host sends more
 * than one at a time. Key "late" completes when it is cancelled. */
#include <pthread.h>
#include <string.h>

#include "herdgate/loader.h"

#define BATCH 8

static const struct hg_host_services *services;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct hg_load *pending[BATCH];
static size_t pending_count;
static bool is_ending;
static pthread_t thread;

static void *complete_batches(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!is_ending) {
        if (pending_count == BATCH) {
            struct hg_load *batch[BATCH];

            memcpy(batch, pending, sizeof(batch));
            pending_count = 0;
            pthread_mutex_unlock(&lock);
            for (size_t i = BATCH; i > 0; i--) {
                services->done_bytes(batch[i - 1], hg_slice_text("batched"), NULL);
            }
            pthread_mutex_lock(&lock);
        } else {
            pthread_cond_wait(&changed, &lock);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static enum hg_status async_open(struct hg_host *host, const struct hg_host_services *given,
                                 const struct hg_loader_setting *settings, size_t setting_count,
                                 void **ret_self, char *error, size_t error_size)
{
    (void)host;
    (void)settings;
    (void)setting_count;
    (void)error;
    (void)error_size;
    services = given;
    pending_count = 0; /* from the second opening in a process on */
    is_ending = false;
    *ret_self = NULL;
    return pthread_create(&thread, NULL, complete_batches, NULL) == 0 ? HG_OK : HG_INTERNAL;
}

static void async_load(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    (void)self;
    if (request->key.bytes.len == 4 && memcmp(request->key.bytes.data, "late", 4) == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    pending[pending_count++] = load;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void async_cancel(void *self, struct hg_load *load)
{
    (void)self;
    services->done_error(load, HG_CANCELLED, "cancelled by the host");
}

static void async_close(void *self)
{
    (void)self;
    pthread_mutex_lock(&lock);
    is_ending = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .caps = HG_LOADER_ASYNC,
    .name = "async",
    .version = "1",
    .max_inflight = BATCH + 1,
    .open = async_open,
    .load = async_load,
    .cancel = async_cancel,
    .close = async_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
