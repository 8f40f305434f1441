/* SPDX-License-Identifier: Apache-2.0 */
#include "crash_scene.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define REPLACED_MS 10000

/* ---- somebody else ---- */

/* Half of its keys are loaded anew. */
static void ask_on(void *arg)
{
    struct other *other = arg;
    char key[32];

    for (unsigned i = 0; !atomic_load(&other->is_over); i++) {
        struct hg_read request = {.cache = "good"};
        struct hg_answer answer;
        struct hg_error error;
        int64_t begun_us = hgi_clock_boot_us();

        snprintf(key, sizeof(key), "key %u", other->key_last += i % 2);
        request.key = daemon_key(key);
        if (hg_client_get_or_load(other->client, &request, &answer, &error) == HG_OK) {
            bool is_right =
                answer.value.len == strlen(key) && memcmp(answer.value.data, key, strlen(key)) == 0;

            hg_answer_deinit(&answer);
            if (!is_right && atomic_fetch_add(&other->failed, 1) == 0) {
                snprintf(other->first_failure, sizeof(other->first_failure), "a wrong value");
            }
        } else if (atomic_fetch_add(&other->failed, 1) == 0) {
            snprintf(other->first_failure, sizeof(other->first_failure), "%s", error.text);
        }
        if (i < LATENCIES_MAX) {
            other->latencies_us[i] = (uint32_t)(hgi_clock_boot_us() - begun_us);
        }
        atomic_store(&other->asked, i + 1);
    }
}

int compare_latencies(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

void tell_latencies(const char *of, uint32_t *latencies_us, size_t count)
{
    qsort(latencies_us, count, sizeof(*latencies_us), compare_latencies);
    printf("%s: %zu, p50 %u us, p99 %u us, most %u us\n", of, count, latencies_us[count / 2],
           latencies_us[count * 99 / 100], latencies_us[count - 1]);
}

/* Before anything happens: what the figures are to be held against. */
static void tell_quiet(struct other *other)
{
    const struct timespec pause = {0, 1000000};

    while (atomic_load(&other->asked) < QUIET_COUNT) {
        nanosleep(&pause, NULL);
    }
    atomic_store(&other->is_over, true);
    hgi_thread_join(&other->thread);
    tell_latencies("requests of another cache before", other->latencies_us,
                   atomic_load(&other->asked) < LATENCIES_MAX ? atomic_load(&other->asked)
                                                              : LATENCIES_MAX);
    atomic_store(&other->is_over, false);
    atomic_store(&other->asked, 0);
    ck_assert(hgi_thread_start(&other->thread, "other", ask_on, other));
}

void start_other(struct other *other, const struct daemon *d)
{
    memset(other, 0, sizeof(*other));
    other->latencies_us = calloc(LATENCIES_MAX, sizeof(*other->latencies_us));
    ck_assert_ptr_nonnull(other->latencies_us);
    ck_assert_int_eq(hg_client_open(d->ipc_url, NULL, &other->client, NULL), HG_OK);
    ck_assert(hgi_thread_start(&other->thread, "other", ask_on, other));
    tell_quiet(other);
}

void stop_other(struct other *other, const char *during)
{
    char of[96];
    size_t count;

    atomic_store(&other->is_over, true);
    hgi_thread_join(&other->thread);
    hg_client_close(&other->client);
    ck_assert_msg(atomic_load(&other->failed) == 0, "%u of %u requests of another cache failed: %s",
                  atomic_load(&other->failed), atomic_load(&other->asked), other->first_failure);
    count = atomic_load(&other->asked);
    ck_assert_uint_gt(count, 0);
    snprintf(of, sizeof(of), "requests of another cache during %s, none failed", during);
    tell_latencies(of, other->latencies_us, count < LATENCIES_MAX ? count : LATENCIES_MAX);
    free(other->latencies_us);
}

/* ---- the server ---- */

struct loader look(struct daemon *d)
{
    struct loader found = {.pid = -1};
    struct hg_loaders loaders;
    struct hg_error error;

    ck_assert_msg(hg_client_list_loaders(d->client, NULL, &loaders, &error) == HG_OK, "%s",
                  error.text);
    for (size_t i = 0; i < loaders.count; i++) {
        const struct hg_loader_info *info = &loaders.loaders[i];

        if (info->name.len == strlen("crash") && memcmp(info->name.data, "crash", 5) == 0) {
            found = (struct loader){info->pid, info->started_count, info->deaths};
        }
    }
    hg_loaders_deinit(&loaders);
    return found;
}

void reload(struct daemon *d)
{
    const struct hg_named request = {.name = "crash"};
    struct hg_loader_info info;
    struct hg_error error;

    ck_assert_msg(hg_client_reload_loader(d->client, &request, &info, &error) == HG_OK, "%s",
                  error.text);
    hg_loader_info_deinit(&info);
}

static void open_disk(struct disk *disk, const struct daemon *d)
{
    char sentence[MUTE_FILES_SENTENCE_MAX];
    char path[96];

    snprintf(path, sizeof(path), "%s/disk", d->dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    disk->is_there = mute_files_open(&disk->files, path, sentence);
    if (!disk->is_there) {
        printf("a load that hangs in the kernel (D state) was not tried: %s\n", sentence);
    }
}

void close_disk(struct disk *disk)
{
    if (disk->is_there) {
        mute_files_close(&disk->files);
    }
}

void setup(struct daemon *d, const char *load_timeout, struct disk *disk)
{
    char sections[1024];
    char path[160];
    FILE *journal;

    /* Limits on processes do not bind root, which the plugin is no longer when it forks; of an
     * ordinary user they would count what else it runs. */
    snprintf(sections, sizeof(sections),
             "loader \"crash\" { plugin = \"%s\" workers = 2 memory_max = \"64MiB\" %s\n"
             "    option(\"journal\", \"@DIR@/crashed\") option(\"disk\", \"@DIR@/disk/file\") }\n"
             "cache \"crash\" { key = \"bytes\" value = \"bytes\" loader = \"crash\"\n"
             "    load_timeout = \"%s\" }\n"
             "cache \"good\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n",
             HGI_BUILD_DIR "/tests/loaders/plugins/crash.so",
             geteuid() == 0 ? "processes_max = 40" : "", load_timeout);
    daemon_prepare(d, sections);
    ck_assert_int_eq(chmod(d->dir, 0711), 0);
    snprintf(path, sizeof(path), "%s/crashed", d->dir);
    journal = fopen(path, "w");
    ck_assert_ptr_nonnull(journal);
    fclose(journal);
    ck_assert_int_eq(chmod(path, 0666), 0);
    if (disk) {
        open_disk(disk, d);
    }
    daemon_start(d);
}

static bool is_alive(int pid)
{
    char path[64];
    char line[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file) {
        return false;
    }
    if (!fgets(line, sizeof(line), file)) {
        line[0] = '\0';
    }
    fclose(file);
    /* The number may be somebody else's by now, and the dead may wait to be reaped by init. */
    return strstr(line, "(herdgate-loader)") && !strstr(line, ") Z ");
}

FILE *open_journal(const struct daemon *d)
{
    char path[160];
    FILE *journal;

    snprintf(path, sizeof(path), "%s/crashed", d->dir);
    journal = fopen(path, "r");
    ck_assert_ptr_nonnull(journal);
    return journal;
}

void assert_nobody_left(const struct daemon *d, size_t at_least)
{
    const struct timespec pause = {0, 5000000};
    size_t count = 0;
    FILE *journal = open_journal(d);
    int pid;

    while (fscanf(journal, "%d", &pid) == 1) {
        for (int waited_ms = 0; is_alive(pid) && waited_ms < 5000; waited_ms += 5) {
            nanosleep(&pause, NULL);
        }
        ck_assert_msg(!is_alive(pid), "process %d is left", pid);
        count++;
    }
    fclose(journal);
    ck_assert_uint_ge(count, at_least);
}

void await_descriptors(const struct daemon *d, size_t most)
{
    const struct timespec pause = {0, 5000000};

    for (int waited_ms = 0; daemon_count_descriptors(d) > most; waited_ms += 5) {
        ck_assert_msg(waited_ms < 10000, "%zu descriptors, %zu before", daemon_count_descriptors(d),
                      most);
        nanosleep(&pause, NULL);
    }
}

void assert_serves(struct daemon *d)
{
    struct hg_answer answer;
    struct hg_error error;

    reload(d);
    ck_assert_msg(daemon_read(d, "crash", "fine", HG_MODE_FRESH, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_slice_eq(answer.value, "fine");
    hg_answer_deinit(&answer);
}

static void wait_replaced(struct daemon *d, uint64_t started_count)
{
    const struct timespec pause = {0, 5000000};

    for (int waited_ms = 0; look(d).started_count == started_count; waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "the process that hangs is not replaced");
        nanosleep(&pause, NULL);
    }
}

pid_t await_process(struct daemon *d)
{
    pid_t pid;

    for (int waited_ms = 0; (pid = (pid_t)look(d).pid) == 0; waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "no process serves");
        hgi_thread_pause(5);
    }
    return pid;
}

void hang(struct daemon *d, const char *kind)
{
    uint64_t started_count = look(d).started_count;
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(daemon_read(d, "crash", kind, HG_MODE_FRESH, &answer, &error),
                     HG_DEADLINE_EXCEEDED);
    wait_replaced(d, started_count);
}

void assert_reads(struct daemon *d, const char *key)
{
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_msg(daemon_read(d, "crash", key, HG_MODE_FRESH, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_slice_eq(answer.value, key);
    hg_answer_deinit(&answer);
}

void await_deaths(struct daemon *d, uint64_t deaths)
{
    for (int waited_ms = 0; look(d).deaths < deaths; waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "the process is not given up");
        hgi_thread_pause(5);
    }
}

/* As /proc says it: 'D' is a sleep that no signal ends. */
static char state_of(pid_t pid, const char *thread)
{
    char line[256] = "";
    const char *end = NULL;
    char path[96];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
    file = fopen(path, "r");
    if (file) {
        end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
        fclose(file);
    }
    return end ? end[2] : '\0';
}

void await_reads(struct daemon *d, const char *key)
{
    struct hg_answer answer;
    struct hg_error error;

    for (int waited_ms = 0;
         daemon_read(d, "crash", key, HG_MODE_FRESH, &answer, &error) == HG_UNAVAILABLE;
         waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "%s", error.text);
        hgi_thread_pause(5);
    }
    assert_reads(d, key);
}

bool is_in_kernel(pid_t pid)
{
    char path[64];
    bool is_found = false;
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && !is_found && (entry = readdir(folder))) {
        is_found = state_of(pid, entry->d_name) == 'D';
    }
    if (folder) {
        closedir(folder);
    }
    return is_found;
}

void await_killed_in_kernel(pid_t pid)
{
    for (int waited_ms = 0; !is_in_kernel(pid); waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "process %d is not killed, or could be", (int)pid);
        hgi_thread_pause(5);
    }
}

void await_reaped(pid_t pid)
{
    for (int waited_ms = 0; kill(pid, 0) == 0; waited_ms += 5) {
        ck_assert_msg(waited_ms < REPLACED_MS, "process %d is not reaped", (int)pid);
        hgi_thread_pause(5);
    }
}
