/* SPDX-License-Identifier: Apache-2.0 */
#include "config_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char config_path[64];
char config_sentence[HGI_CONFIG_SENTENCE_MAX];

struct hgi_config *config_read_bytes(const char *text, size_t len)
{
    int fd;

    snprintf(config_path, sizeof(config_path), "/tmp/hg-config-XXXXXX");
    fd = mkstemp(config_path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
    snprintf(config_sentence, sizeof(config_sentence), "untouched");
    return hgi_config_read(
        &(struct hgi_config_source){.path = config_path, .default_plugin_dir = PLUGINS},
        config_sentence);
}

struct hgi_config *config_read_text(const char *text)
{
    struct hgi_config *config = config_read_bytes(text, strlen(text));

    ck_assert_int_eq(unlink(config_path), 0);
    return config;
}

struct hgi_config *config_read_good(const char *text)
{
    struct hgi_config *config = config_read_text(text);

    ck_assert_msg(config != NULL, "refused: %s", config_sentence);
    ck_assert_str_eq(config_sentence, "untouched");
    return config;
}

void config_refused(const char *text, const char *expected)
{
    struct hgi_config *config = config_read_text(text);
    size_t path_len = strlen(config_path);

    ck_assert_msg(config == NULL, "taken: %s", text);
    ck_assert_int_eq(strncmp(config_sentence, config_path, path_len), 0);
    ck_assert_str_eq(config_sentence + path_len, expected);
}
