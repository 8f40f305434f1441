/* SPDX-License-Identifier: Apache-2.0 */
/* invalidation: what a plugin says is no longer so, against the rules of loader.h, as a frame says
 * it.
 * Owns:     nothing; the frame borrows from what was given and from ret_key.
 * Threads:  any.
 * Limits:   HG_KEY_MAX, HG_TAG_MAX.
 * Errors:   false: it names nothing that can be invalidated.
 * Not here: which caches have such a key (the server). */
#ifndef HGI_LOADERS_CONTRACT_INVALIDATION_H
#define HGI_LOADERS_CONTRACT_INVALIDATION_H

#include "proto/frame.h"

HG_NODISCARD bool hgi_invalidation_check(const struct hg_invalidation *given,
                                         struct hgi_key *ret_key,
                                         struct hgi_frame_invalidate *ret_frame);

#endif
