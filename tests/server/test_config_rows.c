/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as rows: printed it is one again, and two of them say what differs. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "config_scene.h"
#include "server/config_rows.h"

#define AUTHS LISTEN "cache \"c\" { key = \"auth\" value = \"auth\" }\n"

static char printed[65536];

static const char *print(const struct hgi_config *config)
{
    FILE *out = fmemopen(printed, sizeof(printed), "w");

    ck_assert_ptr_nonnull(out);
    ck_assert(hgi_config_print(out, config));
    ck_assert_int_eq(fclose(out), 0);
    return printed;
}

/* Everything, each thing other than by default. */
static const char everything[] =
    "runtime_dir = \"/r\" log_level = \"debug\" log_format = \"json\" peers = \"0, 7\"\n"
    "plugin_owners = \"9\" core_dumps = \"on\" key_file = \"/k\" tokens_file = \"/t\"\n"
    "limits { value_max = \"1KiB\" idle = \"9s\" }\n"
    "listen \"ipc:///s\" { access = \"token\" }\n"
    "listen \"tcp://127.0.0.1:0\" { access = \"data\" }\n"
    "snapshot { path = \"/x.db\" interval = \"1m\" encrypt = \"on\" }\n"
    "principal \"p\" { allow(\"c\", \"read, load\") allow(\"*\", \"admin\") }\n"
    "loader \"l\" { plugin = \"/p.so\" cpu_max = \"1h\" network = \"off\"\n"
    "    option(\"name\", \"a \\\"quoted\\\" \\\\ text, \\${NOT} expanded\") option(\"b\", \"c\") "
    "}\n"
    "cache \"c\" { key = \"bytes\" value = \"json\" loader = \"l\" refresh_ahead = \"xfetch\" }\n"
    "cache \"d\" { key = \"auth\" value = \"auth\" refresh_ahead = \"20%\" jitter = \"0\"\n"
    "    stale_ttl = \"1h\" error_backoff = \"5s\" alone = \"on\" on_error = \"elect\" }\n";

START_TEST(what_is_printed_is_the_same_configuration)
{
    struct hgi_config *first = config_read_good(everything);
    char *once = strdup(print(first));
    struct hgi_config *second = config_read_good(once);

    ck_assert_str_eq(print(second), once);
    ck_assert_ptr_nonnull(strstr(once, "log_format = \"json\"\n"));
    ck_assert_ptr_nonnull(strstr(once, "    allow(\"c\", \"read, load\")\n"));
    ck_assert_ptr_nonnull(strstr(once, "    refresh_ahead = \"xfetch\"\n"));
    ck_assert_ptr_nonnull(strstr(once, "    ttl = \"10000ms\"\n")); /* which nobody wrote */
    ck_assert_ptr_nonnull(strstr(once, "    jitter = \"0%\"\n"));
    ck_assert_str_eq(second->loaders[0].settings[0].value, first->loaders[0].settings[0].value);
    free(once);
    hgi_config_destroy(&first);
    hgi_config_destroy(&second);
}
END_TEST

static char differences[4096];

static void note(void *context, const struct hgi_config_row *row, enum hgi_config_change change)
{
    static const char *const signs[] = {"+", "-", "~"};
    size_t len = strlen(differences);
    char name[256];

    (void)context;
    hgi_config_row_name(row, name, sizeof(name));
    snprintf(differences + len, sizeof(differences) - len, "%s%s%s\n", signs[change], name,
             row->is_live ? "" : "!");
}

static const char *compare(const char *before, const char *after)
{
    struct hgi_config *first = config_read_good(before);
    struct hgi_config *second = config_read_good(after);
    struct hgi_config_rows old;
    struct hgi_config_rows new;

    differences[0] = '\0';
    ck_assert(hgi_config_rows_init(&old, first));
    ck_assert(hgi_config_rows_init(&new, second));
    hgi_config_rows_compare(&old, &new, note, NULL);
    hgi_config_rows_deinit(&old);
    hgi_config_rows_deinit(&new);
    hgi_config_destroy(&first);
    hgi_config_destroy(&second);
    return differences;
}

START_TEST(the_same_said_otherwise_does_not_differ)
{
    ck_assert_str_eq(compare(AUTHS, LISTEN "/* said */ cache \"c\" { value = 'auth' key = 'auth'\n"
                                           "ttl = \"10s\" stale_ttl = \"10000ms\" }\n"),
                     "");
}
END_TEST

START_TEST(options_differ_one_by_one)
{
    ck_assert_str_eq(compare(AUTHS,
                             LISTEN "log_level = \"debug\" limits { idle = \"1m\" }\n"
                                    "cache \"c\" { key = \"auth\" value = \"json\" ttl = \"9s\"\n"
                                    "    stale_ttl = \"10s\" on_fenced = \"reload\" }\n"),
                     "~cache \"c\": mode\n~cache \"c\": ttl\n~cache \"c\": value!\n"
                     "~log_level\n~limits: idle!\n");
}
END_TEST

START_TEST(a_section_differs_as_a_whole)
{
    ck_assert_str_eq(compare(AUTHS "loader \"gone\" { plugin = \"/a.so\" option(\"x\", \"y\") }\n"
                                   "snapshot { path = \"/x.db\" }\n",
                             AUTHS "loader \"new\" { plugin = \"/a.so\" option(\"x\", \"y\") }\n"
                                   "listen \"tcp://127.0.0.1:0\" { }\n"),
                     "+listen \"tcp://127.0.0.1:0\"!\n-loader \"gone\"\n+loader \"new\"\n"
                     "-snapshot!\n");
}
END_TEST

START_TEST(lists_differ_by_their_names)
{
    ck_assert_str_eq(
        compare(AUTHS
                "loader \"l\" { plugin = \"/a.so\" option(\"x\", \"1\") option(\"y\", \"2\") }\n",
                AUTHS
                "loader \"l\" { plugin = \"/a.so\" option(\"y\", \"3\") option(\"z\", \"1\") }\n"),
        "-loader \"l\": option x\n~loader \"l\": option y\n+loader \"l\": option z\n");
}
END_TEST

/* 80 users, of whom the last is `last`. */
static const char *crowd(char *text, size_t size, unsigned last)
{
    size_t len = (size_t)snprintf(text, size, AUTHS "peers = \"");

    for (unsigned i = 0; i < 79; i++) {
        len += (size_t)snprintf(text + len, size - len, "%u, ", 4000000000u + i);
    }
    snprintf(text + len, size - len, "%u\"\n", last);
    return text;
}

START_TEST(a_long_list_of_users_differs_by_its_last)
{
    char old[2048];
    char new[2048];

    ck_assert_str_eq(
        compare(crowd(old, sizeof(old), 4100000001u), crowd(new, sizeof(new), 4100000002u)),
        "~peers!\n");
}
END_TEST

HGI_SUITE("server.config_rows", 20, what_is_printed_is_the_same_configuration,
          the_same_said_otherwise_does_not_differ, options_differ_one_by_one,
          a_section_differs_as_a_whole, lists_differ_by_their_names,
          a_long_list_of_users_differs_by_its_last)
