/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "proto/envelope.h"

struct hgi_op {
    struct hgi_map_node map;
    struct hgi_node age_node; /* in its principal's list, oldest first */
    struct hgi_node waiters;
    uint64_t principal;
    unsigned char id[HGI_OP_ID_LEN];
    uint64_t request_hash;
    int64_t begun_ms;
    bool is_done;
    bool is_remembered; /* false: there was no memory for the reply; a repeat is refused, not done
                           again */
    struct hg_bytes reply;
};

struct principal {
    uint64_t number;
    size_t count;
    struct hgi_node by_age;
};

struct hgi_ops {
    struct hgi_hash_key hash_key;
    struct hgi_lock lock;
    struct hgi_map map;
    struct principal principals[HGI_PRINCIPALS_MAX];
    size_t principal_count;
};

struct hgi_ops *hgi_ops_create(void)
{
    struct hgi_ops *ops = hgi_alloc(&hgi_heap, sizeof(*ops));

    if (!ops) {
        return NULL;
    }
    if (!hgi_map_init(&ops->map, &hgi_heap)) {
        hgi_free(&hgi_heap, ops);
        return NULL;
    }
    ops->hash_key = hgi_hash_key_new();
    hgi_lock_init(&ops->lock);
    return ops;
}

static void forget(struct hgi_ops *ops, struct principal *principal, struct hgi_op *op)
    HGI_REQUIRES(dispatch)
{
    hgi_map_remove(&ops->map, &op->map);
    hgi_list_remove(&op->age_node);
    principal->count--;
    hgi_bytes_deinit(&op->reply);
    hgi_free(&hgi_heap, op);
}

static struct hgi_op *oldest(struct principal *principal)
{
    return hgi_list_is_empty(&principal->by_age)
               ? NULL
               : HGI_CONTAINER(principal->by_age.next, struct hgi_op, age_node);
}

void hgi_ops_destroy(struct hgi_ops **ops)
{
    struct hgi_ops *old = *ops;

    if (!old) {
        return;
    }
    hgi_lock_dispatch(&old->lock);
    for (size_t i = 0; i < old->principal_count; i++) {
        struct hgi_op *op;

        while ((op = oldest(&old->principals[i])) != NULL) {
            HGI_BUG_ON(!op->is_done);
            forget(old, &old->principals[i], op);
        }
    }
    hgi_unlock_dispatch(&old->lock);
    hgi_map_deinit(&old->map);
    hgi_lock_deinit(&old->lock);
    hgi_free(&hgi_heap, old);
    *ops = NULL;
}

static struct principal *principal_of(struct hgi_ops *ops, uint64_t number) HGI_REQUIRES(dispatch)
{
    struct principal *principal;

    for (size_t i = 0; i < ops->principal_count; i++) {
        if (ops->principals[i].number == number) {
            return &ops->principals[i];
        }
    }
    if (ops->principal_count == HGI_PRINCIPALS_MAX) {
        return NULL;
    }
    principal = &ops->principals[ops->principal_count++];
    principal->number = number;
    principal->count = 0;
    hgi_list_init(&principal->by_age);
    return principal;
}

/* What is under way is never forgotten, so that its end finds it. */
static void expire(struct hgi_ops *ops, struct principal *principal, const struct hgi_now *now)
    HGI_REQUIRES(dispatch)
{
    struct hgi_op *op;

    while ((op = oldest(principal)) != NULL && op->is_done &&
           (principal->count >= HGI_OPS_MAX || now->boot_ms - op->begun_ms > HGI_OPS_KEEP_MS)) {
        forget(ops, principal, op);
    }
}

static uint64_t op_hash(const struct hgi_ops *ops, uint64_t principal, struct hg_slice op_id)
{
    unsigned char bytes[sizeof(principal) + HGI_OP_ID_LEN];

    memcpy(bytes, &principal, sizeof(principal));
    memcpy(bytes + sizeof(principal), op_id.data, HGI_OP_ID_LEN);
    return hgi_hash(&ops->hash_key, hg_slice_of(bytes, sizeof(bytes)));
}

static struct hgi_op *find(const struct hgi_ops *ops, uint64_t hash, uint64_t principal,
                           struct hg_slice op_id) HGI_REQUIRES(dispatch)
{
    struct hgi_map_node *node = hgi_map_find(&ops->map, hash);

    for (; node; node = hgi_map_find_next(node)) {
        struct hgi_op *op = HGI_CONTAINER(node, struct hgi_op, map);

        if (op->principal == principal && memcmp(op->id, op_id.data, HGI_OP_ID_LEN) == 0) {
            return op;
        }
    }
    return NULL;
}

static struct hgi_op *add(struct hgi_ops *ops, struct principal *principal, uint64_t hash,
                          struct hg_slice op_id, uint64_t request_hash, const struct hgi_now *now)
    HGI_REQUIRES(dispatch)
{
    struct hgi_op *op = principal->count < HGI_OPS_MAX ? hgi_alloc(&hgi_heap, sizeof(*op)) : NULL;

    if (!op) {
        return NULL;
    }
    op->principal = principal->number;
    memcpy(op->id, op_id.data, HGI_OP_ID_LEN);
    op->request_hash = request_hash;
    op->begun_ms = now->boot_ms;
    hgi_list_init(&op->waiters);
    hgi_bytes_init(&op->reply, &hgi_heap);
    hgi_map_insert(&ops->map, &op->map, hash);
    hgi_list_push_back(&principal->by_age, &op->age_node);
    principal->count++;
    return op;
}

enum hgi_op_state hgi_ops_begin(struct hgi_ops *ops, uint64_t principal, struct hg_slice op_id,
                                uint32_t method, struct hg_slice request, const struct hgi_now *now,
                                struct hgi_node *waiter, struct hgi_op **ret_op,
                                struct hg_bytes *ret_reply)
{
    uint64_t hash = op_hash(ops, principal, op_id);
    uint64_t request_hash = hgi_hash(&ops->hash_key, request) + method;
    enum hgi_op_state state = HGI_OP_NO_ROOM;
    struct principal *who;
    struct hgi_op *op;

    hgi_lock_dispatch(&ops->lock);
    who = principal_of(ops, principal);
    if (!who) {
        goto out;
    }
    expire(ops, who, now);
    op = find(ops, hash, principal, op_id);
    if (!op) {
        op = add(ops, who, hash, op_id, request_hash, now);
        if (op) {
            *ret_op = op;
            state = HGI_OP_FIRST;
        }
    } else if (op->request_hash != request_hash) {
        state = HGI_OP_MISMATCH;
    } else if (!op->is_done) {
        hgi_list_push_back(&op->waiters, waiter);
        state = HGI_OP_WAITING;
    } else if (op->is_remembered && hgi_bytes_set(ret_reply, hgi_bytes_slice(&op->reply))) {
        state = HGI_OP_REPEATED;
    }
out:
    hgi_unlock_dispatch(&ops->lock);
    return state;
}

void hgi_ops_end(struct hgi_ops *ops, struct hgi_op *op, struct hg_slice reply,
                 struct hgi_node *ret_waiters)
{
    hgi_lock_dispatch(&ops->lock);
    op->is_done = true;
    op->is_remembered = hgi_bytes_set(&op->reply, reply);
    hgi_list_move_all(&op->waiters, ret_waiters);
    hgi_unlock_dispatch(&ops->lock);
}
