/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what: every method, by every kind of caller, on every kind of cache, each cell asked
 * of a real server. The rules stand here a second time, written out; they are not read from the
 * server's own table. */
#include <stdio.h>
#include <stdlib.h>

#include "asker.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "daemon.h"
#include "herdgate/access.h"

enum { READ = 1, LOAD = 2, WRITE = 4, CLEAR = 8, ADMIN = 16, ALL = 31 };

/* Of which caches the verbs are granted. */
enum reach { ONE, EVERY };

static const struct caller {
    const char *name;
    unsigned verbs;
    enum reach reach;
} callers[] = {
    {"none", 0, ONE},
    {"read-one", READ, ONE},
    {"load-one", LOAD, ONE},
    {"write-one", WRITE, ONE},
    {"clear-one", CLEAR, ONE},
    {"admin-one", ADMIN, ONE},
    {"all-one", ALL, ONE},
    {"read-every", READ, EVERY},
    {"load-every", LOAD, EVERY},
    {"write-every", WRITE, EVERY},
    {"clear-every", CLEAR, EVERY},
    {"admin-every", ADMIN, EVERY},
    {"all-every", ALL, EVERY},
    {"gateway-one", READ | LOAD, ONE},
    {"leader-one", LOAD | WRITE, ONE},
};

enum where { CACHE, SERVER, ANYWHERE, NOWHERE };

/* peer: who may without a token: 'd' who reaches a data listener, 'o' an owner, 'a' the server's
 * own user. `with`: a status that an allowed call may have where the cache is there. */
static const struct rule {
    enum hgi_method method;
    unsigned verbs;
    enum where where;
    char peer;
    bool lead;
    bool may_name_none; /* no cache at all: every one is meant */
} rules[] = {
    {HGI_METHOD_GET, READ, CACHE, 'd', false, false},
    {HGI_METHOD_GET_OR_LOAD, LOAD, CACHE, 'd', false, false},
    {HGI_METHOD_GET_OR_LOAD, LOAD | WRITE, CACHE, 'o', true, false},
    {HGI_METHOD_BATCH_GET_OR_LOAD, LOAD, CACHE, 'd', false, false},
    {HGI_METHOD_GENERATION, READ, CACHE, 'd', false, false},
    {HGI_METHOD_PUT, WRITE, CACHE, 'o', false, false},
    {HGI_METHOD_INVALIDATE, CLEAR, CACHE, 'o', false, false},
    {HGI_METHOD_FULFIL, WRITE, CACHE, 'o', false, false},
    {HGI_METHOD_RENEW, WRITE, CACHE, 'o', false, false},
    {HGI_METHOD_RELEASE, WRITE, CACHE, 'o', false, false},
    {HGI_METHOD_CLEAR, CLEAR, CACHE, 'a', false, true},
    {HGI_METHOD_LIST_CACHES, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_STATS, ADMIN, CACHE, 'a', false, true},
    {HGI_METHOD_LIST_LOADERS, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_RELOAD_LOADER, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_RELOAD, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_DRAIN, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_SAVE_SNAPSHOT, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_SNAPSHOT_INFO, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_VERIFY_SNAPSHOT, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_LIST_FLIGHTS, ADMIN, CACHE, 'a', false, true},
    {HGI_METHOD_KILL_FLIGHT, ADMIN, CACHE, 'a', false, false},
    {HGI_METHOD_EXPLAIN, ADMIN, CACHE, 'a', false, false},
    {HGI_METHOD_NEW_TOKEN, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_REVOKE_TOKEN, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_LIST_TOKENS, ADMIN, SERVER, 'a', false, false},
    {HGI_METHOD_WATCH, READ, ANYWHERE, 'd', false, false},
    {HGI_METHOD_HEALTH_CHECK, 0, NOWHERE, 'd', false, false},
};

/* "one" is granted to callers by name; "other" is there, too; "nil" is not. */
static const char *const caches[] = {"one", "other", "nil", ""};

static struct daemon d;
static char token_url[128];

static void write_verbs(FILE *out, unsigned verbs)
{
    static const char *const words[] = {"read", "load", "write", "clear", "admin"};

    for (size_t i = 0; i < HGI_COUNT_OF(words); i++) {
        if (verbs & 1u << i) {
            fprintf(out, "%s ", words[i]);
        }
    }
}

static void start(void)
{
    char *sections = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sections, &size);

    fprintf(out, "key_file = \"@DIR@/key\"\ntokens_file = \"@DIR@/tokens\"\n"
                 "listen \"ipc://@DIR@/run/token.sock\" { access = \"token\" }\n"
                 "cache \"one\" { key = \"bytes\" value = \"bytes\" }\n"
                 "cache \"other\" { key = \"bytes\" value = \"bytes\" }\n");
    for (size_t i = 0; i < HGI_COUNT_OF(callers); i++) {
        fprintf(out, "principal \"%s\" { ", callers[i].name);
        if (callers[i].verbs) {
            fprintf(out, "allow(\"%s\", \"", callers[i].reach == ONE ? "one" : "*");
            write_verbs(out, callers[i].verbs);
            fprintf(out, "\") ");
        }
        fprintf(out, "}\n");
    }
    ck_assert_int_eq(fclose(out), 0);
    daemon_prepare(&d, sections);
    free(sections);
    snprintf(token_url, sizeof(token_url), "ipc://%s/run/token.sock", d.dir);
    daemon_start(&d);
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

static void new_token(const char *principal, char *ret_token, size_t size)
{
    struct hg_new_token request = {.principal = principal};
    struct hg_issued issued;
    struct hg_error error;

    ck_assert_msg(hg_client_new_token(d.client, &request, &issued, &error) == HG_OK, "%s",
                  error.text);
    snprintf(ret_token, size, "%.*s", (int)issued.token.len, (const char *)issued.token.data);
    hg_issued_deinit(&issued);
}

/* By the rules written above. */
static bool may(const struct caller *caller, const struct rule *rule, const char *cache)
{
    bool has_verbs = (caller->verbs & rule->verbs) == rule->verbs;

    switch (rule->where) {
    case CACHE:
        return has_verbs && (caller->reach == EVERY || strcmp(cache, "one") == 0);
    case SERVER:
        return has_verbs && caller->reach == EVERY;
    case ANYWHERE:
        return has_verbs;
    case NOWHERE:
        return true;
    }
    return false;
}

static enum hg_status ask(struct asker *asker, const struct rule *rule, const char *cache)
{
    struct hg_bytes payload;
    enum hg_status status;

    hgi_bytes_init(&payload, &hgi_heap);
    asker_payload(rule->method, cache, rule->lead, &payload);
    status = asker_ask(asker, rule->method, hgi_bytes_slice(&payload));
    hgi_bytes_deinit(&payload);
    return status;
}

/* What an allowed call is answered where the cache, loader, token or flight is not there. */
static bool is_of_something_missing(const struct rule *rule, const char *cache)
{
    return (rule->where == CACHE && strcmp(cache, "nil") == 0) ||
           rule->method == HGI_METHOD_RELOAD_LOADER || rule->method == HGI_METHOD_KILL_FLIGHT ||
           rule->method == HGI_METHOD_NEW_TOKEN || rule->method == HGI_METHOD_REVOKE_TOKEN;
}

static void check_allowed(const struct asker *asker, const struct rule *rule, const char *cache,
                          const char *who)
{
    enum hg_status status = asker->reply.status;
    bool is_missing = is_of_something_missing(rule, cache);

    ck_assert_msg(status != HG_PERMISSION_DENIED && status != HG_UNAUTHENTICATED &&
                      (status == HG_NOT_FOUND) == is_missing,
                  "%s asks %s of \"%s\": %s: %.*s", who, hgi_method_info(rule->method)->path, cache,
                  hg_status_name(status), (int)asker->reply.message.len,
                  (const char *)asker->reply.message.data);
}

/* Whether the method can be asked of this name at all. */
static bool is_askable(const struct rule *rule, const char *cache)
{
    return cache[0] || rule->may_name_none || rule->where != CACHE;
}

/* Every refusal is this one, byte by byte, whatever was asked and of which cache (I20). */
static struct hg_bytes refusal;

static void check_cell(struct asker *asker, const struct caller *caller, const struct rule *rule,
                       const char *cache)
{
    enum hg_status status = ask(asker, rule, cache);

    if (may(caller, rule, cache)) {
        check_allowed(asker, rule, cache, caller->name);
        return;
    }
    ck_assert_msg(status == HG_PERMISSION_DENIED, "%s asks %s of \"%s\": %s", caller->name,
                  hgi_method_info(rule->method)->path, cache, hg_status_name(status));
    if (!refusal.len) {
        ck_assert(hgi_bytes_set(&refusal, hgi_bytes_slice(&asker->body)));
    }
    ck_assert(hgi_slice_equal(hgi_bytes_slice(&refusal), hgi_bytes_slice(&asker->body)));
}

START_TEST(a_token_gives_what_its_principal_was_granted_and_nothing_else)
{
    size_t cells = 0;

    start();
    hgi_bytes_init(&refusal, &hgi_heap);
    for (size_t c = 0; c < HGI_COUNT_OF(callers); c++) {
        struct asker asker;
        char token[128];

        new_token(callers[c].name, token, sizeof(token));
        asker_open(&asker, token_url, token);
        for (size_t r = 0; r < HGI_COUNT_OF(rules); r++) {
            for (size_t i = 0; i < HGI_COUNT_OF(caches); i++) {
                if (is_askable(&rules[r], caches[i])) {
                    check_cell(&asker, &callers[c], &rules[r], caches[i]);
                    cells++;
                }
            }
        }
        asker_close(&asker);
    }
    ck_assert_uint_eq(cells, 15 * (12 * 3 + 3 * 4 + 13 * 4));
    hgi_bytes_deinit(&refusal);
    stop();
}
END_TEST

START_TEST(every_method_has_its_rule)
{
    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT; method++) {
        bool is_there = false;

        for (size_t r = 0; r < HGI_COUNT_OF(rules); r++) {
            is_there = is_there || rules[r].method == method;
        }
        ck_assert_msg(is_there, "%s has no rule in the matrix", hgi_method_info(method)->path);
    }
}
END_TEST

START_TEST(without_a_token_or_with_a_wrong_one_nothing_is_answered)
{
    static const char *const wrong[] = {
        NULL, "hg_", "hg_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "anything"};

    start();
    for (size_t w = 0; w < HGI_COUNT_OF(wrong); w++) {
        struct asker asker;

        asker_open(&asker, token_url, wrong[w]);
        for (size_t r = 0; r < HGI_COUNT_OF(rules); r++) {
            for (size_t i = 0; i < HGI_COUNT_OF(caches); i++) {
                ck_assert_int_eq(ask(&asker, &rules[r], caches[i]), HG_UNAUTHENTICATED);
                ck_assert_uint_eq(asker.reply.payload.len, 0);
            }
        }
        asker_close(&asker);
    }
    stop();
}
END_TEST

/* Where access is not `token`, the peer decides and a token is passed over. */
static void check_peer(const char *url, const char *allowed, const char *token, const char *who)
{
    struct asker asker;

    asker_open(&asker, url, token);
    for (size_t r = 0; r < HGI_COUNT_OF(rules); r++) {
        for (size_t i = 0; i < HGI_COUNT_OF(caches); i++) {
            if (!is_askable(&rules[r], caches[i])) {
                continue;
            }
            if (strchr(allowed, rules[r].peer)) {
                (void)ask(&asker, &rules[r], caches[i]);
                check_allowed(&asker, &rules[r], caches[i], who);
            } else {
                ck_assert_int_eq(ask(&asker, &rules[r], caches[i]), HG_PERMISSION_DENIED);
            }
        }
    }
    asker_close(&asker);
}

START_TEST(peers_of_owner_and_data_listens_may_what_they_always_might)
{
    char everything[128];
    char nothing[128];

    start();
    new_token("all-every", everything, sizeof(everything));
    new_token("none", nothing, sizeof(nothing));
    check_peer(d.ipc_url, "doa", NULL, "the server's own user");
    check_peer(d.ipc_url, "doa", nothing, "the server's own user");
    check_peer(d.tcp_url, "d", NULL, "a reader");
    check_peer(d.tcp_url, "d", everything, "a reader");
    stop();
}
END_TEST

HGI_SUITE("e2e.access", 120, every_method_has_its_rule,
          a_token_gives_what_its_principal_was_granted_and_nothing_else,
          without_a_token_or_with_a_wrong_one_nothing_is_answered,
          peers_of_owner_and_data_listens_may_what_they_always_might)
