/* SPDX-License-Identifier: Apache-2.0 */
/* bench-local: one process reads random records of a cache from the server's memory, by
 * libherdgate, one after the other. A sample for each line on stdin, so that another server can be
 * asked in turn. usage: bench-local URL FOLDER CACHE RECORDS SECONDS */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/thread.h"
#include "effort.h"
#include "herdgate/client.h"
#include "ops.h"
#include "ticks.h"

#define OPS       262144u /* reads before they repeat */
#define CHUNK     256u
#define ATTACH_MS 10000u

struct local {
    struct hg_client *client;
    const char *cache;
    struct ops ops;
};

static bool read_one(const struct local *local, size_t index)
{
    const struct hg_read read = {
        .cache = local->cache, .key = {.kind = HG_KEY_BYTES, .bytes = ops_key(&local->ops, index)}};
    struct hg_answer answer;
    bool is_right;

    if (!hg_client_get_local(local->client, &read, &answer)) {
        return false;
    }
    is_right = ops_value_is(&local->ops, index, answer.value.data, answer.value.len);
    hg_answer_deinit(&answer);
    return is_right;
}

/* The first reads only ask for the memory. */
static bool attach(const struct local *local)
{
    for (unsigned ms = 0; ms < ATTACH_MS; ms++) {
        if (read_one(local, 0)) {
            return true;
        }
        hgi_thread_pause(1);
    }
    return effort_fault("local_read", "the cache is never read locally");
}

static bool sample(const struct local *local, double seconds, size_t *inout_at)
{
    uint64_t begin = ticks_now_ns();
    uint64_t end = begin + (uint64_t)(seconds * 1e9);
    uint64_t now = begin;
    uint64_t count = 0;
    uint64_t wrong = 0;

    for (; now < end; now = ticks_now_ns()) {
        for (size_t i = 0; i < CHUNK; i++) {
            wrong += !read_one(local, *inout_at);
            *inout_at = (*inout_at + 1) % local->ops.count;
        }
        count += CHUNK;
    }
    if (wrong) {
        return effort_fault("local_read", "a read did not find its record");
    }
    say("local_read", "ours", "reads/s", (double)count * 1e9 / (double)(now - begin));
    return true;
}

int main(int argc, char **argv)
{
    struct hg_client_options options = {0};
    struct local local = {0};
    struct hg_error error;
    bool is_good;
    char line[64];
    size_t at = 0;

    if (argc != 6 || !hgi_hash_start()) {
        fprintf(stderr, "usage: bench-local URL FOLDER CACHE RECORDS SECONDS\n");
        return 2;
    }
    options.local_dir = argv[2];
    local.cache = argv[3];
    if (hg_client_open(argv[1], &options, &local.client, &error) != HG_OK) {
        fprintf(stderr, "bench-local: %s\n", error.text);
        return 1;
    }
    is_good =
        ops_init(&local.ops, OPS, (uint32_t)strtoul(argv[4], NULL, 10), NULL, 5) && attach(&local);
    if (is_good) {
        printf("{\"ready\": true}\n");
        fflush(stdout);
    }
    while (is_good && fgets(line, sizeof(line), stdin)) {
        is_good = sample(&local, strtod(argv[5], NULL), &at);
        fflush(stdout);
    }
    ops_deinit(&local.ops);
    hg_client_close(&local.client);
    return is_good ? 0 : 1;
}
