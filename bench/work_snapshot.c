/* SPDX-License-Identifier: Apache-2.0 */
/* A million entries to disk and back, beside what sqlite3 itself can do, in turn. */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "effort.h"
#include "ops.h"
#include "server/snapshotter.h"
#include "shelf.h"
#include "ticks.h"

#define RECORDS        1000000u
#define OPS            262144u
#define TTL_MS         3600000
#define INTERVAL_MS    3600000
#define WAIT_S         120
#define ENOUGH_S       60 /* no further round after so long */
#define ENOUGH_QUICK_S 5
#define CACHE          "bench"

/* ---- the peer ---- */

static bool raw_rows(sqlite3 *db, sqlite3_stmt *insert)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        struct shelf_record record = shelf_record_of(i);

        sqlite3_bind_blob(insert, 1, record.key, sizeof(record.key), SQLITE_STATIC);
        sqlite3_bind_blob(insert, 2, record.value, sizeof(record.value), SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, TTL_MS);
        if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK) {
            return false;
        }
    }
    return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

/* Rows a second into a table without an index, in one transaction, with nothing made safe. */
static bool raw_insert(const char *path, double *ret_per_s)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    uint64_t began_ns = ticks_now_ns();
    bool is_good = sqlite3_open(path, &db) == SQLITE_OK &&
                   sqlite3_exec(db,
                                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                                "PRAGMA locking_mode = EXCLUSIVE;"
                                "CREATE TABLE rows (key BLOB, value BLOB, ttl INTEGER); BEGIN",
                                NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_prepare_v2(db, "INSERT INTO rows VALUES (?1, ?2, ?3)", -1, &insert,
                                      NULL) == SQLITE_OK &&
                   raw_rows(db, insert);

    *ret_per_s = RECORDS * 1e9 / (double)(ticks_now_ns() - began_ns);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    (void)unlink(path);
    return is_good;
}

/* ---- ours ---- */

struct scene {
    char path[256];
    struct hgi_registry *registry;
    struct hgi_snapshotter *snapshotter;
    struct hgi_cache *cache;
};

static bool open_cache(struct scene *scene, uint64_t generation)
{
    struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .ttl_ms = TTL_MS,
        .stale_ttl_ms = TTL_MS,
        .negative_ttl_ms = TTL_MS,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 1000,
        .max_entries = RECORDS * 2,
        .max_bytes = (size_t)RECORDS * 2048,
        .max_loads = 1,
        .queue_max = 1,
        .waiters_max = 1,
    };
    struct hgi_cache_options options = {
        .name = CACHE, .policy = &policy, .start_generation = generation, .seed = 1};
    struct hgi_registered registered = {.cache = hgi_cache_create(&hgi_heap, &options),
                                        .key_type = HGI_KEYS_BYTES,
                                        .value_type = HG_TYPE_BYTES};

    scene->registry = hgi_registry_create(&hgi_heap);
    scene->cache = registered.cache;
    return scene->registry && scene->cache && hgi_registry_add(scene->registry, &registered);
}

static bool open_snapshotter(struct scene *scene, uint64_t *ret_generation)
{
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX] = "";
    const struct hgi_snapshot_options options = {.path = scene->path};

    if (hgi_snapshotter_open(&options, INTERVAL_MS, &now, &scene->snapshotter, ret_generation,
                             sentence) != HG_OK) {
        return effort_fault("snapshot", sentence);
    }
    return true;
}

static void close_scene(struct scene *scene)
{
    struct hgi_now now = hgi_clock_now();

    if (scene->snapshotter) {
        hgi_snapshotter_close(&scene->snapshotter);
    }
    if (scene->registry) {
        hgi_registry_stop(scene->registry, &now);
        hgi_registry_destroy(&scene->registry);
    }
}

static void remove_files(const struct scene *scene)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", "-lock"};
    char path[300];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", scene->path, ends[i]);
        (void)unlink(path);
    }
}

static bool fill(struct scene *scene)
{
    struct hgi_now now = hgi_clock_now();

    for (uint32_t i = 0; i < RECORDS; i++) {
        struct shelf_record record = shelf_record_of(i);
        struct hgi_entry entry = {.key = hg_slice_of(record.key, sizeof(record.key)),
                                  .value = hg_slice_of(record.value, sizeof(record.value)),
                                  .outcome = HG_VALUE,
                                  .born = 1,
                                  .published_ms = now.boot_ms,
                                  .ttl_ms = TTL_MS,
                                  .stale_ttl_ms = TTL_MS};

        if (hgi_table_insert(hgi_cache_table(scene->cache), &entry, false) != HGI_STORED) {
            return false;
        }
    }
    return true;
}

/* ---- a reader beside it ---- */

struct reader {
    struct hgi_table *table;
    const struct ops *ops;
    struct hgi_now now;
    atomic_bool is_over;
    uint64_t reads;
    uint64_t right;
    uint64_t ns;
    struct hgi_thread thread;
};

static void read_on(void *arg)
{
    struct reader *r = arg;
    uint64_t began_ns = ticks_now_ns();
    struct hgi_found_entry found;
    struct hg_bytes value;

    hgi_bytes_init(&value, &hgi_heap);
    for (size_t i = 0; !atomic_load_explicit(&r->is_over, memory_order_relaxed);
         i = i + 1 == r->ops->count ? 0 : i + 1) {
        r->right += hgi_table_lookup(r->table, ops_key(r->ops, i), -1, &r->now, &value, &found) ==
                        HGI_FRESH &&
                    ops_value_is(r->ops, i, value.data, value.len);
        r->reads++;
    }
    r->ns = ticks_now_ns() - began_ns;
    hgi_bytes_deinit(&value);
}

static bool start_reader(struct reader *r, struct scene *scene, const struct ops *ops)
{
    r->table = hgi_cache_table(scene->cache);
    r->ops = ops;
    r->now = hgi_clock_now();
    atomic_store(&r->is_over, false);
    r->reads = r->right = 0;
    return hgi_thread_start(&r->thread, "reader", read_on, r);
}

/* Reads a second; below 0: one was wrong. */
static double stop_reader(struct reader *r)
{
    atomic_store(&r->is_over, true);
    hgi_thread_join(&r->thread);
    return r->right == r->reads ? (double)r->reads * 1e9 / (double)r->ns : -1;
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};

    nanosleep(&time, NULL);
}

/* ---- one round ---- */

struct saving {
    atomic_bool is_done;
    enum hg_status status;
    uint64_t entries;
};

static void note_saved(void *context, const struct hgi_saved *saved)
{
    struct saving *saving = context;

    saving->status = saved->status;
    saving->entries = saved->entries;
    atomic_store(&saving->is_done, true);
}

/* Rows a second; 0: it failed. */
static double save(struct scene *scene)
{
    struct saving saving = {.status = HG_UNKNOWN};
    uint64_t began_ns = ticks_now_ns();

    if (hgi_snapshotter_save(scene->snapshotter, note_saved, &saving) != HG_OK) {
        return 0;
    }
    for (int i = 0; !atomic_load(&saving.is_done) && i < WAIT_S * 1000; i++) {
        pause_ms(1);
    }
    if (saving.status != HG_OK || saving.entries != RECORDS) {
        return 0;
    }
    return RECORDS * 1e9 / (double)(ticks_now_ns() - began_ns);
}

struct figures {
    struct samples save;
    struct samples raw;
    struct samples restore;
    struct samples gets_meanwhile;
    struct samples gets_alone;
};

static bool save_once(struct scene *scene, const struct ops *ops, const struct effort *effort,
                      struct figures *f)
{
    struct hgi_now now = hgi_clock_now();
    static struct reader reader;
    uint64_t generation;
    double gets[2];
    double saved;

    hgi_table_mark_unsaved(hgi_cache_table(scene->cache));
    if (!open_snapshotter(scene, &generation) ||
        !hgi_snapshotter_restore(scene->snapshotter, scene->registry, &now) ||
        !hgi_snapshotter_start(scene->snapshotter)) {
        return effort_fault("snapshot", "it does not start");
    }
    if (!start_reader(&reader, scene, ops)) {
        return effort_fault("snapshot", "no thread");
    }
    pause_ms((long)(effort->seconds * 1000));
    gets[0] = stop_reader(&reader);
    if (!start_reader(&reader, scene, ops)) {
        return effort_fault("snapshot", "no thread");
    }
    saved = save(scene);
    gets[1] = stop_reader(&reader);
    samples_add(&f->save, saved);
    samples_add(&f->gets_alone, gets[0]);
    samples_add(&f->gets_meanwhile, gets[1]);
    hgi_snapshotter_stop(scene->snapshotter);
    hgi_snapshotter_close(&scene->snapshotter);
    return (saved > 0 && gets[0] > 0 && gets[1] > 0) ||
           effort_fault("snapshot", "a save failed, or a read was wrong");
}

static bool restore_once(const struct scene *saved, struct figures *f)
{
    struct hgi_now now = hgi_clock_now();
    struct scene scene = {0};
    struct hgi_cache_stats stats = {.entries = 0};
    uint64_t generation = 0;
    uint64_t began_ns;
    bool is_good;

    memcpy(scene.path, saved->path, sizeof(scene.path));
    began_ns = ticks_now_ns();
    is_good = open_snapshotter(&scene, &generation) && open_cache(&scene, generation + 1) &&
              hgi_snapshotter_restore(scene.snapshotter, scene.registry, &now);
    samples_add(&f->restore, RECORDS * 1e9 / (double)(ticks_now_ns() - began_ns));
    if (is_good) {
        hgi_cache_stats(scene.cache, &stats);
    }
    close_scene(&scene);
    return (is_good && stats.entries == RECORDS) ||
           effort_fault("snapshot", "not every row came back");
}

static bool rounds(struct scene *scene, const struct ops *ops, const struct effort *effort,
                   struct figures *f)
{
    char raw_path[300];

    uint64_t began_ns = ticks_now_ns();
    uint64_t enough_ns = (uint64_t)(effort->is_quick ? ENOUGH_QUICK_S : ENOUGH_S) * 1000000000u;

    snprintf(raw_path, sizeof(raw_path), "%s.raw", scene->path);
    for (uint32_t i = 0; i < effort->repeats && ticks_now_ns() - began_ns < enough_ns; i++) {
        double raw;

        if (!raw_insert(raw_path, &raw)) {
            return effort_fault("snapshot", "sqlite3 failed");
        }
        samples_add(&f->raw, raw);
        remove_files(scene);
        if (!save_once(scene, ops, effort, f) || !restore_once(scene, f)) {
            return false;
        }
    }
    return true;
}

bool work_snapshot(const struct effort *effort)
{
    struct figures f = {
        .save = {.work = "snapshot_save", .side = "ours", .unit = "rows/s"},
        .raw = {.work = "snapshot_save", .side = "peer", .unit = "rows/s"},
        .restore = {.work = "snapshot_restore", .side = "ours", .unit = "rows/s"},
        .gets_meanwhile = {.work = "snapshot_gets", .side = "ours", .unit = "reads/s"},
        .gets_alone = {.work = "snapshot_gets", .side = "peer", .unit = "reads/s"}};
    struct scene scene = {0};
    struct ops ops = {0};
    bool is_good;

    snprintf(scene.path, sizeof(scene.path), "%s/bench-%d.db", effort->folder, (int)getpid());
    is_good = ops_init(&ops, OPS, RECORDS, NULL, 4) && open_cache(&scene, 1) && fill(&scene) &&
              rounds(&scene, &ops, effort, &f);
    close_scene(&scene);
    remove_files(&scene);
    ops_deinit(&ops);
    samples_say(&f.save);
    samples_say(&f.raw);
    samples_say(&f.restore);
    samples_say(&f.gets_meanwhile);
    samples_say(&f.gets_alone);
    return is_good;
}
