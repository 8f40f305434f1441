/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <stdio.h>

#include "base/kind.h"
#include "proto/codec.h"
#include "proto/value.h"

_Static_assert(HGI_ANSWER_TEXT_MAX >= HGI_SENTENCE_MAX, "a value's sentence fits");

/* As ABI 1 has it, shorter is none: without .size an expiry would be passed over unseen. */
#define LIFETIME_SIZE_MIN (offsetof(struct hg_lifetime, expires_at_ms) + sizeof(int64_t))

bool hgi_answer_pack(const struct hg_auth *auth, struct hg_bytes *ret_bytes)
{
    return hgi_auth_encode(auth, ret_bytes);
}

static void fail(struct hgi_frame_done *done, enum hg_status status, const char *text)
{
    memset(done, 0, sizeof(*done));
    done->status = status;
    done->message = hg_slice_of(text, strnlen(text, HGI_ANSWER_TEXT_MAX));
}

/* The plugin may have been built against a longer or shorter structure. */
static struct hg_lifetime own_lifetime(const struct hg_lifetime *given)
{
    struct hg_lifetime own;
    size_t size = given ? given->size : 0;

    memset(&own, 0, sizeof(own));
    if (size) {
        memcpy(&own, given, size < sizeof(own) ? size : sizeof(own));
    }
    return own;
}

static const char *given_name(enum hgi_answer_kind kind)
{
    return kind == HGI_ANSWER_AUTH ? "an auth value" : kind == HGI_ANSWER_JSON ? "JSON" : "bytes";
}

/* JSON is bytes too, and bytes may be JSON (they are checked); auth stands alone, because any bytes
 * may by chance read as a packed auth value. */
static bool fits(enum hgi_answer_kind kind, enum hg_value_type type)
{
    return (kind == HGI_ANSWER_AUTH) == (type == HG_TYPE_AUTH);
}

static void check_value(struct hgi_answer_draft *draft, enum hg_value_type type,
                        size_t value_max_bytes, struct hgi_frame_done *ret_done)
{
    char why[HGI_SENTENCE_MAX] = "";

    if (draft->kind <= HGI_ANSWER_AUTH && !fits(draft->kind, type)) {
        snprintf(draft->sentence, sizeof(draft->sentence),
                 "the loader gave %s, but the cache holds %s", given_name(draft->kind),
                 hgi_value_type_name(type));
        fail(ret_done, HG_INTERNAL, draft->sentence);
        return;
    }
    if (hgi_value_check(type, draft->value, value_max_bytes, &ret_done->outcome,
                        &ret_done->expires_at_ms, &draft->user, why) != HG_OK) {
        snprintf(draft->sentence, sizeof(draft->sentence), "the loader gave a wrong value: %.220s",
                 why);
        fail(ret_done, HG_INTERNAL, draft->sentence);
        return;
    }
    ret_done->value = draft->value;
    ret_done->user = hg_slice_of(draft->user.bytes, draft->user.len);
}

/* False: it breaks a rule, and the Done is that error. */
static bool check_etag(struct hgi_answer_draft *draft, const struct hg_lifetime *lifetime,
                       struct hgi_frame_done *ret_done)
{
    if (lifetime->etag.len > HG_ETAG_MAX) {
        snprintf(draft->sentence, sizeof(draft->sentence),
                 "the loader gave an etag of %zu bytes; at most %u are allowed", lifetime->etag.len,
                 HG_ETAG_MAX);
        fail(ret_done, HG_INTERNAL, draft->sentence);
        return false;
    }
    ret_done->etag = lifetime->etag;
    return true;
}

static void check_unchanged(const struct hgi_answer_draft *draft,
                            const struct hg_lifetime *lifetime, struct hgi_frame_done *ret_done)
{
    if (!draft->has_old_value) {
        fail(ret_done, HG_INTERNAL, "the loader said \"unchanged\" of a value it was not given");
    } else if (lifetime->no_store) {
        fail(ret_done, HG_INTERNAL, "the loader said \"unchanged\" and no_store at once");
    } else {
        ret_done->is_unchanged = true;
    }
}

/* False: the tags break a rule, and the Done is that error. */
static bool check_tags(struct hgi_answer_draft *draft, const struct hg_lifetime *lifetime,
                       struct hgi_frame_done *ret_done)
{
    if (lifetime->tag_count > HG_TAGS_MAX) {
        snprintf(draft->sentence, sizeof(draft->sentence),
                 "the loader gave %zu tags; at most %u are allowed", lifetime->tag_count,
                 HG_TAGS_MAX);
        fail(ret_done, HG_INTERNAL, draft->sentence);
        return false;
    }
    for (size_t i = 0; i < lifetime->tag_count; i++) {
        size_t len = lifetime->tags[i].len;

        if (len == 0 || len > HG_TAG_MAX) {
            snprintf(draft->sentence, sizeof(draft->sentence),
                     "the loader gave a tag of %zu bytes; it must have 1 to %u", len, HG_TAG_MAX);
            fail(ret_done, HG_INTERNAL, draft->sentence);
            return false;
        }
    }
    ret_done->tags = lifetime->tags;
    ret_done->tag_count = lifetime->tag_count;
    return true;
}

bool hgi_answer_is_error(enum hg_status status)
{
    return status == HG_UNKNOWN ||
           (status != HG_OK && strcmp(hg_status_name(status), "UNKNOWN") != 0);
}

void hgi_answer_check(struct hgi_answer_draft *draft, enum hg_value_type type,
                      size_t value_max_bytes, struct hgi_frame_done *ret_done)
{
    struct hg_lifetime lifetime = own_lifetime(draft->lifetime);

    memset(ret_done, 0, sizeof(*ret_done));
    if (draft->kind == HGI_ANSWER_ERROR) {
        if (!hgi_answer_is_error(draft->status)) {
            fail(ret_done, HG_INTERNAL, "the loader failed with a status that is none");
        } else {
            fail(ret_done, draft->status,
                 draft->text && *draft->text ? draft->text : "the loader gave no reason");
        }
        return;
    }
    if (draft->lifetime && draft->lifetime->size < LIFETIME_SIZE_MIN) {
        fail(ret_done, HG_INTERNAL, "the loader gave a lifetime whose .size is not set");
        return;
    }
    if (lifetime.ttl_ms < 0 || lifetime.stale_ttl_ms < 0 || lifetime.expires_at_ms < 0) {
        fail(ret_done, HG_INTERNAL, "the loader gave a negative time");
        return;
    }
    ret_done->outcome = draft->kind == HGI_ANSWER_ABSENT   ? HG_ABSENT
                        : draft->kind == HGI_ANSWER_DENIED ? HG_DENIED
                                                           : HG_VALUE;
    ret_done->no_store = lifetime.no_store;
    ret_done->ttl_ms = lifetime.ttl_ms;
    ret_done->stale_ttl_ms = lifetime.stale_ttl_ms;
    ret_done->expires_at_ms = lifetime.expires_at_ms;
    if (draft->kind == HGI_ANSWER_UNCHANGED) {
        check_unchanged(draft, &lifetime, ret_done);
    } else if (check_tags(draft, &lifetime, ret_done) && check_etag(draft, &lifetime, ret_done)) {
        check_value(draft, type, value_max_bytes, ret_done);
    }
}
