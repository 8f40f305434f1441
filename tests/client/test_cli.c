/* SPDX-License-Identifier: Apache-2.0 */
/* The real command against a fake server: what it asks, what it prints, how it exits. */
#include "hg_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "fake_caches.h"
#include "runner.h"

static struct fake_server *server;
static struct run ran;

static void run_with_input(const char *input, const char *line)
{
    run_program(HGI_BUILD_DIR "/bin/herdgate", input, line, &ran);
}

static void run(const char *line)
{
    run_with_input("", line);
}

#define ck_assert_ran(rc_, out_, err_)                                                             \
    do {                                                                                           \
        ck_assert_msg(ran.rc == (rc_), "exit %d, out: %s, err: %s", ran.rc, ran.out, ran.err);     \
        ck_assert_str_eq(ran.out, (out_));                                                         \
        ck_assert_str_eq(ran.err, (err_));                                                         \
    } while (0)

/* What the server was asked, as it describes it. */
#define ck_assert_asked(text) ck_assert_ran(1, "", "herdgate: " text " (FAILED_PRECONDITION)\n")

static void expect_usage_fault(const char *line, const char *sentence)
{
    run(line);
    ck_assert_msg(ran.rc == 2, "%s: exit %d", line, ran.rc);
    ck_assert_str_eq(ran.out, "");
    ck_assert_msg(strstr(ran.err, sentence) != NULL, "%s: says %s", line, ran.err);
}

static void begin(void)
{
    server = fake_server_start(&(struct fake_options){.handler = fake_caches});
    setenv("HERDGATE_URL", fake_server_url(server), 1);
}

static void end(void)
{
    fake_server_stop(&server);
}

/* ---- help and usage ---- */

static const char *const verbs[] = {
    "get",      "load", "put",    "del",   "clear",   "generation", "caches", "stats", "loaders",
    "snapshot", "ping", "health", "watch", "flights", "explain",    "token",  "top"};

START_TEST(help_lists_every_verb_and_each_has_its_own)
{
    char all[RUN_OUTPUT_MAX];
    char line[64];

    run("--help");
    ck_assert_int_eq(ran.rc, 0);
    snprintf(all, sizeof(all), "%s", ran.out);
    ck_assert_ptr_nonnull(strstr(all, "5 unreachable"));
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        snprintf(line, sizeof(line), "\n  %s ", verbs[i]);
        ck_assert_msg(strstr(all, line) != NULL, "%s is not in the help", verbs[i]);
        snprintf(line, sizeof(line), "%s --help", verbs[i]);
        run(line);
        ck_assert_int_eq(ran.rc, 0);
        snprintf(line, sizeof(line), "Usage: herdgate %s ", verbs[i]);
        ck_assert_int_eq(strncmp(ran.out, line, strlen(line)), 0);
        ck_assert_ptr_nonnull(strstr(ran.out, "--endpoint=URL"));
    }
}
END_TEST

START_TEST(version_is_told)
{
    run("-V");
    ck_assert_ran(0, "herdgate " HGI_VERSION "\n", "");
}
END_TEST

START_TEST(unknown_verb_is_answered_with_the_nearest_one)
{
    expect_usage_fault("lod c k", "there is no verb \"lod\"; did you mean \"load\"?");
    expect_usage_fault("hleath", "did you mean \"health\"?");
    expect_usage_fault("delete c k", "did you mean \"del\"?");
    expect_usage_fault("frob", "there is no verb \"frob\"; \"herdgate --help\" lists them");
    expect_usage_fault("help", "there is no verb \"help\"; \"herdgate --help\" lists them");
    expect_usage_fault("", "which verb?");
}
END_TEST

START_TEST(bad_usage_is_one_sentence_and_exit_2)
{
    begin();
    expect_usage_fault("--nothing", "unrecognized option '--nothing'");
    expect_usage_fault("-o xml health", "\"xml\" is no output format; there are text and json");
    expect_usage_fault("health --timeout 10", "--timeout 10 is no duration; write for example");
    expect_usage_fault("health --timeout 0s", "--timeout 0s is out of range");
    expect_usage_fault("health --timeout 121s", "--timeout 121s is out of range");
    expect_usage_fault("health -e http://x", "\"http://x\" is no address");
    expect_usage_fault("get", "the CACHE is missing");
    expect_usage_fault("get c", "the KEY is missing");
    expect_usage_fault("get c a b", "\"b\" is one key too many");
    expect_usage_fault("get c a --user u", "\"a\" is one key too many");
    expect_usage_fault("get c a --kind text", "\"text\" is no kind of key");
    expect_usage_fault("get c a --kind user_api_key", "\"a\" is no user_api_key key");
    expect_usage_fault("get c a --key-hash --feature", "either key_hash or api_key_feature");
    expect_usage_fault("get c --key-hash --user u", "a key_hash key has no --user");
    expect_usage_fault("load c a b --raw", "--raw and --verbose are for one KEY, not for 2");
    expect_usage_fault("load c a b c -v", "--raw and --verbose are for one KEY, not for 3");
    expect_usage_fault("load c a --mode quick", "\"quick\" is no mode");
    expect_usage_fault("load c a --min-generation 7:9", "is no generation; write the number");
    expect_usage_fault("load c a --max-age 99999999999999999999s", "is no duration");
    expect_usage_fault("clear", "name the CACHE to clear, or --all");
    expect_usage_fault("clear c --all", "but not both");
    expect_usage_fault("clear --all --key k", "it goes with no key");
    expect_usage_fault("clear --all --tag t", "it goes with no key, no tag and no user");
    expect_usage_fault("clear --all --user u", "it goes with no key, no tag and no user");
    expect_usage_fault("clear c --soft", "--soft goes with --key, --tag or --user");
    expect_usage_fault("clear c --wait --key k", "--wait goes with a whole CACHE or --all");
    expect_usage_fault("clear c --wait --tag t", "--wait goes with a whole CACHE or --all");
    expect_usage_fault("clear c --wait --user u", "--wait goes with a whole CACHE or --all");
    expect_usage_fault("clear c k", "a key goes by --key");
    expect_usage_fault("clear c --key k --api-key u", "either --key, or --user and --api-key");
    expect_usage_fault("caches c", "\"c\" is one argument too many");
    expect_usage_fault("stats a b", "\"b\" is one argument too many");
    expect_usage_fault("flights a b", "\"b\" is one argument too many");
    expect_usage_fault("flights --kill 12", "--kill needs the CACHE");
    expect_usage_fault("flights c --kill x", "--kill x is no ID");
    expect_usage_fault("flights --max 1001", "--max 1001 is not a number from 1 to 1000");
    expect_usage_fault("token", "There are new, revoke and list");
    expect_usage_fault("token make x", "token make is not known; there are new, revoke and list");
    expect_usage_fault("token new", "the PRINCIPAL is missing");
    expect_usage_fault("token new a b", "\"b\" is one argument too many");
    expect_usage_fault("token new a --principal b", "--principal goes with revoke");
    expect_usage_fault("token new a --expires soon", "--expires soon is no moment");
    expect_usage_fault("token revoke", "name the ID of one token, or --principal NAME");
    expect_usage_fault("token revoke a --principal b", "name the ID of one token, or --principal");
    expect_usage_fault("token list x", "\"x\" is one argument too many");
    expect_usage_fault("token list --expires +1d", "--expires goes with new");
    expect_usage_fault("explain", "the CACHE is missing");
    expect_usage_fault("explain c", "the KEY is missing");
    expect_usage_fault("explain c a b", "\"b\" is one key too many");
    expect_usage_fault("explain c a --user u", "\"a\" is one key too many");
    expect_usage_fault("ping -c 0", "--count 0 is not a number from 1 to 1000");
    expect_usage_fault("ping x", "\"x\" is one argument too many");
    ck_assert_uint_eq(fake_requests(server), 0);
    end();
}
END_TEST

START_TEST(bad_put_is_one_sentence_and_exit_2)
{
    begin();
    expect_usage_fault("put", "the CACHE is missing");
    expect_usage_fault("put c", "the KEY is missing");
    expect_usage_fault("put c k", "the VALUE is missing");
    expect_usage_fault("put c k v w", "\"w\" is one argument too many");
    expect_usage_fault("put c k v -x", "\"v\" is one argument too many");
    expect_usage_fault("put c k --absent --denied", "either --absent or --denied");
    expect_usage_fault("put c k -x --absent", "-x goes with none of");
    expect_usage_fault("put c k --absent --auth allowed=no", "what is absent has no --auth");
    expect_usage_fault("put c k v --ttl 1", "--ttl 1 is no duration");
    expect_usage_fault("put c k v --expires-at tomorrow", "--expires-at tomorrow is no moment");
    expect_usage_fault("put c k v --if-generation 7", "--if-generation 7 is no token");
    expect_usage_fault("put c k --auth user=u", "--auth must say allowed=yes or allowed=no");
    expect_usage_fault("put c k --auth allowed=maybe", "allowed=maybe is neither yes nor no");
    expect_usage_fault("put c k --auth allowed=no,color=red", "no field \"color\"");
    expect_usage_fault("put c k --auth allowed", "\"allowed\" in --auth is not NAME=VALUE");
    expect_usage_fault("put c k --auth -", "not a JSON object");
    run_with_input("{\"allowed\":true,\"colour\":1}", "put c k --auth -");
    ck_assert_int_eq(ran.rc, 2);
    ck_assert_ptr_nonnull(strstr(ran.err, "no member \"colour\""));
    run_with_input("{\"scopes\":[]}", "put c k --auth -");
    ck_assert_int_eq(ran.rc, 2);
    ck_assert_ptr_nonnull(strstr(ran.err, "must have \"allowed\""));
    ck_assert_uint_eq(fake_requests(server), 0);
    end();
}
END_TEST

/* ---- get and load ---- */

START_TEST(values_are_printed_as_they_are_and_outcomes_told_by_exit_3)
{
    begin();
    run("get c text");
    ck_assert_ran(0, "hello\n", "");
    run("get c text --raw");
    ck_assert_ran(0, "hello", "");
    run("get c bin --raw");
    ck_assert_uint_eq(ran.out_len, 3);
    ck_assert_int_eq(memcmp(ran.out, "\xff\0\x01", 3), 0);
    run("load c stale -v");
    ck_assert_ran(0, "old\n",
                  "stale, age 1.5s, fresh for 8.5s, servable for 18.5s, generation 7, overtaken by "
                  "an invalidation and not kept\n");
    run("get c auth");
    ck_assert_ran(0,
                  "user_id     u1\napi_key_id  k1\nallowed     yes\nscope       read\nscope       "
                  "write\nattribute   plan=gold\nnot_after   2030-03-17T17:46:40Z\n",
                  "");
    run("get c none");
    ck_assert_ran(3, "", "herdgate: not cached\n");
    run("load c absent");
    ck_assert_ran(3, "", "herdgate: absent: it was looked up, and it is not there\n");
    run("load c denied");
    ck_assert_int_eq(ran.rc, 3);
    ck_assert_str_eq(ran.err, "herdgate: denied\n");
    ck_assert_ptr_nonnull(strstr(ran.out, "allowed     no\n"));
    end();
}
END_TEST

#define REST                                                                                       \
    "\"source\":\"fresh\",\"fenced\":false,\"generation\":7,\"age_ms\":1500,\"ttl_left_ms\":"      \
    "8500,\"stale_left_ms\":18500"

START_TEST(answers_in_json_are_one_line_with_typed_values)
{
    begin();
    run("-o json get c text");
    ck_assert_ran(
        0,
        "{\"cache\":\"c\",\"key\":\"text\",\"outcome\":\"value\",\"value\":\"hello\"," REST "}\n",
        "");
    run("get -o json c bin");
    ck_assert_ran(0,
                  "{\"cache\":\"c\",\"key\":\"bin\",\"outcome\":\"value\",\"value_base64\":\"/"
                  "wAB\"," REST "}\n",
                  "");
    run("load -o json c json");
    ck_assert_ran(0,
                  "{\"cache\":\"c\",\"key\":\"json\",\"outcome\":\"value\",\"value\":{\"a\":[1,"
                  "null]}," REST "}\n",
                  "");
    run("load -o json c auth");
    ck_assert_ran(0,
                  "{\"cache\":\"c\",\"key\":\"auth\",\"outcome\":\"value\",\"value\":{\"user_id\":"
                  "\"u1\",\"api_key_id\":\"k1\",\"allowed\":true,\"scopes\":[\"read\",\"write\"],"
                  "\"attributes\":{\"plan\":\"gold\"},\"not_after_ms\":1900000000000}," REST "}\n",
                  "");
    run("load -o json c bin_auth");
    ck_assert_ran(
        0,
        "{\"cache\":\"c\",\"key\":\"bin_auth\",\"outcome\":\"value\","
        "\"value_base64\":\"CgJ1MRICazEYATCA8MyGpjciBHJlYWQiAf8qDAoEcGxhbhIEZ29sZA==\"," REST "}\n",
        "");
    run("load -o json c absent");
    ck_assert_ran(3, "{\"cache\":\"c\",\"key\":\"absent\",\"outcome\":\"absent\"," REST "}\n", "");
    run("get -o json c none");
    ck_assert_ran(3, "{\"cache\":\"c\",\"key\":\"none\",\"outcome\":\"not_cached\"}\n", "");
    end();
}
END_TEST

START_TEST(several_keys_are_one_batch_with_a_row_each)
{
    begin();
    run("load c text auth");
    ck_assert_ran(0,
                  "KEY   OUTCOME  SOURCE   AGE  VALUE\n"
                  "text  value    fresh   1.5s  hello\n"
                  "auth  value    fresh   1.5s  u1/k1 allowed\n",
                  "");
    ck_assert_uint_eq(fake_requests(server), 1);
    run("load c text absent evil evil_auth");
    ck_assert_ran(3,
                  "KEY        OUTCOME  SOURCE   AGE  VALUE\n"
                  "text       value    fresh   1.5s  hello\n"
                  "absent     absent   fresh   1.5s\n"
                  "evil       value    fresh   1.5s  \\x1b[2J\\x5c\n"
                  "evil_auth  value    fresh   1.5s  \\x1b[2J/k1 allowed\n",
                  "");
    run("load c absent error:UNAVAILABLE -o json");
    ck_assert_ran(5,
                  "{\"cache\":\"c\",\"answers\":[{\"key\":\"absent\",\"outcome\":\"absent\"," REST
                  "},{\"key\":\"error:UNAVAILABLE\",\"error\":{\"code\":\"UNAVAILABLE\","
                  "\"message\":\"as asked for\"}}]}\n",
                  "");
    run("load c text forget");
    ck_assert_ran(1, "", "herdgate: the server's reply: 1 answers to 2 keys (INTERNAL)\n");
    end();
}
END_TEST

START_TEST(keys_modes_and_ages_reach_the_server_as_meant)
{
    begin();
    run("get describe some");
    ck_assert_asked("get cache=describe bytes key=some mode=default max_age=-1");
    run("get describe some --key-hash --max-age 2m");
    ck_assert_asked("get cache=describe key_hash key=some mode=default max_age=120000");
    run("load describe u/k/x -k user_api_key --mode allow_stale");
    ck_assert_asked(
        "load cache=describe user_api_key user=u api_key=k/x mode=allow_stale max_age=-1");
    run("load describe --user a/b --api-key c");
    ck_assert_asked("load cache=describe user_api_key user=a/b api_key=c mode=default max_age=-1");
    run("load describe --feature u/k --max-age 0s");
    ck_assert_asked("load cache=describe api_key_feature user=u api_key=k mode=default max_age=0");
    run("load describe k --standalone");
    ck_assert_asked("load cache=describe api_key_feature user= api_key=k standalone mode=default "
                    "max_age=-1");
    run("load describe --feature --user u --api-key k");
    ck_assert_asked("load cache=describe api_key_feature user=u api_key=k mode=default max_age=-1");
    run("get describe k --min-generation 18446744073709551615");
    ck_assert_asked("get cache=describe bytes key=k mode=default max_age=-1 "
                    "min_generation=18446744073709551615");
    run("load describe k --min-generation 7");
    ck_assert_asked("load cache=describe bytes key=k mode=default max_age=-1 min_generation=7");
    run("load describe k l --max-age 1s --min-generation 7");
    ck_assert_asked("batch bytes key=k bytes key=l mode=default max_age=1000 min_generation=7");
    run("load describe -- --dashed");
    ck_assert_asked("load cache=describe bytes key=--dashed mode=default max_age=-1");
    end();
}
END_TEST

/* ---- put, del, clear ---- */

START_TEST(put_sends_what_it_was_told)
{
    begin();
    run("put c k v");
    ck_assert_ran(0, "stored, generation 43\n", "");
    run("put -o json c --user u --api-key k v");
    ck_assert_ran(0, "{\"cache\":\"c\",\"key\":\"u/k\",\"generation\":43}\n", "");
    run("put describe k v --ttl 250ms --stale-ttl 1h --expires-at 1900000000");
    ck_assert_asked(
        "put bytes key=k value value=v ttl=250 stale_ttl=3600000 expires_at=1900000000000");
    run("put describe k v --expires-at 2030-03-17T17:46:40Z --if-generation 42:9");
    ck_assert_asked(
        "put bytes key=k value value=v ttl=0 stale_ttl=0 expires_at=1900000000000 if=42:9");
    run_with_input("two\nlines\n", "put describe k -x");
    ck_assert_asked("put bytes key=k value value=two\\x0alines\\x0a ttl=0 stale_ttl=0 "
                    "expires_at=0");
    run("put describe k --absent");
    ck_assert_asked("put bytes key=k absent value= ttl=0 stale_ttl=0 expires_at=0");
    run("put describe k v --tag red --tag blue");
    ck_assert_asked(
        "put bytes key=k value value=v ttl=0 stale_ttl=0 expires_at=0 tag=red tag=blue");
    run("put describe u/k -k user_api_key --denied --ttl 1s");
    ck_assert_asked(
        "put user_api_key user=u api_key=k denied value= ttl=1000 stale_ttl=0 expires_at=0");
    end();
}
END_TEST

START_TEST(put_takes_auth_values_as_fields_and_as_the_json_that_get_prints)
{
    begin();
    run("put describe_auth h --key-hash --auth "
        "user=u1,key=k1,allowed=yes,scope=read,scope=write,attr.plan=gold,not_after=1900000000");
    ck_assert_asked("put key_hash key=h value user=u1 api_key=k1 allowed=1 scope=read scope=write "
                    "attribute=plan is=gold not_after=1900000000000");
    run_with_input("{\"user_id\":\"u1\",\"api_key_id\":\"k1\",\"allowed\":false,\"scopes\":["
                   "\"read\"],\"attributes\":{\"plan\":\"gold\"},\"not_after_ms\":null}",
                   "put describe_auth h --key-hash --auth - --denied");
    ck_assert_asked("put key_hash key=h denied user=u1 api_key=k1 allowed=0 scope=read "
                    "attribute=plan is=gold not_after=0");
    end();
}
END_TEST

START_TEST(token_of_generation_is_what_put_takes_and_a_late_one_is_exit_4)
{
    begin();
    run("generation c k");
    ck_assert_ran(0, "42:18446744073709551615\n", "");
    run("generation c k -o json");
    ck_assert_ran(0, "{\"generation\":42,\"token\":\"42:18446744073709551615\"}\n", "");
    run("put c k v --if-generation 42:18446744073709551615");
    ck_assert_ran(0, "stored, generation 43\n", "");
    run("put c k v --if-generation 41:18446744073709551615");
    ck_assert_ran(4, "", "herdgate: the key changed (ABORTED)\n");
    end();
}
END_TEST

START_TEST(clear_takes_tags_a_user_and_soft)
{
    begin();
    run("clear describe --tag red --tag blue");
    ck_assert_asked("invalidate tag=red tag=blue");
    run("clear describe --user u1");
    ck_assert_asked("invalidate prefix=u1");
    run("clear describe --user u1 --tag red --key h -k key_hash --soft");
    ck_assert_asked("invalidate key_hash key=h tag=red prefix=u1 soft");
    run("clear describe --user u1 --api-key k1");
    ck_assert_asked("invalidate user_api_key user=u1 api_key=k1");
    run("del describe a --soft");
    ck_assert_asked("invalidate bytes key=a soft");
    run("clear c --tag red");
    ck_assert_ran(0,
                  "c: all of it dropped, fenced 1 running loads, released 3 waiters, "
                  "generation 50\n",
                  "");
    run("clear c --user u --soft");
    ck_assert_ran(0,
                  "c: all of it stale, fenced 1 running loads, released 3 waiters, "
                  "generation 50\n",
                  "");
    run("del c a --soft");
    ck_assert_ran(0, "c: made stale 2, fenced 1 running loads, released 3 waiters, generation 50\n",
                  "");
    run("clear c --tag red -o json");
    ck_assert_ran(0, "{\"cache\":\"c\",\"generation\":50,\"fenced\":1,\"released\":3}\n", "");
    end();
}
END_TEST

START_TEST(del_and_clear_report_what_they_did)
{
    begin();
    run("del c a b");
    ck_assert_ran(0, "c: dropped 2, fenced 1 running loads, released 3 waiters, generation 50\n",
                  "");
    run("del describe a u/k");
    ck_assert_asked("invalidate bytes key=a bytes key=u/k");
    run("clear describe --key u/k -k user_api_key");
    ck_assert_asked("invalidate user_api_key user=u api_key=k");
    run("clear c --key a -o json");
    ck_assert_ran(
        0, "{\"cache\":\"c\",\"generation\":50,\"dropped\":2,\"fenced\":1,\"released\":3}\n", "");
    run("clear c");
    ck_assert_ran(0, "c: dropped 4, fenced 0 running loads, released 0 waiters, generation 9\n",
                  "");
    run("clear c --wait");
    ck_assert_ran(0, "c: dropped 4, fenced 3 running loads, released 0 waiters, generation 9\n",
                  "");
    run("clear --all --wait");
    ck_assert_ran(0,
                  "a: dropped 4, fenced 3 running loads, released 0 waiters, generation 9\n"
                  "b: dropped 5, fenced 6 running loads, released 7 waiters, generation 8\n",
                  "");
    run("clear --all -o json");
    ck_assert_ran(0,
                  "{\"reports\":[{\"cache\":\"a\",\"generation\":9,\"dropped\":4,\"fenced\":0,"
                  "\"released\":0},{\"cache\":\"b\",\"generation\":8,\"dropped\":5,\"fenced\":6,"
                  "\"released\":7}]}\n",
                  "");
    end();
}
END_TEST

/* ---- the server ---- */

START_TEST(caches_are_listed)
{
    begin();
    run("caches");
    ck_assert_ran(
        0,
        "CACHE  KEY    VALUE  LOADER  MODE          TTL  STALE  NEGATIVE  ENTRIES     OF  "
        "BYTES        OF\n"
        "auth   auth   auth   keys    revalidate    10s   1.5m        5s        3  16384  "
        "  300  67108864\n"
        "plain  bytes  bytes  -       fresh       250ms    0ms       0ms        0      0  "
        "    0         0\n"
        "\n"
        "CACHE  JITTER  REFRESH_AHEAD  ON_ERROR  ALONE  STALE_IF_ERROR  ERROR_BACKOFF\n"
        "auth      10%            20%  elect     on                 1h          250ms\n"
        "plain      0%            off  share     off               off            off\n",
        "");
    run("caches -o json");
    ck_assert_ran(
        0,
        "{\"caches\":[{\"name\":\"auth\",\"key_type\":\"auth\",\"value_type\":\"auth\","
        "\"loader\":\"keys\",\"mode\":\"revalidate\",\"ttl_ms\":10000,\"stale_ttl_ms\":"
        "90000,\"negative_ttl_ms\":5000,\"max_entries\":16384,\"max_bytes\":67108864,"
        "\"entries\":3,\"bytes\":300,\"generation\":77,\"on_error\":\"elect\",\"jitter_percent\":"
        "10,"
        "\"stale_if_error_ms\":3600000,\"error_backoff_ms\":250,\"refresh_ahead\":\"20%\","
        "\"alone\":true},{\"name\":\"plain\",\"key_type\":"
        "\"bytes\",\"value_type\":\"bytes\",\"loader\":\"\",\"mode\":\"fresh\",\"ttl_ms\":250,"
        "\"stale_ttl_ms\":0,\"negative_ttl_ms\":0,\"max_entries\":0,\"max_bytes\":0,"
        "\"entries\":0,\"bytes\":0,\"generation\":0,\"on_error\":\"share\",\"jitter_percent\":0,"
        "\"stale_if_error_ms\":0,\"error_backoff_ms\":0,\"refresh_ahead\":\"off\","
        "\"alone\":false}]}\n",
        "");
    end();
}
END_TEST

START_TEST(counters_are_printed_by_cache_and_server)
{
    begin();
    run("stats");
    ck_assert_ran(0,
                  "auth\n  hit          10\n  stale_hit  2000\nplain\n  hit  10\n(server)\n  "
                  "connections  1\n",
                  "");
    run("stats -o json");
    ck_assert_ran(0,
                  "{\"caches\":{\"auth\":{\"hit\":10,\"stale_hit\":2000},\"plain\":{\"hit\":10}},"
                  "\"server\":{\"connections\":1}}\n",
                  "");
    run("stats other -o json");
    ck_assert_ran(0, "{\"caches\":{\"other\":{\"hit\":10,\"stale_hit\":2000}},\"server\":{}}\n",
                  "");
    end();
}
END_TEST

#define LOADER(name)                                                                               \
    "{\"name\":\"" name "\",\"state\":\"running\",\"plugin\":\"/usr/lib/herdgate/sqlite.so\","     \
    "\"version\":\"0.1.0\",\"abi\":1,\"pid\":4711,\"started_count\":2,\"deaths\":1,\"in_flight\":" \
    "3,\"queued\":4,\"message\":\"signal 11\"}"

START_TEST(loaders_are_listed_and_reloaded)
{
    begin();
    run("loaders");
    ck_assert_ran(0,
                  "LOADER  STATE     PID  STARTED  DEATHS  LOADS  QUEUED  VERSION  PLUGIN          "
                  "             LAST FAULT\n"
                  "keys    running  4711        2       1      3       4  0.1.0    "
                  "/usr/lib/herdgate/sqlite.so  signal 11\n",
                  "");
    run("loaders -o json");
    ck_assert_ran(0, "{\"loaders\":[" LOADER("keys") "]}\n", "");
    run("loaders --reload other -o json");
    ck_assert_ran(0, LOADER("other") "\n", "");
    end();
}
END_TEST

#define FLIGHT(cache, id)                                                                          \
    "{\"cache\":\"" cache "\",\"id\":" id                                                          \
    ",\"digest\":\"00ff00ff00ff00ff\",\"leader\":\"caller\","                                      \
    "\"phase\":\"sent\",\"pid\":4711,\"age_ms\":1500,\"left_ms\":8500,\"followers\":3,"            \
    "\"generation\":7,\"attempt\":1,\"fenced\":true}"

START_TEST(flights_are_listed_and_killed)
{
    begin();
    run("flights");
    ck_assert_ran(0,
                  "CACHE  ID  DIGEST            LEADER   PHASE    PID   AGE  LEFT  FOLLOWERS  "
                  "ATTEMPT  GENERATION\n"
                  "auth   12  00ff00ff00ff00ff  caller   sent    4711  1.5s  8.5s          3  "
                  "      1           7  overtaken\n"
                  "auth   13  0123456789abcdef  refresh  queued     -   0ms     -          0  "
                  "      0           0\n",
                  "");
    run("flights c --max 1");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_str_eq(ran.err, "herdgate: 1 more are not shown\n");
    run("flights c --max 1 -o json");
    ck_assert_ran(0, "{\"flights\":[" FLIGHT("c", "12") "],\"total\":2}\n", "");
    run("flights -o json");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"left_ms\":null"));
    run("flights c --kill 99 -o json");
    ck_assert_ran(0, FLIGHT("c", "99") "\n", "");
    run("flights c --kill 99");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "\nc      99  00ff00ff00ff00ff  caller  sent "));
    end();
}
END_TEST

START_TEST(keys_are_explained)
{
    begin();
    run("explain c bare");
    ck_assert_ran(0, "nothing: as said\ndigest 00ff00ff00ff00ff, the cache is at generation 9\n",
                  "");
    run("explain c k");
    ck_assert_ran(0,
                  "stale: as said\n"
                  "digest 00ff00ff00ff00ff, the cache is at generation 9\n"
                  "\n"
                  "CACHE  ID  DIGEST            LEADER  PHASE   PID   AGE  LEFT  FOLLOWERS  "
                  "ATTEMPT  GENERATION\n"
                  "c      12  00ff00ff00ff00ff  caller  sent   4711  1.5s  8.5s          3  "
                  "      1           7  overtaken\n"
                  "\n"
                  "ANSWERED AT               OUTCOME      SOURCE   AGE  GENERATION\n"
                  "2030-03-17T17:46:40.318Z  value        stale   1.5s           7  overtaken\n"
                  "2030-03-17T17:46:40.001Z  UNAVAILABLE  joined   0ms           0\n",
                  "");
    run("explain c k -o json");
    ck_assert_ran(
        0,
        "{\"cache\":\"c\",\"key\":\"k\",\"rule\":\"stale\",\"sentence\":\"stale: as said\","
        "\"digest\":\"00ff00ff00ff00ff\",\"generation\":9,\"entry\":{\"outcome\":\"value\","
        "\"generation\":7,\"age_ms\":1500,\"ttl_ms\":1000,\"ttl_left_ms\":0,"
        "\"stale_left_ms\":8500,\"refresh_pause_ms\":20},\"flight\":" FLIGHT(
            "c", "12") ",\"failure_left_ms\":30,\"answers\":[{\"at_ms\":1900000000318,"
                       "\"status\":\"OK\",\"outcome\":\"value\",\"source\":\"stale\","
                       "\"fenced\":true,\"generation\":7,\"age_ms\":1500},{\"at_ms\":"
                       "1900000000001,\"status\":\"UNAVAILABLE\",\"outcome\":\"not_cached\","
                       "\"source\":\"joined\",\"fenced\":false,\"generation\":0,\"age_ms\":"
                       "0}]}\n",
        "");
    run("explain c --user u --api-key bare -o json");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"key\":\"u/bare\""));
    end();
}
END_TEST

START_TEST(the_snapshot_is_saved_described_and_read)
{
    begin();
    run("snapshot save");
    ck_assert_ran(0, "saved 12 entries in 34 ms\n", "");
    run("snapshot save -o json");
    ck_assert_ran(0, "{\"entries\":12,\"duration_ms\":34}\n", "");
    run("snapshot info");
    ck_assert_ran(0,
                  "path           /s.db\n"
                  "version        4000\n"
                  "protection     key_file\n"
                  "file           8192 bytes, and a log of 16; 1 pages\n"
                  "entries        5 in memory, 2 of them not yet saved\n"
                  "invalidations  3 on record\n"
                  "generation     77\n"
                  "saved          2030-03-17T17:46:40.000Z\n"
                  "at the start   4 rows restored, 0 found damaged\n"
                  "state          degraded: memory is ahead of the disk\n"
                  "saves          6, one every 5s; 1 failed\n"
                  "last error     disk full\n"
                  "verified       never\n"
                  "at work        verify: 10 of 40\n",
                  "");
    run("snapshot info -o json");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "{\"path\":\"/s.db\",\"version\":4000,"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\"degraded\":true,\"message\":\"disk full\","));
    run("snapshot verify");
    ck_assert_ran(1, "the snapshot is not whole: row 1; 2 faults, 9 rows can be read\n", "");
    run("snapshot verify -o json");
    ck_assert_ran(1,
                  "{\"whole\":false,\"faults\":2,\"fault\":\"row 1\",\"rows\":9,\"pages\":1,"
                  "\"caches\":1,\"invalidations\":3,\"generation\":77,\"saved_at_ms\":"
                  "1900000000000,\"structure_checked\":false,\"duration_ms\":5}\n",
                  "");
    end();
}
END_TEST

START_TEST(ping_and_health_tell_of_the_server)
{
    begin();
    run("health");
    ck_assert_ran(0, "serving\n", "");
    run("health -o json");
    ck_assert_ran(0, "{\"status\":\"serving\"}\n", "");
    run("health other");
    ck_assert_ran(1, "not_serving\n", "");
    run("ping");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "; 4 round trips: "));
    run("ping -c 2 -o json");
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"count\":2,\"connect_ms\":"));
    end();
}
END_TEST

/* ---- failures ---- */

START_TEST(every_status_has_its_exit_code)
{
    static const struct {
        const char *name;
        int rc;
    } cases[] = {{"UNKNOWN", 1},
                 {"INVALID_ARGUMENT", 1},
                 {"DEADLINE_EXCEEDED", 5},
                 {"NOT_FOUND", 1},
                 {"PERMISSION_DENIED", 6},
                 {"RESOURCE_EXHAUSTED", 1},
                 {"FAILED_PRECONDITION", 1},
                 {"ABORTED", 4},
                 {"UNIMPLEMENTED", 1},
                 {"INTERNAL", 1},
                 {"UNAVAILABLE", 5},
                 {"UNAUTHENTICATED", 6}};
    char line[64];
    char err[128];

    begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(line, sizeof(line), "load c error:%s", cases[i].name);
        snprintf(err, sizeof(err), "herdgate: as asked for (%s)\n", cases[i].name);
        run(line);
        ck_assert_ran(cases[i].rc, "", err);
        snprintf(line, sizeof(line), "load -o json c error:%s", cases[i].name);
        snprintf(err, sizeof(err), "{\"error\":{\"code\":\"%s\",\"message\":\"as asked for\"}}\n",
                 cases[i].name);
        run(line);
        ck_assert_ran(cases[i].rc, "", err);
    }
    end();
}
END_TEST

START_TEST(server_that_is_away_or_silent_is_exit_5)
{
    begin();
    run("load c hang --timeout 1s");
    ck_assert_ran(5, "", "herdgate: no answer within 1000 ms (DEADLINE_EXCEEDED)\n");
    run("-e ipc:///tmp/hg_nobody_here.sock del c k -o json");
    ck_assert_int_eq(ran.rc, 5);
    ck_assert_ptr_nonnull(strstr(ran.err, "{\"error\":{\"code\":\"UNAVAILABLE\",\"message\":"
                                          "\"cannot connect to ipc:///tmp/hg_nobody_here.sock"));
    run("ping --endpoint tcp://127.0.0.1:1");
    ck_assert_int_eq(ran.rc, 5);
    end();
}
END_TEST

START_TEST(output_that_cannot_be_written_is_a_failure)
{
    char line[300];

    begin();
    snprintf(line, sizeof(line), "%s/bin/herdgate get c text > /dev/full 2> /dev/null",
             HGI_BUILD_DIR);
    ck_assert_int_eq(WEXITSTATUS(system(line)), 1);
    end();
}
END_TEST

HGI_SUITE("client.cli", 120, help_lists_every_verb_and_each_has_its_own, version_is_told,
          unknown_verb_is_answered_with_the_nearest_one, bad_usage_is_one_sentence_and_exit_2,
          bad_put_is_one_sentence_and_exit_2,
          values_are_printed_as_they_are_and_outcomes_told_by_exit_3,
          answers_in_json_are_one_line_with_typed_values,
          several_keys_are_one_batch_with_a_row_each, keys_modes_and_ages_reach_the_server_as_meant,
          put_sends_what_it_was_told,
          put_takes_auth_values_as_fields_and_as_the_json_that_get_prints,
          token_of_generation_is_what_put_takes_and_a_late_one_is_exit_4,
          clear_takes_tags_a_user_and_soft, del_and_clear_report_what_they_did, caches_are_listed,
          counters_are_printed_by_cache_and_server, loaders_are_listed_and_reloaded,
          flights_are_listed_and_killed, keys_are_explained,
          the_snapshot_is_saved_described_and_read, ping_and_health_tell_of_the_server,
          every_status_has_its_exit_code, server_that_is_away_or_silent_is_exit_5,
          output_that_cannot_be_written_is_a_failure)
