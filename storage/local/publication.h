/* SPDX-License-Identifier: Apache-2.0 */
/* publication: one cache's memory as files that other processes of this host may read.
 * Owns:     NAME.cache and NAME.heat in the folder, their mapping and their locks, until close.
 * Threads:  open, begin, retire and close by one; tick by one thread between begin and retire; the
 *           table's threads reserve.
 * Limits:   the memory's size, as opened; HGI_PUBLICATION_GATHER_BYTES of heat a tick.
 * Errors:   a status and one sentence: UNAVAILABLE is another living server's file.
 * Not here: what readers do with it (client/local), which caches are published (server/publisher).
 *
 * The file is never made shorter, and its space is allocated before it is touched: neither the
 * server nor a reader is killed for a page that is not there. The heat, which readers write, is
 * not mapped here but read: whatever is done to that file costs a wrong count at most.
 *
 * A file that was there before is retired before the new one stands in its place, and so before
 * this server acknowledges anything. Where there was none the server before may have died with its
 * file removed; then its readers believe it for HGI_LABEL_ALIVE_MS longer, and open says to wait.
 */
#ifndef HGI_STORAGE_LOCAL_PUBLICATION_H
#define HGI_STORAGE_LOCAL_PUBLICATION_H

#include "base/clock.h"
#include "storage/flat/label.h"
#include "storage/table/table.h"

#define HGI_PUBLICATION_SENTENCE_MAX 512u
#define HGI_PUBLICATION_GATHER_BYTES (64u << 10)

struct hgi_publication_options {
    const char *folder;
    const char *name; /* of the cache; also the file's */
    size_t memory_size;
    int64_t gid; /* a group that may read; < 0: only the server's user may */
    uint64_t epoch;
    enum hgi_key_type key_type;
    enum hg_value_type value_type;
    uint32_t refresh_part;
    uint32_t refresh_reach;
};

struct hgi_publication;

/* ret_must_wait is set to true, or left alone. */
HG_NODISCARD enum hg_status hgi_publication_open(const struct hgi_publication_options *options,
                                                 struct hgi_publication **ret_publication,
                                                 bool *ret_must_wait, char *ret_sentence);
/* The memory for hgi_table_create_in. */
const struct hgi_backing *hgi_publication_backing(const struct hgi_publication *publication);
/* The table is made, and read from here on; it outlives every tick. */
void hgi_publication_begin(struct hgi_publication *publication, struct hgi_table *table,
                           const struct hgi_now *now);
/* Says that the server is alive, and counts what readers have read. */
void hgi_publication_tick(struct hgi_publication *publication, const struct hgi_now *now);
/* No read counts any more from here on. */
void hgi_publication_retire(struct hgi_publication *publication);
/* The table is gone. Leaves a retired label behind, so that the next server knows. */
void hgi_publication_close(struct hgi_publication **publication);

/* Retires what is published in the folder under names that are not in `names`: caches that a server
 * before this one had. */
void hgi_publication_retire_others(const char *folder, const char *const *names, size_t count);

#endif
