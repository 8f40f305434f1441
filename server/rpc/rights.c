/* SPDX-License-Identifier: Apache-2.0 */
#include "rights.h"

#include "base/bytes.h"

#define PRINCIPALS_FROM (UINT64_C(1) << 32) /* beyond every uid */

/* NULL: the peer may. */
static const char *peer_refusal(const struct hgi_services *services, const struct hgi_peer *peer,
                                enum hgi_right right)
{
    bool is_owner = peer->access == HGI_ACCESS_OWNER;

    switch (right) {
    case HGI_RIGHT_DATA:
        return NULL;
    case HGI_RIGHT_OWNER:
        return is_owner ? NULL
                        : "this listener is for reading only; puts and invalidations need an owner "
                          "socket";
    case HGI_RIGHT_ADMIN:
        return is_owner && peer->is_ipc && (peer->uid == services->own_uid || peer->uid == 0)
                   ? NULL
                   : "administration needs the server's own user or root on an owner socket";
    }
    return "unknown right";
}

/* NULL: the token counts, and rpc->bearer says whose it is. */
static const char *read_token(struct hgi_rpc *rpc, enum hg_status *ret_status)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hg_slice value = {NULL, 0};
    size_t count = 0;

    for (size_t i = 0; i < rpc->request.metadata_count; i++) {
        if (hgi_slice_equal(rpc->request.metadata[i].name, hg_slice_text("authorization"))) {
            value = rpc->request.metadata[i].value;
            count++;
        }
    }
    *ret_status = HG_UNAUTHENTICATED;
    if (count == 0) {
        return "a token is needed here: metadata \"authorization\" of \"Bearer hg_...\"";
    }
    if (count > 1) {
        *ret_status = HG_INVALID_ARGUMENT;
        return "more than one \"authorization\" in one request";
    }
    return services->tokens && hgi_tokens_check(services->tokens, hgi_token_of_bearer(value),
                                                rpc->now.wall_ms, &rpc->bearer)
               ? NULL
               : "this token is not known here: it is wrong, has expired or has been revoked";
}

static const char *bearer_refusal(const struct hgi_principal *principal,
                                  const struct hgi_method_info *info)
{
    bool may = false;

    switch (info->scope) {
    case HGI_SCOPE_NONE:
        may = true;
        break;
    case HGI_SCOPE_CACHE:
        may = hgi_principal_may_any(principal, info->verb);
        break;
    case HGI_SCOPE_SERVER:
        may = hgi_principal_may_all(principal, info->verb);
        break;
    }
    return may ? NULL : HGI_RIGHTS_REFUSED;
}

/* NULL: it may be asked at this listener, by whomever. */
static const char *listener_refusal(const struct hgi_peer *peer, const struct hgi_method_info *info)
{
    bool may = peer->serves == HGI_SERVES_ALL || info->right == HGI_RIGHT_ADMIN ||
               info->verb == HGI_VERB_CLEAR || info->scope == HGI_SCOPE_NONE;

    return may ? NULL : "this listener is for administration, invalidations and health only";
}

bool hgi_rights_begin(struct hgi_rpc *rpc)
{
    const struct hgi_peer *peer = &rpc->asker->peer;
    const struct hgi_method_info *info = hgi_method_info(rpc->request.method);
    enum hg_status status = HG_PERMISSION_DENIED;
    const char *refused = peer->access == HGI_ACCESS_TOKEN ? read_token(rpc, &status) : NULL;

    if (!refused) {
        status = HG_PERMISSION_DENIED;
        refused = listener_refusal(peer, info);
    }
    if (!refused) {
        refused = peer->access == HGI_ACCESS_TOKEN
                      ? bearer_refusal(rpc->bearer.principal, info)
                      : peer_refusal(hgi_dispatch_services(rpc->dispatch), peer, info->right);
    }
    if (refused) {
        hgi_rpc_fail(rpc, status, refused);
    }
    return !refused;
}

bool hgi_rights_cover(const struct hgi_rpc *rpc, struct hg_slice cache, enum hgi_verb verb)
{
    const struct hgi_principal *principal = rpc->bearer.principal;

    if (principal) {
        return cache.len ? hgi_principal_may(principal, cache, verb)
                         : hgi_principal_may_all(principal, verb);
    }
    /* The method's own verb was looked at before it began; more than that only owners may. */
    return verb == hgi_method_info(rpc->request.method)->verb ||
           rpc->asker->peer.access == HGI_ACCESS_OWNER;
}

bool hgi_rights_last(const struct hgi_rpc *rpc)
{
    return !rpc->bearer.principal || hgi_method_info(rpc->request.method)->mutates ||
           hgi_tokens_is_live(hgi_dispatch_services(rpc->dispatch)->tokens, &rpc->bearer);
}

uint64_t hgi_rights_caller(const struct hgi_rpc *rpc)
{
    return rpc->bearer.principal ? PRINCIPALS_FROM + rpc->bearer.principal->number
                                 : rpc->asker->peer.uid;
}
