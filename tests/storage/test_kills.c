/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are killed while they write. The test binary runs itself as the process to kill:
 * it saves rounds, invalidates keys and a tag, clears, checkpoints, and writes files beside, as the
 * snapshotter does, and tells after each what was acknowledged.
 * Usage: test_storage_kills [KILLS] */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "snapshot_scene.h"

#define ROWS       40
#define DELAY_US   20000 /* the kill comes so long after the first word, or sooner */
#define CHILD_WORD "write-until-killed"

static int kills = 50;

enum told_kind { TOLD_ROUND, TOLD_KEY, TOLD_TAG, TOLD_CLEAR, TOLD_KINDS };

/* What was acknowledged. */
struct told {
    uint64_t kind;
    uint64_t generation;
    uint64_t key; /* of TOLD_KEY */
};

/* ---- the process that is killed: check's assertions work in check's children only ---- */

static bool tell(int fd, enum told_kind kind, uint64_t generation, uint64_t key)
{
    const struct told told = {.kind = kind, .generation = generation, .key = key};

    return write(fd, &told, sizeof(told)) == (ssize_t)sizeof(told);
}

static bool has_tag(int key)
{
    return key % 4 == 1;
}

static bool put_rows(struct scene *scene, struct hgi_snapshot *snapshot, uint64_t born)
{
    const struct hg_slice tag = hg_slice_text("ttag");
    bool is_good =
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_BEHIND, &scene->now, scene->sentence) == HG_OK;

    for (int i = 0; i < ROWS && is_good; i++) {
        char key[16];
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(scene, key, "a value of some length, so that there is to write", born);
        entry.tags = &tag;
        entry.tag_count = has_tag(i);
        is_good = hgi_snapshot_put(snapshot, hg_slice_text("c"), &entry, &scene->now,
                                   scene->sentence) == HG_OK;
    }
    return is_good && hgi_snapshot_commit(snapshot, born, &scene->now, scene->sentence) == HG_OK;
}

static bool invalidate(struct scene *scene, struct hgi_snapshot *snapshot, enum told_kind kind,
                       uint64_t generation, uint64_t key)
{
    const struct hgi_snapshot_tag tag = {.name = hg_slice_text("ttag"), .generation = generation};
    struct hg_slice cache = hg_slice_text("c");
    struct hg_slice slice;
    char text[32];
    enum hg_status status =
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_DURABLE, &scene->now, scene->sentence);

    snprintf(text, sizeof(text), "key %d", (int)key);
    slice = hg_slice_text(text);
    if (status == HG_OK) {
        status = kind == TOLD_KEY
                     ? hgi_snapshot_forget(snapshot, cache, &slice, 1, generation, scene->sentence)
                 : kind == TOLD_TAG
                     ? hgi_snapshot_forget_tags(snapshot, cache, &tag, 1, scene->sentence)
                     : hgi_snapshot_clear(snapshot, cache, generation, scene->sentence);
    }
    return status == HG_OK &&
           hgi_snapshot_commit(snapshot, generation, &scene->now, scene->sentence) == HG_OK;
}

/* Everything anew beside, with an invalidation in the middle of it. */
static bool save_beside(struct scene *scene, uint64_t born, int fd)
{
    struct hgi_snapshot *beside = NULL;

    return hgi_snapshot_open_beside(scene->snapshot, &beside, scene->sentence) == HG_OK &&
           put_rows(scene, beside, born) &&
           invalidate(scene, scene->snapshot, TOLD_KEY, born + 1, 0) &&
           tell(fd, TOLD_KEY, born + 1, 0) && invalidate(scene, beside, TOLD_KEY, born + 1, 0) &&
           hgi_snapshot_replace(scene->snapshot, &beside, scene->sentence) == HG_OK;
}

static int run_child(const char *path, int fd)
{
    struct scene scene;
    bool is_good = true;

    memset(&scene, 0, sizeof(scene));
    scene.now.boot_ms = 1000000;
    scene.now.wall_ms = INT64_C(1700000000000);
    if (hgi_snapshot_open(&(const struct hgi_snapshot_options){.path = path}, &scene.now,
                          &scene.snapshot, &scene.opened, scene.sentence) != HG_OK) {
        return 1;
    }
    for (uint64_t born = scene.opened.high_water + 1; is_good; born += 8) {
        uint64_t key = born % ROWS;

        is_good = put_rows(&scene, scene.snapshot, born) && tell(fd, TOLD_ROUND, born, 0);
        if (is_good && born % 3 == 0) {
            hgi_snapshot_checkpoint(scene.snapshot, scene.sentence);
        }
        if (is_good && born % 5 == 0) {
            is_good = save_beside(&scene, born, fd);
        }
        is_good = is_good && invalidate(&scene, scene.snapshot, TOLD_KEY, born + 2, key) &&
                  tell(fd, TOLD_KEY, born + 2, key) &&
                  invalidate(&scene, scene.snapshot, TOLD_TAG, born + 3, 0) &&
                  tell(fd, TOLD_TAG, born + 3, 0);
        if (is_good && born % 2 == 0) {
            is_good = invalidate(&scene, scene.snapshot, TOLD_CLEAR, born + 4, 0) &&
                      tell(fd, TOLD_CLEAR, born + 4, 0);
        }
    }
    return 1;
}

/* ---- who kills it ---- */

/* The latest of each kind, and of each key. */
struct acknowledged {
    uint64_t of_kind[TOLD_KINDS];
    uint64_t of_key[ROWS];
    struct told last;
};

static void note(struct acknowledged *acknowledged, const struct told *told)
{
    ck_assert_uint_lt(told->kind, TOLD_KINDS);
    ck_assert_uint_lt(told->key, ROWS);
    acknowledged->of_kind[told->kind] = told->generation;
    if (told->kind == TOLD_KEY) {
        acknowledged->of_key[told->key] = told->generation;
    }
    acknowledged->last = *told;
}

/* Starts a child, kills it after `delay_us`, and notes what it told. */
static void kill_one(const char *path, unsigned delay_us, struct acknowledged *acknowledged)
{
    struct told told;
    char fd_text[16];
    char self[PATH_MAX];
    char *argv[] = {self, (char[]){CHILD_WORD}, (char *)(uintptr_t)path, fd_text, NULL};
    ssize_t self_len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int ends[2];
    pid_t pid;
    int status;

    ck_assert_int_gt(self_len, 0);
    self[self_len] = '\0';
    ck_assert_int_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    snprintf(fd_text, sizeof(fd_text), "%d", ends[1]);
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    close(ends[1]);
    /* The first word says that it runs; the kill comes somewhere in what follows. */
    ck_assert_int_eq(read(ends[0], &told, sizeof(told)), sizeof(told));
    note(acknowledged, &told);
    usleep(delay_us);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(ends[0], &told, sizeof(told)) == (ssize_t)sizeof(told)) {
        note(acknowledged, &told);
    }
    close(ends[0]);
}

/* The row is of a round that is whole, and nothing acknowledged covers it. */
static void check_row(const struct scene *scene, const struct seen *seen,
                      const struct acknowledged *acknowledged)
{
    int key = atoi(seen->key + strlen("key "));

    ck_assert(key >= 0 && key < ROWS);
    ck_assert_uint_eq(seen->entry.born, scene->seen[0].entry.born);
    ck_assert_uint_ge(seen->entry.born, acknowledged->of_kind[TOLD_ROUND]);
    ck_assert_uint_ge(seen->entry.born, acknowledged->of_kind[TOLD_CLEAR]);
    ck_assert_uint_ge(seen->entry.born, acknowledged->of_key[key]);
    if (has_tag(key)) {
        ck_assert_uint_ge(seen->entry.born, acknowledged->of_kind[TOLD_TAG]);
    }
}

/* I3, I26. */
START_TEST(a_process_killed_at_any_instant_keeps_every_acknowledged_invalidation_and_round)
{
    struct acknowledged acknowledged = {.of_kind = {0}};
    uint64_t of_kind[TOLD_KINDS] = {0};
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    for (int i = 0; i < kills; i++) {
        uint32_t random;

        scene_close(&scene);
        hgi_random(&random, sizeof(random));
        kill_one(scene.path, random % DELAY_US, &acknowledged);
        of_kind[acknowledged.last.kind]++;
        scene_open(&scene);
        ck_assert(!scene.opened.is_new && !scene.opened.is_quarantined);
        ck_assert_uint_ge(scene.opened.high_water, acknowledged.last.generation);
        scene_restore(&scene);
        ck_assert_uint_eq(scene.dropped, 0);
        ck_assert_uint_le(scene.restored, ROWS);
        for (size_t k = 0; k < scene.restored; k++) {
            check_row(&scene, &scene.seen[k], &acknowledged);
        }
        /* A process's end costs no committed round, unless what came next got through. */
        if (acknowledged.last.kind == TOLD_ROUND &&
            scene.opened.high_water == acknowledged.last.generation) {
            ck_assert_uint_eq(scene.restored, ROWS);
        }
    }
    scene_leave(&scene);
    printf("%d kills: after a round %d, after an invalidated key %d, a tag %d, a clear %d; each "
           "file whole, nothing acknowledged lost\n",
           kills, (int)of_kind[TOLD_ROUND], (int)of_kind[TOLD_KEY], (int)of_kind[TOLD_TAG],
           (int)of_kind[TOLD_CLEAR]);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {
        a_process_killed_at_any_instant_keeps_every_acknowledged_invalidation_and_round,
    };

    if (argc == 4 && strcmp(argv[1], CHILD_WORD) == 0) {
        return hgi_hash_start() ? run_child(argv[2], atoi(argv[3])) : 1;
    }
    if (argc == 2) {
        kills = atoi(argv[1]);
    }
    if (argc > 2 || kills < 1) {
        fprintf(stderr, "usage: test_storage_kills [KILLS]\n");
        return 2;
    }
    return hgi_suite_run("storage.kills", tests, 1, 60 + kills);
}
