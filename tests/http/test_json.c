/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, values and answers as JSON and back, without a server. */
#include "hg_test.h"

#include "server/http/json.h"

static struct hgi_arena arena;
static char sentence[HGI_SENTENCE_MAX];
static json_t *json;

static void set_up(void)
{
    hgi_arena_init(&arena, 1u << 20);
    json = NULL;
}

static void tear_down(void)
{
    json_decref(json);
    hgi_arena_deinit(&arena);
}

/* The one before is forgotten. */
static json_t *parse(const char *text)
{
    json_decref(json);
    json = json_loads(text, JSON_DECODE_ANY, NULL);
    ck_assert_msg(json != NULL, "%s", text);
    return json;
}

static struct hg_key read_key(const char *text, enum hgi_key_type type)
{
    struct hg_key key;

    ck_assert_msg(hgi_json_read_key(parse(text), type, &key, sentence), "%s", sentence);
    return key;
}

static void refuse_key(const char *text, const char *wanted)
{
    struct hg_key key;

    ck_assert(!hgi_json_read_key(text ? parse(text) : NULL, HGI_KEYS_BYTES, &key, sentence));
    ck_assert_str_eq(sentence, wanted);
}

static void assert_value(const char *text, enum hg_value_type type, const char *wanted)
{
    struct hg_slice value;

    ck_assert_msg(hgi_json_read_value(parse(text), "value", type, &arena, &value, sentence), "%s",
                  sentence);
    ck_assert_slice_eq(value, wanted);
}

static void refuse_value(const char *text, enum hg_value_type type, const char *wanted)
{
    struct hg_slice value;

    ck_assert_msg(!hgi_json_read_value(parse(text), "value", type, &arena, &value, sentence), "%s",
                  text);
    ck_assert_str_eq(sentence, wanted);
}

static void assert_json(json_t *made, const char *wanted)
{
    struct hg_bytes text;

    hgi_bytes_init(&text, &hgi_heap);
    ck_assert_ptr_nonnull(made);
    ck_assert(hgi_json_write(made, &text));
    ck_assert_slice_eq(hgi_bytes_slice(&text), wanted);
    hgi_bytes_deinit(&text);
    json_decref(made);
}

/* ---- read ---- */

START_TEST(a_text_is_a_key_of_one_part)
{
    struct hg_key key;

    set_up();
    key = read_key("\"k\"", HGI_KEYS_BYTES);
    ck_assert_int_eq(key.kind, HG_KEY_BYTES);
    ck_assert_slice_eq(key.bytes, "k");
    ck_assert_int_eq(read_key("\"k\"", HGI_KEYS_KEY_HASH).kind, HG_KEY_KEY_HASH);
    ck_assert_int_eq(read_key("\"k\"", HGI_KEYS_AUTH).kind, HG_KEY_KEY_HASH);
    ck_assert_int_eq(read_key("\"k\"", (enum hgi_key_type)0).kind, HG_KEY_BYTES);
    ck_assert_slice_eq(read_key("\"\\u00e4\\n\"", HGI_KEYS_BYTES).bytes, "\xc3\xa4\n");
    tear_down();
}
END_TEST

START_TEST(an_object_is_a_key_of_parts)
{
    struct hg_key key;

    set_up();
    key = read_key("{\"user_id\":\"u\",\"api_key_id\":\"k\"}", HGI_KEYS_USER_API_KEY);
    ck_assert_int_eq(key.kind, HG_KEY_USER_API_KEY);
    ck_assert_slice_eq(key.user_id, "u");
    ck_assert_slice_eq(key.api_key_id, "k");
    ck_assert(!key.is_standalone);
    key = read_key("{\"api_key_id\":\"k\",\"standalone\":true}", HGI_KEYS_API_KEY_FEATURE);
    ck_assert_int_eq(key.kind, HG_KEY_API_KEY_FEATURE);
    ck_assert(key.is_standalone);
    ck_assert_uint_eq(key.user_id.len, 0);
    tear_down();
}
END_TEST

START_TEST(what_is_no_key_is_told_what_one_is)
{
    static const char missing[] =
        "key is missing; write a text, or an object of user_id and api_key_id";
    static const char parts[] = "a key of parts has the texts user_id and api_key_id, and perhaps "
                                "standalone, true or false";
    static const char *const no_keys[] = {"1", "null", "true", "[\"k\"]"};
    static const char *const no_parts[] = {"{\"user_id\":1}", "{\"api_key_id\":null}",
                                           "{\"standalone\":\"yes\"}", "{\"user\":\"u\"}"};

    set_up();
    refuse_key(NULL, missing);
    for (size_t i = 0; i < sizeof(no_keys) / sizeof(no_keys[0]); i++) {
        refuse_key(no_keys[i], missing);
    }
    for (size_t i = 0; i < sizeof(no_parts) / sizeof(no_parts[0]); i++) {
        refuse_key(no_parts[i], parts);
    }
    tear_down();
}
END_TEST

START_TEST(texts_are_a_list_of_at_most_so_many)
{
    static const char *const wrong[] = {"\"a\"", "{}", "[1]", "[\"a\",null]",
                                        "[\"a\",\"b\",\"c\"]"};
    const struct hg_slice *texts;
    size_t count = 9;

    set_up();
    ck_assert(hgi_json_read_texts(NULL, "tags", 2, &arena, &texts, &count, sentence));
    ck_assert_uint_eq(count, 0);
    ck_assert(
        hgi_json_read_texts(parse("[\"a\",\"\"]"), "tags", 2, &arena, &texts, &count, sentence));
    ck_assert_uint_eq(count, 2);
    ck_assert_slice_eq(texts[0], "a");
    ck_assert_uint_eq(texts[1].len, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert(
            !hgi_json_read_texts(parse(wrong[i]), "tags", 2, &arena, &texts, &count, sentence));
        ck_assert_str_eq(sentence, "tags is a list of at most 2 texts");
    }
    tear_down();
}
END_TEST

START_TEST(a_value_of_bytes_is_a_text_or_base64)
{
    static const char either[] = "write either value or value_base64, or the outcome absent";
    static const char base64[] = "value_base64 is no base64, with padding";
    struct hg_slice value;

    set_up();
    assert_value("{\"value\":\"v\"}", HG_TYPE_BYTES, "v");
    assert_value("{\"value\":\"\"}", HG_TYPE_BYTES, "");
    assert_value("{\"value_base64\":\"aGVsbG8=\"}", HG_TYPE_BYTES, "hello");
    assert_value("{\"value_base64\":\"\"}", HG_TYPE_BYTES, "");
    ck_assert(hgi_json_read_value(parse("{\"value_base64\":\"/wA=\"}"), "value", HG_TYPE_BYTES,
                                  &arena, &value, sentence));
    ck_assert_uint_eq(value.len, 2);
    ck_assert_int_eq(memcmp(value.data, "\xff", 2), 0);
    refuse_value("{}", HG_TYPE_BYTES, either);
    refuse_value("{\"value\":\"v\",\"value_base64\":\"\"}", HG_TYPE_BYTES, either);
    refuse_value("{\"value\":1}", HG_TYPE_BYTES, "value is a text, in a cache of bytes");
    refuse_value("{\"value\":null}", HG_TYPE_BYTES, "value is a text, in a cache of bytes");
    refuse_value("{\"value_base64\":\"aGVsbG8\"}", HG_TYPE_BYTES, base64);
    refuse_value("{\"value_base64\":\"_wA=\"}", HG_TYPE_BYTES, base64);
    refuse_value("{\"value_base64\":\"aGVs bG8=\"}", HG_TYPE_BYTES, base64);
    refuse_value("{\"value_base64\":7}", HG_TYPE_BYTES, base64);
    tear_down();
}
END_TEST

START_TEST(a_value_of_json_is_any_json)
{
    set_up();
    assert_value("{\"value\": {\"a\": [1, null, \"x\"]}}", HG_TYPE_JSON, "{\"a\":[1,null,\"x\"]}");
    assert_value("{\"value\": null}", HG_TYPE_JSON, "null");
    assert_value("{\"value\": \"t\\\"\\u0007\"}", HG_TYPE_JSON, "\"t\\\"\\u0007\"");
    assert_value("{\"value\": -9223372036854775808}", HG_TYPE_JSON, "-9223372036854775808");
    assert_value("{\"value\": 1.5}", HG_TYPE_JSON, "1.5");
    assert_value("{\"value_base64\": \"e30=\"}", HG_TYPE_JSON, "{}");
    tear_down();
}
END_TEST

START_TEST(an_auth_value_is_an_object_of_known_fields)
{
    struct hg_slice value;
    struct hg_auth auth;

    set_up();
    ck_assert_msg(hgi_json_read_value(
                      parse("{\"value\":{\"user_id\":\"u\",\"api_key_id\":\"k\",\"allowed\":true,"
                            "\"scopes\":[\"r\",\"w\"],\"attributes\":{\"plan\":\"gold\"},"
                            "\"not_after_ms\":1796083871499}}"),
                      "value", HG_TYPE_AUTH, &arena, &value, sentence),
                  "%s", sentence);
    ck_assert_int_eq(hgi_auth_decode(value, &arena, &auth, sentence), HG_OK);
    ck_assert_slice_eq(auth.user_id, "u");
    ck_assert_slice_eq(auth.api_key_id, "k");
    ck_assert(auth.allowed);
    ck_assert_uint_eq(auth.scope_count, 2);
    ck_assert_slice_eq(auth.scopes[1], "w");
    ck_assert_uint_eq(auth.attribute_count, 1);
    ck_assert_slice_eq(auth.attributes[0].name, "plan");
    ck_assert_slice_eq(auth.attributes[0].value, "gold");
    ck_assert_int_eq(auth.not_after_ms, INT64_C(1796083871499));
    /* As an answer tells one without an end. */
    ck_assert(hgi_json_read_value(parse("{\"value\":{\"allowed\":false,\"not_after_ms\":null}}"),
                                  "value", HG_TYPE_AUTH, &arena, &value, sentence));
    ck_assert_int_eq(hgi_auth_decode(value, &arena, &auth, sentence), HG_OK);
    ck_assert(!auth.allowed);
    ck_assert_int_eq(auth.not_after_ms, 0);
    tear_down();
}
END_TEST

/* A wrong end must not become none, nor a misspelt scope a right that nobody reads. */
START_TEST(what_is_no_auth_value_is_refused_whatever_is_wrong)
{
    static const char fields[] =
        "an auth value is an object of the texts user_id and api_key_id, allowed (true or false, "
        "needed), the list scopes, the object attributes and the number not_after_ms, and nothing "
        "else";
    static const char *const wrong[] = {
        "{\"value\":\"x\"}",
        "{\"value\":{}}",
        "{\"value\":{\"allowed\":1}}",
        "{\"value\":{\"allowed\":true,\"user_id\":5}}",
        "{\"value\":{\"allowed\":true,\"api_key_id\":null}}",
        "{\"value\":{\"allowed\":true,\"not_after_ms\":\"1796083871499\"}}",
        "{\"value\":{\"allowed\":true,\"not_after_ms\":1.5}}",
        "{\"value\":{\"allowed\":true,\"not_after_ms\":-1}}",
        "{\"value\":{\"allowed\":true,\"attributes\":[\"plan\"]}}",
        "{\"value\":{\"allowed\":true,\"scope\":[\"r\"]}}",
    };

    set_up();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        refuse_value(wrong[i], HG_TYPE_AUTH, fields);
    }
    refuse_value("{\"value\":{\"allowed\":true,\"scopes\":\"r\"}}", HG_TYPE_AUTH,
                 "scopes is a list of at most 256 texts");
    refuse_value("{\"value\":{\"allowed\":true,\"attributes\":{\"plan\":1}}}", HG_TYPE_AUTH,
                 "attributes is an object of at most 256 texts");
    tear_down();
}
END_TEST

START_TEST(a_request_larger_than_its_memory_is_told_so)
{
    struct hgi_arena small;
    const struct hg_slice *texts;
    struct hg_slice value;
    size_t count;

    set_up();
    hgi_arena_init(&small, 0);
    ck_assert(!hgi_json_read_texts(parse("[\"a\"]"), "tags", 2, &small, &texts, &count, sentence));
    ck_assert_str_eq(sentence, "no memory for the request");
    ck_assert(!hgi_json_read_value(parse("{\"value\":\"v\"}"), "value", HG_TYPE_BYTES, &small,
                                   &value, sentence));
    ck_assert_str_eq(sentence, "no memory for the request");
    ck_assert(!hgi_json_read_value(parse("{\"value_base64\":\"aGVsbG8=\"}"), "value", HG_TYPE_BYTES,
                                   &small, &value, sentence));
    ck_assert_str_eq(sentence, "no memory for the request");
    hgi_arena_deinit(&small);
    tear_down();
}
END_TEST

/* ---- write ---- */

static struct hgi_msg_answer answer_of(enum hg_value_type type, struct hg_slice value)
{
    return (struct hgi_msg_answer){.outcome = HG_VALUE,
                                   .value_type = type,
                                   .value = value,
                                   .source = HG_SOURCE_FRESH,
                                   .generation = 7,
                                   .age_ms = 1,
                                   .ttl_left_ms = 2,
                                   .stale_left_ms = 3};
}

#define REST                                                                                       \
    "\"source\":\"fresh\",\"fenced\":false,\"generation\":7,\"age_ms\":1,\"ttl_left_ms\":2,"       \
    "\"stale_left_ms\":3}"

START_TEST(an_answer_tells_its_value_by_type)
{
    struct hgi_msg_answer answer;

    set_up();
    answer = answer_of(HG_TYPE_BYTES, hg_slice_text("v\"\n"));
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"value\",\"value\":\"v\\\"\\n\"," REST);
    answer = answer_of(HG_TYPE_BYTES, hg_slice_of("\xff", 2));
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"value\",\"value_base64\":\"/wA=\"," REST);
    answer = answer_of(HG_TYPE_JSON, hg_slice_text("{\"a\": 1}"));
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"value\",\"value\":{\"a\":1}," REST);
    answer = answer_of(HG_TYPE_JSON, hg_slice_text("no json")); /* as text */
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"value\",\"value\":\"no json\"," REST);
    tear_down();
}
END_TEST

START_TEST(an_auth_value_is_told_as_it_is_put)
{
    const struct hg_slice scope = hg_slice_text("r");
    struct hg_attribute attribute = {hg_slice_text("plan"), hg_slice_text("gold")};
    struct hg_auth auth = {.user_id = hg_slice_text("u"),
                           .allowed = true,
                           .scopes = &scope,
                           .scope_count = 1,
                           .attributes = &attribute,
                           .attribute_count = 1,
                           .not_after_ms = 5};
    struct hgi_msg_answer answer;
    struct hg_bytes packed;

    set_up();
    hgi_bytes_init(&packed, &hgi_heap);
    ck_assert(hgi_auth_encode(&auth, &packed));
    answer = answer_of(HG_TYPE_AUTH, hgi_bytes_slice(&packed));
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"value\",\"value\":{\"user_id\":\"u\",\"api_key_id\":\"\","
                "\"allowed\":true,\"scopes\":[\"r\"],\"attributes\":{\"plan\":\"gold\"},"
                "\"not_after_ms\":5}," REST);
    /* What JSON has no text for is told whole, as bytes. */
    attribute.value = hg_slice_text("\xff");
    packed.len = 0;
    ck_assert(hgi_auth_encode(&auth, &packed));
    answer = answer_of(HG_TYPE_AUTH, hgi_bytes_slice(&packed));
    json = hgi_json_of_answer(&answer, &arena);
    ck_assert_ptr_null(json_object_get(json, "value"));
    ck_assert(json_is_string(json_object_get(json, "value_base64")));
    hgi_bytes_deinit(&packed);
    tear_down();
}
END_TEST

START_TEST(an_answer_without_a_value_has_none)
{
    struct hgi_msg_answer answer = {.outcome = HG_NOT_CACHED};

    set_up();
    assert_json(hgi_json_of_answer(&answer, &arena), "{\"outcome\":\"not_cached\"}");
    answer = answer_of((enum hg_value_type)0, hg_slice_of(NULL, 0));
    answer.outcome = HG_DENIED;
    answer.is_fenced = true;
    answer.source = HG_SOURCE_LOADED;
    assert_json(hgi_json_of_answer(&answer, &arena),
                "{\"outcome\":\"denied\",\"source\":\"loaded\",\"fenced\":true,\"generation\":7,"
                "\"age_ms\":1,\"ttl_left_ms\":2,\"stale_left_ms\":3}");
    tear_down();
}
END_TEST

START_TEST(a_report_says_what_was_done)
{
    const struct hgi_msg_report report = {
        .cache = hg_slice_text("c"), .generation = 1, .dropped = 2, .fenced = 3, .released = 4};

    set_up();
    assert_json(hgi_json_of_report(&report), "{\"cache\":\"c\",\"generation\":1,\"dropped\":2,"
                                             "\"fenced\":3,\"released\":4}");
    tear_down();
}
END_TEST

HGI_SUITE("http.json", 20, a_text_is_a_key_of_one_part, an_object_is_a_key_of_parts,
          what_is_no_key_is_told_what_one_is, texts_are_a_list_of_at_most_so_many,
          a_value_of_bytes_is_a_text_or_base64, a_value_of_json_is_any_json,
          an_auth_value_is_an_object_of_known_fields,
          what_is_no_auth_value_is_refused_whatever_is_wrong,
          a_request_larger_than_its_memory_is_told_so, an_answer_tells_its_value_by_type,
          an_auth_value_is_told_as_it_is_put, an_answer_without_a_value_has_none,
          a_report_says_what_was_done)
