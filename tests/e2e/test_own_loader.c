/* SPDX-License-Identifier: Apache-2.0 */
/* A program built against libherdgate.so, with a plugin of its own, and a real server. */
#include <stdio.h>

#include "daemon.h"

#define LEADER HGI_BUILD_DIR "/bin/leader"
#define PLUGIN HGI_BUILD_DIR "/lib/herdgate/static.so"

static const char caches[] =
    "cache \"names\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" }\n";

static void lead(const struct daemon *d, const char *key, const char *option, int code,
                 const char *says)
{
    const char *const argv[] = {LEADER, d->ipc_url, "names", key, PLUGIN, option, NULL};
    char output[1024];

    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), code);
    ck_assert_msg(strstr(output, says) == output, "%s", output);
}

START_TEST(a_gateways_plugin_fills_the_cache_for_the_next_gateway)
{
    struct daemon d;
    struct hg_answer answer;
    char option[128];
    char path[96];
    FILE *file;

    daemon_prepare(&d, caches);
    daemon_start(&d);
    snprintf(path, sizeof(path), "%s/names.tsv", d.dir);
    snprintf(option, sizeof(option), "file=%s", path);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("k1\tAnna\n", file);
    ck_assert_int_eq(fclose(file), 0);
    lead(&d, "k1", option, 0, "loaded: Anna\n");
    lead(&d, "k1", option, 0, "cached: Anna\n");
    lead(&d, "k2", option, 0, "there is none\n");
    ck_assert_int_eq(daemon_read(&d, "names", "k1", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_slice_eq(answer.value, "Anna");
    hg_answer_deinit(&answer);
    ck_assert_uint_eq(daemon_metric(&d, "names", "lease"), 2);
    lead(&d, "k1", "fiel=x", 1,
         "leader: plugin static has no option \"fiel\"; did you mean \"file\"?\n");
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.own_loader", 60, a_gateways_plugin_fills_the_cache_for_the_next_gateway)
