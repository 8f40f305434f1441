/* SPDX-License-Identifier: Apache-2.0 */
/* notice: what the payload of a notification says is no longer so.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   a payload of PostgreSQL's (8,000 bytes).
 * Errors:   a payload that cannot be read is everything: rather too much than too little.
 * Not here: who notifies (a trigger: examples/postgres). */
#ifndef HG_LOADERS_POSTGRES_NOTICE_H
#define HG_LOADERS_POSTGRES_NOTICE_H

#include "herdgate/loader.h"

void notice_take(struct hg_host *host, const struct hg_host_services *services,
                 const char *payload);
/* UNIMPLEMENTED: the host has no caches to invalidate. */
enum hg_status notice_everything(struct hg_host *host, const struct hg_host_services *services);

#endif
