/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the messages of Events; what holds for all is in test_codec. */
#include "hg_test.h"

#include "codec_scene.h"

START_TEST(events_come_back_in_order_with_their_keys)
{
    struct hgi_msg_events reply;

    set_up();
    ck_assert_int_eq(hgi_watch_reply_decode(hex(hgi_golden_watch_reply), &arena, &reply, sentence),
                     HG_OK);
    ck_assert_uint_eq(reply.epoch, 111);
    ck_assert_uint_eq(reply.last, 117);
    ck_assert(reply.is_gap);
    ck_assert_uint_eq(reply.event_count, 2);
    ck_assert_uint_eq(reply.events[0].number, 112);
    ck_assert_int_eq(reply.events[0].at_ms, 1792000000113);
    ck_assert_int_eq(reply.events[0].kind, HG_EVENT_INVALIDATE);
    ck_assert_slice_eq(reply.events[0].name, "c");
    ck_assert_uint_eq(reply.events[0].generation, 114);
    ck_assert_int_eq(reply.events[0].key.kind, HG_KEY_KEY_HASH);
    ck_assert_slice_eq(reply.events[0].key.bytes, "h");
    ck_assert_int_eq(reply.events[1].kind, HG_EVENT_LOADER);
    ck_assert_int_eq(reply.events[1].key.kind, 0);
    tear_down();
}
END_TEST

START_TEST(a_kind_of_event_from_the_future_is_other_and_not_an_error)
{
    struct hgi_msg_events reply;

    set_up();
    ck_assert_int_eq(hgi_watch_reply_decode(hex("12071805"
                                                "22016318ff7f"
                                                "00"),
                                            &arena, &reply, sentence),
                     HG_INVALID_ARGUMENT); /* not a message at all */
    ck_assert_int_eq(hgi_watch_reply_decode(hex("12051805"
                                                "220163"),
                                            &arena, &reply, sentence),
                     HG_OK);
    ck_assert_uint_eq(reply.event_count, 1);
    ck_assert_int_eq(reply.events[0].kind, HG_EVENT_OTHER);
    ck_assert_slice_eq(reply.events[0].name, "c");
    tear_down();
}
END_TEST

START_TEST(no_bytes_are_no_events_and_no_gap)
{
    struct hgi_msg_events reply;

    set_up();
    ck_assert_int_eq(hgi_watch_reply_decode(hex(""), &arena, &reply, sentence), HG_OK);
    ck_assert_uint_eq(reply.event_count, 0);
    ck_assert(!reply.is_gap);
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec_events", 20, events_come_back_in_order_with_their_keys,
          a_kind_of_event_from_the_future_is_other_and_not_an_error,
          no_bytes_are_no_events_and_no_gap)
