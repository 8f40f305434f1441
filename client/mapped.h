/* SPDX-License-Identifier: Apache-2.0 */
/* mapped: a published cache's memory in this process.
 * Owns:     the mappings of NAME.cache and NAME.heat until close.
 * Threads:  reads from any, without a lock; open and close by one.
 * Limits:   the label's (flat/label.h).
 * Errors:   open: half a sentence on why the file will not do. Nothing in the file is believed
 *           before it is checked, and then only from a copy: a hostile one costs a wrong answer.
 *           Only its owner can make it shorter, which would kill this process; that is the server.
 * Not here: which server's it is, and who reads it (local). */
#ifndef HGI_CLIENT_MAPPED_H
#define HGI_CLIENT_MAPPED_H

#include "storage/flat/label.h"
#include "storage/flat/reader.h"

struct hgi_mapped {
    const struct hgi_label *label; /* the mapping begins with it */
    size_t size;
    uint64_t device; /* which file it is */
    uint64_t inode;
    bool has_own_heat; /* the shared one is not for this process: nobody hears of its reads */
    struct hgi_reader reader;
    /* the label's, copied */
    uint64_t epoch;
    enum hgi_key_type key_type;
    enum hg_value_type value_type;
    uint32_t refresh_part;
    uint32_t refresh_reach;
};

/* NULL: it is there; else why not, and *ret_mapped is untouched. */
const char *hgi_mapped_open(const char *folder, const char *name, struct hgi_mapped **ret_mapped);
void hgi_mapped_close(struct hgi_mapped **mapped);
/* Under the name stands the very file that is mapped. */
bool hgi_mapped_is_current(const struct hgi_mapped *mapped, const char *folder, const char *name);

#endif
