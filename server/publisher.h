/* SPDX-License-Identifier: Apache-2.0 */
/* publisher: the caches of this server that other processes read in its runtime_dir.
 * Owns:     their publications, from open to close.
 * Threads:  open, begin, retire and close by who starts and stops the server; tick by the ticker.
 * Limits:   those of storage/local.
 * Errors:   a status and one sentence: UNAVAILABLE is another herdgated in the same folder.
 * Not here: what is in the files (storage/local). */
#ifndef HGI_SERVER_PUBLISHER_H
#define HGI_SERVER_PUBLISHER_H

#include "server/cache/registry.h"
#include "server/config.h"
#include "storage/local/publication.h"

struct hgi_publisher;

/* Retires what a server before this one has published, and makes the files of each cache with
 * local_reads; sleeps as long as a server that left none behind might still be believed. */
HG_NODISCARD enum hg_status hgi_publisher_open(const struct hgi_config *config, uint64_t epoch,
                                               struct hgi_publisher **ret_publisher,
                                               char *ret_sentence);
/* The memory for the table of the cache; NULL: it has its own. */
const struct hgi_backing *hgi_publisher_backing(const struct hgi_publisher *publisher,
                                                const char *cache);
/* All caches are filled, and served from here on. */
void hgi_publisher_begin(struct hgi_publisher *publisher, const struct hgi_registry *registry,
                         const struct hgi_now *now);
void hgi_publisher_tick(struct hgi_publisher *publisher, const struct hgi_now *now);
/* Nobody reads there any more. NULL: nothing to retire. */
void hgi_publisher_retire(struct hgi_publisher *publisher);
/* The tables are gone. */
void hgi_publisher_close(struct hgi_publisher **publisher);

#endif
