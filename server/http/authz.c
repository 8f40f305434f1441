/* SPDX-License-Identifier: Apache-2.0 */
/* One contract for nginx, Caddy, Traefik and Envoy: exactly 200 lets in, 401 and 403 refuse, 503 is
 * that nobody knows; no body ever; what is to be passed on stands in headers that are always there.
 * The decision is a GetOrLoad like any other. */
#include "authz.h"

#include <stdio.h>
#include <string.h>

#include "credential.h"
#include "facts.h"
#include "http.h"
#include "identity.h"

#define PREFIX     "/authz/"
#define CACHE_NAME "herdgate" /* in Cache-Status (RFC 9211) */

/* The configured cache that the path names, and what stands behind its name. */
static const struct hgi_authz_config *find_cache(const struct hgi_http_exchange *exchange,
                                                 struct hg_slice *ret_rest)
{
    const struct hgi_config *config = hgi_http_config(exchange->http);
    const size_t prefix_len = strlen(PREFIX);
    const char *path = exchange->request.path.data;
    size_t len = exchange->request.path.len;

    if (len < prefix_len || memcmp(path, PREFIX, prefix_len) != 0) {
        return NULL;
    }
    path += prefix_len;
    len -= prefix_len;
    for (size_t i = 0; i < config->authz_count; i++) {
        size_t name_len = strlen(config->authzs[i].cache);

        if (len >= name_len && memcmp(path, config->authzs[i].cache, name_len) == 0 &&
            (len == name_len || path[name_len] == '/')) {
            *ret_rest =
                len == name_len ? hg_slice_text("/") : hg_slice_of(path + name_len, len - name_len);
            return &config->authzs[i];
        }
    }
    return NULL;
}

/* Nothing set so far is told: who is refused learns no identity. */
static struct hgi_http_response *decide(struct hgi_http_exchange *exchange, unsigned status)
{
    hgi_http_response_reset(&exchange->response, status);
    hgi_http_response_say(&exchange->response, "Cache-Control", "no-store");
    return &exchange->response;
}

static void challenge(struct hgi_http_exchange *exchange, const struct hgi_authz_config *authz,
                      bool is_shown)
{
    bool is_bearer = authz->source == HGI_CREDENTIAL_BEARER;

    hgi_http_response_say(decide(exchange, 401), "WWW-Authenticate", "%s realm=\"%s\"%s",
                          is_bearer ? "Bearer" : "ApiKey", authz->realm,
                          is_bearer && is_shown ? ", error=\"invalid_token\"" : "");
}

/* How old the answer is, and how it was come by. */
static void tell_age(struct hgi_http_response *response, const struct hgi_msg_answer *answer)
{
    const long long ttl_s = (long long)(answer->ttl_left_ms / 1000);

    switch (answer->source) {
    case HG_SOURCE_FRESH:
        hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; hit; ttl=%lld", ttl_s);
        break;
    case HG_SOURCE_STALE:
        hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; hit; detail=stale");
        break;
    case HG_SOURCE_JOINED:
        hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; fwd=miss; collapsed");
        break;
    case HG_SOURCE_LOADED:
    case HG_SOURCE_LEASED:
    case HG_SOURCE_NONE:
        hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; fwd=miss%s",
                              answer->is_fenced || !ttl_s ? "" : "; stored");
        break;
    }
    hgi_http_response_say(response, "Age", "%llu", (unsigned long long)(answer->age_ms / 1000));
}

static void fail(struct hgi_http_exchange *exchange, const char *why, uint32_t retry_after_ms)
{
    const struct hgi_authz_config *authz = exchange->state;
    struct hgi_http_response *response = decide(exchange, authz->fail == HGI_FAIL_OPEN ? 200 : 503);

    hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; fwd=miss; detail=%s", why);
    if (authz->fail != HGI_FAIL_OPEN) {
        hgi_http_response_say(response, "Retry-After", "%u",
                              retry_after_ms ? (retry_after_ms + 999) / 1000 : 1);
    } else if (!hgi_identity_say(authz, NULL, response)) {
        hgi_http_response_reset(response, 503);
    }
}

/* What a loader gave cannot be passed on: nobody is let in as somebody else, whatever `fail` says.
 */
static void refuse_identity(struct hgi_http_exchange *exchange)
{
    struct hgi_http_response *response = decide(exchange, 503);

    hgi_http_response_say(response, "Cache-Status", CACHE_NAME "; detail=identity");
    hgi_http_response_say(response, "Retry-After", "1");
}

static void let_in(struct hgi_http_exchange *exchange, const struct hgi_msg_answer *answer)
{
    struct hgi_http_response *response = decide(exchange, 200);

    if (!hgi_identity_say(exchange->state, answer, response)) {
        refuse_identity(exchange);
        return;
    }
    tell_age(response, answer);
}

static void answered(struct hgi_http_exchange *exchange)
{
    const struct hgi_reply *reply = &exchange->question.reply;
    struct hgi_msg_answer answer;
    char sentence[HGI_SENTENCE_MAX];

    if (reply->status != HG_OK) {
        fail(exchange, hg_status_name(reply->status), reply->retry_after_ms);
        return;
    }
    if (hgi_answer_decode(reply->payload, &exchange->arena, &answer, sentence) != HG_OK) {
        fail(exchange, hg_status_name(HG_INTERNAL), 0);
        return;
    }
    switch (answer.outcome) {
    case HG_VALUE:
        let_in(exchange, &answer);
        return;
    case HG_DENIED:
        tell_age(decide(exchange, 403), &answer);
        return;
    case HG_ABSENT:
        challenge(exchange, exchange->state, true);
        tell_age(&exchange->response, &answer);
        return;
    case HG_NOT_CACHED:
        break; /* only a peek is told that */
    }
    fail(exchange, hg_status_name(HG_INTERNAL), 0);
}

/* Two parts for caches that have them, so that an invalidation of the first one covers all that was
 * decided for a credential; else one, with a line's end between, which neither has. */
static bool make_key(const struct hgi_authz_config *authz, struct hg_slice credential,
                     struct hg_slice facts, struct hgi_arena *arena, struct hg_key *ret_key)
{
    char *joined;

    if (authz->key_type == HGI_KEYS_USER_API_KEY ||
        (authz->key_type == HGI_KEYS_AUTH && facts.len)) {
        *ret_key = (struct hg_key){
            .kind = HG_KEY_USER_API_KEY, .user_id = credential, .api_key_id = facts};
        return true;
    }
    *ret_key =
        (struct hg_key){.kind = authz->key_type == HGI_KEYS_BYTES ? HG_KEY_BYTES : HG_KEY_KEY_HASH,
                        .bytes = credential};
    if (!facts.len) {
        return true;
    }
    joined = hgi_arena_alloc(arena, credential.len + 1 + facts.len);
    if (!joined) {
        return false;
    }
    memcpy(joined, credential.data, credential.len);
    joined[credential.len] = '\n';
    memcpy(joined + credential.len + 1, facts.data, facts.len);
    ret_key->bytes = hg_slice_of(joined, credential.len + 1 + facts.len);
    return true;
}

static void ask(struct hgi_http_exchange *exchange, const struct hg_key *key)
{
    const struct hgi_authz_config *authz = exchange->state;
    const struct hgi_msg_get message = {
        .cache = hg_slice_text(authz->cache), .key = *key, .max_age_ms = -1};

    exchange->question.timeout_ms = (uint32_t)authz->timeout_ms;
    hgi_http_ask(exchange, HGI_METHOD_GET_OR_LOAD, answered);
    if (!hgi_get_request_encode(&message, &exchange->question.payload)) {
        exchange->answered = NULL;
        fail(exchange, hg_status_name(HG_RESOURCE_EXHAUSTED), 0);
    }
}

/* 400 where the request is wrong. */
static bool read_facts(struct hgi_http_exchange *exchange, struct hg_slice rest,
                       struct hgi_facts *ret_facts, struct hg_slice *ret_joined)
{
    const struct hgi_authz_config *authz = exchange->state;

    *ret_joined = hg_slice_of(NULL, 0);
    return hgi_facts_read(&exchange->request, authz->facts_from, rest, &exchange->arena,
                          ret_facts) &&
           (!authz->facts || hgi_facts_join(ret_facts, authz->facts, &exchange->arena, ret_joined));
}

void hgi_http_authz(struct hgi_http_exchange *exchange)
{
    struct hg_slice rest = {NULL, 0};
    const struct hgi_authz_config *authz = find_cache(exchange, &rest);
    struct hg_slice credential = {NULL, 0};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_facts facts;
    struct hg_slice joined;
    struct hgi_key canonical;
    struct hg_key key;

    exchange->state = authz;
    if (!authz) {
        (void)decide(exchange, 403);
        return;
    }
    if (!read_facts(exchange, rest, &facts, &joined)) {
        (void)decide(exchange, 400);
        return;
    }
    switch (hgi_credential_find(authz, &exchange->request, facts.query, &exchange->arena,
                                &credential)) {
    case HGI_CREDENTIAL_FOUND:
        break;
    case HGI_CREDENTIAL_NONE:
        challenge(exchange, authz, false);
        return;
    case HGI_CREDENTIAL_WRONG:
        (void)decide(exchange, 400);
        return;
    }
    if ((authz->hash == HGI_CREDENTIAL_SHA256 &&
         !hgi_credential_sha256(credential, &exchange->arena, &credential)) ||
        !make_key(authz, credential, joined, &exchange->arena, &key)) {
        fail(exchange, hg_status_name(HG_RESOURCE_EXHAUSTED), 0);
        return;
    }
    /* What can be no key of the cache, nobody has: too long, most likely. */
    if (hgi_key_encode(authz->key_type, &key, &canonical, sentence) != HG_OK) {
        challenge(exchange, authz, true);
        return;
    }
    explicit_bzero(canonical.data, canonical.len);
    ask(exchange, &key);
}
