/* SPDX-License-Identifier: Apache-2.0 */
/* One loader with one thing wrong; which one, the build says (BAD_x). */
#include <stdlib.h>

#include "herdgate/loader.h"

#ifdef BAD_CONSTRUCTOR
__attribute__((constructor)) static void die_early(void)
{
    abort();
}
#endif

#ifndef BAD_SYMBOL

#ifdef BAD_MAGIC
#define MAGIC 0x12345678u
#else
#define MAGIC HG_LOADER_MAGIC
#endif
#ifdef BAD_ABI
#define ABI 2u
#else
#define ABI HG_LOADER_ABI
#endif
#ifdef BAD_SIZE
#define SIZE 12u
#else
#define SIZE ((uint32_t)sizeof(struct hg_loader))
#endif

static enum hg_status open_nothing(struct hg_host *host, const struct hg_host_services *services,
                                   const struct hg_loader_setting *settings, size_t setting_count,
                                   void **ret_self, char *error, size_t error_size)
{
    (void)host;
    (void)services;
    (void)settings;
    (void)setting_count;
    (void)error;
    (void)error_size;
    *ret_self = NULL;
    return HG_OK;
}

static void close_nothing(void *self)
{
    (void)self;
}

#ifdef BAD_LOAD
#define LOAD NULL
#else
static void load_nothing(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    (void)self;
    (void)load;
    (void)request;
}
#define LOAD load_nothing
#endif

static const struct hg_loader descriptor = {
    .magic = MAGIC,
    .abi = ABI,
    .size = SIZE,
    .name = "bad",
    .version = "1",
    .open = open_nothing,
    .load = LOAD,
    .close = close_nothing,
};

const struct hg_loader *hg_loader_query(void)
{
#ifdef BAD_NULL
    (void)descriptor;
    return NULL;
#else
    return &descriptor;
#endif
}

#else

HG_EXPORT int some_other_symbol(void);

int some_other_symbol(void)
{
    return 1;
}

#endif
