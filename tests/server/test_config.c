/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: what it comes to. */
#include <stdlib.h>
#include <unistd.h>

#include "config_scene.h"

START_TEST(defaults_are_those_of_the_design)
{
    struct hgi_config *config = config_read_good(SMALL);
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
        config_read_good(LISTEN "cache \"a\" { key = \"auth\" value = \"auth\" }\n"
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
    struct hgi_config *config = config_read_good(
        LISTEN "cache \"a\" { key = \"bytes\" value = \"bytes\" ttl = \"2s\" stale_ttl = "
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

START_TEST(what_a_loader_may_do_reaches_its_fields)
{
#define PIN "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF"
    struct hgi_config *config = config_read_good(
        SMALL "plugin_owners = \"7, 8\" core_dumps = on\n"
              "loader \"a\" { plugin = \"/a.so\" pin = \"" PIN "\" memory_max = \"1GiB\" "
              "descriptors_max = 20 processes_max = 30 user = root\n"
              "  cpu_max = \"40s\" files_read = \"/a:/b\" files_write = \"/c\" network = off }\n"
              "loader \"b\" { plugin = \"/b.so\" }\n");
    const struct hgi_loader_config *a = &config->loaders[0];
    const struct hgi_loader_config *b = &config->loaders[1];

    ck_assert_uint_eq(config->plugin_owner_count, 2);
    ck_assert_uint_eq(config->plugin_owners[0], 7);
    ck_assert_uint_eq(config->plugin_owners[1], 8);
    ck_assert(config->core_dumps);
    ck_assert_str_eq(a->pin, PIN);
    ck_assert_uint_eq(a->memory_max_bytes, 1024u * 1024 * 1024);
    ck_assert_uint_eq(a->descriptors_max, 20);
    ck_assert_uint_eq(a->processes_max, 30);
    ck_assert_int_eq(a->cpu_max_ms, 40000);
    ck_assert_str_eq(a->files_read, "/a:/b");
    ck_assert_str_eq(a->files_write, "/c");
    ck_assert(!a->has_network);
    ck_assert_str_eq(a->user, "root");
    ck_assert_uint_eq(a->uid, 0);
    ck_assert_uint_eq(a->gid, 0);
    ck_assert_ptr_null(b->user);
    ck_assert_ptr_null(b->pin);
    ck_assert_uint_eq(b->memory_max_bytes, UINT64_C(4) << 30);
    ck_assert_uint_eq(b->descriptors_max, 1024);
    ck_assert_uint_eq(b->processes_max, 0);
    ck_assert_int_eq(b->cpu_max_ms, 0);
    ck_assert(!b->files_read && !b->files_write && b->has_network);
    hgi_config_destroy(&config);
#undef PIN
}
END_TEST

START_TEST(every_option_reaches_its_field)
{
    struct hgi_config *config = config_read_good(
        "runtime_dir = \"/r\" plugin_dir = \"/p\" loader_program = \"/l\" log_level = "
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

START_TEST(a_file_that_cannot_be_read_is_named)
{
    ck_assert_ptr_null(hgi_config_read(&(struct hgi_config_source){.path = "/nowhere/herdgate.conf",
                                                                   .default_plugin_dir = PLUGINS},
                                       config_sentence));
    ck_assert_str_eq(config_sentence,
                     "/nowhere/herdgate.conf: the configuration cannot be read: No such "
                     "file or directory");
    ck_assert_ptr_null(
        hgi_config_read(&(struct hgi_config_source){.path = "/tmp", .default_plugin_dir = PLUGINS},
                        config_sentence));
    ck_assert_str_eq(config_sentence, "/tmp: the configuration cannot be read: Is a directory");
}
END_TEST

START_TEST(a_file_that_is_no_text_is_refused)
{
    static const char text[] = SMALL "\0 cache";

    ck_assert_ptr_null(config_read_bytes(text, sizeof(text)));
    ck_assert_int_eq(unlink(config_path), 0);
    ck_assert_str_eq(config_sentence + strlen(config_path),
                     ": holds a NUL byte; it must be a text file");
}
END_TEST

START_TEST(a_file_longer_than_the_limit_is_refused)
{
    size_t len = 1024 * 1024 + 1;
    char *text = malloc(len + 1);

    ck_assert_ptr_nonnull(text);
    memset(text, ' ', len);
    text[len] = '\0';
    config_refused(text, ": longer than 1048576 bytes");
    memcpy(text, SMALL, strlen(SMALL));
    text[len - 1] = '\0';
    struct hgi_config *config = config_read_good(text);
    hgi_config_destroy(&config);
    free(text);
}
END_TEST

START_TEST(the_example_is_good)
{
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HERDGATE_VAR", "/tmp/hg", 1), 0);
    config = hgi_config_read(
        &(struct hgi_config_source){.path = HGI_SOURCE_DIR "/examples/herdgate.conf",
                                    .default_plugin_dir = PLUGINS},
        config_sentence);
    ck_assert_msg(config != NULL, "refused: %s", config_sentence);
    ck_assert_uint_eq(config->cache_count, 5);
    ck_assert_str_eq(config->loaders[0].plugin, PLUGINS "/sqlite.so");
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(local_reads_are_off_and_their_group_is_one_of_this_machine)
{
    struct hgi_config *config = config_read_good(SMALL);

    ck_assert(!config->caches[0].local_reads);
    ck_assert_int_lt(config->local_gid, 0);
    hgi_config_destroy(&config);
    config =
        config_read_good("local_group = \"12\"\n"
                         "listen \"ipc:///s\" {}\n"
                         "cache \"c\" { key = \"bytes\" value = \"bytes\" local_reads = on }\n");
    ck_assert(config->caches[0].local_reads);
    ck_assert_int_eq(config->local_gid, 12);
    hgi_config_destroy(&config);
    config = config_read_good("local_group = \"root\"\n" SMALL);
    ck_assert_int_eq(config->local_gid, 0);
    hgi_config_destroy(&config);
    config_refused("local_group = \"no-such-group\"\n" SMALL,
                   ":1: local_group = \"no-such-group\" is no group here; write the name or the "
                   "number of one");
}
END_TEST

HGI_SUITE("server.config", 20, local_reads_are_off_and_their_group_is_one_of_this_machine,
          what_a_loader_may_do_reaches_its_fields, defaults_are_those_of_the_design,
          auth_caches_have_defaults_of_their_own, defaults_that_follow_from_others_follow,
          every_option_reaches_its_field, a_file_that_cannot_be_read_is_named,
          a_file_that_is_no_text_is_refused, a_file_longer_than_the_limit_is_refused,
          the_example_is_good)
