/* SPDX-License-Identifier: Apache-2.0 */
/* service: what the host does for a plugin (loader.h), as the table it is handed.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   those of answer.
 * Errors:   an answer that breaks a rule becomes an error of the load; see answer.
 * Not here: the loads (host), the rules for values (answer). */
#ifndef HGI_LOADERS_HOST_SERVICE_H
#define HGI_LOADERS_HOST_SERVICE_H

#include "answer.h"

extern const struct hg_host_services hgi_host_services;

/* The host's side of them. Completing a load a second time is logged and dropped. */
void hgi_host_complete(struct hg_load *load, struct hgi_answer_draft *draft);
bool hgi_host_is_cancelled(const struct hg_load *load);
void hgi_host_log(struct hg_host *host, enum hg_log_level level, const char *text);

#endif
