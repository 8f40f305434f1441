/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define DOUBLINGS_MAX 16

struct failure {
    struct hgi_map_node map;
    struct hgi_node age_node;
    enum hg_status status;
    int64_t pause_ms;
    int64_t until_ms;
    size_t key_len;
    size_t message_len;
    char message[HGI_MESSAGE_MAX];
    unsigned char key[];
};

bool hgi_failures_init(struct hgi_failures *failures, const struct hgi_allocator *allocator,
                       size_t max)
{
    failures->allocator = allocator;
    failures->count = 0;
    failures->max = max;
    hgi_list_init(&failures->by_age);
    return hgi_map_init(&failures->map, allocator);
}

static void drop(struct hgi_failures *failures, struct failure *failure)
{
    hgi_map_remove(&failures->map, &failure->map);
    hgi_list_remove(&failure->age_node);
    failures->count--;
    explicit_bzero(failure->key, failure->key_len);
    hgi_free(failures->allocator, failure);
}

static void drop_all(struct hgi_failures *failures)
{
    while (!hgi_list_is_empty(&failures->by_age)) {
        drop(failures, HGI_CONTAINER(failures->by_age.next, struct failure, age_node));
    }
}

void hgi_failures_deinit(struct hgi_failures *failures)
{
    if (failures->map.buckets) {
        drop_all(failures);
        hgi_map_deinit(&failures->map);
    }
}

void hgi_failures_forget_all(struct hgi_failures *failures)
{
    drop_all(failures);
}

static struct failure *find(const struct hgi_failures *failures, uint64_t hash, struct hg_slice key)
{
    struct hgi_map_node *node = hgi_map_find(&failures->map, hash);

    for (; node; node = hgi_map_find_next(node)) {
        struct failure *failure = HGI_CONTAINER(node, struct failure, map);

        if (hgi_slice_equal(hg_slice_of(failure->key, failure->key_len), key)) {
            return failure;
        }
    }
    return NULL;
}

bool hgi_failures_find(const struct hgi_failures *failures, uint64_t hash, struct hg_slice key,
                       int64_t now_ms, struct hgi_failure_copy *ret_failure)
{
    const struct failure *failure = find(failures, hash, key);

    if (!failure || now_ms >= failure->until_ms) {
        return false;
    }
    ret_failure->status = failure->status;
    ret_failure->left_ms = failure->until_ms - now_ms;
    ret_failure->message_len = failure->message_len;
    memcpy(ret_failure->message, failure->message, failure->message_len);
    return true;
}

static struct failure *add(struct hgi_failures *failures, uint64_t hash, struct hg_slice key)
{
    struct failure *failure = hgi_alloc(failures->allocator, sizeof(*failure) + key.len);

    if (!failure) {
        return NULL;
    }
    if (failures->count >= failures->max) {
        drop(failures, HGI_CONTAINER(failures->by_age.next, struct failure, age_node));
    }
    memcpy(failure->key, key.data, key.len);
    failure->key_len = key.len;
    hgi_list_init(&failure->age_node);
    hgi_map_insert(&failures->map, &failure->map, hash);
    failures->count++;
    return failure;
}

void hgi_failures_remember(struct hgi_failures *failures, uint64_t hash, struct hg_slice key,
                           const struct hgi_answer *error, int64_t pause_ms, int64_t now_ms)
{
    struct failure *failure = find(failures, hash, key);

    if (failure) {
        int64_t most_ms = pause_ms * DOUBLINGS_MAX;

        failure->pause_ms = failure->pause_ms * 2 < most_ms ? failure->pause_ms * 2 : most_ms;
    } else {
        failure = add(failures, hash, key);
        if (!failure) {
            return;
        }
        failure->pause_ms = pause_ms;
    }
    failure->status = error->status;
    failure->until_ms = now_ms + failure->pause_ms;
    failure->message_len =
        error->message.len < HGI_MESSAGE_MAX ? error->message.len : HGI_MESSAGE_MAX;
    if (failure->message_len) {
        memcpy(failure->message, error->message.data, failure->message_len);
    }
    hgi_list_remove(&failure->age_node);
    hgi_list_push_back(&failures->by_age, &failure->age_node);
}

void hgi_failures_forget(struct hgi_failures *failures, uint64_t hash, struct hg_slice key)
{
    struct failure *failure = find(failures, hash, key);

    if (failure) {
        drop(failures, failure);
    }
}
