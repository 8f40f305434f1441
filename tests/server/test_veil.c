/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for a key, and that the engine does with it what it does with a key, telling the key
 * itself to nobody but the loader. */
#include "base/check.h"
#include "engine.h"
#include "server/cache/flight.h"
#include "server/cache/tagging.h"

static struct hgi_key key_of(const char *user, const char *api_key)
{
    const struct hg_key typed = {
        .kind = HG_KEY_USER_API_KEY,
        .user_id = hg_slice_text(user),
        .api_key_id = hg_slice_text(api_key),
    };
    struct hgi_key key;
    char sentence[HGI_SENTENCE_MAX];

    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_USER_API_KEY, &typed, &key, sentence), HG_OK);
    return key;
}

static struct hgi_veil veil_of(const char *cache)
{
    const struct hgi_digest_key master = {.bytes = "a key that only tests should use"};
    struct hgi_veil veil;

    hgi_veil_init(&veil, &master, hg_slice_text(cache));
    return veil;
}

static struct hgi_key veiled(const struct hgi_veil *veil, const struct hgi_key *key)
{
    struct hgi_key made;

    hgi_veil_key(veil, hgi_key_slice(key), &made);
    return made;
}

static bool is_same(const struct hgi_key *a, const struct hgi_key *b)
{
    return hgi_slice_equal(hgi_key_slice(a), hgi_key_slice(b));
}

START_TEST(a_key_has_one_digest_a_cache)
{
    struct hgi_veil a = veil_of("a");
    struct hgi_veil b = veil_of("b");
    struct hgi_key key = key_of("user", "one");
    struct hgi_key other = key_of("user", "two");
    struct hgi_key in_a = veiled(&a, &key);
    struct hgi_key in_a_again = veiled(&a, &key);
    struct hgi_key in_b = veiled(&b, &key);
    struct hgi_key other_in_a = veiled(&a, &other);

    ck_assert(is_same(&in_a, &in_a_again));
    ck_assert(!is_same(&in_a, &in_b));
    ck_assert(!is_same(&in_a, &other_in_a));
    ck_assert(
        !hgi_slice_equal(hgi_veil_user(hgi_key_slice(&in_a)), hgi_veil_user(hgi_key_slice(&in_b))));
    hgi_veil_wipe(&a);
    for (size_t i = 0; i < sizeof(a.key.bytes); i++) {
        ck_assert_uint_eq(a.key.bytes[i], 0);
    }
}
END_TEST

START_TEST(a_veiled_key_is_no_typed_key_and_shows_nothing_of_one)
{
    struct hgi_veil veil = veil_of("a");
    struct hgi_key key = key_of("canary-user", "canary-key");
    struct hgi_key hidden = veiled(&veil, &key);
    struct hg_key typed;

    ck_assert(hgi_veil_is_on(hgi_key_slice(&hidden)));
    ck_assert(!hgi_veil_is_on(hgi_key_slice(&key)));
    ck_assert(!hgi_veil_is_on(hg_slice_of(NULL, 0)));
    ck_assert(!hgi_key_decode(hgi_key_slice(&hidden), &typed));
    ck_assert_ptr_null(memmem(hidden.data, hidden.len, "canary", 6));
}
END_TEST

START_TEST(keys_of_one_user_have_his_digest_in_common)
{
    const struct hg_key bytes = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("user")};
    struct hgi_veil veil = veil_of("a");
    struct hgi_key one = key_of("user", "one");
    struct hgi_key two = key_of("user", "two");
    struct hgi_key another = key_of("another", "one");
    struct hgi_key without;
    struct hgi_digest user = hgi_veil_name(&veil, HGI_TAG_USER, hg_slice_text("user"));
    struct hgi_digest tag = hgi_veil_name(&veil, HGI_TAG_GIVEN, hg_slice_text("user"));
    struct hg_slice digest = hg_slice_of(user.bytes, sizeof(user.bytes));
    char sentence[HGI_SENTENCE_MAX];

    one = veiled(&veil, &one);
    two = veiled(&veil, &two);
    another = veiled(&veil, &another);
    ck_assert(hgi_slice_equal(hgi_veil_user(hgi_key_slice(&one)), digest));
    ck_assert(hgi_slice_equal(hgi_veil_user(hgi_key_slice(&two)), digest));
    ck_assert(!hgi_slice_equal(hgi_veil_user(hgi_key_slice(&another)), digest));
    ck_assert(!hgi_digest_equal(&user, &tag));
    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &bytes, &without, sentence), HG_OK);
    ck_assert_uint_eq(hgi_veil_user(hgi_key_slice(&without)).len, 0);
    without = veiled(&veil, &without);
    ck_assert_uint_eq(hgi_veil_user(hgi_key_slice(&without)).len, 0);
}
END_TEST

static void end_with(struct engine *e, size_t load, const char *tag, const char *user)
{
    const struct hg_slice slice = hg_slice_text(tag);
    const struct hgi_result result = {
        .status = HG_OK,
        .outcome = HG_VALUE,
        .value = hg_slice_text("value"),
        .lifetime = {.tags = &slice, .tag_count = *tag ? 1 : 0, .user = hg_slice_text(user)}};

    engine_result(e, load, &result);
}

static void cover(struct engine *e, const struct hgi_cover *what)
{
    struct hgi_report report;

    hgi_cache_invalidate_cover(e->cache, what, &e->now, &report);
    engine_pass(e, 0);
}

/* Loads are told apart by their last bytes: canonical keys begin with a byte and a length. */
static bool is_told(const struct engine *e, size_t load, const struct hgi_key *key)
{
    return load < e->load_count && memcmp(e->loads[load].key, key->data, key->len) == 0;
}

START_TEST(the_loader_is_told_the_key_at_each_try_and_at_a_refresh)
{
    struct engine *e = engine_create_veiled(NULL);
    struct hgi_key key = key_of("u", "k");
    struct hg_slice canonical = hgi_key_slice(&key);

    engine_read_veiled(e, canonical, HG_MODE_FRESH);
    ck_assert(is_told(e, 0, &key));
    engine_lost(e, 0);
    ck_assert(is_told(e, 1, &key));
    end_with(e, 1, "", "");
    ck_assert_answer(&e->calls[0], HG_SOURCE_LOADED, "value");
    ck_assert_answer(engine_read_veiled(e, canonical, HG_MODE_FRESH), HG_SOURCE_FRESH, "value");
    engine_pass(e, 150);
    ck_assert_answer(engine_read_veiled(e, canonical, HG_MODE_REVALIDATE), HG_SOURCE_STALE,
                     "value");
    ck_assert(is_told(e, 2, &key));
    end_with(e, 2, "", "");
    engine_destroy(e);
}
END_TEST

START_TEST(whoever_leads_after_a_failure_tells_the_loader_the_key)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct hgi_key key = key_of("u", "k");
    struct hg_slice canonical = hgi_key_slice(&key);

    for (int on_error = HGI_ON_ERROR_EACH; on_error <= HGI_ON_ERROR_ELECT; on_error++) {
        policy.on_error = (enum hgi_on_error)on_error;
        e = engine_create_veiled(&policy);
        engine_read_veiled(e, canonical, HG_MODE_FRESH);
        engine_read_veiled(e, canonical, HG_MODE_FRESH);
        engine_error(e, 0, HG_UNAVAILABLE, "down");
        ck_assert(is_told(e, 1, &key));
        end_with(e, 1, "", "");
        ck_assert_answer(&e->calls[1], HG_SOURCE_LOADED, "value");
        engine_destroy(e);
    }
}
END_TEST

START_TEST(what_covers_a_key_covers_it_veiled)
{
    struct engine *e = engine_create_veiled(NULL);
    const struct hg_slice red = hg_slice_text("red");
    struct hgi_key key = key_of("u", "k");
    struct hg_slice canonical = hgi_key_slice(&key);
    struct hgi_key hidden = veiled(hgi_cache_veil(e->cache), &key);
    const struct hg_slice as_known = hgi_key_slice(&hidden);
    const struct hgi_cover covers[] = {
        {.keys = &as_known, .key_count = 1},
        {.first_part = hg_slice_text("u")},
        {.tags = &red, .tag_count = 1},
        {.first_part = hg_slice_text("v")}, /* the value's */
    };

    for (size_t i = 0; i < HGI_COUNT_OF(covers); i++) {
        size_t load = e->load_count;

        engine_read_veiled(e, canonical, HG_MODE_FRESH);
        end_with(e, load, "red", "v");
        ck_assert_answer(engine_read_veiled(e, canonical, HG_MODE_FRESH), HG_SOURCE_FRESH, "value");
        cover(e, &covers[i]);
        ck_assert_negative(engine_read_veiled(e, canonical, HG_MODE_PEEK), HG_SOURCE_NONE,
                           HG_NOT_CACHED);
    }
    cover(e, &(const struct hgi_cover){.first_part = hg_slice_text("nobody")});
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_under_way_is_overtaken_by_its_user_and_by_none_else)
{
    struct engine *e = engine_create_veiled(NULL);
    struct hgi_key key = key_of("u", "k");
    struct engine_call *c = engine_read_veiled(e, hgi_key_slice(&key), HG_MODE_FRESH);
    struct engine_call *follower = engine_read_veiled(e, hgi_key_slice(&key), HG_MODE_FRESH);

    cover(e, &(const struct hgi_cover){.first_part = hg_slice_text("another")});
    ck_assert_uint_eq(e->load_count, 1);
    cover(e, &(const struct hgi_cover){.first_part = hg_slice_text("u")});
    ck_assert(is_told(e, 1, &key)); /* the follower looked again */
    end_with(e, 1, "", "");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "value");
    end_with(e, 0, "", "");
    ck_assert(c->is_fenced);
    engine_destroy(e);
}
END_TEST

static const struct hgi_flight *first_flight(const struct engine *e)
{
    ck_assert_uint_eq(e->cache->flight_count, 1);
    return HGI_CONTAINER(e->cache->all.next, struct hgi_flight, all_node);
}

START_TEST(a_lease_handed_on_tells_the_loader_and_one_fulfilled_forgets)
{
    struct engine *e = engine_create_veiled(NULL);
    struct hgi_key key = key_of("u", "k");
    struct hg_slice canonical = hgi_key_slice(&key);
    struct engine_call *leader = engine_lead_veiled(e, canonical, HG_MODE_FRESH, 1);
    struct engine_call *follower = engine_read_veiled(e, canonical, HG_MODE_FRESH);
    const struct hgi_result result = {
        .status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text("led")};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 1000};

    ck_assert_uint_ne(leader->lease_id, 0);
    ck_assert_int_eq(engine_release(e, leader->lease_id), HG_OK);
    ck_assert(is_told(e, 0, &key));
    end_with(e, 0, "", "");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "value");
    engine_clear(e);
    leader = engine_lead_veiled(e, canonical, HG_MODE_FRESH, 1);
    ck_assert(hgi_slice_equal(hgi_flight_load_key(first_flight(e)), canonical));
    fulfilment.lease_id = leader->lease_id;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    ck_assert_int_eq(first_flight(e)->state, HGI_FLIGHT_KEPT);
    ck_assert(!hgi_slice_equal(hgi_flight_load_key(first_flight(e)), canonical));
    ck_assert_ptr_null(memmem(first_flight(e)->key, first_flight(e)->key_len + canonical.len,
                              canonical.data, canonical.len));
    ck_assert_answer(engine_read_veiled(e, canonical, HG_MODE_FRESH), HG_SOURCE_FRESH, "led");
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.veil", 20, a_key_has_one_digest_a_cache,
          a_veiled_key_is_no_typed_key_and_shows_nothing_of_one,
          keys_of_one_user_have_his_digest_in_common,
          the_loader_is_told_the_key_at_each_try_and_at_a_refresh,
          whoever_leads_after_a_failure_tells_the_loader_the_key,
          what_covers_a_key_covers_it_veiled,
          a_load_under_way_is_overtaken_by_its_user_and_by_none_else,
          a_lease_handed_on_tells_the_loader_and_one_fulfilled_forgets)
