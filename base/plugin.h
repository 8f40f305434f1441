/* SPDX-License-Identifier: Apache-2.0 */
/* plugin: a shared object opened and found fit to be a loader.
 * Owns:     an opened plugin's mapping and descriptor, until the process ends: unloading a library
 *           whose threads or destructors live on crashes.
 * Threads:  any.
 * Limits:   none.
 * Errors:   FAILED_PRECONDITION and one sentence that names the file and what differs.
 * Not here: running it (loaders/host), its options (loaders/contract/setting). */
#ifndef HGI_BASE_PLUGIN_H
#define HGI_BASE_PLUGIN_H

#include "base/trust.h"
#include "herdgate/loader.h"

#define HGI_PLUGIN_SENTENCE_MAX 512u
#define HGI_PLUGIN_BATCH_MAX    256u

/* Which file, and who may have made it. */
struct hgi_plugin_file {
    const char *path; /* absolute */
    struct hgi_trust trust;
    const char *pin; /* its digest as hgi_hash_file tells it; NULL or "": any content */
};

/* The file is opened once; what is checked is what is loaded, whatever happens to the name
 * meanwhile. The descriptor is the plugin's own, read-only, valid for good. ret_sentence:
 * HGI_PLUGIN_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_plugin_open(const struct hgi_plugin_file *file,
                                            const struct hg_loader **ret_loader,
                                            char *ret_sentence);

/* How many loads one call may bring: 1 for a plugin without load_batch, or older than it. */
uint32_t hgi_plugin_batch_max(const struct hg_loader *loader);

#endif
