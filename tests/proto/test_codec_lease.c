/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_scene.h"
#include "hg_test.h"

START_TEST(a_fulfilment_comes_back_field_by_field)
{
    struct hgi_msg_fulfil fulfil;

    set_up();
    ck_assert_int_eq(
        hgi_fulfil_request_decode(hex(hgi_golden_fulfil_request), &arena, &fulfil, sentence),
        HG_OK);
    ck_assert_slice_eq(fulfil.cache, "c");
    ck_assert_uint_eq(fulfil.lease_id, 121);
    ck_assert_uint_eq(fulfil.epoch, 122);
    ck_assert_int_eq(fulfil.outcome, HG_DENIED);
    ck_assert_slice_eq(fulfil.value, "v");
    ck_assert_int_eq(fulfil.ttl_ms, 123);
    ck_assert_int_eq(fulfil.stale_ttl_ms, 124);
    ck_assert_int_eq(fulfil.expires_at_ms, 1893456000000);
    ck_assert_int_eq(fulfil.status, HG_UNAVAILABLE);
    ck_assert_slice_eq(fulfil.message, "no backend");
    ck_assert_int_eq(fulfil.keep_ms, 125);
    ck_assert_uint_eq(fulfil.tag_count, 2);
    ck_assert_slice_eq(fulfil.tags[0], "red");
    ck_assert(fulfil.no_store);
    tear_down();
}
END_TEST

START_TEST(what_a_fulfilment_published_comes_back_field_by_field)
{
    struct hgi_msg_fulfilled fulfilled;
    struct hgi_msg_renewed renewed;
    struct hgi_msg_lease lease;

    set_up();
    ck_assert_int_eq(
        hgi_fulfil_reply_decode(hex(hgi_golden_fulfil_reply), &arena, &fulfilled, sentence), HG_OK);
    ck_assert_uint_eq(fulfilled.generation, 131);
    ck_assert_int_eq(fulfilled.outcome, HG_DENIED);
    ck_assert_uint_eq(fulfilled.ttl_left_ms, 132);
    ck_assert_uint_eq(fulfilled.stale_left_ms, 133);
    ck_assert_int_eq(
        hgi_renew_reply_decode(hex(hgi_golden_renew_reply), &arena, &renewed, sentence), HG_OK);
    ck_assert_uint_eq(renewed.lease_ttl_ms, 151);
    ck_assert_int_eq(
        hgi_release_request_decode(hex(hgi_golden_release_request), &arena, &lease, sentence),
        HG_OK);
    ck_assert_slice_eq(lease.cache, "c");
    ck_assert_uint_eq(lease.lease_id, 161);
    ck_assert_uint_eq(lease.epoch, 162);
    tear_down();
}
END_TEST

START_TEST(times_of_a_fulfilment_that_mean_nothing_are_refused)
{
    static const struct {
        const char *field;
        struct hgi_msg_fulfil fulfil;
    } wrong[] = {
        {"ttl_ms", {.ttl_ms = -1}},
        {"stale_ttl_ms", {.stale_ttl_ms = INT64_MAX}},
        {"keep_ms", {.keep_ms = INT64_MAX}},
        {"expires_at_ms", {.expires_at_ms = -1}},
    };

    set_up();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hgi_msg_fulfil read = {.lease_id = 7};

        bytes.len = 0;
        ck_assert(hgi_fulfil_request_encode(&wrong[i].fulfil, &bytes));
        ck_assert_int_eq(
            hgi_fulfil_request_decode(hgi_bytes_slice(&bytes), &arena, &read, sentence),
            HG_INVALID_ARGUMENT);
        ck_assert_msg(strncmp(sentence, wrong[i].field, strlen(wrong[i].field)) == 0, "%s",
                      sentence);
        ck_assert_uint_eq(read.lease_id, 7);
    }
    tear_down();
}
END_TEST

START_TEST(a_tag_of_no_bytes_is_refused)
{
    struct hgi_msg_fulfil fulfil = {.lease_id = 7};

    set_up();
    ck_assert_int_eq(hgi_fulfil_request_decode(hex("6200"), &arena, &fulfil, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_uint_eq(fulfil.lease_id, 7);
    tear_down();
}
END_TEST

/* Never taken for OK, which would publish a value. */
START_TEST(an_error_with_an_unknown_number_is_still_an_error)
{
    struct hgi_msg_fulfil fulfil;

    set_up();
    ck_assert_int_eq(hgi_fulfil_request_decode(hex("48e707"), &arena, &fulfil, sentence), HG_OK);
    ck_assert_int_eq(fulfil.status, HG_UNKNOWN);
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec_lease", 20, a_fulfilment_comes_back_field_by_field,
          what_a_fulfilment_published_comes_back_field_by_field,
          times_of_a_fulfilment_that_mean_nothing_are_refused, a_tag_of_no_bytes_is_refused,
          an_error_with_an_unknown_number_is_still_an_error)
