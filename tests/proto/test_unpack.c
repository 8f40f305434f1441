/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of our messages, and the two functions that read the wire without protobuf-c. */
#include "hg_test.h"

#include "base/kind.h"
#include "codec_samples.h"
#include "health.pb-c.h"
#include "herdgate.pb-c.h"
#include "loader.pb-c.h"
#include "proto/unpack.h"

#define DEPTH_MAX 8u

/* How deep the deepest message below this one lies; DEPTH_MAX and more means recursion. */
static unsigned depth_of(const ProtobufCMessageDescriptor *type, unsigned depth)
{
    unsigned deepest = depth;

    for (unsigned i = 0; i < type->n_fields && depth < DEPTH_MAX; i++) {
        if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            unsigned below = depth_of(type->fields[i].descriptor, depth + 1);

            deepest = below > deepest ? below : deepest;
        }
    }
    return deepest;
}

static bool has_repeated(const ProtobufCMessageDescriptor *type)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        if (field->label == PROTOBUF_C_LABEL_REPEATED ||
            (field->type == PROTOBUF_C_TYPE_MESSAGE && has_repeated(field->descriptor))) {
            return true;
        }
    }
    return false;
}

/* protobuf-c merges a singular message that comes twice and copies its arrays each time: quadratic.
 */
static void check_no_array_in_a_singular_message(const ProtobufCMessageDescriptor *type)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        ck_assert_msg(field->label == PROTOBUF_C_LABEL_REPEATED || !has_repeated(field->descriptor),
                      "%s.%s holds repeated fields", type->name, field->name);
        check_no_array_in_a_singular_message(field->descriptor);
    }
}

static const ProtobufCServiceDescriptor *const services[] = {
    &herdgate__v1__cache__descriptor,
    &herdgate__v1__admin__descriptor,
    &herdgate__v1__events__descriptor,
    &grpc__health__v1__health__descriptor,
};

#define SERVICE_COUNT (sizeof(services) / sizeof(services[0]))

START_TEST(no_message_is_recursive)
{
    ck_assert_uint_lt(depth_of(&herdgate__v1__request__descriptor, 0), DEPTH_MAX);
    ck_assert_uint_lt(depth_of(&herdgate__v1__reply__descriptor, 0), DEPTH_MAX);
    ck_assert_uint_lt(depth_of(&herdgate__v1__auth_value__descriptor, 0), DEPTH_MAX);
    ck_assert_uint_lt(depth_of(&herdgate__loader__frame__descriptor, 0), DEPTH_MAX);
    for (size_t i = 0; i < SERVICE_COUNT; i++) {
        for (unsigned m = 0; m < services[i]->n_methods; m++) {
            ck_assert_uint_lt(depth_of(services[i]->methods[m].input, 0), DEPTH_MAX);
            ck_assert_uint_lt(depth_of(services[i]->methods[m].output, 0), DEPTH_MAX);
        }
    }
    /* The measure itself sees depth. */
    ck_assert_uint_eq(depth_of(&herdgate__v1__batch_request__descriptor, 0), 2);
}
END_TEST

START_TEST(no_singular_message_of_a_request_holds_repeated_fields)
{
    check_no_array_in_a_singular_message(&herdgate__v1__request__descriptor);
    check_no_array_in_a_singular_message(&herdgate__v1__auth_value__descriptor);
    for (size_t i = 0; i < SERVICE_COUNT; i++) {
        for (unsigned m = 0; m < services[i]->n_methods; m++) {
            check_no_array_in_a_singular_message(services[i]->methods[m].input);
        }
    }
    ck_assert(has_repeated(&herdgate__v1__stats_reply__descriptor));
    ck_assert(!has_repeated(&herdgate__v1__get_request__descriptor));
}
END_TEST

/* methods.def and the services of the .proto files name the same methods. */
START_TEST(the_table_of_methods_is_the_one_of_the_proto_files)
{
    size_t count = 0;

    for (size_t i = 0; i < SERVICE_COUNT; i++) {
        for (unsigned m = 0; m < services[i]->n_methods; m++) {
            struct hg_bytes path;

            hgi_bytes_init(&path, &hgi_heap);
            ck_assert(hgi_bytes_append(&path, hg_slice_text(services[i]->name)));
            ck_assert(hgi_bytes_append(&path, hg_slice_text("/")));
            ck_assert(hgi_bytes_append(&path, hg_slice_text(services[i]->methods[m].name)));
            ck_assert_msg(hgi_method_find(hgi_bytes_slice(&path)) != HGI_METHOD_NONE, "%s",
                          services[i]->methods[m].name);
            hgi_bytes_deinit(&path);
            count++;
        }
    }
    ck_assert_uint_eq(count, HGI_METHOD_COUNT - 1);
}
END_TEST

static size_t count_hex(const char *digits, uint32_t field)
{
    struct hg_bytes bytes;
    size_t count;

    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_hex(digits, &bytes);
    count = hgi_unpack_count(hgi_bytes_slice(&bytes), field);
    hgi_bytes_deinit(&bytes);
    return count;
}

START_TEST(fields_are_counted_without_unpacking)
{
    ck_assert_uint_eq(count_hex(hgi_golden_batch_request, 2), 5);
    ck_assert_uint_eq(count_hex(hgi_golden_batch_request, 1), 1);
    ck_assert_uint_eq(count_hex(hgi_golden_batch_request, 9), 0);
    ck_assert_uint_eq(count_hex("", 1), 0);
    /* varint, 8 bytes, length, 4 bytes; the inside of a field does not count */
    ck_assert_uint_eq(count_hex("08ff01"
                                "110101010101010101"
                                "0a020a00"
                                "0d01010101",
                                1),
                      3);
    ck_assert_uint_eq(count_hex("f80701"
                                "f80702",
                                127),
                      2);
}
END_TEST

START_TEST(counting_ends_where_the_bytes_stop_making_sense)
{
    ck_assert_uint_eq(count_hex("0a000a05", 1), 1);                   /* longer than the rest */
    ck_assert_uint_eq(count_hex("0a000affffffffffffffffff01", 1), 1); /* 2^64 - 1 bytes */
    ck_assert_uint_eq(count_hex("0a0008ffffffffffffffffffffff0a00", 1), 1); /* an endless number */
    ck_assert_uint_eq(count_hex("0a000b0a00", 1), 1);                       /* a group */
    ck_assert_uint_eq(count_hex("0a0009010a00", 1), 1);                     /* 8 bytes, 3 left */
}
END_TEST

START_TEST(the_sentence_tells_a_bad_message_from_a_costly_one)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_arena arena;
    enum hg_status status;

    hgi_arena_init(&arena, 64);
    ck_assert_ptr_null(hgi_unpack(&herdgate__v1__reply__descriptor, hg_slice_text("\x12\x09"),
                                  &arena, &status, sentence));
    ck_assert_int_eq(status, HG_RESOURCE_EXHAUSTED);
    ck_assert_str_eq(sentence, "decoding a Reply of 2 bytes needs more than the 64 bytes allowed");
    hgi_arena_reset(&arena, 4096);
    ck_assert_ptr_null(hgi_unpack(&herdgate__v1__reply__descriptor, hg_slice_text("\x12\x09"),
                                  &arena, &status, sentence));
    ck_assert_int_eq(status, HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "these 2 bytes are not a valid Reply");
    ck_assert_ptr_null(hgi_unpack_array(SIZE_MAX / 2, 16, &arena, &status, sentence));
    ck_assert_int_eq(status, HG_RESOURCE_EXHAUSTED);
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(a_packed_element_is_one_field_whatever_its_length)
{
    static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384, 70000};
    static unsigned char content[70000];

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct hg_bytes bytes;
        Herdgate__V1__Reply inner = HERDGATE__V1__REPLY__INIT;

        hgi_bytes_init(&bytes, &hgi_heap);
        ck_assert(hgi_pack_bytes(2000, hg_slice_of(content, lengths[i]), &bytes));
        inner.payload = hgi_pack_borrow(hg_slice_of(content, lengths[i]));
        ck_assert(hgi_pack_element(2000, &inner.base, &bytes));
        ck_assert_uint_eq(hgi_unpack_count(hgi_bytes_slice(&bytes), 2000), 2);
        ck_assert_uint_ge(bytes.len, 2 * lengths[i]);
        hgi_bytes_deinit(&bytes);
    }
}
END_TEST

HGI_SUITE("proto.unpack", 20, no_message_is_recursive,
          no_singular_message_of_a_request_holds_repeated_fields,
          the_table_of_methods_is_the_one_of_the_proto_files, fields_are_counted_without_unpacking,
          counting_ends_where_the_bytes_stop_making_sense,
          the_sentence_tells_a_bad_message_from_a_costly_one,
          a_packed_element_is_one_field_whatever_its_length)
