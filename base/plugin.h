/* SPDX-License-Identifier: Apache-2.0 */
/* plugin: a shared object opened and found fit to be a loader.
 * Owns:     nothing: an opened plugin stays mapped until the process ends, because unloading a
 *           library whose threads or destructors live on crashes.
 * Threads:  one at a time.
 * Limits:   none.
 * Errors:   FAILED_PRECONDITION and one sentence that names the file and what differs.
 * Not here: running it (loaders/host), its options (loaders/contract/setting). */
#ifndef HGI_BASE_PLUGIN_H
#define HGI_BASE_PLUGIN_H

#include "herdgate/loader.h"

#define HGI_PLUGIN_SENTENCE_MAX 512u
#define HGI_PLUGIN_BATCH_MAX    256u

/* `path` is absolute. The descriptor is the plugin's own, read-only, valid for good.
 * ret_sentence: HGI_PLUGIN_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_plugin_open(const char *path, const struct hg_loader **ret_loader,
                                            char *ret_sentence);

/* How many loads one call may bring: 1 for a plugin without load_batch, or older than it. */
uint32_t hgi_plugin_batch_max(const struct hg_loader *loader);

#endif
