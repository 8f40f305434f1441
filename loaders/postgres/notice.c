/* SPDX-License-Identifier: Apache-2.0 */
#include "notice.h"

#include <jansson.h>

#define SERVICES_SIZE                                                                              \
    (offsetof(struct hg_host_services, invalidate) +                                               \
     sizeof(((struct hg_host_services *)0)->invalidate))

struct notice {
    struct hg_host *host;
    const struct hg_host_services *services;
    struct hg_slice cache;
};

static enum hg_status invalidate(struct hg_host *host, const struct hg_host_services *services,
                                 const struct hg_invalidation *what)
{
    return services->size >= SERVICES_SIZE && services->invalidate
               ? services->invalidate(host, what)
               : HG_UNIMPLEMENTED;
}

enum hg_status notice_everything(struct hg_host *host, const struct hg_host_services *services)
{
    const struct hg_invalidation what = {.size = sizeof(what), .what = HG_INVALIDATED_ALL};

    return invalidate(host, services, &what);
}

/* Whether what we know the name of is what we can read: a number where a text is right, which is
 * how PostgreSQL writes an integer, must not be passed over beside a part that can be read. */
static bool is_readable(json_t *object)
{
    static const char *const texts[] = {"cache", "key", "user_id", "api_key_id", "tag", "user"};
    const json_t *all = json_object_get(object, "all");
    bool is_good = !all || json_is_boolean(all);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const json_t *value = json_object_get(object, texts[i]);

        is_good = is_good && (!value || json_is_null(value) || json_is_string(value));
    }
    return is_good;
}

/* Empty: none. */
static struct hg_slice text_of(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return json_is_string(value) ? hg_slice_of(json_string_value(value), json_string_length(value))
                                 : hg_slice_of(NULL, 0);
}

static bool give_key(const struct notice *notice, const struct hg_key *key)
{
    const struct hg_invalidation what = {
        .size = sizeof(what), .what = HG_INVALIDATED_KEY, .cache = notice->cache, .key = *key};

    return invalidate(notice->host, notice->services, &what) == HG_OK;
}

static bool give_name(const struct notice *notice, enum hg_invalidated kind, struct hg_slice name)
{
    const struct hg_invalidation what = {
        .size = sizeof(what), .what = kind, .cache = notice->cache, .name = name};

    return invalidate(notice->host, notice->services, &what) == HG_OK;
}

/* An API key of a user, and what it may use: asked for with its user, alone, or both. */
static bool give_pairs(const struct notice *notice, json_t *object)
{
    struct hg_key key = {.kind = HG_KEY_USER_API_KEY,
                         .user_id = text_of(object, "user_id"),
                         .api_key_id = text_of(object, "api_key_id")};
    bool is_given = false;

    if (key.api_key_id.len == 0) {
        return false;
    }
    if (key.user_id.len) {
        is_given = give_key(notice, &key);
        key.kind = HG_KEY_API_KEY_FEATURE;
        is_given = give_key(notice, &key) || is_given;
        key.is_standalone = true;
        is_given = give_key(notice, &key) || is_given;
    }
    key = (struct hg_key){
        .kind = HG_KEY_API_KEY_FEATURE, .api_key_id = key.api_key_id, .is_standalone = true};
    return give_key(notice, &key) || is_given;
}

/* One text may be a key of either kind; each cache takes its own. */
static bool give_keys(const struct notice *notice, json_t *object)
{
    struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = text_of(object, "key")};
    bool is_given = false;

    if (key.bytes.len) {
        is_given = give_key(notice, &key);
        key.kind = HG_KEY_KEY_HASH;
        is_given = give_key(notice, &key) || is_given;
    }
    return give_pairs(notice, object) || is_given;
}

static bool give_object(struct notice *notice, json_t *object)
{
    struct hg_slice tag = text_of(object, "tag");
    struct hg_slice user = text_of(object, "user");
    bool is_given = give_keys(notice, object);

    if (tag.len) {
        is_given = give_name(notice, HG_INVALIDATED_TAG, tag) || is_given;
    }
    if (user.len) {
        is_given = give_name(notice, HG_INVALIDATED_USER, user) || is_given;
    }
    if (json_is_true(json_object_get(object, "all"))) {
        const struct hg_invalidation what = {
            .size = sizeof(what), .what = HG_INVALIDATED_ALL, .cache = notice->cache};

        is_given = invalidate(notice->host, notice->services, &what) == HG_OK || is_given;
    }
    return is_given;
}

void notice_take(struct hg_host *host, const struct hg_host_services *services, const char *payload)
{
    json_t *object = json_loads(payload, JSON_REJECT_DUPLICATES, NULL);
    struct notice notice = {host, services, text_of(object, "cache")};

    if (!json_is_object(object) || !is_readable(object) || !give_object(&notice, object)) {
        if (*payload) { /* without one it means everything */
            services->log(
                host, HG_LOG_WARN,
                "a notification cannot be read or says nothing, so everything is invalid; "
                "{\"key\":\"...\"} is right (README.md of the plugin)");
        }
        (void)notice_everything(host, services);
    }
    json_decref(object);
}
