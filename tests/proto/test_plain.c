/* SPDX-License-Identifier: Apache-2.0 */
/* What is read where it lies is what protobuf-c reads. A field that nobody knows makes any message
 * one for protobuf-c, which passes over it: so each message is decoded twice, with it and without.
 */
#include "codec_table.h"

#include "proto/plain.h"

#define UNKNOWN_FIELD "7800" /* field 15, a varint 0 */

static struct hg_bytes input;
static struct hg_bytes longer;
static struct hg_bytes output;
static struct hg_bytes expected;
static struct hgi_arena arena;
static char sentence[HGI_SENTENCE_MAX];
static size_t compared;
static size_t read_where_it_lies;

static void set_up(void)
{
    hgi_bytes_init(&input, &hgi_heap);
    hgi_bytes_init(&longer, &hgi_heap);
    hgi_bytes_init(&output, &hgi_heap);
    hgi_bytes_init(&expected, &hgi_heap);
    hgi_arena_init(&arena, 0);
    compared = 0;
    read_where_it_lies = 0;
}

static void tear_down(void)
{
    hgi_bytes_deinit(&input);
    hgi_bytes_deinit(&longer);
    hgi_bytes_deinit(&output);
    hgi_bytes_deinit(&expected);
    hgi_arena_deinit(&arena);
}

static enum hg_status recode(const struct codec_case *row, const struct hg_bytes *bytes,
                             struct hg_bytes *ret_bytes)
{
    hgi_arena_reset(&arena, HGI_ARENA_BUDGET_MIN);
    ret_bytes->len = 0;
    return row->recode(hgi_bytes_slice(bytes), &arena, ret_bytes, sentence);
}

/* protobuf-c would have said the same of the input. */
static void compare(const struct codec_case *row)
{
    enum hg_status status;

    longer.len = 0;
    ck_assert(hgi_bytes_append(&longer, hgi_bytes_slice(&input)));
    hgi_hex(UNKNOWN_FIELD, &longer);
    status = recode(row, &input, &output);
    if (status != HG_OK) {
        return; /* protobuf-c has judged it, or what it read was refused: see the caller */
    }
    read_where_it_lies += arena.used_bytes == 0;
    ck_assert_msg(recode(row, &longer, &expected) == HG_OK, "%s: %s", row->name, sentence);
    ck_assert_msg(hgi_slice_equal(hgi_bytes_slice(&output), hgi_bytes_slice(&expected)), "%s",
                  row->name);
    compared++;
}

static const struct codec_case *row_of(const char *name)
{
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        if (strcmp(codec_cases[i].name, name) == 0) {
            return &codec_cases[i];
        }
    }
    ck_abort_msg("no row %s", name);
}

static void set_hex(const char *hex)
{
    input.len = 0;
    hgi_hex(hex, &input);
}

static void compare_changed(const struct codec_case *row, const char *hex)
{
    set_hex(hex);
    compare(row);
    for (size_t at = 0; at < input.len; at++) {
        unsigned char kept = input.data[at];

        for (unsigned byte = 0; byte < 256; byte++) {
            input.data[at] = (unsigned char)byte;
            compare(row);
        }
        input.data[at] = kept;
    }
    for (size_t len = input.len; len-- > 0;) {
        input.len = len;
        compare(row);
    }
}

START_TEST(what_is_read_where_it_lies_is_what_protobuf_c_reads)
{
    set_up();
    compare_changed(row_of("get_request"), hgi_golden_get_request);
    compare_changed(row_of("get_request"), "0a02636112050a036b657918042080012880808080803030");
    compare_changed(row_of("batch_request"), hgi_golden_batch_request);
    compare_changed(row_of("batch_request"), "0a016312040a02616212040a026364120212001804");
    compare_changed(row_of("batch_request"), "0a016312040a02616212050a0363646518042803");
    compare_changed(row_of("request"), "0a036d2f6710904e1a03616263");
    compare_changed(row_of("request"), hgi_golden_request);
    compare_changed(row_of("request"),
                    "0a036d2f6710904e1a036162632a10000102030405060708090a0b0c0d0e0f");
    ck_assert_uint_gt(compared, 3000);
    ck_assert_uint_gt(read_where_it_lies, 1000);
    tear_down();
}
END_TEST

START_TEST(what_is_not_plain_is_left_to_protobuf_c)
{
    static const struct {
        const char *hex;
        bool is_plain;
    } rows[] = {
        {"", true},
        {"0801120161", true},
        {"12016108ffffffff07", true},          /* in any order, up to 31 bits */
        {"08ffffffff0f", false},               /* 32 */
        {"10ffffffffffffffff7f", false},       /* field 2 is no number */
        {"18ffffffffffffffff7f", true},        /* field 3 is one of 63 bits */
        {"18ffffffffffffffffff01", false},     /* 64 */
        {"08010801", false},                   /* twice */
        {"120161120162", false},               /* twice */
        {"3801", false},                       /* nobody knows field 7 */
        {"7801", false},                       /* nor field 15 */
        {"0001", false},                       /* nor 0 */
        {"0a0161", false},                     /* field 1 is no bytes */
        {"090100000000000000", false},         /* nor eight bytes */
        {"1202", false},                       /* ends too early */
        {"08", false},                         /* so does this */
        {"08ff", false},                       /* and this */
        {"12818080800061", true},              /* a length of 5 bytes */
        {"1281808080800061", false},           /* of 6 */
        {"22016122002a", false},               /* a repeated field, then rubbish */
        {"220161220022026162", true},          /* a repeated field */
        {"22016122002202616222022200", false}, /* once more than there is room for */
    };

    set_up();
    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        struct hg_slice elements[3];
        struct hgi_plain plain = {.number_fields = HGI_PLAIN_FIELD(1),
                                  .long_fields = HGI_PLAIN_FIELD(3),
                                  .bytes_fields = HGI_PLAIN_FIELD(2),
                                  .repeated_field = 4,
                                  .elements = elements,
                                  .elements_max = HGI_COUNT_OF(elements)};

        set_hex(rows[i].hex);
        ck_assert_msg(hgi_plain_read(hgi_bytes_slice(&input), &plain) == rows[i].is_plain, "%s",
                      rows[i].hex);
    }
    tear_down();
}
END_TEST

HGI_SUITE("proto.plain", 30, what_is_read_where_it_lies_is_what_protobuf_c_reads,
          what_is_not_plain_is_left_to_protobuf_c)
