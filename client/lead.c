/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whose load, if one is needed, is a callback of the caller's. */
#include "base/check.h"
#include "base/clock.h"
#include "base/kind.h"
#include "client/call.h"
#include "client/client.h"
#include "client/error.h"
#include "client/keeper.h"
#include "herdgate/lease.h"
#include "proto/codec.h"

#define ROUNDS_MAX      3
#define FULFIL_LEAST_MS 1000 /* also for a load that ended after its caller's deadline */
#define ARENA_SLACK     4096u

/* What the callback gave, copied. */
struct hg_lead_result {
    struct hgi_arena arena;
    struct hg_loaded loaded;
    bool is_given;
    bool is_out_of_memory;
};

/* One load, from its lease to its end. */
struct task {
    struct hg_client *client;
    hg_load_fn load;
    void *arg;
    struct hg_lead lead;
    struct hgi_kept_lease kept;
    struct hg_lead_result result;
};

enum end {
    PUBLISHED,
    OVERTAKEN, /* the lease had ended, or nobody can tell: the value counts for nobody else */
    FAILED,
};

/* ---- what the callback gives ---- */

static struct hg_slice copy(struct hgi_arena *arena, struct hg_slice slice, bool *inout_is_ok)
{
    unsigned char *bytes = hgi_arena_alloc(arena, slice.len ? slice.len : 1);

    if (!bytes) {
        *inout_is_ok = false;
        return hg_slice_of(NULL, 0);
    }
    if (slice.len) {
        memcpy(bytes, slice.data, slice.len);
    }
    return hg_slice_of(bytes, slice.len);
}

static bool copy_loaded(struct hgi_arena *arena, const struct hg_loaded *loaded,
                        struct hg_loaded *ret_copy)
{
    bool is_ok = true;
    struct hg_slice *tags =
        hgi_arena_alloc(arena, (loaded->tag_count ? loaded->tag_count : 1) * sizeof(*tags));

    *ret_copy = *loaded;
    ret_copy->value = copy(arena, loaded->value, &is_ok);
    ret_copy->message = copy(arena, loaded->message, &is_ok);
    ret_copy->tags = tags;
    for (size_t i = 0; tags && i < loaded->tag_count; i++) {
        tags[i] = copy(arena, loaded->tags[i], &is_ok);
    }
    return is_ok && tags;
}

enum hg_status hg_lead_give(const struct hg_lead *lead, const struct hg_loaded *loaded)
{
    struct hg_lead_result *result = lead->result;
    size_t len = loaded->value.len + loaded->message.len;

    for (size_t i = 0; i < loaded->tag_count; i++) {
        len += loaded->tags[i].len + 2 * sizeof(struct hg_slice);
    }
    hgi_arena_reset(&result->arena, 2 * len + ARENA_SLACK);
    result->is_given = true;
    result->is_out_of_memory = !copy_loaded(&result->arena, loaded, &result->loaded);
    if (!result->loaded.outcome) {
        result->loaded.outcome = HG_VALUE;
    }
    return result->is_out_of_memory ? HG_RESOURCE_EXHAUSTED : HG_OK;
}

/* ---- one load ---- */

static uint32_t left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - hgi_clock_now().boot_ms;

    return left > 0 ? (uint32_t)left : 0;
}

static void released(void *arg, const struct hg_error *error)
{
    (void)arg;
    (void)error;
}

/* Nobody waits for what comes of it: a lease that cannot be given up runs out. */
static void give_up(struct task *task)
{
    bool is_begun =
        hg_client_release_async(task->client, &task->kept.leased, released, NULL, NULL) == HG_OK;

    (void)is_begun;
}

static enum hg_status fulfil(struct task *task, const struct hg_loaded *loaded,
                             struct hg_fulfilled *ret_fulfilled, struct hg_error *error)
{
    uint32_t timeout_ms = left_ms(task->kept.until_ms);
    const struct hg_fulfil request = {
        .cache = task->lead.cache,
        .lease = task->kept.leased.lease,
        .outcome = loaded->outcome,
        .value = loaded->value,
        .ttl_ms = loaded->ttl_ms,
        .stale_ttl_ms = loaded->stale_ttl_ms,
        .expires_at_ms = loaded->expires_at_ms,
        .status = loaded->status,
        .message = loaded->message,
        .tags = loaded->tags,
        .tag_count = loaded->tag_count,
        .keep_ms = loaded->keep_ms,
        .no_store = loaded->no_store,
        .timeout_ms = timeout_ms < FULFIL_LEAST_MS ? FULFIL_LEAST_MS : timeout_ms,
    };

    return hg_client_fulfil(task->client, &request, ret_fulfilled, error);
}

/* The others get the error, too. */
static enum end fail(struct task *task, enum hg_status status, struct hg_slice message,
                     struct hg_error *error)
{
    const struct hg_loaded failure = {.status = status, .message = message};
    size_t len = message.len < HG_ERROR_TEXT_MAX ? message.len : HG_ERROR_TEXT_MAX - 1;
    struct hg_fulfilled fulfilled;
    struct hg_error ignored;
    bool is_told = fulfil(task, &failure, &fulfilled, &ignored) == HG_OK;

    (void)is_told;
    (void)hgi_error_set(error, status, "%.*s", (int)len, len ? (const char *)message.data : "");
    error->source = HG_SOURCE_LOADED;
    return FAILED;
}

static enum end publish(struct task *task, struct hg_fulfilled *ret_fulfilled,
                        struct hg_error *error)
{
    const struct hg_loaded *loaded = &task->result.loaded;
    char text[HG_ERROR_TEXT_MAX];

    switch (fulfil(task, loaded, ret_fulfilled, error)) {
    case HG_OK:
        return PUBLISHED;
    case HG_ABORTED:
    case HG_UNAVAILABLE:
    case HG_DEADLINE_EXCEEDED:
        return OVERTAKEN;
    case HG_INVALID_ARGUMENT: /* the cache does not take it; the lease is as it was */
        memcpy(text, error->text, sizeof(text));
        return fail(task, HG_INVALID_ARGUMENT, hg_slice_text(text), error);
    default:
        give_up(task);
        return FAILED;
    }
}

/* The callback, and what it gave on its way. The lease is held, and let go here. */
static enum end run(struct task *task, struct hg_fulfilled *ret_fulfilled, struct hg_error *error)
{
    struct hg_lead_result *result = &task->result;

    task->lead.left_ms = left_ms(task->kept.until_ms);
    task->load(task->arg, &task->lead);
    hgi_keeper_let_go(hgi_client_keeper(task->client), &task->kept);
    if (!result->is_given) {
        give_up(task);
        (void)hgi_error_set(error, HG_CANCELLED, "the load callback gave nothing");
        error->source = HG_SOURCE_LOADED;
        return FAILED;
    }
    if (result->is_out_of_memory) {
        return fail(task, HG_RESOURCE_EXHAUSTED, hg_slice_text("no memory for what was loaded"),
                    error);
    }
    if (result->loaded.status != HG_OK) {
        return fail(task, result->loaded.status, result->loaded.message, error);
    }
    return publish(task, ret_fulfilled, error);
}

/* False: no thread to renew it; the lease is given up. */
static bool begin(struct hg_client *client, const struct hg_load_through *request,
                  const struct hg_answer *answer, int64_t until_ms, struct task *ret_task)
{
    *ret_task = (struct task){
        .client = client,
        .load = request->load,
        .arg = request->arg,
        .lead = {.cache = request->read.cache,
                 .key = request->read.key,
                 .value_type = answer->value_type,
                 .is_behind = answer->source != HG_SOURCE_LEASED,
                 .traceparent = request->read.traceparent,
                 .result = &ret_task->result},
        .kept = {.leased = {.cache = request->read.cache, .lease = answer->lease},
                 .until_ms = until_ms},
    };
    hgi_arena_init(&ret_task->result.arena, 0);
    if (!hgi_keeper_hold(hgi_client_keeper(client), &ret_task->kept)) {
        give_up(ret_task);
        return false;
    }
    return true;
}

/* ---- behind an old value ---- */

struct behind {
    struct hgi_errand errand;
    struct hgi_arena arena; /* copies of what the caller lent */
    struct task task;
};

static void run_behind(struct hgi_errand *errand, bool is_closing)
{
    struct behind *behind = HGI_CONTAINER(errand, struct behind, errand);

    if (is_closing) {
        hgi_keeper_let_go(hgi_client_keeper(behind->task.client), &behind->task.kept);
    } else {
        struct hg_fulfilled fulfilled;
        struct hg_error error;

        (void)run(&behind->task, &fulfilled, &error); /* there is nobody to tell */
    }
    hgi_arena_deinit(&behind->task.result.arena);
    hgi_arena_deinit(&behind->arena);
    hgi_free(&hgi_heap, behind);
}

static bool own_names(struct behind *behind, struct hg_load_through *inout_request)
{
    struct hg_read *read = &inout_request->read;
    size_t cache_len = strlen(read->cache) + 1;
    size_t trace_len = read->traceparent ? strlen(read->traceparent) + 1 : 0;
    bool is_ok = true;

    hgi_arena_init(&behind->arena, 2 * (cache_len + trace_len + read->key.bytes.len +
                                        read->key.user_id.len + read->key.api_key_id.len) +
                                       ARENA_SLACK);
    read->cache = copy(&behind->arena, hg_slice_of(read->cache, cache_len), &is_ok).data;
    if (trace_len) {
        read->traceparent =
            copy(&behind->arena, hg_slice_of(read->traceparent, trace_len), &is_ok).data;
    }
    read->key.bytes = copy(&behind->arena, read->key.bytes, &is_ok);
    read->key.user_id = copy(&behind->arena, read->key.user_id, &is_ok);
    read->key.api_key_id = copy(&behind->arena, read->key.api_key_id, &is_ok);
    return is_ok;
}

/* The caller has its answer; if the load cannot be begun, a later reader's may. */
static void begin_behind(struct hg_client *client, const struct hg_load_through *request,
                         const struct hg_answer *answer, int64_t until_ms)
{
    struct behind *behind = hgi_alloc(&hgi_heap, sizeof(*behind));
    struct hg_load_through own = *request;
    struct task failing = {.client = client,
                           .kept.leased = {.cache = request->read.cache, .lease = answer->lease}};

    if (!behind) {
        give_up(&failing);
        return;
    }
    behind->errand.run = run_behind;
    if (!own_names(behind, &own)) {
        give_up(&failing);
    } else if (begin(client, &own, answer, until_ms, &behind->task)) {
        if (hgi_keeper_send(hgi_client_keeper(client), &behind->errand)) {
            return;
        }
        hgi_keeper_let_go(hgi_client_keeper(client), &behind->task.kept);
        give_up(&failing);
    }
    hgi_arena_deinit(&behind->arena);
    hgi_free(&hgi_heap, behind);
}

/* ---- the call ---- */

/* False: it is no auth value. */
static bool read_auth(struct hg_slice value, bool *ret_is_allowed, int64_t *ret_not_after_ms)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_arena arena;
    struct hg_auth auth;
    bool is_read;

    hgi_arena_init(&arena, hgi_arena_budget(value.len));
    is_read = hgi_auth_decode(value, &arena, &auth, sentence) == HG_OK;
    if (is_read) {
        *ret_is_allowed = auth.allowed;
        *ret_not_after_ms = auth.not_after_ms;
    }
    hgi_arena_deinit(&arena);
    return is_read;
}

/* With a denial goes only what says so itself: an auth value whose time was over still says
 * "allowed", and somebody would read it. The server leaves it out, too. */
static struct hg_slice value_for(const struct task *task, enum hg_outcome outcome)
{
    struct hg_slice value = task->result.loaded.value;
    bool is_allowed = false;
    int64_t not_after_ms;

    if (outcome == HG_DENIED && (!read_auth(value, &is_allowed, &not_after_ms) || is_allowed)) {
        return hg_slice_of(NULL, 0);
    }
    return value;
}

static enum hg_status answer_with(const struct task *task, const struct hg_answer *answer,
                                  struct hg_answer *ret_answer, struct hg_error *error)
{
    struct hg_slice value = value_for(task, answer->outcome);
    struct hg_memory *memory = hgi_memory_create(2 * value.len + ARENA_SLACK);
    bool is_ok = memory != NULL;

    if (memory) {
        value = copy(&memory->arena, value, &is_ok);
    }
    if (!is_ok) {
        hgi_memory_destroy(&memory);
        return hgi_error_set(error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    *ret_answer = *answer;
    ret_answer->source = HG_SOURCE_LOADED;
    ret_answer->value = value;
    ret_answer->memory = memory;
    if (value.len || answer->outcome == HG_VALUE) {
        ret_answer->value_type = task->lead.value_type;
    }
    return HG_OK;
}

static bool is_past(int64_t unix_ms)
{
    return unix_ms && unix_ms <= hgi_clock_now().wall_ms;
}

/* What the server would have made of a credential that it did not get to see. */
static enum hg_outcome judge(const struct task *task)
{
    const struct hg_loaded *loaded = &task->result.loaded;
    bool is_allowed = false;
    int64_t not_after_ms = 0;

    if (task->lead.value_type != HG_TYPE_AUTH || loaded->outcome != HG_VALUE) {
        return loaded->outcome;
    }
    return read_auth(loaded->value, &is_allowed, &not_after_ms) && is_allowed &&
                   !is_past(not_after_ms) && !is_past(loaded->expires_at_ms)
               ? HG_VALUE
               : HG_DENIED;
}

/* It is used once, by this caller, if it asked for that; but not past its end, where a credential
 * is denied. */
static enum hg_status deliver(const struct task *task, struct hg_answer *ret_answer,
                              struct hg_error *error)
{
    const struct hg_loaded *loaded = &task->result.loaded;
    const struct hg_answer answer = {.outcome = judge(task), .is_fenced = true};

    if (task->lead.value_type != HG_TYPE_AUTH && is_past(loaded->expires_at_ms)) {
        return hgi_error_set(error, HG_FAILED_PRECONDITION, "expires_at has already passed");
    }
    return answer_with(task, &answer, ret_answer, error);
}

/* True: *ret_status is the call's; false: it looks again. */
static bool lead(struct hg_client *client, const struct hg_load_through *request,
                 const struct hg_answer *leased, int64_t until_ms, struct hg_answer *ret_answer,
                 struct hg_error *error, enum hg_status *ret_status)
{
    struct hg_fulfilled fulfilled;
    struct task task;
    bool is_over = true;

    if (!begin(client, request, leased, until_ms, &task)) {
        *ret_status = hgi_error_set(error, HG_RESOURCE_EXHAUSTED, "no thread to renew the lease");
        return true;
    }
    switch (run(&task, &fulfilled, error)) {
    case PUBLISHED: {
        const struct hg_answer answer = {.outcome = fulfilled.outcome,
                                         .generation = fulfilled.generation,
                                         .ttl_left_ms = fulfilled.ttl_left_ms,
                                         .stale_left_ms = fulfilled.stale_left_ms};

        *ret_status = answer_with(&task, &answer, ret_answer, error);
        break;
    }
    case OVERTAKEN:
        is_over = request->deliver_fenced;
        if (is_over) {
            *ret_status = deliver(&task, ret_answer, error);
        }
        break;
    case FAILED:
        *ret_status = error->status;
        break;
    }
    hgi_arena_deinit(&task.result.arena);
    return is_over;
}

static enum hg_status look(struct hg_client *client, const struct hg_load_through *request,
                           struct hg_answer *ret_answer, struct hg_error *error)
{
    int64_t timeout_ms = hgi_client_timeout_ms(client, request->read.timeout_ms);
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;
    struct hg_read read = request->read;
    enum hg_status status;

    read.lead = true;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct hg_answer answer;
        bool is_over;

        read.timeout_ms = left_ms(until_ms);
        if (!read.timeout_ms) {
            return hgi_error_set(error, HG_DEADLINE_EXCEEDED,
                                 "the load was overtaken, and there is no time for another");
        }
        status = hg_client_get_or_load(client, &read, &answer, error);
        if (status != HG_OK) {
            return status;
        }
        if (answer.source != HG_SOURCE_LEASED) {
            if (answer.lease.id) {
                begin_behind(client, request, &answer, until_ms);
                answer.lease = (struct hg_lease){0};
            }
            *ret_answer = answer;
            return HG_OK;
        }
        is_over = lead(client, request, &answer, until_ms, ret_answer, error, &status);
        hg_answer_deinit(&answer);
        if (is_over) {
            return status;
        }
    }
    return hgi_error_set(error, HG_ABORTED, "the load was overtaken by invalidations %d times",
                         ROUNDS_MAX);
}

enum hg_status hg_client_load_through(struct hg_client *client,
                                      const struct hg_load_through *request,
                                      struct hg_answer *ret_answer, struct hg_error *ret_error)
{
    struct hg_error error;
    enum hg_status status;

    if (!request->load) {
        return hgi_error_set(ret_error, HG_INVALID_ARGUMENT, "the request has no load callback");
    }
    (void)hgi_error_set(&error, HG_OK, "%s", "");
    hgi_client_enter(client); /* until the callback has returned */
    status = look(client, request, ret_answer, &error);
    hgi_client_leave(client);
    if (ret_error) {
        *ret_error = error;
    }
    return status;
}
