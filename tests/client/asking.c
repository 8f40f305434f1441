/* SPDX-License-Identifier: Apache-2.0 */
#include "asking.h"

#include "base/kind.h"
#include "hg_test.h"

#define WAIT_MS 10000

struct hg_client *open_client(const char *url, const struct hg_client_options *options)
{
    struct hg_client *client = NULL;
    struct hg_error error;

    ck_assert_int_eq(hg_client_open(url, options, &client, &error), HG_OK);
    return client;
}

struct hg_read read_of(const char *key)
{
    struct hg_read read = {.cache = "c",
                           .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)}};

    return read;
}

void decode_get(const struct hgi_request *request, struct hgi_arena *arena,
                struct hgi_msg_get *ret_get)
{
    char sentence[256];

    hgi_arena_init(arena, hgi_arena_budget(request->payload.len));
    ck_assert_int_eq(hgi_get_request_decode(request->payload, arena, ret_get, sentence), HG_OK);
}

bool key_is(const struct hgi_request *request, const char *text)
{
    struct hgi_arena arena;
    struct hgi_msg_get get;
    bool is_it;

    decode_get(request, &arena, &get);
    is_it = hgi_slice_equal(get.key.bytes, hg_slice_text(text));
    hgi_arena_deinit(&arena);
    return is_it;
}

/* Answers a read with its own key. */
void echo(struct fake_server *server, void *context, const struct fake_caller *caller,
          const struct hgi_request *request)
{
    struct hgi_arena arena;
    struct hgi_msg_get get;

    (void)context;
    decode_get(request, &arena, &get);
    fake_reply_value(server, caller, get.key.bytes);
    hgi_arena_deinit(&arena);
}

void expect_echo(struct hg_client *client, const char *key)
{
    struct hg_read read = read_of(key);
    struct hg_answer answer;
    struct hg_error error = {0};

    ck_assert_msg(hg_client_get(client, &read, &answer, &error) == HG_OK, "%s", error.text);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_slice_eq(answer.value, key);
    hg_answer_deinit(&answer);
}

void tally_init(struct tally *tally)
{
    memset(tally, 0, sizeof(*tally));
    hgi_lock_init(&tally->lock);
    hgi_cond_init(&tally->cond);
}

void tally_deinit(struct tally *tally)
{
    hgi_cond_deinit(&tally->cond);
    hgi_lock_deinit(&tally->lock);
}

void tally_add(struct tally *tally, enum hg_status status)
{
    hgi_lock_registry(&tally->lock);
    tally->count++;
    tally->by_status[status]++;
    hgi_cond_wake_all(&tally->cond);
    hgi_unlock_registry(&tally->lock);
}

void tally_wait(struct tally *tally, unsigned count)
{
    hgi_lock_registry(&tally->lock);
    while (tally->count < count) {
        if (!hgi_cond_wait(&tally->cond, &tally->lock, WAIT_MS)) {
            ck_abort_msg("%u callbacks of %u came", tally->count, count);
        }
    }
    hgi_unlock_registry(&tally->lock);
}

void on_answer(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    ck_assert_int_eq(error->status == HG_OK, answer != NULL);
    tally_add(arg, error->status);
}

void on_stored(void *arg, const struct hg_error *error, const struct hg_stored *stored)
{
    ck_assert_int_eq(error->status == HG_OK, stored != NULL);
    tally_add(arg, error->status);
}
