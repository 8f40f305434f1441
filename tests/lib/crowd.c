/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <stdio.h>

#define WAIT_MS 20000

void crowd_init(struct crowd *crowd)
{
    memset(crowd, 0, sizeof(*crowd));
    hgi_lock_init(&crowd->lock);
    hgi_cond_init(&crowd->changed);
}

void crowd_deinit(struct crowd *crowd)
{
    hgi_cond_deinit(&crowd->changed);
    hgi_lock_deinit(&crowd->lock);
}

static void answered(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct crowd_answer *mine = arg;
    struct crowd *crowd = mine->crowd;

    hgi_lock_conn(&crowd->lock);
    mine->answers++;
    mine->status = error->status;
    mine->error_source = error->source;
    snprintf(mine->text, sizeof(mine->text), "%s", error->text);
    if (answer) {
        mine->outcome = answer->outcome;
        mine->source = answer->source;
        mine->is_fenced = answer->is_fenced;
        mine->age_ms = answer->age_ms;
        mine->lease = answer->lease;
        snprintf(mine->value, sizeof(mine->value), "%.*s", (int)answer->value.len,
                 answer->value.len ? (const char *)answer->value.data : "");
    }
    crowd->ended_count++;
    hgi_cond_wake_all(&crowd->changed);
    hgi_unlock_conn(&crowd->lock);
}

struct crowd_answer *crowd_read(struct crowd *crowd, struct hg_client *client,
                                const struct hg_read *request)
{
    struct crowd_answer *mine = &crowd->answers[crowd->begun_count++];
    struct hg_error error;

    ck_assert_uint_le(crowd->begun_count, CROWD_MAX);
    mine->crowd = crowd;
    ck_assert_msg(hg_client_get_or_load_async(client, request, answered, mine, &error) == HG_OK,
                  "%s", error.text);
    return mine;
}

static bool wait_until(struct crowd *crowd, const struct crowd_answer *one)
{
    bool in_time = true;

    hgi_lock_conn(&crowd->lock);
    while (in_time && (one ? one->answers == 0 : crowd->ended_count < crowd->begun_count)) {
        in_time = hgi_cond_wait(&crowd->changed, &crowd->lock, WAIT_MS);
    }
    hgi_unlock_conn(&crowd->lock);
    return in_time;
}

void crowd_wait(struct crowd *crowd)
{
    ck_assert_msg(wait_until(crowd, NULL), "not every call was answered in time");
    for (size_t i = 0; i < crowd->begun_count; i++) {
        ck_assert_int_eq(crowd->answers[i].answers, 1);
    }
}

void crowd_wait_for(struct crowd *crowd, const struct crowd_answer *answer)
{
    ck_assert_msg(wait_until(crowd, answer), "a call was not answered in time");
}

bool crowd_is_answered(struct crowd *crowd, const struct crowd_answer *answer)
{
    bool is_answered;

    hgi_lock_conn(&crowd->lock);
    is_answered = answer->answers > 0;
    hgi_unlock_conn(&crowd->lock);
    return is_answered;
}
