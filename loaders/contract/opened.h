/* SPDX-License-Identifier: Apache-2.0 */
/* opened: a plugin's file, its settings and its `open`, one after the other.
 * Owns:     nothing: the file stays mapped (base/plugin), and who opened the plugin closes it.
 * Threads:  one at a time.
 * Limits:   none.
 * Errors:   the status and one sentence, whichever step failed.
 * Not here: the file (base/plugin), the names of options (setting), the loads. */
#ifndef HGI_LOADERS_CONTRACT_OPENED_H
#define HGI_LOADERS_CONTRACT_OPENED_H

#include "base/plugin.h"

struct hgi_opened {
    const struct hg_loader *loader; /* also if the plugin did not open; NULL: not a plugin */
    void *self;
    char sentence[HGI_PLUGIN_SENTENCE_MAX]; /* of a failure */
};

/* `host` and the services of this room are what the plugin gets to know. */
HG_NODISCARD enum hg_status hgi_opened_open(struct hgi_opened *opened,
                                            const struct hgi_plugin_file *file,
                                            const struct hg_loader_setting *settings,
                                            size_t setting_count, struct hg_host *host);

#endif
