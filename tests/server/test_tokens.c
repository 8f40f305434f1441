/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/thread.h"
#include "server/access/tokens.h"

#define LONG_MS 20000
#define NOW_MS  INT64_C(1796083871499)

static const struct hgi_grant grants[] = {{HGI_EVERY_CACHE, 1}};
static const struct hgi_principal principals[] = {
    {.name = "gateway", .number = 0, .grants = grants, .grant_count = 1},
    {.name = "other", .number = 1},
};
static char folder[64];
static char path[96];
static char key_path[96];
static char sentence[HGI_SENTENCE_MAX];
static struct hgi_tokens *tokens;
static struct hgi_tokens_options options = {
    .path = path, .key_path = key_path, .principals = principals, .principal_count = 2};

/* What `done` brought, and the wait for it. */
static struct {
    struct hgi_lock lock;
    struct hgi_cond cond;
    size_t count;
    enum hg_status status;
    struct hgi_token_text token;
    size_t revoked;
} told;

static void tell(void *context, const struct hgi_tokens_done *done)
{
    ck_assert_ptr_eq(context, &told);
    hgi_lock_host(&told.lock);
    told.status = done->status;
    told.revoked = done->revoked;
    if (done->token) {
        told.token = *done->token;
    }
    told.count++;
    hgi_cond_wake_all(&told.cond);
    hgi_unlock_host(&told.lock);
}

static void wait_told(size_t count)
{
    hgi_lock_host(&told.lock);
    while (told.count < count) {
        ck_assert(hgi_cond_wait(&told.cond, &told.lock, LONG_MS));
    }
    told.count = 0;
    hgi_unlock_host(&told.lock);
}

static void open_tokens(void)
{
    ck_assert_msg(hgi_tokens_open(&options, &tokens, sentence) == HG_OK, "%s", sentence);
}

static void set_up(void)
{
    ck_assert(hgi_hash_start());
    hgi_lock_init(&told.lock);
    hgi_cond_init(&told.cond);
    told.count = 0;
    options.principal_count = 2;
    snprintf(folder, sizeof(folder), "/tmp/herdgate-tokens-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/tokens", folder);
    snprintf(key_path, sizeof(key_path), "%s/key", folder);
    open_tokens();
}

static void tear_down(void)
{
    char lock[128];

    hgi_tokens_close(&tokens);
    snprintf(lock, sizeof(lock), "%s.lock", path);
    (void)unlink(lock);
    (void)unlink(path);
    (void)unlink(key_path);
    ck_assert_int_eq(rmdir(folder), 0);
    hgi_cond_deinit(&told.cond);
    hgi_lock_deinit(&told.lock);
}

static struct hgi_token_text new_token(const char *principal, int64_t expires_at_ms)
{
    ck_assert_msg(hgi_tokens_new(tokens, hg_slice_text(principal), expires_at_ms, NOW_MS, tell,
                                 &told, sentence) == HG_OK,
                  "%s", sentence);
    wait_told(1);
    ck_assert_int_eq(told.status, HG_OK);
    return told.token;
}

static bool is_good_at(const struct hgi_token_text *token, int64_t now_ms)
{
    struct hgi_bearer bearer;

    return hgi_tokens_check(tokens, hg_slice_text(token->text), now_ms, &bearer);
}

static bool is_good(const struct hgi_token_text *token)
{
    return is_good_at(token, NOW_MS);
}

static enum hg_status end_tokens(const char *id, const char *principal)
{
    enum hg_status status = hgi_tokens_revoke(tokens, hg_slice_text(id), hg_slice_text(principal),
                                              tell, &told, sentence);

    if (status == HG_OK) {
        wait_told(1);
    }
    return status;
}

static enum hg_status end_token(const struct hgi_token_text *token)
{
    char id[HGI_TOKEN_ID_LEN + 1];

    snprintf(id, sizeof(id), "%.*s", (int)HGI_TOKEN_ID_LEN, token->text + 3);
    return end_tokens(id, "");
}

START_TEST(a_new_token_is_its_principals_also_after_a_restart)
{
    struct hgi_token_text token;
    struct hgi_bearer bearer;

    set_up();
    token = new_token("other", 0);
    ck_assert(hgi_tokens_check(tokens, hg_slice_text(token.text), NOW_MS, &bearer));
    ck_assert_ptr_eq(bearer.principal, &principals[1]);
    hgi_tokens_close(&tokens);
    open_tokens();
    ck_assert(hgi_tokens_check(tokens, hg_slice_text(token.text), NOW_MS, &bearer));
    ck_assert_ptr_eq(bearer.principal, &principals[1]);
    tear_down();
}
END_TEST

START_TEST(any_other_text_is_nobodys)
{
    struct hgi_token_text token;

    set_up();
    token = new_token("gateway", 0);
    for (size_t i = 0; i < HGI_TOKEN_LEN; i++) {
        struct hgi_token_text changed = token;

        changed.text[i] = changed.text[i] == 'A' ? 'B' : 'A';
        ck_assert(!is_good(&changed));
    }
    for (size_t len = 0; len < HGI_TOKEN_LEN; len++) {
        struct hgi_token_text cut = token;

        cut.text[len] = '\0';
        ck_assert(!is_good(&cut));
    }
    ck_assert(is_good(&token));
    tear_down();
}
END_TEST

/* What this thread has digested and compared (--wrap in CMakeLists.txt). */
static _Thread_local size_t digests;
static _Thread_local size_t digested_bytes;
static _Thread_local size_t comparisons;

struct hgi_digest __real_hgi_digest(const struct hgi_digest_key *key, struct hg_slice bytes);
struct hgi_digest __wrap_hgi_digest(const struct hgi_digest_key *key, struct hg_slice bytes);
bool __real_hgi_digest_equal(const struct hgi_digest *a, const struct hgi_digest *b);
bool __wrap_hgi_digest_equal(const struct hgi_digest *a, const struct hgi_digest *b);

struct hgi_digest __wrap_hgi_digest(const struct hgi_digest_key *key, struct hg_slice bytes)
{
    digests++;
    digested_bytes += bytes.len;
    return __real_hgi_digest(key, bytes);
}

bool __wrap_hgi_digest_equal(const struct hgi_digest *a, const struct hgi_digest *b)
{
    comparisons++;
    return __real_hgi_digest_equal(a, b);
}

/* How long that takes is looked at by scripts/timing. */
START_TEST(whatever_is_shown_costs_one_digest_and_one_comparison)
{
    struct hgi_token_text shown[7];

    set_up();
    shown[0] = new_token("gateway", 0);
    shown[1] = shown[0]; /* wrong at its end */
    shown[1].text[HGI_TOKEN_LEN - 1] = shown[0].text[HGI_TOKEN_LEN - 1] == 'A' ? 'B' : 'A';
    shown[2] = shown[0]; /* of an id that nobody has */
    shown[2].text[3] = shown[0].text[3] == '0' ? '1' : '0';
    shown[3] = new_token("gateway", NOW_MS + 1); /* over, below */
    shown[4] = new_token("gateway", 0);
    ck_assert_int_eq(end_token(&shown[4]), HG_OK); /* revoked */
    shown[5] = shown[0];                           /* no token */
    shown[5].text[0] = 'x';
    shown[6] = (struct hgi_token_text){.text = ""};
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        digests = digested_bytes = comparisons = 0;
        ck_assert_int_eq(is_good_at(&shown[i], NOW_MS + 1), i == 0);
        ck_assert_uint_eq(digests, 1);
        ck_assert_uint_eq(digested_bytes, HGI_TOKEN_LEN);
        ck_assert_uint_eq(comparisons, 1);
    }
    tear_down();
}
END_TEST

START_TEST(the_file_holds_no_token)
{
    struct hgi_token_text token;
    char bytes[1024];
    FILE *file;
    size_t len;

    set_up();
    token = new_token("gateway", 0);
    file = fopen(path, "r");
    len = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    ck_assert_ptr_nonnull(memmem(bytes, len, token.text + 3, HGI_TOKEN_ID_LEN));
    ck_assert_ptr_null(memmem(bytes, len, token.text + 12, HGI_TOKEN_LEN - 12));
    tear_down();
}
END_TEST

START_TEST(a_revoked_token_ends_at_once_and_stays_so)
{
    struct hgi_token_text token;
    struct hgi_token_text stays;
    struct hgi_bearer bearer;
    struct hgi_bearer other;

    set_up();
    token = new_token("gateway", 0);
    stays = new_token("gateway", 0);
    ck_assert(hgi_tokens_check(tokens, hg_slice_text(token.text), NOW_MS, &bearer));
    ck_assert(hgi_tokens_check(tokens, hg_slice_text(stays.text), NOW_MS, &other));
    ck_assert(hgi_tokens_is_live(tokens, &bearer));
    ck_assert_int_eq(end_token(&token), HG_OK);
    ck_assert_int_eq(told.status, HG_OK);
    ck_assert_uint_eq(told.revoked, 1);
    ck_assert(!is_good(&token));
    ck_assert(!hgi_tokens_is_live(tokens, &bearer));
    ck_assert(hgi_tokens_is_live(tokens, &other));
    hgi_tokens_close(&tokens);
    open_tokens();
    ck_assert(!is_good(&token));
    ck_assert(is_good(&stays));
    ck_assert_int_eq(end_token(&token), HG_NOT_FOUND);
    tear_down();
}
END_TEST

START_TEST(all_of_a_principal_end_together)
{
    struct hgi_token_text one;
    struct hgi_token_text two;
    struct hgi_token_text other;

    set_up();
    one = new_token("gateway", 0);
    two = new_token("gateway", 0);
    other = new_token("other", 0);
    ck_assert_int_eq(end_tokens("", "gateway"), HG_OK);
    ck_assert_uint_eq(told.revoked, 2);
    ck_assert(!is_good(&one) && !is_good(&two) && is_good(&other));
    ck_assert_int_eq(end_tokens("", "gateway"), HG_NOT_FOUND);
    ck_assert_int_eq(end_tokens("no id", ""), HG_NOT_FOUND);
    tear_down();
}
END_TEST

START_TEST(a_token_ends_when_it_says)
{
    struct hgi_token_text token;

    set_up();
    token = new_token("gateway", NOW_MS + 1000);
    ck_assert(is_good_at(&token, NOW_MS + 999));
    ck_assert(!is_good_at(&token, NOW_MS + 1000));
    ck_assert_int_eq(
        hgi_tokens_new(tokens, hg_slice_text("gateway"), NOW_MS, NOW_MS, tell, &told, sentence),
        HG_FAILED_PRECONDITION);
    tear_down();
}
END_TEST

START_TEST(a_principal_must_be_configured_now)
{
    struct hgi_token_text token;

    set_up();
    token = new_token("other", 0);
    ck_assert_int_eq(
        hgi_tokens_new(tokens, hg_slice_text("nobody"), 0, NOW_MS, tell, &told, sentence),
        HG_NOT_FOUND);
    ck_assert_str_eq(sentence,
                     "the configuration has no principal \"nobody\"; add a section principal");
    hgi_tokens_close(&tokens);
    options.principal_count = 1;
    open_tokens();
    ck_assert(!is_good(&token));
    tear_down();
}
END_TEST

/* The folder takes no new file: what was there stays as it is. */
static void break_disk(bool is_broken)
{
    char next[128];

    snprintf(next, sizeof(next), "%s.next", path);
    ck_assert_int_eq(is_broken ? mkdir(next, 0700) : rmdir(next), 0);
}

START_TEST(a_token_that_is_not_on_disk_does_not_count)
{
    struct hgi_token_record records[HGI_TOKENS_MAX];

    set_up();
    break_disk(true);
    ck_assert_int_eq(
        hgi_tokens_new(tokens, hg_slice_text("gateway"), 0, NOW_MS, tell, &told, sentence), HG_OK);
    wait_told(1);
    ck_assert_int_eq(told.status, HG_UNAVAILABLE);
    ck_assert_uint_eq(hgi_tokens_list(tokens, records), 0);
    break_disk(false);
    (void)new_token("gateway", 0);
    ck_assert_uint_eq(hgi_tokens_list(tokens, records), 1);
    tear_down();
}
END_TEST

START_TEST(a_revocation_that_is_not_on_disk_says_so_and_can_be_said_again)
{
    struct hgi_token_text token;

    set_up();
    token = new_token("gateway", 0);
    break_disk(true);
    ck_assert_int_eq(end_token(&token), HG_OK);
    ck_assert_int_eq(told.status, HG_UNAVAILABLE);
    ck_assert(!is_good(&token));
    break_disk(false);
    ck_assert_int_eq(end_token(&token), HG_OK);
    ck_assert_int_eq(told.status, HG_OK);
    ck_assert_int_eq(end_token(&token), HG_NOT_FOUND);
    hgi_tokens_close(&tokens);
    open_tokens();
    ck_assert(!is_good(&token));
    tear_down();
}
END_TEST

START_TEST(there_are_so_many_and_each_has_a_place_of_its_own)
{
    static struct hgi_token_record records[HGI_TOKENS_MAX];

    set_up();
    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        ck_assert_int_eq(
            hgi_tokens_new(tokens, hg_slice_text("gateway"), 0, NOW_MS, tell, &told, sentence),
            HG_OK);
    }
    ck_assert_int_eq(
        hgi_tokens_new(tokens, hg_slice_text("gateway"), 0, NOW_MS, tell, &told, sentence),
        HG_RESOURCE_EXHAUSTED);
    wait_told(HGI_TOKENS_MAX);
    ck_assert_uint_eq(hgi_tokens_list(tokens, records), HGI_TOKENS_MAX);
    ck_assert_int_eq(end_tokens("", "gateway"), HG_OK);
    ck_assert_uint_eq(told.revoked, HGI_TOKENS_MAX);
    (void)new_token("gateway", 0);
    tear_down();
}
END_TEST

START_TEST(a_second_server_and_a_wrong_key_are_kept_off)
{
    struct hgi_tokens *second = NULL;

    set_up();
    (void)new_token("gateway", 0);
    ck_assert_int_eq(hgi_tokens_open(&options, &second, sentence), HG_UNAVAILABLE);
    ck_assert_ptr_null(second);
    hgi_tokens_close(&tokens);
    ck_assert_int_eq(unlink(key_path), 0);
    ck_assert_int_eq(hgi_tokens_open(&options, &tokens, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "bring it back"));
    tear_down();
}
END_TEST

/* Readers check while tokens are made and revoked: one that was revoked before is never good. */
static struct hgi_token_text watched;
static _Atomic bool is_revoked;
static _Atomic bool is_over;

static void keep_checking(void *arg)
{
    (void)arg;
    while (!is_over) {
        bool was_revoked = is_revoked;

        ck_assert(!(is_good(&watched) && was_revoked));
    }
}

START_TEST(no_reader_sees_a_token_after_its_revocation)
{
    struct hgi_thread readers[2] = {{.is_started = false}};

    set_up();
    for (size_t round = 0; round < 20; round++) {
        watched = new_token("gateway", 0);
        is_revoked = is_over = false;
        for (size_t i = 0; i < 2; i++) {
            ck_assert(hgi_thread_start(&readers[i], "reader", keep_checking, NULL));
        }
        ck_assert_int_eq(end_token(&watched), HG_OK);
        is_revoked = true;
        (void)new_token("other", 0);
        is_over = true;
        for (size_t i = 0; i < 2; i++) {
            hgi_thread_join(&readers[i]);
        }
    }
    tear_down();
}
END_TEST

START_TEST(other_rights_count_at_once_and_who_is_gone_may_nothing)
{
    static const struct hgi_grant more[] = {{HGI_EVERY_CACHE, 1}, {"c", 2}};
    static const struct hgi_principal later[] = {
        {.name = "gateway", .number = 0, .grants = more, .grant_count = 2},
        {.name = "newcomer", .number = 2}};
    struct hgi_token_text gateway;
    struct hgi_token_text other;
    struct hgi_bearer bearer;

    set_up();
    gateway = new_token("gateway", 0);
    other = new_token("other", 0);
    hgi_tokens_set_principals(tokens, later, 2);
    ck_assert(hgi_tokens_check(tokens, hg_slice_text(gateway.text), NOW_MS, &bearer));
    ck_assert_ptr_eq(bearer.principal, &later[0]);
    ck_assert(!is_good(&other));
    ck_assert_int_eq(
        hgi_tokens_new(tokens, hg_slice_text("other"), 0, NOW_MS, tell, &told, sentence),
        HG_NOT_FOUND);
    (void)new_token("newcomer", 0);
    hgi_tokens_set_principals(tokens, principals, 2);
    ck_assert(is_good(&other)); /* it is his again */
    tear_down();
}
END_TEST

HGI_SUITE("server.tokens", 60, a_new_token_is_its_principals_also_after_a_restart,
          any_other_text_is_nobodys, whatever_is_shown_costs_one_digest_and_one_comparison,
          the_file_holds_no_token, a_revoked_token_ends_at_once_and_stays_so,
          all_of_a_principal_end_together, a_token_ends_when_it_says,
          a_principal_must_be_configured_now, a_token_that_is_not_on_disk_does_not_count,
          a_revocation_that_is_not_on_disk_says_so_and_can_be_said_again,
          there_are_so_many_and_each_has_a_place_of_its_own,
          a_second_server_and_a_wrong_key_are_kept_off, no_reader_sees_a_token_after_its_revocation,
          other_rights_count_at_once_and_who_is_gone_may_nothing)
