/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_scene: a snapshot in a folder of its own, a clock that stands still, what came back.
 * Owns:     the folder, until leave.
 * Threads:  one.
 * Limits:   SEEN_MAX restored entries are kept; all are counted.
 * Errors:   asserts.
 * Not here: tests. */
#ifndef SNAPSHOT_SCENE_H
#define SNAPSHOT_SCENE_H

#include <limits.h>

#include "hg_test.h"
#include "storage/snapshot/snapshot.h"

#define SEEN_MAX 64u

struct seen {
    char cache[32];
    char key[32];
    char value[128];
    size_t value_len;
    struct hgi_entry entry; /* its slices are gone */
};

struct scene {
    char folder[64];
    char path[128];
    struct hgi_digest_key key; /* used if has_key */
    bool has_key;
    bool is_encrypted;
    struct hgi_now now;
    struct hgi_snapshot *snapshot;
    struct hgi_snapshot_opened opened;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    struct seen seen[SEEN_MAX];
    uint64_t restored;
    uint64_t dropped;
};

void scene_enter(struct scene *scene);
void scene_leave(struct scene *scene);
void scene_open(struct scene *scene);
void scene_close(struct scene *scene);
/* Closes, lets `down_ms` go by on the wall while the boot clock begins anew, and opens. */
void scene_restart(struct scene *scene, int64_t down_ms);
void scene_restore(struct scene *scene);
/* The entry that came back under this key, or NULL. */
const struct seen *scene_find(const struct scene *scene, const char *cache, const char *key);

/* VALUE, 10 s fresh, 60 s in all, published now. */
struct hgi_entry scene_entry(const struct scene *scene, const char *key, const char *value,
                             uint64_t born);
void scene_begin(struct scene *scene, enum hgi_snapshot_sync sync);
void scene_put(struct scene *scene, const char *cache, const struct hgi_entry *entry);
void scene_commit(struct scene *scene, uint64_t high_water);
/* The entry in a transaction of its own. */
void scene_save(struct scene *scene, const char *cache, const struct hgi_entry *entry);
void scene_clear(struct scene *scene, const char *cache, uint64_t generation);
void scene_forget(struct scene *scene, const char *cache, const char *key, uint64_t generation);
/* The same where it may fail: the first failure ends it. Rows "key 0", "key 1", ... of cache "c",
 * all with `value`; a clear of "c", durably. */
enum hg_status scene_try_rows(struct scene *scene, int rows, const char *value, uint64_t born);
enum hg_status scene_try_clear(struct scene *scene, uint64_t generation);

/* A closed snapshot of one cache, "c", with two rows. */
void scene_save_two(struct scene *scene);
/* Opens a file that is no snapshot of ours: it goes aside and the report has `words`; what is saved
 * then comes back. Leaves. */
void scene_expect_moved_aside(struct scene *scene, const char *words);

/* Runs SQL on the closed file, as nobody should. */
void scene_sql(struct scene *scene, const char *sql);
/* Flips a bit of the i-th byte of a column of the first page in the closed file. False: the column
 * has no such byte. */
bool scene_change_byte(struct scene *scene, const char *column, size_t i);
/* Files in the folder whose name contains `part`. */
size_t scene_count_files(const struct scene *scene, const char *part);
/* The size of <path><suffix>; 0 if it is not there. */
size_t scene_file_size(const struct scene *scene, const char *suffix);
/* Whether the bytes of `text` are anywhere in <path><suffix>. */
bool scene_file_contains(const struct scene *scene, const char *suffix, const char *text);

#endif
