/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the messages that look into a cache; what holds for all is in test_codec. */
#include "hg_test.h"

#include "codec_scene.h"

START_TEST(a_flight_comes_back_field_by_field)
{
    struct hgi_msg_flights reply;
    const struct hgi_msg_flight *flight;

    set_up();
    ck_assert_int_eq(
        hgi_list_flights_reply_decode(hex(hgi_golden_list_flights_reply), &arena, &reply, sentence),
        HG_OK);
    ck_assert_uint_eq(reply.count, 128);
    ck_assert_uint_eq(reply.flight_count, 2);
    flight = &reply.flights[0];
    ck_assert_slice_eq(flight->cache, "c");
    ck_assert_uint_eq(flight->id, 122);
    ck_assert_slice_eq(flight->digest, "00ff00ff00ff00ff");
    ck_assert_slice_eq(flight->leader, "caller");
    ck_assert_slice_eq(flight->phase, "sent");
    ck_assert_int_eq(flight->pid, 123);
    ck_assert_uint_eq(flight->age_ms, 124);
    ck_assert_int_eq(flight->left_ms, 125);
    ck_assert_uint_eq(flight->followers, 126);
    ck_assert_uint_eq(flight->generation, 127);
    ck_assert_uint_eq(flight->attempt, 1);
    ck_assert(flight->is_fenced);
    ck_assert_int_eq(reply.flights[1].left_ms, -1);
    ck_assert(!reply.flights[1].is_fenced);
    tear_down();
}
END_TEST

START_TEST(an_explanation_comes_back_field_by_field)
{
    struct hgi_msg_explanation said;

    set_up();
    ck_assert_int_eq(hgi_explanation_decode(hex(hgi_golden_explanation), &arena, &said, sentence),
                     HG_OK);
    ck_assert_slice_eq(said.rule, "stale");
    ck_assert_slice_eq(said.sentence, "stale: why");
    ck_assert_uint_eq(said.generation, 134);
    ck_assert(said.has_entry);
    ck_assert_int_eq(said.entry.outcome, HG_VALUE);
    ck_assert_uint_eq(said.entry.generation, 135);
    ck_assert_uint_eq(said.entry.age_ms, 136);
    ck_assert_uint_eq(said.entry.ttl_left_ms, 137);
    ck_assert_uint_eq(said.entry.stale_left_ms, 138);
    ck_assert_uint_eq(said.entry.refresh_pause_ms, 139);
    ck_assert_uint_eq(said.entry.ttl_ms, 140);
    ck_assert(said.has_flight);
    ck_assert_uint_eq(said.flight.id, 122);
    ck_assert_uint_eq(said.failure_left_ms, 141);
    ck_assert_uint_eq(said.answer_count, 2);
    ck_assert_int_eq(said.answers[0].at_ms, 1792000000130);
    ck_assert_int_eq(said.answers[0].source, HG_SOURCE_STALE);
    ck_assert(said.answers[0].is_fenced);
    ck_assert_uint_eq(said.answers[0].generation, 131);
    ck_assert_uint_eq(said.answers[0].age_ms, 132);
    ck_assert_int_eq(said.answers[1].status, HG_UNAVAILABLE);
    tear_down();
}
END_TEST

START_TEST(nothing_held_and_nothing_loading_are_left_out)
{
    struct hgi_msg_explanation said;

    set_up();
    ck_assert_int_eq(hgi_explanation_decode(hex("0a0166"), &arena, &said, sentence), HG_OK);
    ck_assert(!said.has_entry);
    ck_assert(!said.has_flight);
    ck_assert_uint_eq(said.answer_count, 0);
    tear_down();
}
END_TEST

START_TEST(an_explanation_with_an_unknown_outcome_or_source_is_refused)
{
    struct hgi_msg_explanation said;

    set_up();
    ck_assert_int_eq(hgi_explanation_decode(hex("2a020804"), &arena, &said, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "outcome is 4; it must be 0 to 3");
    ck_assert_int_eq(hgi_explanation_decode(hex("42021804"), &arena, &said, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "outcome is 4; it must be 0 to 3");
    ck_assert_int_eq(hgi_explanation_decode(hex("42022006"), &arena, &said, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "source is 6; it must be 0 to 5");
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec_inspect", 20, a_flight_comes_back_field_by_field,
          an_explanation_comes_back_field_by_field, nothing_held_and_nothing_loading_are_left_out,
          an_explanation_with_an_unknown_outcome_or_source_is_refused)
