/* SPDX-License-Identifier: Apache-2.0 */
/* The command line before the environment, before the file, before what follows by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "config_scene.h"

static struct hgi_config *read_with(const char *text, const char *const *sets, size_t set_count)
{
    char path[64];
    const struct hgi_config_source source = {.path = path,
                                             .default_plugin_dir = PLUGINS,
                                             .sets = sets,
                                             .set_count = set_count,
                                             .has_environment = true};

    struct hgi_config *config;
    FILE *file;

    snprintf(path, sizeof(path), "/tmp/hgi-override-%d", (int)getpid());
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    config = hgi_config_read(&source, config_sentence);
    unlink(path);
    return config;
}

static void assert_refused(const char *set, const char *expected)
{
    ck_assert_ptr_null(read_with(SMALL, &set, 1));
    ck_assert_str_eq(config_sentence, expected);
}

START_TEST(who_is_nearer_has_the_word)
{
    static const char *const sets[] = {"log_level=error", "cache.c.ttl=7s", "cache.c.ttl=8s",
                                       "limits.idle=3m"};
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HERDGATED_LOG_LEVEL", "warn", 1), 0);
    ck_assert_int_eq(setenv("HERDGATED_LIMITS_BODY", "9s", 1), 0);
    ck_assert_int_eq(setenv("HERDGATED_PORT", "tcp://10.0.0.1:80", 1), 0); /* nobody's option */
    config =
        read_with("log_level = \"debug\" limits { body = \"1s\" write = \"4s\" }\n" SMALL, NULL, 0);
    ck_assert_ptr_nonnull(config);
    ck_assert_int_eq(config->log_level, HG_LOG_WARN);
    ck_assert_int_eq(config->limits.body_ms, 9000);
    ck_assert_int_eq(config->limits.write_ms, 4000);
    ck_assert_int_eq(config->limits.idle_ms, 300000);
    hgi_config_destroy(&config);
    config = read_with(SMALL, sets, HGI_COUNT_OF(sets));
    ck_assert_msg(config != NULL, "%s", config_sentence);
    ck_assert_int_eq(config->log_level, HG_LOG_ERROR);
    ck_assert_int_eq(config->limits.idle_ms, 180000); /* a section that the file has not */
    ck_assert_int_eq(config->caches[0].policy.ttl_ms, 8000);
    ck_assert_int_eq(config->caches[0].policy.stale_ttl_ms, 8000);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(a_title_may_have_dots_and_signs)
{
    static const char *const set = "listen.ipc:///run/hg/a.sock.access=data";
    struct hgi_config *config = read_with(SMALL, &set, 1);

    ck_assert_msg(config != NULL, "%s", config_sentence);
    ck_assert_int_eq(config->listens[0].access, HGI_ACCESS_DATA);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(what_is_wrong_is_said_of_who_said_it)
{
    assert_refused("log_level", "--set log_level: write --set SECTION.NAME.OPTION=VALUE, such as "
                                "--set cache.auth.ttl=5s or --set log_level=debug");
    assert_refused("cache.c.tlt=5s",
                   "--set cache.c.tlt=5s: there is no option \"tlt\"; did you mean \"ttl\"?");
    assert_refused("cache.d.ttl=5s", "--set cache.d.ttl=5s: there is no cache \"d\"");
    assert_refused("cache.ttl=5s",
                   "--set cache.ttl=5s: which cache? write --set cache.NAME.ttl=...");
    assert_refused(
        "limits.x.idle=5s",
        "--set limits.x.idle=5s: a limits section has no name; write --set limits.idle=...");
    assert_refused("cache.c.ttl=5",
                   "--set cache.c.ttl=5: ttl = \"5\" has no unit; write a time such "
                   "as \"10s\", \"500ms\", \"5m\" or \"1h\"");
    ck_assert_int_eq(setenv("HERDGATED_LIMITS_IDLE", "", 1), 0);
    ck_assert_ptr_null(read_with(SMALL, NULL, 0));
    ck_assert_msg(strncmp(config_sentence, "HERDGATED_LIMITS_IDLE: idle = \"\" ", 33) == 0, "%s",
                  config_sentence);
    unsetenv("HERDGATED_LIMITS_IDLE");
}
END_TEST

/* Also where it is found only when all is known. */
START_TEST(rules_over_two_options_hold_all_the_same)
{
    static const char *const set = "cache.c.ttl=2h";
    static const char *const later = "cache.c.stale_ttl=1ms";

    ck_assert_ptr_null(read_with(LISTEN
                                 "cache \"c\" { key = \"bytes\" value = \"bytes\" stale_ttl = "
                                 "\"1h\" }\n",
                                 &set, 1));
    ck_assert_ptr_nonnull(strstr(config_sentence, "stale_ttl (3600000 ms) is shorter than ttl"));
    ck_assert_ptr_null(read_with(SMALL, &later, 1));
    ck_assert_msg(strncmp(config_sentence, "--set cache.c.stale_ttl=1ms: ", 29) == 0, "%s",
                  config_sentence);
    ck_assert_int_eq(setenv("HERDGATED_KEY_FILE", "key", 1), 0);
    ck_assert_ptr_null(read_with(SMALL, NULL, 0));
    ck_assert_msg(strncmp(config_sentence, "HERDGATED_KEY_FILE: ", 20) == 0, "%s", config_sentence);
    unsetenv("HERDGATED_KEY_FILE");
}
END_TEST

HGI_SUITE("server.config_override", 20, who_is_nearer_has_the_word, a_title_may_have_dots_and_signs,
          what_is_wrong_is_said_of_who_said_it, rules_over_two_options_hold_all_the_same)
