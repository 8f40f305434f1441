/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway's request shows, and what it says of the request it asks about. */
#include "hg_test.h"

#include "server/http/credential.h"
#include "server/http/facts.h"

#define FIELDS_MAX 6

static struct hgi_arena arena;
static struct hgi_http_field fields[FIELDS_MAX];
static struct hgi_http_request request;

static void begin(void)
{
    hgi_arena_init(&arena, 65536);
    request = (struct hgi_http_request){
        .method = hg_slice_text("GET"), .path = hg_slice_text("/authz/a"), .fields = fields};
}

static void end(void)
{
    hgi_arena_deinit(&arena);
}

static void add(const char *name, const char *value)
{
    ck_assert_uint_lt(request.field_count, FIELDS_MAX);
    fields[request.field_count++] =
        (struct hgi_http_field){hg_slice_text(name), hg_slice_text(value)};
}

/* `expected` NULL: nothing was found, in this way. */
static void look(enum hgi_credential_source source, const char *name, const char *query,
                 enum hgi_credential_found how, const char *expected)
{
    const struct hgi_authz_config authz = {.source = source, .source_name = name};
    struct hg_slice credential = {NULL, 0};

    ck_assert_int_eq(
        hgi_credential_find(&authz, &request, hg_slice_text(query), &arena, &credential), how);
    if (expected) {
        ck_assert_slice_eq(credential, expected);
    }
    request.field_count = 0;
}

START_TEST(a_bearer_token_stands_behind_its_scheme)
{
    begin();
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_NONE, NULL);
    add("Authorization", "Bearer abc.DEF-_~+/1==");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_FOUND, "abc.DEF-_~+/1==");
    add("authorization", "bEARER  abc");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_FOUND, "abc");
    add("Authorization", "Basic abc");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_NONE, NULL);
    add("Authorization", "Bearer");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_NONE, NULL);
    add("Authorization", "Bearerabc");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_NONE, NULL);
    end();
}
END_TEST

START_TEST(two_bearer_tokens_or_half_a_one_are_wrong)
{
    begin();
    add("Authorization", "Bearer a");
    add("Authorization", "Bearer a");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_WRONG, NULL);
    add("Authorization", "Bearer a");
    add("Authorization", "Basic b");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_WRONG, NULL);
    add("Authorization", "Bearer a, Bearer b");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_WRONG, NULL);
    add("Authorization", "Bearer ==");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_WRONG, NULL);
    add("Authorization", "Bearer a\x01"
                         "b");
    look(HGI_CREDENTIAL_BEARER, NULL, "", HGI_CREDENTIAL_WRONG, NULL);
    end();
}
END_TEST

START_TEST(a_header_is_the_credential_as_it_stands)
{
    begin();
    add("x-api-key", " k 1 ");
    look(HGI_CREDENTIAL_HEADER, "X-Api-Key", "", HGI_CREDENTIAL_FOUND, "k 1");
    add("X-Api-Key", "  ");
    look(HGI_CREDENTIAL_HEADER, "X-Api-Key", "", HGI_CREDENTIAL_NONE, NULL);
    add("X-Api-Key", "a");
    add("X-API-KEY", "b");
    look(HGI_CREDENTIAL_HEADER, "X-Api-Key", "", HGI_CREDENTIAL_WRONG, NULL);
    end();
}
END_TEST

START_TEST(a_cookie_is_found_in_all_fields_of_cookies)
{
    begin();
    add("Cookie", "a=1; key=v=2; b");
    look(HGI_CREDENTIAL_COOKIE, "key", "", HGI_CREDENTIAL_FOUND, "v=2");
    add("Cookie", "key=\"quoted\"");
    look(HGI_CREDENTIAL_COOKIE, "key", "", HGI_CREDENTIAL_FOUND, "quoted");
    add("Cookie", "xkey=1; keyx=2; key");
    look(HGI_CREDENTIAL_COOKIE, "key", "", HGI_CREDENTIAL_NONE, NULL);
    add("Cookie", "key=1; key=1");
    look(HGI_CREDENTIAL_COOKIE, "key", "", HGI_CREDENTIAL_WRONG, NULL);
    add("Cookie", "key=1");
    add("Cookie", "key=2");
    look(HGI_CREDENTIAL_COOKIE, "key", "", HGI_CREDENTIAL_WRONG, NULL);
    end();
}
END_TEST

START_TEST(a_parameter_is_decoded)
{
    begin();
    look(HGI_CREDENTIAL_QUERY, "k", "", HGI_CREDENTIAL_NONE, NULL);
    look(HGI_CREDENTIAL_QUERY, "k", "a=1&k=x%2By+z&b", HGI_CREDENTIAL_FOUND, "x+y z");
    look(HGI_CREDENTIAL_QUERY, "k", "k=1&k=2", HGI_CREDENTIAL_WRONG, NULL);
    look(HGI_CREDENTIAL_QUERY, "k", "k=%4", HGI_CREDENTIAL_WRONG, NULL);
    look(HGI_CREDENTIAL_QUERY, "k", "k=%zz", HGI_CREDENTIAL_WRONG, NULL);
    look(HGI_CREDENTIAL_QUERY, "k", "k=a%0ab", HGI_CREDENTIAL_WRONG, NULL);
    look(HGI_CREDENTIAL_QUERY, "k", "k=", HGI_CREDENTIAL_NONE, NULL);
    end();
}
END_TEST

/* printf abc | sha256sum */
START_TEST(its_hash_is_sha256_in_digits)
{
    struct hg_slice digits;

    begin();
    ck_assert(hgi_credential_sha256(hg_slice_text("abc"), &arena, &digits));
    ck_assert_slice_eq(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    end();
}
END_TEST

static struct hgi_facts facts;

static bool read_facts(enum hgi_facts_from from)
{
    bool is_good = hgi_facts_read(&request, from, hg_slice_text("/own"), &arena, &facts);

    request.field_count = 0;
    return is_good;
}

static void forward(void)
{
    add("Host", "authz.internal");
    add("X-Forwarded-Method", "POST");
    add("X-Forwarded-Host", "Shop.Example");
    add("X-Forwarded-Uri", "/buy?k=1");
}

START_TEST(forwarded_comes_before_original_and_both_before_the_request)
{
    begin();
    request.query = hg_slice_text("own=1");
    forward();
    ck_assert(read_facts(HGI_FACTS_FROM_ANY));
    ck_assert_slice_eq(facts.method, "POST");
    ck_assert_slice_eq(facts.host, "shop.example");
    ck_assert_slice_eq(facts.path, "/buy");
    ck_assert_slice_eq(facts.query, "k=1");
    add("Host", "Own.Example");
    add("X-Original-Method", "PUT");
    add("X-Original-URI", "/orig?o=1");
    ck_assert(read_facts(HGI_FACTS_FROM_ANY));
    ck_assert_slice_eq(facts.method, "PUT");
    ck_assert_slice_eq(facts.host, "own.example");
    ck_assert_slice_eq(facts.path, "/orig");
    ck_assert_slice_eq(facts.query, "o=1");
    add("Host", "h");
    ck_assert(read_facts(HGI_FACTS_FROM_ANY));
    ck_assert_slice_eq(facts.method, "GET");
    ck_assert_slice_eq(facts.path, "/own");
    ck_assert_slice_eq(facts.query, "own=1");
    end();
}
END_TEST

START_TEST(two_tellers_that_differ_or_one_that_tells_twice_are_wrong)
{
    begin();
    add("X-Forwarded-Uri", "/public");
    add("X-Original-URI", "/admin");
    ck_assert(!read_facts(HGI_FACTS_FROM_ANY));
    add("X-Forwarded-Uri", "/same");
    add("X-Original-URI", "/same");
    ck_assert(read_facts(HGI_FACTS_FROM_ANY));
    add("X-Forwarded-Method", "GET");
    add("X-Forwarded-Method", "GET");
    ck_assert(!read_facts(HGI_FACTS_FROM_ANY));
    add("Host", "a");
    add("Host", "b");
    ck_assert(!read_facts(HGI_FACTS_FROM_REQUEST));
    end();
}
END_TEST

START_TEST(only_who_is_named_is_believed)
{
    struct hg_slice joined;

    begin();
    forward();
    ck_assert(read_facts(HGI_FACTS_FROM_REQUEST));
    ck_assert_slice_eq(facts.method, "GET");
    ck_assert_slice_eq(facts.host, "authz.internal");
    ck_assert_slice_eq(facts.path, "/own");
    forward();
    ck_assert(read_facts(HGI_FACTS_FROM_ORIGINAL));
    ck_assert_uint_eq(facts.path.len, 0); /* nobody told it, and it is nobody else's to tell */
    ck_assert(!hgi_facts_join(&facts, HGI_FACT_PATH, &arena, &joined));
    end();
}
END_TEST

START_TEST(facts_join_in_one_order_with_one_space)
{
    struct hg_slice joined;

    begin();
    forward();
    ck_assert(read_facts(HGI_FACTS_FROM_FORWARDED));
    ck_assert(
        hgi_facts_join(&facts, HGI_FACT_PATH | HGI_FACT_METHOD | HGI_FACT_HOST, &arena, &joined));
    ck_assert_slice_eq(joined, "POST shop.example /buy");
    ck_assert(hgi_facts_join(&facts, HGI_FACT_PATH, &arena, &joined));
    ck_assert_slice_eq(joined, "/buy");
    facts.path = hg_slice_text("/a b");
    ck_assert(!hgi_facts_join(&facts, HGI_FACT_PATH, &arena, &joined));
    end();
}
END_TEST

HGI_SUITE("http.credential", 20, a_bearer_token_stands_behind_its_scheme,
          two_bearer_tokens_or_half_a_one_are_wrong, a_header_is_the_credential_as_it_stands,
          a_cookie_is_found_in_all_fields_of_cookies, a_parameter_is_decoded,
          its_hash_is_sha256_in_digits, forwarded_comes_before_original_and_both_before_the_request,
          two_tellers_that_differ_or_one_that_tells_twice_are_wrong, only_who_is_named_is_believed,
          facts_join_in_one_order_with_one_space)
