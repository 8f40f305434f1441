/* SPDX-License-Identifier: Apache-2.0 */
/* Written by the program of that version: linked with its own storage/snapshot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "storage/snapshot/snapshot.h"
static char sentence[512];
#define OK(x)                                                                                      \
    do {                                                                                           \
        if ((x) != HG_OK) {                                                                        \
            fprintf(stderr, "%s: %s\n", #x, sentence);                                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
static struct hgi_now now = {.boot_ms = 1000000, .wall_ms = 1700000000000};
static struct hgi_snapshot *snapshot;
static struct hgi_entry entry(const char *key, const char *value, uint64_t born)
{
    struct hgi_entry e = {.key = hg_slice_text(key),
                          .value = hg_slice_text(value),
                          .outcome = HG_VALUE,
                          .born = born,
                          .published_ms = now.boot_ms - 2000,
                          .ttl_ms = 10000,
                          .stale_ttl_ms = 60000};
    return e;
}
static void begin(enum hgi_snapshot_sync sync)
{
    OK(hgi_snapshot_begin(snapshot, sync, &now, sentence));
}
static void put(const char *cache, struct hgi_entry e)
{
    OK(hgi_snapshot_put(snapshot, hg_slice_text(cache), &e, &now, sentence));
}
static void commit(uint64_t g)
{
    OK(hgi_snapshot_commit(snapshot, g, &now, sentence));
}
int main(int argc, char **argv)
{
    struct hgi_snapshot_opened opened;
    struct hg_slice tags[2] = {hg_slice_text("\x01user-1"), hg_slice_text("tag")};
    struct hgi_entry e;
    (void)argc;
    OK(hgi_snapshot_open(argv[1], &now, &snapshot, &opened, sentence));
    begin(HGI_SNAPSHOT_BEHIND);
    e = entry("one", "first value", 10);
    e.tags = tags;
    e.tag_count = 2;
    e.etag = hg_slice_text("etag-1");
    put("auth", e);
    e = entry("two", "", 11);
    e.outcome = HG_ABSENT;
    e.stale_ttl_ms = e.ttl_ms;
    put("auth", e);
    e = entry("until", "ends at an instant", 12);
    e.expires_wall_ms = now.wall_ms + 30000;
    e.expires_boot_ms = now.boot_ms + 30000;
    put("auth", e);
    put("auth", entry("tagged", "gone by its tag", 12));
    put("auth", entry("forgotten", "gone by its key", 12));
    for (int i = 0; i < 40; i++) {
        char key[16];
        char value[32];
        snprintf(key, sizeof(key), "key %d", i);
        snprintf(value, sizeof(value), "value %d", i);
        put("many", entry(key, value, 13));
    }
    put("cleared", entry("x", "must not come back", 13));
    put("cleared", entry("y", "must not come back either", 14));
    commit(20);
    begin(HGI_SNAPSHOT_DURABLE);
    {
        struct hg_slice key = hg_slice_text("forgotten");
        OK(hgi_snapshot_forget(snapshot, hg_slice_text("auth"), &key, 1, 21, sentence));
    }
    OK(hgi_snapshot_clear(snapshot, hg_slice_text("cleared"), 22, sentence));
    commit(22);
    if (argv[2])
        _exit(0); /* as a kill leaves it */
    hgi_snapshot_close(&snapshot);
    return 0;
}
