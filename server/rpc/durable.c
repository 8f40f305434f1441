/* SPDX-License-Identifier: Apache-2.0 */
#include "durable.h"

const char *hgi_durable_refusal(enum hg_status status)
{
    return status == HG_UNAVAILABLE ? "the server is stopping"
                                    : "the snapshot has too much waiting to be written";
}

/* Accepted: `done` will come. */
static void unless_accepted(enum hg_status status, hgi_durable_fn done, void *context)
{
    if (status != HG_OK) {
        const struct hgi_saved refused = {
            .status = HG_UNAVAILABLE,
            .sentence = hgi_durable_refusal(status),
        };

        done(context, &refused);
    }
}

static void nothing_to_save(hgi_durable_fn done, void *context)
{
    const struct hgi_saved saved = {.status = HG_OK, .sentence = ""};

    done(context, &saved);
}

static struct hg_slice name_of(const struct hgi_cache *cache)
{
    return hg_slice_text(hgi_cache_name(cache));
}

void hgi_durable_clear(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                       uint64_t generation, hgi_durable_fn done, void *context)
{
    if (!snapshotter) {
        nothing_to_save(done, context);
        return;
    }
    unless_accepted(hgi_snapshotter_clear(snapshotter, name_of(cache), generation, done, context),
                    done, context);
}

void hgi_durable_forget(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                        const struct hgi_cover *cover, uint64_t generation, hgi_durable_fn done,
                        void *context)
{
    if (!snapshotter) {
        nothing_to_save(done, context);
        return;
    }
    unless_accepted(
        hgi_snapshotter_forget(snapshotter, name_of(cache), cover, generation, done, context), done,
        context);
}

void hgi_durable_put(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                     const struct hgi_entry *entry, hgi_durable_fn done, void *context)
{
    if (!snapshotter) {
        nothing_to_save(done, context);
        return;
    }
    unless_accepted(hgi_snapshotter_put(snapshotter, name_of(cache), entry, done, context), done,
                    context);
}
