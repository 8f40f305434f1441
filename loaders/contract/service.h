/* SPDX-License-Identifier: Apache-2.0 */
/* service: what a plugin's host does for it (loader.h), as the table it is handed.
 * Owns:     the table; what stands behind it is whoever runs plugins in this program.
 * Threads:  any.
 * Limits:   those of answer.
 * Errors:   an answer that breaks a rule becomes an error of the load; see answer.
 * Not here: the loads (whoever runs the plugin), the rules for values (answer). */
#ifndef HGI_LOADERS_CONTRACT_SERVICE_H
#define HGI_LOADERS_CONTRACT_SERVICE_H

#include "answer.h"

extern const struct hg_host_services hgi_host_services;

#define HGI_SERVICE_TWICE  "the plugin completed a load twice, or one it was never given; dropped"
#define HGI_SERVICE_SILENT "the loader returned without an answer"

/* A handle is a number in a pointer's clothes: it is looked up, never followed, so a plugin that
 * completes a load twice meets nothing. */
static inline struct hg_load *hgi_service_handle(uint64_t number)
{
    return (struct hg_load *)(uintptr_t)number;
}

static inline uint64_t hgi_service_number(const struct hg_load *load)
{
    return (uint64_t)(uintptr_t)load;
}

/* The host's side of them, defined once in a program that runs plugins: by loaders/host in the
 * child, by client/own_load in libherdgate. Completing a load a second time is logged and
 * dropped. */
void hgi_host_complete(struct hg_load *load, struct hgi_answer_draft *draft);
bool hgi_host_is_cancelled(const struct hg_load *load);
enum hg_status hgi_host_invalidate(struct hg_host *host,
                                   const struct hg_invalidation *invalidation);
void hgi_host_log(struct hg_host *host, enum hg_log_level level, const char *text);

#endif
