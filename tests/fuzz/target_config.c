/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file. It is taken, or one sentence says in which file and where it is wrong. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "server/config.h"

const char *__lsan_default_suppressions(void);

/* libconfuse loses the arguments of a call that it finds unfinished: a few bytes, once, in a
 * program that ends because of it. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfuse\n";
}

static void check_refused(const char *path, const char *sentence)
{
    fuzz_check_sentence(sentence, HGI_CONFIG_SENTENCE_MAX);
    HGI_BUG_ON(strncmp(sentence, path, strlen(path)) != 0);
    HGI_BUG_ON(sentence[strlen(path)] != ':');
    HGI_BUG_ON(strchr(sentence, '\n'));
}

static void check_taken(const struct hgi_config *config)
{
    HGI_BUG_ON(!config->runtime_dir || config->runtime_dir[0] != '/');
    HGI_BUG_ON(config->listen_count && !config->listens);
    for (size_t i = 0; i < config->cache_count; i++) {
        const struct hgi_policy *policy = &config->caches[i].policy;

        HGI_BUG_ON(!config->caches[i].name || policy->ttl_ms > policy->stale_ttl_ms);
        HGI_BUG_ON(policy->max_entries == 0 || policy->max_bytes == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sentence[HGI_CONFIG_SENTENCE_MAX] = "";
    struct hgi_config *config;
    char path[64];
    int fd = memfd_create("config", MFD_CLOEXEC);

    HGI_BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fuzz_memory_may_fail(true);
    config = hgi_config_read(&(struct hgi_config_source){.path = path,
                                                         .default_plugin_dir = "/plugins",
                                                         .is_closed = true},
                             sentence);
    fuzz_memory_may_fail(false);
    if (config) {
        check_taken(config);
    } else {
        check_refused(path, sentence);
    }
    hgi_config_destroy(&config);
    close(fd);
    return 0;
}
