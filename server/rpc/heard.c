/* SPDX-License-Identifier: Apache-2.0 */
#include "heard.h"

#include "base/log.h"
#include "durable.h"
#include "journal.h"
#include "server/cache/veil.h"

static void tell(struct hgi_dispatch *dispatch, enum hg_event_kind kind,
                 const struct hgi_cache *cache, uint64_t generation, struct hg_slice key,
                 const struct hgi_now *now)
{
    const struct hgi_change change = {
        .kind = kind, .name = hgi_cache_name(cache), .generation = generation};
    bool has_key = key.len > 0 && !hgi_veil_is_on(key);

    hgi_journal_append(hgi_dispatch_journal(dispatch), &change, &key, has_key ? 1 : 0,
                       now->wall_ms);
}

/* Nobody waits for it. */
static void stored(void *context, const struct hgi_saved *saved)
{
    const struct hgi_cache *cache = context;

    if (saved->status != HG_OK) {
        hgi_log(HG_LOG_ERROR, "cache %s: what its loader invalidated is not on disk: %s",
                hgi_cache_name(cache), saved->sentence);
    }
}

static void clear(struct hgi_dispatch *dispatch, struct hgi_cache *cache, const struct hgi_now *now)
{
    struct hgi_report report;

    hgi_cache_clear(cache, now, &report);
    tell(dispatch, HG_EVENT_CLEAR, cache, report.generation, hg_slice_of(NULL, 0), now);
    hgi_durable_clear(hgi_dispatch_services(dispatch)->snapshotter, cache, report.generation,
                      stored, cache);
}

static void invalidate(struct hgi_dispatch *dispatch, struct hgi_cache *cache,
                       const struct hgi_cover *cover, const struct hgi_now *now)
{
    struct hgi_report report;

    hgi_cache_invalidate_cover(cache, cover, now, &report);
    tell(dispatch, HG_EVENT_INVALIDATE, cache, report.generation,
         cover->key_count ? cover->keys[0] : hg_slice_of(NULL, 0), now);
    hgi_durable_forget(hgi_dispatch_services(dispatch)->snapshotter, cache, cover,
                       report.generation, stored, cache);
}

/* The bytes are a loader's: they are a key of this cache only if they can be read as one and its
 * type takes it. */
static bool find_key(const struct hgi_registered *registered, struct hg_slice said,
                     struct hgi_key *ret_key)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_key typed;

    return hgi_key_decode(said, &typed) &&
           hgi_registered_key(registered, &typed, ret_key, NULL, sentence) == HG_OK;
}

/* Typed keys that begin with a user, or auth values. */
static bool has_users(const struct hgi_registered *registered)
{
    return registered->value_type == HG_TYPE_AUTH ||
           (registered->key_type != HGI_KEYS_BYTES && registered->key_type != HGI_KEYS_KEY_HASH);
}

static bool hear_for(struct hgi_dispatch *dispatch, const struct hgi_registered *registered,
                     const struct hgi_frame_invalidate *what, const struct hgi_now *now)
{
    struct hgi_cover cover = {.keys = NULL};
    struct hg_slice slice;
    struct hgi_key key;

    switch (what->what) {
    case HG_INVALIDATED_ALL:
        clear(dispatch, registered->cache, now);
        return true;
    case HG_INVALIDATED_KEY:
        if (!find_key(registered, what->key, &key)) {
            return false;
        }
        slice = hgi_key_slice(&key);
        cover.keys = &slice;
        cover.key_count = 1;
        break;
    case HG_INVALIDATED_TAG:
        cover.tags = &what->name;
        cover.tag_count = 1;
        break;
    case HG_INVALIDATED_USER:
        cover.first_part = hgi_slice_trim(what->name);
        if (!has_users(registered) || !cover.first_part.len) {
            return false;
        }
        break;
    }
    invalidate(dispatch, registered->cache, &cover, now);
    return true;
}

bool hgi_heard(void *context, const char *loader, const struct hgi_frame_invalidate *what,
               const struct hgi_now *now)
{
    struct hgi_dispatch *dispatch = context;
    const struct hgi_registry *registry = hgi_dispatch_services(dispatch)->registry;
    bool is_found = false;

    for (size_t i = 0; i < hgi_registry_count(registry); i++) {
        const struct hgi_registered *registered = hgi_registry_at(registry, i);
        const char *filled_by = registered->loader; /* a reload may change it just now */
        struct hg_slice name = hg_slice_text(hgi_cache_name(registered->cache));

        if (filled_by && strcmp(filled_by, loader) == 0 &&
            (what->cache.len == 0 || hgi_slice_equal(what->cache, name))) {
            is_found = hear_for(dispatch, registered, what, now) || is_found;
        }
    }
    return is_found;
}
