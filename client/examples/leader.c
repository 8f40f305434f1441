/* SPDX-License-Identifier: Apache-2.0 */
/* leader: a gateway that loads by itself, with a plugin that the server does not have.
 *
 *     cc leader.c $(pkg-config --cflags --libs herdgate) -o leader
 *     ./leader ipc:///run/herdgate/herdgate.sock names k1 /usr/lib/herdgate/static.so
 * file=/etc/names
 *
 * It asks the cache for one key. If nothing is cached and nobody is loading, the plugin is asked,
 * in this process; its answer goes into the cache, and to everybody who waits for it meanwhile. */
#include <herdgate/own_loader.h>
#include <stdio.h>
#include <string.h>

#define SETTINGS_MAX 16

static void log_line(void *arg, enum hg_log_level level, const char *text)
{
    (void)arg;
    if (level <= HG_LOG_WARN) {
        fprintf(stderr, "leader: plugin: %s\n", text);
    }
}

static int ask(struct hg_client *client, const char *cache, const char *key,
               struct hg_own_loader *loader)
{
    const struct hg_load_through request = {
        .read = {.cache = cache, .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)}},
        .load = hg_loader_lead,
        .arg = loader,
    };
    struct hg_answer answer;
    struct hg_error error;

    if (hg_client_load_through(client, &request, &answer, &error) != HG_OK) {
        fprintf(stderr, "leader: %s\n", error.text);
        return 1;
    }
    if (answer.outcome == HG_VALUE) {
        printf("%s%.*s\n",
               answer.source == HG_SOURCE_LOADED ? "loaded: " : "cached: ", (int)answer.value.len,
               (const char *)answer.value.data);
    } else {
        printf("there is none\n");
    }
    hg_answer_deinit(&answer);
    return 0;
}

int main(int argc, char **argv)
{
    struct hg_loader_setting settings[SETTINGS_MAX];
    struct hg_open_loader request = {.settings = settings, .log = log_line};
    struct hg_own_loader *loader = NULL;
    struct hg_client *client = NULL;
    struct hg_error error;
    int result = 1;

    if (argc < 5 || argc > 5 + SETTINGS_MAX) {
        fprintf(stderr, "usage: leader URL CACHE KEY PLUGIN [OPTION=VALUE]...\n");
        return 2;
    }
    request.path = argv[4];
    for (int i = 5; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (value) {
            *value++ = '\0';
        }
        settings[request.setting_count++] =
            (struct hg_loader_setting){.name = argv[i], .value = value ? value : ""};
    }
    if (hg_client_open_loader(&request, &loader, &error) != HG_OK ||
        hg_client_open(argv[1], NULL, &client, &error) != HG_OK) {
        fprintf(stderr, "leader: %s\n", error.text);
    } else {
        result = ask(client, argv[2], argv[3], loader);
    }
    hg_client_close(&client);
    if (hg_loader_close(&loader, 0, &error) != HG_OK) {
        fprintf(stderr, "leader: %s\n", error.text);
        result = 1;
    }
    return result;
}
