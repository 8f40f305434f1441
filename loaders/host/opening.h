/* SPDX-License-Identifier: Apache-2.0 */
/* opening: from the server's Hello to an open plugin, and what Ready says of it.
 * Owns:     nothing; the settings are copies for the length of the plugin's `open`.
 * Threads:  the main one.
 * Limits:   settings of a frame of the server's.
 * Errors:   a status, and one sentence in the plugin's place for it.
 * Not here: opening itself (loaders/contract/opened), running the plugin (host). */
#ifndef HGI_LOADERS_HOST_OPENING_H
#define HGI_LOADERS_HOST_OPENING_H

#include "loaders/contract/opened.h"
#include "proto/frame.h"

HG_NODISCARD enum hg_status hgi_opening_open(struct hgi_opened *plugin,
                                             const struct hgi_frame_hello *hello,
                                             struct hg_host *host);
/* `ready` has its status. Texts are borrowed from the plugin. */
void hgi_opening_describe(const struct hgi_opened *plugin, uint32_t workers,
                          struct hgi_frame_ready *ready);

#endif
