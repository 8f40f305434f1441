/* SPDX-License-Identifier: Apache-2.0 */
/* What the sections must have together. */
#include <stdio.h>

#include "config_scene.h"

START_TEST(a_mistyped_option_names_the_nearest)
{
    config_refused(LISTEN
                   "cache \"c\" {\n  key = \"bytes\"\n  value = \"bytes\"\n  tll = \"1s\"\n}\n",
                   ":5: cache \"c\": there is no option \"tll\"; did you mean \"ttl\"?");
    config_refused(SMALL "snapshott { path = \"/x\" }\n",
                   ":3: there is no option \"snapshott\"; did you mean \"snapshot\"?");
    config_refused(SMALL "runtimedir = \"/x\"\n",
                   ":3: there is no option \"runtimedir\"; did you mean \"runtime_dir\"?");
}
END_TEST

START_TEST(an_unlike_option_gets_the_list_of_what_may_stand_there)
{
    config_refused(SMALL "snapshot { weather = 1 }\n",
                   ":3: snapshot: there is no option \"weather\"; what may stand here: path, "
                   "interval, encrypt");
}
END_TEST

START_TEST(an_option_of_another_section_is_sent_home)
{
    config_refused(SMALL "ttl = \"1s\"\n",
                   ":3: \"ttl\" cannot stand here; it is an option of a cache section");
    config_refused(SMALL "snapshot { log_level = \"info\" }\n",
                   ":3: snapshot: \"log_level\" cannot stand in a section; move it outside");
    /* A path through sections is not an option either. */
    config_refused(SMALL "limits { }\nlimits|idle = \"1m\"\n",
                   ":4: \"idle\" cannot stand here; it is an option of a limits section");
}
END_TEST

START_TEST(names_stand_once)
{
    config_refused(SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" }\ncache \"c\" { key = "
                         "\"bytes\" value = \"bytes\" }\n",
                   ":4: cache \"c\" is there already, on line 2; give one another name");
    config_refused(SMALL "loader \"c\" { plugin = \"a\" }\nloader \"c\" { plugin = \"b\" }\n",
                   ":4: loader \"c\" is there already, on line 3; give one another name");
    /* All on one line, with another section behind it, known or not. */
    config_refused(SMALL
                   "loader \"c\" { plugin = \"a\" } loader \"c\" { plugin = \"b\" } cache \"d\" "
                   "{ key = \"bytes\" value = \"bytes\" }\n",
                   ":3: loader \"c\" is there already, on line 3; give one another name");
    config_refused("cache \"c\" { }\ncache \"c\" { } what \"c\" { }\n",
                   ":2: cache \"c\" is there already, on line 1; give one another name");
    config_refused(SMALL "limits { }\n\nlimits { }\n",
                   ":5: there is a limits section already, on line 3; make them one");
}
END_TEST

START_TEST(options_are_set_once)
{
    config_refused(SMALL "log_level = \"info\"\nlog_level = \"info\"\n",
                   ":4: log_level is set twice; the first is on line 3");
    config_refused(SMALL "cache \"d\" {\nttl = \"1s\"\nkey = \"bytes\"\nttl = \"1s\" }\n",
                   ":6: cache \"d\": ttl is set twice; the first is on line 4");
    config_refused(
        SMALL
        "loader \"d\" {\noption(\"a\", \"1\")\noption(\"b\", \"1\")\noption(\"a\", \"2\") }\n",
        ":6: loader \"d\": option a is set twice; the first is on line 4");
}
END_TEST

START_TEST(what_must_be_given_is_missed_by_name)
{
    config_refused(SMALL "\ncache \"d\" {\n value = \"bytes\" }\n",
                   ":4: cache \"d\": key is missing and must be given");
    config_refused(SMALL "cache \"d\" { key = \"bytes\" }\n",
                   ":3: cache \"d\": value is missing and must be given");
    config_refused(SMALL "loader \"d\" { workers = 2 }\n",
                   ":3: loader \"d\": plugin or program is missing; one must be given");
    config_refused(SMALL "snapshot { }\n", ":3: snapshot: path is missing and must be given");
}
END_TEST

START_TEST(there_is_a_listen_and_a_cache)
{
    config_refused(CACHE, ": there is no listen section; write such as listen "
                          "\"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
    config_refused(LISTEN,
                   ": there is no cache section; write such as cache \"keys\" { key = \"key_hash\" "
                   "value = \"json\" }");
    config_refused("", ": there is no listen section; write such as listen "
                       "\"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
}
END_TEST

START_TEST(a_cache_names_a_loader_that_is_there)
{
#define USE SMALL "cache \"d\" {\n key = \"bytes\" value = \"bytes\"\n loader = \"keyz\" }\n"
    config_refused(USE "loader \"keys\" { plugin = \"a\" }\n",
                   ":5: cache \"d\": there is no loader \"keyz\"; did you mean \"keys\"?");
    config_refused(
        USE, ":5: cache \"d\": there is no loader \"keyz\"; add a section loader \"keyz\" { ... }");
#undef USE
}
END_TEST

START_TEST(stale_ttl_is_not_shorter_than_ttl)
{
    config_refused(
        SMALL "cache \"d\" {\n key = \"bytes\" value = \"bytes\"\n stale_ttl = \"59s\"\n}\n",
        ":5: cache \"d\": stale_ttl (59000 ms) is shorter than ttl (60000 ms); it is the age up "
        "to which a value may be served at all");
}
END_TEST

START_TEST(a_message_has_room_for_a_value)
{
    config_refused(
        SMALL "limits {\n value_max = \"1MiB\" }\n",
        ":4: limits: message_max (1048576 bytes) must be at least 4KiB more than value_max "
        "(1048576 bytes)");
    config_refused(
        SMALL "limits {\n value_max = \"8KiB\"\n message_max = \"8KiB\" }\n",
        ":5: limits: message_max (8192 bytes) must be at least 4KiB more than value_max (8192 "
        "bytes)");
}
END_TEST

START_TEST(names_are_plain)
{
    config_refused(SMALL "cache \"a b\" { key = \"bytes\" value = \"bytes\" }\n",
                   ":3: cache \"a b\" is no name; write 1 to 64 letters, digits, '_', '-' or '.'");
    config_refused(SMALL "loader \"\" { plugin = \"a\" }\n",
                   ":3: loader \"\" is no name; write 1 to 64 letters, digits, '_', '-' or '.'");
}
END_TEST

START_TEST(secret_keys_have_no_local_reads_and_with_a_snapshot_a_key_file)
{
#define SECRET "cache \"d\" { key = \"bytes\" value = \"bytes\"\n secret_keys = on }\n"
#define STORE  "snapshot { path = \"/s/db\" }\n"
    struct hgi_config *config = config_read_good(SMALL SECRET);

    ck_assert(!config->caches[0].secret_keys);
    ck_assert(config->caches[1].secret_keys);
    hgi_config_destroy(&config);
    config = config_read_good("key_file = \"/s/key\"\n" STORE SMALL SECRET);
    ck_assert(config->caches[1].secret_keys);
    hgi_config_destroy(&config);
    config_refused(STORE SMALL SECRET,
                   ":5: cache \"d\": secret_keys with a snapshot needs a key_file, or nothing "
                   "would be found again after a restart; write such as key_file = "
                   "\"/var/lib/herdgate/key\"");
    config_refused(SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\"\n local_reads = on\n "
                         "secret_keys = on }\n",
                   ":5: cache \"d\": secret_keys and local_reads exclude each other: readers of "
                   "the cache's file look for the keys themselves; turn one of them off");
#undef STORE
#undef SECRET
}
END_TEST

HGI_SUITE("server.config_build", 20, secret_keys_have_no_local_reads_and_with_a_snapshot_a_key_file,
          a_mistyped_option_names_the_nearest,
          an_unlike_option_gets_the_list_of_what_may_stand_there,
          an_option_of_another_section_is_sent_home, names_stand_once, options_are_set_once,
          what_must_be_given_is_missed_by_name, there_is_a_listen_and_a_cache,
          a_cache_names_a_loader_that_is_there, stale_ttl_is_not_shorter_than_ttl,
          a_message_has_room_for_a_value, names_are_plain)
