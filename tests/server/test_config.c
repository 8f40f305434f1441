/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/config.h"
#include "server/option.h"

#define PLUGINS "/opt/herdgate/plugins"

/* The smallest configuration that holds, on lines 1 and 2; what a test adds begins on line 3. */
#define LISTEN "listen \"ipc:///run/hg/a.sock\" { }\n"
#define CACHE  "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n"
#define SMALL  LISTEN CACHE

static char file_path[64];
static char sentence[HGI_CONFIG_SENTENCE_MAX];

static struct hgi_config *read_bytes(const char *text, size_t len)
{
    int fd;

    snprintf(file_path, sizeof(file_path), "/tmp/hg-config-XXXXXX");
    fd = mkstemp(file_path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
    snprintf(sentence, sizeof(sentence), "untouched");
    return hgi_config_read(file_path, PLUGINS, sentence);
}

static struct hgi_config *read_text(const char *text)
{
    struct hgi_config *config = read_bytes(text, strlen(text));

    ck_assert_int_eq(unlink(file_path), 0);
    return config;
}

static struct hgi_config *read_good(const char *text)
{
    struct hgi_config *config = read_text(text);

    ck_assert_msg(config != NULL, "refused: %s", sentence);
    ck_assert_str_eq(sentence, "untouched");
    return config;
}

/* `expected` follows the file's name: ":3: what" or ": what". */
static void refused(const char *text, const char *expected)
{
    struct hgi_config *config = read_text(text);
    size_t path_len = strlen(file_path);

    ck_assert_msg(config == NULL, "taken: %s", text);
    ck_assert_int_eq(strncmp(sentence, file_path, path_len), 0);
    ck_assert_str_eq(sentence + path_len, expected);
}

START_TEST(defaults_are_those_of_the_design)
{
    struct hgi_config *config = read_good(SMALL);
    const struct hgi_policy *policy = &config->caches[0].policy;

    ck_assert_str_eq(config->runtime_dir, "/run/herdgate");
    ck_assert_str_eq(config->plugin_dir, PLUGINS);
    ck_assert_ptr_null(config->loader_program);
    ck_assert_int_eq(config->log_level, HG_LOG_INFO);
    ck_assert_ptr_null(config->snapshot);
    ck_assert_uint_eq(config->loader_count, 0);
    ck_assert_uint_eq(config->listen_count, 1);
    ck_assert_int_eq(config->listens[0].access, HGI_ACCESS_OWNER);
    ck_assert_uint_eq(config->peers[0], geteuid());
    ck_assert_uint_eq(config->peers[config->peer_count - 1], 0);

    ck_assert_uint_eq(config->limits.value_max_bytes, 64 * 1024);
    ck_assert_uint_eq(config->limits.message_max_bytes, 1024 * 1024);
    ck_assert_uint_eq(config->limits.connections_max, 1024);
    ck_assert_uint_eq(config->limits.in_flight_max, 256);
    ck_assert_int_eq(config->limits.handshake_ms, 2000);
    ck_assert_int_eq(config->limits.body_ms, 2000);
    ck_assert_int_eq(config->limits.write_ms, 2000);
    ck_assert_int_eq(config->limits.idle_ms, 300000);
    ck_assert_uint_eq(config->limits.loads_max, 64);

    ck_assert_int_eq(policy->mode, HG_MODE_FRESH);
    ck_assert_int_eq(policy->on_error, HGI_ON_ERROR_SHARE);
    ck_assert_int_eq(policy->on_fenced, HGI_ON_FENCED_DELIVER);
    ck_assert(!policy->expired_is_denied);
    ck_assert_int_eq(policy->ttl_ms, 60000);
    ck_assert_int_eq(policy->stale_ttl_ms, 60000);
    ck_assert_int_eq(policy->negative_ttl_ms, 5000);
    ck_assert_int_eq(policy->load_timeout_ms, 5000);
    ck_assert_int_eq(policy->wait_budget_ms, 13000);
    ck_assert_uint_eq(policy->jitter_percent, 10);
    ck_assert(!policy->alone);
    ck_assert_int_eq(policy->stale_if_error_ms, 0);
    ck_assert_int_eq(policy->error_backoff_ms, 0);
    ck_assert_uint_eq(policy->refresh_ahead_percent, 0);
    ck_assert(!policy->refresh_ahead_is_random);
    ck_assert_uint_eq(policy->max_entries, 16384);
    ck_assert_uint_eq(policy->max_bytes, 64 * 1024 * 1024);
    ck_assert_uint_eq(policy->max_loads, 16);
    ck_assert_uint_eq(policy->queue_max, 1024);
    ck_assert_uint_eq(policy->waiters_max, 4096);
    hgi_config_destroy(&config);
    ck_assert_ptr_null(config);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(auth_caches_have_defaults_of_their_own)
{
    struct hgi_config *config =
        read_good(LISTEN "cache \"a\" { key = \"auth\" value = \"auth\" }\n"
                         "cache \"b\" { key = \"auth\" value = \"json\" }\n");

    ck_assert_int_eq(config->caches[0].policy.ttl_ms, 10000);
    ck_assert_int_eq(config->caches[0].policy.stale_ttl_ms, 10000);
    ck_assert_int_eq(config->caches[0].policy.on_fenced, HGI_ON_FENCED_RELOAD);
    ck_assert(config->caches[0].policy.expired_is_denied);
    ck_assert_int_eq(config->caches[1].policy.ttl_ms, 60000);
    ck_assert_int_eq(config->caches[1].policy.on_fenced, HGI_ON_FENCED_DELIVER);
    ck_assert(!config->caches[1].policy.expired_is_denied);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(defaults_that_follow_from_others_follow)
{
    struct hgi_config *config =
        read_good(LISTEN "cache \"a\" { key = \"bytes\" value = \"bytes\" ttl = \"2s\" stale_ttl = "
                         "\"3s\" load_timeout = \"250ms\" }\n"
                         "cache \"b\" { key = \"bytes\" value = \"bytes\" ttl = \"2h\" }\n"
                         "cache \"d\" { key = \"bytes\" value = \"bytes\" stale_ttl = \"60s\" }\n");

    ck_assert_int_eq(config->caches[0].policy.mode, HG_MODE_REVALIDATE);
    ck_assert_int_eq(config->caches[0].policy.wait_budget_ms, 3500);
    ck_assert_int_eq(config->caches[1].policy.stale_ttl_ms, 7200000);
    ck_assert_int_eq(config->caches[1].policy.mode, HG_MODE_FRESH);
    ck_assert_int_eq(config->caches[2].policy.mode, HG_MODE_FRESH);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(every_option_reaches_its_field)
{
    struct hgi_config *config =
        read_good("runtime_dir = \"/r\" plugin_dir = \"/p\" loader_program = \"/l\" log_level = "
                  "\"debug\" peers = \"0, 7 9\"\n"
                  "limits { value_max = \"1000\" message_max = \"2MiB\" connections_max = 5 "
                  "in_flight_max = 6 handshake = \"1s\"\n"
                  "  body = \"3s\" write = \"4s\" idle = \"1m\" loads_max = 8 }\n"
                  "listen \"tcp://127.0.0.1:7448\" { access = \"data\" }\n"
                  "listen \"ipc:///a\" { access = \"data\" }\n"
                  "snapshot { path = \"/s.db\" interval = \"250ms\" }\n"
                  "loader \"keys\" { plugin = \"sqlite\" workers = 2 option(\"database\", \"/d\") "
                  "option('b', '') }\n"
                  "loader \"other\" { plugin = \"/x/y.so\" }\n"
                  "cache \"c\" { key = \"user_api_key\" value = \"json\" loader = \"keys\" mode = "
                  "\"allow_stale\" ttl = \"1s\"\n"
                  "  stale_ttl = \"1m\" negative_ttl = \"2s\" max_entries = 10 max_bytes = "
                  "\"1GiB\" load_timeout = \"7s\"\n"
                  "  wait_budget = \"9s\" on_error = \"each\" on_fenced = \"reload\" max_loads = 3 "
                  "queue_max = 0 waiters_max = 11 jitter = \"7%\"\n"
                  "  alone = on stale_if_error = \"2h\" error_backoff = \"300ms\" refresh_ahead = "
                  "\"20%\" }\n"
                  "cache \"x\" { key = \"bytes\" value = \"bytes\" on_error = elect "
                  "refresh_ahead = xfetch jitter = 0 }\n"
                  "cache \"off\" { key = \"bytes\" value = \"bytes\" alone = off stale_if_error "
                  "= off error_backoff = 0 refresh_ahead = off }\n");
    const struct hgi_cache_config *cache = &config->caches[0];

    ck_assert_str_eq(config->runtime_dir, "/r");
    ck_assert_str_eq(config->plugin_dir, "/p");
    ck_assert_str_eq(config->loader_program, "/l");
    ck_assert_int_eq(config->log_level, HG_LOG_DEBUG);
    ck_assert_uint_eq(config->peer_count, 3);
    ck_assert_uint_eq(config->peers[1], 7);
    ck_assert_uint_eq(config->peers[2], 9);
    ck_assert_uint_eq(config->limits.value_max_bytes, 1000);
    ck_assert_uint_eq(config->limits.message_max_bytes, 2 * 1024 * 1024);
    ck_assert_uint_eq(config->limits.connections_max, 5);
    ck_assert_uint_eq(config->limits.in_flight_max, 6);
    ck_assert_int_eq(config->limits.handshake_ms, 1000);
    ck_assert_int_eq(config->limits.body_ms, 3000);
    ck_assert_int_eq(config->limits.write_ms, 4000);
    ck_assert_int_eq(config->limits.idle_ms, 60000);
    ck_assert_uint_eq(config->limits.loads_max, 8);
    ck_assert_uint_eq(config->listen_count, 2);
    ck_assert_str_eq(config->listens[0].url, "tcp://127.0.0.1:7448");
    ck_assert_int_eq(config->listens[0].access, HGI_ACCESS_DATA);
    ck_assert_int_eq(config->listens[1].access, HGI_ACCESS_DATA);
    ck_assert_str_eq(config->snapshot->path, "/s.db");
    ck_assert_int_eq(config->snapshot->interval_ms, 250);
    ck_assert_uint_eq(config->loader_count, 2);
    ck_assert_str_eq(config->loaders[0].name, "keys");
    ck_assert_str_eq(config->loaders[0].plugin, "/p/sqlite.so");
    ck_assert_uint_eq(config->loaders[0].workers, 2);
    ck_assert_int_eq(config->loaders[0].line, 7);
    ck_assert_uint_eq(config->loaders[0].setting_count, 2);
    ck_assert_str_eq(config->loaders[0].settings[0].name, "database");
    ck_assert_str_eq(config->loaders[0].settings[0].value, "/d");
    ck_assert_str_eq(config->loaders[0].settings[1].name, "b");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "");
    ck_assert_str_eq(config->loaders[1].plugin, "/x/y.so");
    ck_assert_uint_eq(config->loaders[1].workers, 4);
    ck_assert_str_eq(cache->name, "c");
    ck_assert_int_eq(cache->key_type, HGI_KEYS_USER_API_KEY);
    ck_assert_int_eq(cache->value_type, HG_TYPE_JSON);
    ck_assert_str_eq(cache->loader, "keys");
    ck_assert_int_eq(cache->policy.mode, HG_MODE_ALLOW_STALE);
    ck_assert_int_eq(cache->policy.ttl_ms, 1000);
    ck_assert_int_eq(cache->policy.stale_ttl_ms, 60000);
    ck_assert_int_eq(cache->policy.negative_ttl_ms, 2000);
    ck_assert_uint_eq(cache->policy.max_entries, 10);
    ck_assert_uint_eq(cache->policy.max_bytes, 1024UL * 1024 * 1024);
    ck_assert_int_eq(cache->policy.load_timeout_ms, 7000);
    ck_assert_int_eq(cache->policy.wait_budget_ms, 9000);
    ck_assert_int_eq(cache->policy.on_error, HGI_ON_ERROR_EACH);
    ck_assert_int_eq(cache->policy.on_fenced, HGI_ON_FENCED_RELOAD);
    ck_assert_uint_eq(cache->policy.max_loads, 3);
    ck_assert_uint_eq(cache->policy.queue_max, 0);
    ck_assert_uint_eq(cache->policy.waiters_max, 11);
    ck_assert_uint_eq(cache->policy.jitter_percent, 7);
    ck_assert(cache->policy.alone);
    ck_assert_int_eq(cache->policy.stale_if_error_ms, 7200000);
    ck_assert_int_eq(cache->policy.error_backoff_ms, 300);
    ck_assert_uint_eq(cache->policy.refresh_ahead_percent, 20);
    ck_assert(!cache->policy.refresh_ahead_is_random);
    cache = &config->caches[1];
    ck_assert_int_eq(cache->policy.on_error, HGI_ON_ERROR_ELECT);
    ck_assert_uint_eq(cache->policy.refresh_ahead_percent, 0);
    ck_assert(cache->policy.refresh_ahead_is_random);
    ck_assert_uint_eq(cache->policy.jitter_percent, 0);
    cache = &config->caches[2];
    ck_assert(!cache->policy.alone);
    ck_assert_int_eq(cache->policy.stale_if_error_ms, 0);
    ck_assert_int_eq(cache->policy.error_backoff_ms, 0);
    ck_assert(!cache->policy.refresh_ahead_is_random);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(a_mistyped_option_names_the_nearest)
{
    refused(LISTEN "cache \"c\" {\n  key = \"bytes\"\n  value = \"bytes\"\n  tll = \"1s\"\n}\n",
            ":5: cache \"c\": there is no option \"tll\"; did you mean \"ttl\"?");
    refused(SMALL "snapshott { path = \"/x\" }\n",
            ":3: there is no option \"snapshott\"; did you mean \"snapshot\"?");
    refused(SMALL "runtimedir = \"/x\"\n",
            ":3: there is no option \"runtimedir\"; did you mean \"runtime_dir\"?");
}
END_TEST

START_TEST(an_unlike_option_gets_the_list_of_what_may_stand_there)
{
    refused(SMALL "snapshot { weather = 1 }\n",
            ":3: snapshot: there is no option \"weather\"; what may stand here: path, interval");
}
END_TEST

START_TEST(an_option_of_another_section_is_sent_home)
{
    refused(SMALL "ttl = \"1s\"\n",
            ":3: \"ttl\" cannot stand here; it is an option of a cache section");
    refused(SMALL "snapshot { log_level = \"info\" }\n",
            ":3: snapshot: \"log_level\" cannot stand in a section; move it outside");
    /* A path through sections is not an option either. */
    refused(SMALL "limits { }\nlimits|idle = \"1m\"\n",
            ":4: \"idle\" cannot stand here; it is an option of a limits section");
}
END_TEST

START_TEST(names_stand_once)
{
    refused(SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" }\ncache \"c\" { key = "
                  "\"bytes\" value = \"bytes\" }\n",
            ":4: cache \"c\" is there already, on line 2; give one another name");
    refused(SMALL "loader \"c\" { plugin = \"a\" }\nloader \"c\" { plugin = \"b\" }\n",
            ":4: loader \"c\" is there already, on line 3; give one another name");
    refused(SMALL "limits { }\n\nlimits { }\n",
            ":5: there is a limits section already, on line 3; make them one");
}
END_TEST

START_TEST(options_are_set_once)
{
    refused(SMALL "log_level = \"info\"\nlog_level = \"info\"\n",
            ":4: log_level is set twice; the first is on line 3");
    refused(SMALL "cache \"d\" {\nttl = \"1s\"\nkey = \"bytes\"\nttl = \"1s\" }\n",
            ":6: cache \"d\": ttl is set twice; the first is on line 4");
    refused(SMALL
            "loader \"d\" {\noption(\"a\", \"1\")\noption(\"b\", \"1\")\noption(\"a\", \"2\") }\n",
            ":6: loader \"d\": option a is set twice; the first is on line 4");
}
END_TEST

START_TEST(a_time_has_a_unit_and_no_sign)
{
#define TTL(value) SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" ttl = " value " }\n"
#define FORM       "; write a time such as \"10s\", \"500ms\", \"5m\" or \"1h\""
    refused(TTL("10"), ":3: cache \"d\": ttl = \"10\" has no unit" FORM);
    refused(TTL("\"-5s\""), ":3: cache \"d\": ttl = \"-5s\" is negative" FORM);
    refused(TTL("-5"), ":3: cache \"d\": ttl = \"-5\" is negative" FORM);
    refused(TTL("\"1.5s\""), ":3: cache \"d\": ttl = \"1.5s\" is not understood" FORM);
    refused(TTL("\"1 s\""), ":3: cache \"d\": ttl = \"1 s\" is not understood" FORM);
    refused(TTL("\"10sec\""), ":3: cache \"d\": ttl = \"10sec\" is not understood" FORM);
    refused(TTL("\"\""), ":3: cache \"d\": ttl = \"\" is not understood" FORM);
    refused(TTL("\"0s\""), ":3: cache \"d\": ttl = \"0s\" is out of range; it may be 1ms to 720h");
    refused(TTL("\"721h\""),
            ":3: cache \"d\": ttl = \"721h\" is out of range; it may be 1ms to 720h");
    refused(
        TTL("\"99999999999999999999h\""),
        ":3: cache \"d\": ttl = \"99999999999999999999h\" is out of range; it may be 1ms to 720h");
    refused(
        TTL("\"9223372036854775807h\""),
        ":3: cache \"d\": ttl = \"9223372036854775807h\" is out of range; it may be 1ms to 720h");
#undef TTL
#undef FORM
}
END_TEST

START_TEST(a_size_has_a_known_unit)
{
#define FORM "; write a number of bytes, or one such as \"64KiB\", \"64MiB\" or \"1GiB\""
    refused(SMALL "limits { value_max = \"64MB\" }\n",
            ":3: limits: value_max = \"64MB\" is not understood" FORM);
    refused(SMALL "limits { value_max = \"-1\" }\n",
            ":3: limits: value_max = \"-1\" is negative" FORM);
    refused(SMALL "limits { value_max = \"0\" }\n",
            ":3: limits: value_max = \"0\" is out of range; it may be 1 to 16MiB");
#undef FORM
}
END_TEST

START_TEST(a_count_is_a_whole_number_in_range)
{
#define MAX(value)                                                                                 \
    SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" max_entries = " value " }\n"
    refused(MAX("0"),
            ":3: cache \"d\": max_entries = \"0\" is out of range; it may be 1 to 100000000");
    refused(MAX("-5"), ":3: cache \"d\": max_entries = \"-5\" is negative; write a whole number");
    refused(MAX("0x10"),
            ":3: cache \"d\": max_entries = \"0x10\" is not understood; write a whole number");
#undef MAX
}
END_TEST

START_TEST(a_percentage_has_its_sign_and_its_bounds)
{
#define JITTER(value) SMALL "cache \"d\" { jitter = " value " }\n"
#define FORM          "; write a percentage such as \"10%\""
    refused(JITTER("10"), ":3: cache \"d\": jitter = \"10\" has no unit" FORM);
    refused(JITTER("\"-1%\""), ":3: cache \"d\": jitter = \"-1%\" is negative" FORM);
    refused(JITTER("\"10s\""), ":3: cache \"d\": jitter = \"10s\" is not understood" FORM);
    refused(JITTER("\"51%\""),
            ":3: cache \"d\": jitter = \"51%\" is out of range; it may be 0% to 50%");
#undef FORM
#undef JITTER
}
END_TEST

START_TEST(what_may_be_off_says_so)
{
    refused(SMALL "cache \"d\" { stale_if_error = no }\n",
            ":3: cache \"d\": stale_if_error = \"no\" is not understood; write \"off\", or a time "
            "such as \"10s\", \"500ms\", \"5m\" or \"1h\"");
    refused(SMALL "cache \"d\" { error_backoff = \"2h\" }\n",
            ":3: cache \"d\": error_backoff = \"2h\" is out of range; it may be 0ms to 1h");
    refused(SMALL "cache \"d\" { refresh_ahead = \"on\" }\n",
            ":3: cache \"d\": refresh_ahead = \"on\" is not understood; write \"off\", or "
            "\"xfetch\", or a percentage such as \"10%\"");
    refused(SMALL "cache \"d\" { refresh_ahead = \"91%\" }\n",
            ":3: cache \"d\": refresh_ahead = \"91%\" is out of range; it may be 1% to 90%");
    refused(SMALL "cache \"d\" { jitter = off }\n",
            ":3: cache \"d\": jitter = \"off\" is not understood; write a percentage such as "
            "\"10%\"");
}
END_TEST

START_TEST(a_word_that_is_not_known_gets_the_list)
{
    refused(SMALL "cache \"d\" { key = \"bytes\" value = \"text\" }\n",
            ":3: cache \"d\": value = \"text\" is no known word; write bytes, json or auth");
    refused(
        SMALL "cache \"d\" { key = \"hash\" }\n",
        ":3: cache \"d\": key = \"hash\" is no known word; write bytes, key_hash, user_api_key, "
        "api_key_feature or auth");
    refused(SMALL "cache \"d\" { mode = \"default\" }\n",
            ":3: cache \"d\": mode = \"default\" is no known word; write fresh, allow_stale, "
            "revalidate or peek");
    refused(SMALL "cache \"d\" { on_error = \"all\" }\n",
            ":3: cache \"d\": on_error = \"all\" is no known word; write share, each or elect");
    refused(SMALL "cache \"d\" { alone = \"yes\" }\n",
            ":3: cache \"d\": alone = \"yes\" is no known word; write off or on");
    refused(SMALL "cache \"d\" { on_fenced = \"drop\" }\n",
            ":3: cache \"d\": on_fenced = \"drop\" is no known word; write deliver or reload");
    refused(SMALL "log_level = \"loud\"\n",
            ":3: log_level = \"loud\" is no known word; write error, warn, info or debug");
    refused(SMALL "listen \"ipc:///b\" { access = \"all\" }\n",
            ":3: listen \"ipc:///b\": access = \"all\" is no known word; write owner or data");
}
END_TEST

START_TEST(what_must_be_given_is_missed_by_name)
{
    refused(SMALL "\ncache \"d\" {\n value = \"bytes\" }\n",
            ":4: cache \"d\": key is missing and must be given");
    refused(SMALL "cache \"d\" { key = \"bytes\" }\n",
            ":3: cache \"d\": value is missing and must be given");
    refused(SMALL "loader \"d\" { workers = 2 }\n",
            ":3: loader \"d\": plugin is missing and must be given");
    refused(SMALL "snapshot { }\n", ":3: snapshot: path is missing and must be given");
}
END_TEST

START_TEST(paths_are_absolute)
{
    refused(SMALL "runtime_dir = \"run\"\n",
            ":3: runtime_dir = \"run\" is relative; write an absolute path");
    refused(SMALL "snapshot { path = \"cache.db\" }\n",
            ":3: snapshot: path = \"cache.db\" is relative; write an absolute path");
    refused(
        SMALL "loader \"d\" { plugin = \"./d.so\" }\n",
        ":3: loader \"d\": plugin = \"./d.so\" is a relative path; write an absolute path, or a "
        "name such as \"sqlite\" that is looked up in plugin_dir");
    refused(SMALL "listen \"ipc://b.sock\" { }\n",
            ":3: listen \"ipc://b.sock\": the socket's path is relative; write such as "
            "\"ipc:///run/herdgate/herdgate.sock\"");
    refused(SMALL "runtime_dir = \"\"\n",
            ":3: runtime_dir is empty; leave the line out or give it a value");
}
END_TEST

START_TEST(a_socket_path_fits_the_system)
{
    char text[512];
    char expected[512];
    char path[110];

    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[107] = '\0';
    snprintf(text, sizeof(text), "listen \"ipc://%s\" { }\n" CACHE, path);
    struct hgi_config *config = read_good(text);
    hgi_config_destroy(&config);
    path[107] = 'a';
    path[108] = '\0';
    snprintf(text, sizeof(text), "listen \"ipc://%s\" { }\n" CACHE, path);
    snprintf(expected, sizeof(expected),
             ":1: listen \"ipc://%s\": the socket's path is longer than 107 bytes", path);
    refused(text, expected);
}
END_TEST

START_TEST(listens_are_ipc_or_loopback_tcp)
{
    static const char *const good[] = {"tcp://127.0.0.1:7448", "tcp://127.1.2.3:0",
                                       "tcp://[::1]:65535", "tcp://localhost:1"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "listen \"%s\" { }\n" CACHE, good[i]);
        struct hgi_config *config = read_good(text);
        ck_assert_int_eq(config->listens[0].access, HGI_ACCESS_DATA);
        hgi_config_destroy(&config);
    }
    refused("listen \"http://x\" { }\n" CACHE,
            ":1: listen \"http://x\" has no known scheme; write ipc:///path or tcp://host:port");
    refused("listen \"tcp://127.0.0.1:7448\" {\n access = \"owner\" }\n" CACHE,
            ":2: listen \"tcp://127.0.0.1:7448\": access owner needs ipc, where the peer's user is "
            "known; write \"data\"");
#define PORT " has no host and port; write such as \"tcp://127.0.0.1:7448\""
    refused("listen \"tcp://127.0.0.1\" { }\n" CACHE, ":1: listen \"tcp://127.0.0.1\"" PORT);
    refused("listen \"tcp://127.0.0.1:\" { }\n" CACHE, ":1: listen \"tcp://127.0.0.1:\"" PORT);
    refused("listen \"tcp://:80\" { }\n" CACHE, ":1: listen \"tcp://:80\"" PORT);
    refused("listen \"tcp://127.0.0.1:65536\" { }\n" CACHE,
            ":1: listen \"tcp://127.0.0.1:65536\"" PORT);
    refused("listen \"tcp://127.0.0.1:1x\" { }\n" CACHE, ":1: listen \"tcp://127.0.0.1:1x\"" PORT);
#undef PORT
#define OPEN                                                                                       \
    " is open to the network, which needs TLS that is not there yet; write a loopback address "    \
    "such as \"tcp://127.0.0.1:7448\""
    refused("listen \"tcp://0.0.0.0:80\" { }\n" CACHE, ":1: listen \"tcp://0.0.0.0:80\"" OPEN);
    refused("listen \"tcp://127.evil.example:80\" { }\n" CACHE,
            ":1: listen \"tcp://127.evil.example:80\"" OPEN);
    refused("listen \"tcp://localhost.example:80\" { }\n" CACHE,
            ":1: listen \"tcp://localhost.example:80\"" OPEN);
#undef OPEN
}
END_TEST

START_TEST(there_is_a_listen_and_a_cache)
{
    refused(CACHE, ": there is no listen section; write such as listen "
                   "\"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
    refused(LISTEN,
            ": there is no cache section; write such as cache \"keys\" { key = \"key_hash\" "
            "value = \"json\" }");
    refused("", ": there is no listen section; write such as listen "
                "\"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
}
END_TEST

START_TEST(a_cache_names_a_loader_that_is_there)
{
#define USE SMALL "cache \"d\" {\n key = \"bytes\" value = \"bytes\"\n loader = \"keyz\" }\n"
    refused(USE "loader \"keys\" { plugin = \"a\" }\n",
            ":5: cache \"d\": there is no loader \"keyz\"; did you mean \"keys\"?");
    refused(USE,
            ":5: cache \"d\": there is no loader \"keyz\"; add a section loader \"keyz\" { ... }");
#undef USE
}
END_TEST

START_TEST(stale_ttl_is_not_shorter_than_ttl)
{
    refused(
        SMALL "cache \"d\" {\n key = \"bytes\" value = \"bytes\"\n stale_ttl = \"59s\"\n}\n",
        ":5: cache \"d\": stale_ttl (59000 ms) is shorter than ttl (60000 ms); it is the age up "
        "to which a value may be served at all");
}
END_TEST

START_TEST(a_message_has_room_for_a_value)
{
    refused(SMALL "limits {\n value_max = \"1MiB\" }\n",
            ":4: limits: message_max (1048576 bytes) must be at least 4KiB more than value_max "
            "(1048576 bytes)");
    refused(SMALL "limits {\n value_max = \"8KiB\"\n message_max = \"8KiB\" }\n",
            ":5: limits: message_max (8192 bytes) must be at least 4KiB more than value_max (8192 "
            "bytes)");
}
END_TEST

START_TEST(peers_are_numbers)
{
#define NUMBERS ": user ids are numbers; write such as \"0, 1000\""
    refused(SMALL "peers = \"0, root\"\n", ":3: peers = \"0, root\"" NUMBERS);
    refused(SMALL "peers = \"-1\"\n", ":3: peers = \"-1\"" NUMBERS);
    refused(SMALL "peers = \"4294967295\"\n", ":3: peers = \"4294967295\"" NUMBERS);
#undef NUMBERS
}
END_TEST

START_TEST(names_are_plain)
{
    refused(SMALL "cache \"a b\" { key = \"bytes\" value = \"bytes\" }\n",
            ":3: cache \"a b\" is no name; write 1 to 64 letters, digits, '_', '-' or '.'");
    refused(SMALL "loader \"\" { plugin = \"a\" }\n",
            ":3: loader \"\" is no name; write 1 to 64 letters, digits, '_', '-' or '.'");
}
END_TEST

START_TEST(a_section_that_is_not_closed_is_named_by_its_line)
{
    refused(SMALL "snapshot {\n path = \"/x\"\n",
            ":3: the section snapshot that begins here is not closed; end it with }");
    refused(SMALL
            "log_level = info\nloader \"d\" {\n plugin = \"a\"\ncache \"e\" { key = \"bytes\" }\n",
            ":4: the section loader that begins here is not closed; end it with }");
    refused(SMALL "}\n", ":3: this } closes nothing; take it out");
}
END_TEST

START_TEST(a_text_or_a_comment_that_is_not_closed_is_named_by_its_line)
{
    refused(SMALL "runtime_dir = \"/x\n\n",
            ":3: the text that begins here is not closed; end it with \"");
    refused(SMALL "runtime_dir = '/x\\'\n",
            ":3: the text that begins here is not closed; end it with '");
    refused(SMALL "/*/ not yet\n",
            ":3: the comment that begins here is not closed; end it with */");
    /* libconfuse would now still be inside a string: the next file is read from its beginning. */
    struct hgi_config *config = read_good(SMALL);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(comments_do_not_move_the_lines)
{
    refused("/* one\n two */ # three } \"\n//four {\n/* a */ /* b */\n" SMALL "log_level = \"x\"",
            ":7: log_level = \"x\" is no known word; write error, warn, info or debug");
}
END_TEST

START_TEST(environment_variables_are_expanded_if_they_are_set)
{
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HG_TEST_DIR", "/set", 1), 0);
    ck_assert_int_eq(unsetenv("HG_TEST_NONE"), 0);
    config = read_good(SMALL "runtime_dir = \"${HG_TEST_DIR}/run\"\n"
                             "plugin_dir = \"${HG_TEST_NONE:-/default}\"\n"
                             "loader \"d\" { plugin = \"a\" option('q', '${HG_TEST_NONE}') "
                             "option(\"r\", \"\\${HG_TEST_NONE}\") }");
    ck_assert_str_eq(config->runtime_dir, "/set/run");
    ck_assert_str_eq(config->plugin_dir, "/default");
    ck_assert_str_eq(config->loaders[0].settings[0].value, "${HG_TEST_NONE}");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "${HG_TEST_NONE}");
    hgi_config_destroy(&config);
    refused(SMALL "runtime_dir = \"${HG_TEST_NONE}/run\"\n",
            ":3: the environment variable HG_TEST_NONE is not set; set it, or write "
            "${HG_TEST_NONE:-a default}");
    refused(SMALL "runtime_dir = \"${HG_TEST_DIR\"\n", ":3: \"${\" is not closed; write ${NAME}");
    refused(SMALL "runtime_dir = ${HG_TEST_DIR}\n",
            ":3: write an environment variable inside quotes: \"${NAME}\"");
}
END_TEST

START_TEST(stray_characters_are_not_skipped)
{
    refused(SMALL "log_level = *info\n",
            ":3: a character of code 0x2a does not belong here; put texts in quotes");
    refused(SMALL "log_level = + info\n",
            ":3: a character of code 0x2b does not belong here; put texts in quotes");
}
END_TEST

START_TEST(grammar_faults_have_their_line)
{
    refused(SMALL "\nlog_level \"info\"\n", ":4: missing equal sign after option 'log_level'");
    refused(SMALL "cache { key = \"bytes\" }\n", ":3: missing title for section 'cache'");
    refused(SMALL "loader \"d\" {\n option(\"a\") }\n",
            ":4: loader \"d\": option takes a name and a value; write option(\"name\", \"value\")");
    refused(SMALL "log_level =\n", ":4: premature end of file");
    refused(SMALL "include(\"/etc/passwd\")\n",
            ":3: there is no option \"include\"; what may stand here: runtime_dir, plugin_dir, "
            "loader_program, log_level, peers, listen, loader, cache, limits, snapshot");
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named)
{
    ck_assert_ptr_null(hgi_config_read("/nowhere/herdgate.conf", PLUGINS, sentence));
    ck_assert_str_eq(sentence, "/nowhere/herdgate.conf: the configuration cannot be read: No such "
                               "file or directory");
    ck_assert_ptr_null(hgi_config_read("/tmp", PLUGINS, sentence));
    ck_assert_str_eq(sentence, "/tmp: the configuration cannot be read: Is a directory");
}
END_TEST

START_TEST(a_file_that_is_no_text_is_refused)
{
    static const char text[] = SMALL "\0 cache";

    ck_assert_ptr_null(read_bytes(text, sizeof(text)));
    ck_assert_int_eq(unlink(file_path), 0);
    ck_assert_str_eq(sentence + strlen(file_path), ": holds a NUL byte; it must be a text file");
}
END_TEST

START_TEST(a_file_longer_than_the_limit_is_refused)
{
    size_t len = 1024 * 1024 + 1;
    char *text = malloc(len + 1);

    ck_assert_ptr_nonnull(text);
    memset(text, ' ', len);
    text[len] = '\0';
    refused(text, ": longer than 1048576 bytes");
    memcpy(text, SMALL, strlen(SMALL));
    text[len - 1] = '\0';
    struct hgi_config *config = read_good(text);
    hgi_config_destroy(&config);
    free(text);
}
END_TEST

START_TEST(the_example_is_good)
{
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HERDGATE_VAR", "/tmp/hg", 1), 0);
    config = hgi_config_read(HGI_SOURCE_DIR "/examples/herdgate.conf", PLUGINS, sentence);
    ck_assert_msg(config != NULL, "refused: %s", sentence);
    ck_assert_uint_eq(config->cache_count, 5);
    ck_assert_str_eq(config->loaders[0].plugin, PLUGINS "/sqlite.so");
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(every_fallback_and_bound_of_the_table_parses)
{
    char wrong[HGI_SENTENCE_MAX];

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);
        const char *const texts[] = {option->fallback, option->fallback_auth, option->low,
                                     option->high};
        struct hgi_option_value value;

        for (size_t n = 0; n < 4; n++) {
            if (texts[n] && texts[n][0] != '=') {
                ck_assert_msg(hgi_option_parse(option, texts[n], &value, wrong), "%s", wrong);
            }
        }
    }
}
END_TEST

HGI_SUITE("server.config", 10, defaults_are_those_of_the_design,
          auth_caches_have_defaults_of_their_own, defaults_that_follow_from_others_follow,
          every_option_reaches_its_field, a_mistyped_option_names_the_nearest,
          an_unlike_option_gets_the_list_of_what_may_stand_there,
          an_option_of_another_section_is_sent_home, names_stand_once, options_are_set_once,
          a_time_has_a_unit_and_no_sign, a_size_has_a_known_unit,
          a_count_is_a_whole_number_in_range, a_percentage_has_its_sign_and_its_bounds,
          what_may_be_off_says_so, a_word_that_is_not_known_gets_the_list,
          what_must_be_given_is_missed_by_name, paths_are_absolute, a_socket_path_fits_the_system,
          listens_are_ipc_or_loopback_tcp, there_is_a_listen_and_a_cache,
          a_cache_names_a_loader_that_is_there, stale_ttl_is_not_shorter_than_ttl,
          a_message_has_room_for_a_value, peers_are_numbers, names_are_plain,
          a_section_that_is_not_closed_is_named_by_its_line,
          a_text_or_a_comment_that_is_not_closed_is_named_by_its_line,
          comments_do_not_move_the_lines, environment_variables_are_expanded_if_they_are_set,
          stray_characters_are_not_skipped, grammar_faults_have_their_line,
          a_file_that_cannot_be_read_is_named, a_file_that_is_no_text_is_refused,
          a_file_longer_than_the_limit_is_refused, the_example_is_good,
          every_fallback_and_bound_of_the_table_parses)
