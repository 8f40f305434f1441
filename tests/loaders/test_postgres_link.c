/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the postgres plugin that libpq cannot send over: here because there is none. */
#include "hg_test.h"
#include "link.h"

static struct settings settings;
static struct link link_;
static struct job *lost_jobs;
static unsigned lost_count;

static void on_lost(void *context, struct link *link, struct job *orphans)
{
    (void)context;
    ck_assert_ptr_eq(link, &link_);
    lost_jobs = orphans;
    lost_count++;
}

static struct job *send_one(void)
{
    static const struct hg_host_services services;
    struct job *job = job_create(&services, HG_KEY_BYTES, QUERY_ANY);

    ck_assert_ptr_nonnull(job);
    link_send(&link_, job);
    return job;
}

START_TEST(a_query_that_cannot_be_sent_takes_no_others_answer)
{
    const struct link_events events = {.lost = on_lost};
    struct job *first;
    struct job *second;

    link_init(&link_, &settings, false);
    link_.state = LINK_READY;
    ck_assert(link_has_room(&link_));
    first = send_one();
    ck_assert_msg(!link_has_room(&link_), "answers to the next would be taken for the first's");
    ck_assert_int_eq(link_due_ms(&link_), 0);
    second = send_one();
    link_step(&link_, &events, 1000);
    ck_assert_uint_eq(lost_count, 1);
    ck_assert_ptr_eq(lost_jobs, first);
    ck_assert_ptr_eq(first->next, second);
    ck_assert(link_.has_failed && link_.is_lost);
    ck_assert_int_eq(link_.state, LINK_DOWN);
    ck_assert_int_gt(link_due_ms(&link_), 1000);
    job_destroy(&first);
    job_destroy(&second);
    link_close(&link_);
}
END_TEST

/* An answer may be out when the plugin closes, for nobody waits for it. */
START_TEST(closing_frees_what_is_in_flight)
{
    link_init(&link_, &settings, false);
    link_.state = LINK_READY;
    (void)send_one();
    (void)send_one();
    link_close(&link_);
    ck_assert_ptr_null(link_.first);
    ck_assert_uint_eq(link_.job_count, 0);
}
END_TEST

HGI_SUITE("loaders.postgres_link", 20, a_query_that_cannot_be_sent_takes_no_others_answer,
          closing_frees_what_is_in_flight)
