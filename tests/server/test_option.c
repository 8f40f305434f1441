/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of option takes. */
#include "config_scene.h"
#include "server/option.h"

START_TEST(a_time_has_a_unit_and_no_sign)
{
#define TTL(value) SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" ttl = " value " }\n"
#define FORM       "; write a time such as \"10s\", \"500ms\", \"5m\" or \"1h\""
    config_refused(TTL("10"), ":3: cache \"d\": ttl = \"10\" has no unit" FORM);
    config_refused(TTL("\"-5s\""), ":3: cache \"d\": ttl = \"-5s\" is negative" FORM);
    config_refused(TTL("-5"), ":3: cache \"d\": ttl = \"-5\" is negative" FORM);
    config_refused(TTL("\"1.5s\""), ":3: cache \"d\": ttl = \"1.5s\" is not understood" FORM);
    config_refused(TTL("\"1 s\""), ":3: cache \"d\": ttl = \"1 s\" is not understood" FORM);
    config_refused(TTL("\"10sec\""), ":3: cache \"d\": ttl = \"10sec\" is not understood" FORM);
    config_refused(TTL("\"\""), ":3: cache \"d\": ttl = \"\" is not understood" FORM);
    config_refused(TTL("\"0s\""),
                   ":3: cache \"d\": ttl = \"0s\" is out of range; it may be 1ms to 720h");
    config_refused(TTL("\"721h\""),
                   ":3: cache \"d\": ttl = \"721h\" is out of range; it may be 1ms to 720h");
    config_refused(
        TTL("\"99999999999999999999h\""),
        ":3: cache \"d\": ttl = \"99999999999999999999h\" is out of range; it may be 1ms to 720h");
    config_refused(
        TTL("\"9223372036854775807h\""),
        ":3: cache \"d\": ttl = \"9223372036854775807h\" is out of range; it may be 1ms to 720h");
#undef TTL
#undef FORM
}
END_TEST

START_TEST(a_size_has_a_known_unit)
{
#define FORM "; write a number of bytes, or one such as \"64KiB\", \"64MiB\" or \"1GiB\""
    config_refused(SMALL "limits { value_max = \"64MB\" }\n",
                   ":3: limits: value_max = \"64MB\" is not understood" FORM);
    config_refused(SMALL "limits { value_max = \"-1\" }\n",
                   ":3: limits: value_max = \"-1\" is negative" FORM);
    config_refused(SMALL "limits { value_max = \"0\" }\n",
                   ":3: limits: value_max = \"0\" is out of range; it may be 1 to 16MiB");
#undef FORM
}
END_TEST

START_TEST(a_count_is_a_whole_number_in_range)
{
#define MAX(value)                                                                                 \
    SMALL "cache \"d\" { key = \"bytes\" value = \"bytes\" max_entries = " value " }\n"
    config_refused(
        MAX("0"), ":3: cache \"d\": max_entries = \"0\" is out of range; it may be 1 to 100000000");
    config_refused(MAX("-5"),
                   ":3: cache \"d\": max_entries = \"-5\" is negative; write a whole number");
    config_refused(
        MAX("0x10"),
        ":3: cache \"d\": max_entries = \"0x10\" is not understood; write a whole number");
#undef MAX
}
END_TEST

START_TEST(a_percentage_has_its_sign_and_its_bounds)
{
#define JITTER(value) SMALL "cache \"d\" { jitter = " value " }\n"
#define FORM          "; write a percentage such as \"10%\""
    config_refused(JITTER("10"), ":3: cache \"d\": jitter = \"10\" has no unit" FORM);
    config_refused(JITTER("\"-1%\""), ":3: cache \"d\": jitter = \"-1%\" is negative" FORM);
    config_refused(JITTER("\"10s\""), ":3: cache \"d\": jitter = \"10s\" is not understood" FORM);
    config_refused(JITTER("\"51%\""),
                   ":3: cache \"d\": jitter = \"51%\" is out of range; it may be 0% to 50%");
#undef FORM
#undef JITTER
}
END_TEST

START_TEST(what_may_be_off_says_so)
{
    config_refused(
        SMALL "cache \"d\" { stale_if_error = no }\n",
        ":3: cache \"d\": stale_if_error = \"no\" is not understood; write \"off\", or a time "
        "such as \"10s\", \"500ms\", \"5m\" or \"1h\"");
    config_refused(SMALL "cache \"d\" { error_backoff = \"2h\" }\n",
                   ":3: cache \"d\": error_backoff = \"2h\" is out of range; it may be 0ms to 1h");
    config_refused(SMALL "cache \"d\" { refresh_ahead = \"on\" }\n",
                   ":3: cache \"d\": refresh_ahead = \"on\" is not understood; write \"off\", or "
                   "\"xfetch\", or a percentage such as \"10%\"");
    config_refused(SMALL "cache \"d\" { refresh_ahead = \"91%\" }\n",
                   ":3: cache \"d\": refresh_ahead = \"91%\" is out of range; it may be 1% to 90%");
    config_refused(
        SMALL "cache \"d\" { jitter = off }\n",
        ":3: cache \"d\": jitter = \"off\" is not understood; write a percentage such as "
        "\"10%\"");
}
END_TEST

START_TEST(a_word_that_is_not_known_gets_the_list)
{
    config_refused(SMALL "cache \"d\" { key = \"bytes\" value = \"text\" }\n",
                   ":3: cache \"d\": value = \"text\" is no known word; write bytes, json or auth");
    config_refused(
        SMALL "cache \"d\" { key = \"hash\" }\n",
        ":3: cache \"d\": key = \"hash\" is no known word; write bytes, key_hash, user_api_key, "
        "api_key_feature or auth");
    config_refused(
        SMALL "cache \"d\" { mode = \"default\" }\n",
        ":3: cache \"d\": mode = \"default\" is no known word; write fresh, allow_stale, "
        "revalidate or peek");
    config_refused(
        SMALL "cache \"d\" { on_error = \"all\" }\n",
        ":3: cache \"d\": on_error = \"all\" is no known word; write share, each or elect");
    config_refused(SMALL "cache \"d\" { alone = \"yes\" }\n",
                   ":3: cache \"d\": alone = \"yes\" is no known word; write off or on");
    config_refused(
        SMALL "cache \"d\" { on_fenced = \"drop\" }\n",
        ":3: cache \"d\": on_fenced = \"drop\" is no known word; write deliver or reload");
    config_refused(SMALL "log_level = \"loud\"\n",
                   ":3: log_level = \"loud\" is no known word; write error, warn, info or debug");
    config_refused(
        SMALL "listen \"ipc:///b\" { access = \"all\" }\n",
        ":3: listen \"ipc:///b\": access = \"all\" is no known word; write owner, data or token");
}
END_TEST

START_TEST(paths_are_absolute)
{
    config_refused(SMALL "runtime_dir = \"run\"\n",
                   ":3: runtime_dir = \"run\" is relative; write an absolute path");
    config_refused(SMALL "snapshot { path = \"cache.db\" }\n",
                   ":3: snapshot: path = \"cache.db\" is relative; write an absolute path");
    config_refused(
        SMALL "loader \"d\" { plugin = \"./d.so\" }\n",
        ":3: loader \"d\": plugin = \"./d.so\" is a relative path; write an absolute path, or a "
        "name such as \"sqlite\" that is looked up in plugin_dir");
    config_refused(SMALL "listen \"ipc://b.sock\" { }\n",
                   ":3: listen \"ipc://b.sock\" names no socket by an absolute path; write such as "
                   "\"ipc:///run/herdgate/herdgate.sock\"");
    config_refused(SMALL "runtime_dir = \"\"\n",
                   ":3: runtime_dir is empty; leave the line out or give it a value");
}
END_TEST

START_TEST(lists_of_paths_and_digests_have_their_form)
{
#define LOADER(option) SMALL "loader \"d\" { plugin = \"d\" " option " }\n"
    config_refused(LOADER("files_read = \"/a:b\""),
                   ":3: loader \"d\": files_read = \"/a:b\" is no list of absolute paths; write "
                   "such as \"/a:/b\"");
    config_refused(LOADER("files_write = \"/a:\""),
                   ":3: loader \"d\": files_write = \"/a:\" is no list of absolute paths; write "
                   "such as \"/a:/b\"");
    config_refused(LOADER("pin = \"0123\""),
                   ":3: loader \"d\": pin = \"0123\" is no digest; write the 64 digits that "
                   "`b2sum -l 256 FILE` prints");
    config_refused(LOADER("user = \"nobody-at-all\""),
                   ":3: loader \"d\": user = \"nobody-at-all\": there is no such user");
#undef LOADER
}
END_TEST

START_TEST(peers_are_numbers)
{
#define NUMBERS ": user ids are numbers; write such as \"0, 1000\""
    config_refused(SMALL "peers = \"0, root\"\n", ":3: peers = \"0, root\"" NUMBERS);
    config_refused(SMALL "peers = \"-1\"\n", ":3: peers = \"-1\"" NUMBERS);
    config_refused(SMALL "peers = \"4294967295\"\n", ":3: peers = \"4294967295\"" NUMBERS);
#undef NUMBERS
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

HGI_SUITE("server.option", 20, a_time_has_a_unit_and_no_sign, a_size_has_a_known_unit,
          a_count_is_a_whole_number_in_range, a_percentage_has_its_sign_and_its_bounds,
          what_may_be_off_says_so, a_word_that_is_not_known_gets_the_list, paths_are_absolute,
          lists_of_paths_and_digests_have_their_form, peers_are_numbers,
          every_fallback_and_bound_of_the_table_parses)
