/* SPDX-License-Identifier: Apache-2.0 */
/* setting: the options of a loader section against the plugin's own table.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   none.
 * Errors:   INVALID_ARGUMENT and one sentence that names the option and the nearest known one.
 * Not here: what an option means (the plugin's open). */
#ifndef HGI_LOADERS_CONTRACT_SETTING_H
#define HGI_LOADERS_CONTRACT_SETTING_H

#include <stddef.h>

#include "herdgate/loader.h"

/* Every setting is known and given once, every required option is given. */
HG_NODISCARD enum hg_status hgi_setting_check(const struct hg_loader *loader,
                                              const struct hg_loader_setting *settings,
                                              size_t setting_count, char *ret_sentence,
                                              size_t sentence_size);

#endif
