/* SPDX-License-Identifier: Apache-2.0 */
/* What values say of who asks. */
#include "hg_test.h"

#include "server/http/identity.h"

#define HEADERS_MAX 6

static struct hgi_arena arena;
static struct hgi_http_response response;
static struct hgi_identity_header headers[HEADERS_MAX];
static struct hgi_authz_config authz;

static void begin(enum hg_value_type type)
{
    hgi_arena_init(&arena, 65536);
    hgi_http_response_init(&response, &arena);
    authz = (struct hgi_authz_config){.value_type = type, .headers = headers};
}

static void want(const char *of)
{
    headers[authz.header_count++] = (struct hgi_identity_header){"X", of};
}

static void end(void)
{
    hgi_arena_deinit(&arena);
}

static bool say(struct hg_slice value)
{
    const struct hgi_msg_answer answer = {
        .outcome = HG_VALUE, .value_type = authz.value_type, .value = value};

    return hgi_identity_say(&authz, &answer, &response);
}

static bool say_auth(const char *user)
{
    const struct hg_slice scopes[] = {hg_slice_text("read"), hg_slice_text("write")};
    const struct hg_attribute attributes[] = {{hg_slice_text("plan"), hg_slice_text("gold")}};
    const struct hg_auth auth = {.user_id = hg_slice_text(user),
                                 .api_key_id = hg_slice_text("k"),
                                 .allowed = true,
                                 .scopes = scopes,
                                 .scope_count = 2,
                                 .attributes = attributes,
                                 .attribute_count = 1,
                                 .not_after_ms = 1700000000999};
    struct hg_bytes packed;
    bool is_said;

    hgi_bytes_init(&packed, &hgi_heap);
    ck_assert(hgi_auth_encode(&auth, &packed));
    is_said = say(hgi_bytes_slice(&packed));
    hgi_bytes_deinit(&packed);
    return is_said;
}

START_TEST(an_auth_value_says_its_fields)
{
    static const char *const of[] = {"user_id",   "api_key_id",     "scopes",
                                     "not_after", "attribute:plan", "attribute:none"};
    static const char *const expected[] = {"u", "k", "read write", "1700000000", "gold", " "};

    begin(HG_TYPE_AUTH);
    for (size_t i = 0; i < HEADERS_MAX; i++) {
        want(of[i]);
    }
    ck_assert(say_auth("u"));
    ck_assert_uint_eq(response.field_count, HEADERS_MAX);
    for (size_t i = 0; i < HEADERS_MAX; i++) {
        ck_assert_str_eq(response.fields[i].value, expected[i]);
    }
    end();
}
END_TEST

START_TEST(nobody_is_let_in_by_what_cannot_be_a_header)
{
    begin(HG_TYPE_AUTH);
    want("user_id");
    ck_assert(!say_auth("u\r\nX-Admin: yes"));
    end();
    begin(HG_TYPE_AUTH);
    want("user_id");
    ck_assert(!say(hg_slice_text("\xff\xff no auth value")));
    end();
}
END_TEST

START_TEST(a_json_value_says_what_pointers_find)
{
    static const char *const of[] = {"/user/id", "/roles", "/n", "/a~1b", "/roles/1", "/user"};
    static const char *const expected[] = {"u1", "admin dev", "7", "slash", "dev", " "};

    begin(HG_TYPE_JSON);
    for (size_t i = 0; i < HEADERS_MAX; i++) {
        want(of[i]);
    }
    ck_assert(say(hg_slice_text("{\"user\":{\"id\":\"u1\"},\"roles\":[\"admin\",\"dev\"],\"n\":7,"
                                "\"a/b\":\"slash\"}")));
    for (size_t i = 0; i < HEADERS_MAX; i++) {
        ck_assert_str_eq(response.fields[i].value, expected[i]);
    }
    end();
    begin(HG_TYPE_JSON);
    want("/n");
    ck_assert(!say(hg_slice_text("{\"n\":\"a\\nb\"}")));
    end();
}
END_TEST

/* A list of so many words takes a few times its length, in what each request has anyway. */
START_TEST(a_long_list_takes_memory_of_its_length)
{
    enum { WORDS = 2000 };
    static char list[4 * WORDS + 2] = "[";

    for (size_t i = 0; i < WORDS; i++) {
        strcat(list + 4 * i, i ? ",\"w\"" : "\"w\"");
    }
    strcat(list, "]");
    begin(HG_TYPE_JSON);
    want("");
    ck_assert(say(hg_slice_text(list)));
    ck_assert_uint_eq(strlen(response.fields[0].value), 2 * WORDS - 1);
    end();
}
END_TEST

START_TEST(bytes_are_themselves_and_nobody_known_is_all_spaces)
{
    begin(HG_TYPE_BYTES);
    want("value");
    ck_assert(say(hg_slice_text("u1")));
    ck_assert_str_eq(response.fields[0].value, "u1");
    ck_assert(hgi_identity_say(&authz, NULL, &response));
    ck_assert_uint_eq(response.field_count, 2);
    ck_assert_str_eq(response.fields[1].value, " ");
    end();
}
END_TEST

HGI_SUITE("http.identity", 20, an_auth_value_says_its_fields,
          nobody_is_let_in_by_what_cannot_be_a_header, a_json_value_says_what_pointers_find,
          a_long_list_takes_memory_of_its_length,
          bytes_are_themselves_and_nobody_known_is_all_spaces)
