/* SPDX-License-Identifier: Apache-2.0 */
#include "invalidation.h"

/* As this ABI first had it; shorter is none. */
#define SIZE_MIN (offsetof(struct hg_invalidation, name) + sizeof(struct hg_slice))

bool hgi_invalidation_check(const struct hg_invalidation *given, struct hgi_key *ret_key,
                            struct hgi_frame_invalidate *ret_frame)
{
    static const enum hgi_key_type types[] = {
        [HG_KEY_BYTES] = HGI_KEYS_BYTES,
        [HG_KEY_KEY_HASH] = HGI_KEYS_KEY_HASH,
        [HG_KEY_USER_API_KEY] = HGI_KEYS_USER_API_KEY,
        [HG_KEY_API_KEY_FEATURE] = HGI_KEYS_API_KEY_FEATURE,
    };
    char sentence[HGI_SENTENCE_MAX];

    if (!given || given->size < SIZE_MIN || given->cache.len > HG_TAG_MAX) {
        return false;
    }
    *ret_frame = (struct hgi_frame_invalidate){.what = given->what, .cache = given->cache};
    switch (given->what) {
    case HG_INVALIDATED_ALL:
        return true;
    case HG_INVALIDATED_KEY:
        if (given->key.kind < HG_KEY_BYTES || given->key.kind > HG_KEY_API_KEY_FEATURE ||
            hgi_key_encode(types[given->key.kind], &given->key, ret_key, sentence) != HG_OK) {
            return false;
        }
        ret_frame->key = hgi_key_slice(ret_key);
        return true;
    case HG_INVALIDATED_TAG:
    case HG_INVALIDATED_USER:
        ret_frame->name = given->name;
        return given->name.len > 0 &&
               given->name.len <= (given->what == HG_INVALIDATED_TAG ? HG_TAG_MAX : HG_KEY_MAX);
    }
    return false;
}
