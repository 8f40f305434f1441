/* SPDX-License-Identifier: Apache-2.0 */
/* snapshotter_scene: a snapshotter with two caches, its folder, its answers.
 * Owns:     the folder, until leave.
 * Threads:  one; answers come from the snapshotter's.
 * Limits:   20 s for an answer.
 * Errors:   asserts.
 * Not here: tests. */
#ifndef SNAPSHOTTER_SCENE_H
#define SNAPSHOTTER_SCENE_H

#include "base/clock.h"
#include "base/lock.h"
#include "hg_test.h"
#include "server/snapshotter.h"

#define NEVER_MS (INT64_C(3600) * 1000)
#define WAIT_MS  20000

/* Answers as they come, from the snapshotter's thread. */
struct answers {
    struct hgi_lock lock;
    struct hgi_cond cond;
    size_t count;
    size_t failed;
    uint64_t entries; /* of the last one */
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
};

/* A server's part: two caches without a loader, and their snapshotter. */
struct scene {
    char folder[64];
    char path[128];
    struct hgi_digest_key key; /* used if has_key */
    bool has_key;
    bool is_encrypted;
    const struct hgi_digest_key *veil_master; /* NULL: keys are kept as they are */
    size_t max_entries;
    size_t max_bytes;
    int64_t ttl_ms;
    int64_t stale_if_error_ms;
    struct hgi_registry *registry;
    struct hgi_cache *auth;
    struct hgi_cache *other;
    struct hgi_snapshotter *snapshotter;
    struct answers answers;
};

void scene_note_answer(void *context, const struct hgi_saved *saved);
void scene_wait_for_answers(struct answers *answers, size_t count);
void scene_boot(struct scene *scene, int64_t interval_ms);
void scene_start(struct scene *scene);
void scene_run(struct scene *scene);
void scene_shut_down(struct scene *scene);
void scene_enter(struct scene *scene);
void scene_leave(struct scene *scene);
/* The key, veiled if the cache's are. Borrows one room per thread: until the next call. */
struct hg_slice scene_key(const struct hgi_cache *cache, const char *key);
struct hgi_entry scene_put_as(struct hgi_cache *cache, const char *key, const char *value,
                              const struct hgi_lifetime *lifetime);
struct hgi_entry scene_put(struct hgi_cache *cache, const char *key, const char *value);
void scene_put_many(struct hgi_cache *cache, size_t count);
void scene_clear(struct scene *scene, struct hgi_cache *cache);
void scene_save(struct scene *scene);
bool scene_is_cached(struct hgi_cache *cache, const char *key);
uint64_t scene_rows_after_a_crash_now(struct scene *scene);
struct hgi_snapshotter_stats scene_stats_of(struct scene *scene);

#endif
