/* SPDX-License-Identifier: Apache-2.0 */
/* cache_time: whether the time that a refusal takes says if there is a cache of that name.
 * Usage: cache_time TRIES   (scripts/timing runs it, in an optimised build)
 *
 * Whole requests, as a connection hands them over, of a principal who may use one cache and asks
 * for another: one there is, or one there is not, with a name of the same length. The last line
 * asks the same of a principal who may use all: if that difference is not seen, the measurement
 * sees nothing, and the program fails. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "lasting.h"
#include "proto/codec.h"
#include "server/rpc/dispatch.h"
#include "token_file.h"
#include "welch.h"

#define BATCH     16
#define CACHES    64
#define NAME_SIZE 16

enum subject { OWN_ONLY, EVERYTHING, SUBJECT_COUNT };

static const struct hgi_grant grants[SUBJECT_COUNT] = {
    {"own", ~0u},
    {HGI_EVERY_CACHE, ~0u},
};
static struct hgi_principal principal = {.name = "gateway", .grant_count = 1};

static struct hgi_registry *registry;
static struct hgi_dispatch *dispatch;
static struct hgi_asker asker;
static struct hg_bytes requests[2][CACHES]; /* for caches there are not, and there are */
static struct hg_bytes shown; /* one place for all, so that only what it says differs */

static struct hg_bytes answer;

static void keep_answer(struct hgi_asker *who, const struct hgi_sp_route *route,
                        const struct hgi_pieces *body)
{
    (void)who;
    (void)route;
    answer.len = 0;
    if (!hgi_pieces_append(body, &answer)) {
        give_up("no memory");
    }
}

/* ---- a server ---- */

static void name_cache(bool is_there, size_t index, char ret_name[NAME_SIZE])
{
    snprintf(ret_name, NAME_SIZE, "%s-%02zu", is_there ? "present" : "nowhere", index);
}

static void add_cache(const char *name)
{
    const struct hgi_policy policy = lasting_policy();
    const struct hgi_cache_options options = {
        .name = name, .policy = &policy, .start_generation = 1, .seed = 1};
    struct hgi_registered registered = {.cache = hgi_cache_create(&hgi_heap, &options),
                                        .key_type = HGI_KEYS_BYTES,
                                        .value_type = HG_TYPE_BYTES};

    if (!registered.cache || !hgi_registry_add(registry, &registered)) {
        give_up("a cache cannot be made");
    }
}

static void begin(void)
{
    static const struct hgi_limits limits = {.value_max_bytes = 1024, .message_max_bytes = 8192};
    const struct hgi_peer peer = {.access = HGI_ACCESS_TOKEN};
    struct hgi_services services = {.limits = &limits, .epoch = 1};
    char name[NAME_SIZE];

    token_file_open(&principal);
    registry = hgi_registry_create(&hgi_heap);
    if (!registry) {
        give_up("no memory");
    }
    add_cache("own");
    for (size_t i = 0; i < CACHES; i++) {
        name_cache(true, i, name);
        add_cache(name);
    }
    services.registry = registry;
    services.tokens = tokens;
    dispatch = hgi_dispatch_create(&services);
    if (!dispatch) {
        give_up("no memory");
    }
    hgi_asker_init(&asker, &peer, keep_answer);
    hgi_bytes_init(&answer, &hgi_heap);
    hgi_bytes_init(&shown, &hgi_heap);
}

static void end(void)
{
    struct hgi_now now = hgi_clock_now();

    hgi_dispatch_gone(dispatch, &asker);
    hgi_registry_stop(registry, &now);
    hgi_dispatch_destroy(&dispatch);
    hgi_registry_destroy(&registry);
    hgi_bytes_deinit(&answer);
    hgi_bytes_deinit(&shown);
    token_file_close();
}

/* ---- what is asked ---- */

static bool encode(enum hgi_method method, const char *cache, struct hg_bytes *ret_bytes)
{
    const struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")};
    const struct hgi_msg_get get = {.cache = hg_slice_text(cache), .key = key, .max_age_ms = -1};
    const struct hgi_msg_put put = {
        .cache = hg_slice_text(cache), .key = key, .value = hg_slice_text("v")};
    const struct hgi_msg_clear clear = {.cache = hg_slice_text(cache)};

    switch (method) {
    case HGI_METHOD_GET:
        return hgi_get_request_encode(&get, ret_bytes);
    case HGI_METHOD_PUT:
        return hgi_put_request_encode(&put, ret_bytes);
    default:
        return hgi_clear_request_encode(&clear, ret_bytes);
    }
}

static void write_requests(enum hgi_method method)
{
    char bearer[HGI_TOKEN_LEN + 8];
    struct hgi_request request = {.method = method, .metadata_count = 1};

    snprintf(bearer, sizeof(bearer), "Bearer %s", known[0].text);
    request.metadata[0] =
        (struct hgi_metadata){hg_slice_text("authorization"), hg_slice_text(bearer)};
    for (size_t i = 0; i < 2 * CACHES; i++) {
        struct hg_bytes *bytes = &requests[i % 2][i / 2];
        struct hg_bytes payload;
        char name[NAME_SIZE];

        name_cache(i % 2, i / 2, name);
        hgi_bytes_init(&payload, &hgi_heap);
        hgi_bytes_init(bytes, &hgi_heap);
        if (!encode(method, name, &payload)) {
            give_up("no memory");
        }
        request.payload = hgi_bytes_slice(&payload);
        if (!hgi_request_encode(&request, bytes)) {
            give_up("no memory");
        }
        hgi_bytes_deinit(&payload);
    }
}

static void forget_requests(void)
{
    for (size_t i = 0; i < 2 * CACHES; i++) {
        hgi_bytes_deinit(&requests[i % 2][i / 2]);
    }
}

static void copy_shown(const struct hg_bytes *request)
{
    shown.len = 0;
    if (!hgi_bytes_append(&shown, hgi_bytes_slice(request))) {
        give_up("no memory");
    }
}

static void show(bool is_there)
{
    unsigned char drawn;

    hgi_random(&drawn, 1);
    copy_shown(&requests[is_there][drawn % CACHES]);
}

static void ask(void)
{
    const struct hgi_sp_route route = hgi_sp_route_of(1);

    hgi_dispatch_request(dispatch, &asker, &route, hgi_bytes_slice(&shown));
}

/* The answers are the same, byte for byte. */
static bool is_answered_alike(void)
{
    struct hg_bytes first;
    bool is_alike;

    hgi_bytes_init(&first, &hgi_heap);
    copy_shown(&requests[false][0]);
    ask();
    is_alike = hgi_bytes_append(&first, hgi_bytes_slice(&answer));
    copy_shown(&requests[true][0]);
    ask();
    is_alike = is_alike && hgi_slice_equal(hgi_bytes_slice(&first), hgi_bytes_slice(&answer));
    hgi_bytes_deinit(&first);
    return is_alike;
}

/* By what is answered, or by how long it takes. */
static bool is_told_apart(struct welch *welch, enum subject subject, enum hgi_method method,
                          const char *name)
{
    const struct welch_pair pair = {name, show, ask, BATCH};
    bool is_alike;
    bool is_told;

    principal.grants = &grants[subject];
    write_requests(method);
    is_alike = is_answered_alike();
    is_told = welch_tells_apart(welch, &pair);
    forget_requests();
    if (subject == OWN_ONLY && !is_alike) {
        printf("FAILED: the refusals differ\n");
    }
    return is_told || (subject == OWN_ONLY && !is_alike);
}

int main(int argc, char **argv)
{
    static const struct {
        enum hgi_method method;
        const char *name;
    } verbs[] = {
        {HGI_METHOD_GET, "Get of a forbidden cache, or of none"},
        {HGI_METHOD_PUT, "Put to a forbidden cache, or to none"},
        {HGI_METHOD_CLEAR, "Clear of a forbidden cache, or of none"},
    };
    struct welch welch;
    bool is_good = true;

    if (!welch_open(&welch, argc, argv)) {
        return 2;
    }
    begin();
    for (size_t i = 0; i < HGI_COUNT_OF(verbs); i++) {
        if (is_told_apart(&welch, OWN_ONLY, verbs[i].method, verbs[i].name)) {
            printf("FAILED: a refusal tells whether there is such a cache\n");
            is_good = false;
        }
    }
    if (!is_told_apart(&welch, EVERYTHING, HGI_METHOD_GET, "control: Get by who may use all")) {
        printf("FAILED: the control was not seen: nothing has been measured\n");
        is_good = false;
    }
    end();
    welch_close(&welch);
    return is_good ? 0 : 1;
}
