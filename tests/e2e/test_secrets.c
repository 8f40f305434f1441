/* SPDX-License-Identifier: Apache-2.0 */
/* Where a secret may be found after it went through a real server (I30): its memory, its files, and
 * what it says to those who look in. Keys, users, tags, values and a token carry words that stand
 * nowhere else; each word is repeated, so that what is left of it behind an overwritten beginning
 * is found, too. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asker.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "crowd.h"
#include "daemon.h"
#include "http_client.h"
#include "herdgate/access.h"
#include "herdgate/inspect.h"
#include "herdgate/lease.h"

#define WAIT_MS 20000

#define KEY_WORD   "keyCanary-"
#define USER_WORD  "userCanary-"
#define TAG_WORD   "tagCanary-"
#define VALUE_WORD "valueCanary-"
#define FOUR(word) word word word word
#define KEY        FOUR(KEY_WORD)
#define USER       FOUR(USER_WORD)
#define TAG        FOUR(TAG_WORD)
#define VALUE      FOUR(VALUE_WORD)

#define SECRET "secret_keys = on ttl = \"1h\" jitter = 0 "

static const char sections[] =
    "log_level = \"debug\"\n"
    "core_dumps = on\n" /* or nobody but root may look into its memory */
    "key_file = \"@DIR@/key\"\n"
    "tokens_file = \"@DIR@/tokens\"\n"
    "listen \"ipc://@DIR@/run/token.sock\" { access = \"token\" }\n"
    "http \"unix://@DIR@/run/http.sock\" { services = \"operator\" }\n"
    "principal \"gateway\" { allow(\"*\", \"read, load, write, clear\") }\n"
    "cache \"users\" { key = \"user_api_key\" value = \"bytes\" loader = \"script\" " SECRET
    "mode = \"revalidate\" stale_ttl = \"2h\" error_backoff = \"10s\" }\n"
    "cache \"auth\" { key = \"auth\" value = \"auth\" loader = \"script\" " SECRET "}\n"
    "cache \"open\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" jitter = 0 }\n";

/* Beside the others, for one test. */
static const char names_loader[] =
    "loader \"names\" { plugin = \"" HGI_BUILD_DIR "/lib/herdgate/static.so\"\n"
    "    option(\"file\", \"@DIR@/names\") }\n"
    "cache \"names\" { key = \"bytes\" value = \"bytes\" loader = \"names\" " SECRET "}\n";

static const char plain_snapshot[] =
    "snapshot { path = \"@DIR@/db/cache.db\" interval = \"1h\" }\n";
static const char encrypted_snapshot[] =
    "snapshot { path = \"@DIR@/db/cache.db\" interval = \"1h\" encrypt = on }\n";

static struct daemon d;
static char token_url[128];
static char http_path[128];
static struct http_answer page;

/* Of the loader "names". */
static void write_names(void)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/names", d.dir);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("somebody\tvalue\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void start(const char *more)
{
    char all[4096];

    snprintf(all, sizeof(all), "%s%s", sections, more);
    /* Else what is called first is looked up then, and the registers that the linker saves for
     * that, with a piece of a key that was just copied in them, stay on the stack. The unit says so
     * too. */
    ck_assert_int_eq(setenv("LD_BIND_NOW", "1", 1), 0);
    daemon_prepare(&d, all);
    write_names();
    snprintf(token_url, sizeof(token_url), "ipc://%s/run/token.sock", d.dir);
    snprintf(http_path, sizeof(http_path), "%s/run/http.sock", d.dir);
    hgi_script_set(&d.script, "* value " VALUE "\n* tags " TAG "\n");
    daemon_start(&d);
}

/* ---- where a word stands ---- */

static size_t count_in(const char *bytes, size_t len, const char *word)
{
    size_t count = 0;
    const char *at = bytes;

    while ((at = memmem(at, len - (size_t)(at - bytes), word, strlen(word))) != NULL) {
        count++;
        at += strlen(word);
    }
    return count;
}

/* Sanitizers reserve more address space than can be read, and keep freed memory as it was. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_LOOK_INTO_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_LOOK_INTO_MEMORY false
#endif
#endif
#ifndef CAN_LOOK_INTO_MEMORY
#define CAN_LOOK_INTO_MEMORY true
#endif

/* Of one mapping. Says where the word stands, to be read when a test fails. */
static size_t count_in_mapping(int memory, uint64_t start, uint64_t end, const char *name,
                               const char *word)
{
    static char portion[(1 << 20) + 64];
    const size_t step = 1 << 20;
    size_t count = 0;

    for (uint64_t at = start; at < end; at += step) {
        size_t size = end - at < sizeof(portion) ? (size_t)(end - at) : sizeof(portion);
        ssize_t got = pread(memory, portion, size, (off_t)at);
        size_t found = got > 0 ? count_in(portion, (size_t)got, word) : 0;

        if (found) {
            fprintf(stderr, "# %zu x %s near %" PRIx64 " in %s", found, word, at, name);
        }
        count += found;
    }
    return count;
}

static size_t count_in_memory(pid_t pid, const char *word)
{
    char path[64];
    char line[512];
    size_t count = 0;
    size_t mappings = 0;
    FILE *maps;
    int memory;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(memory >= 0, "%s cannot be read", path);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps)) {
        uint64_t start;
        uint64_t end;
        char flags[8];

        ck_assert_int_eq(sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, flags), 3);
        if (flags[1] == 'w') {
            count += count_in_mapping(memory, start, end, line, word);
            mappings++;
        }
    }
    fclose(maps);
    close(memory);
    ck_assert_uint_gt(mappings, 3);
    return count;
}

static size_t count_in_file(const char *path, const char *word)
{
    struct stat status;
    size_t count;
    char *bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    ck_assert_msg(fd >= 0, "%s cannot be read", path);
    ck_assert_int_eq(fstat(fd, &status), 0);
    bytes = malloc((size_t)status.st_size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(read(fd, bytes, (size_t)status.st_size), status.st_size);
    count = count_in(bytes, (size_t)status.st_size, word);
    free(bytes);
    close(fd);
    if (count) {
        fprintf(stderr, "# %zu x %s in %s\n", count, word, path);
    }
    return count;
}

/* In every file of the folder and those in it: log, snapshot and what belongs to it, tokens. The
 * script of the loader, which is a test's own, lies elsewhere. */
static size_t count_in_folder(const char *folder, const char *word)
{
    DIR *open_folder = opendir(folder);
    size_t count = 0;
    struct dirent *entry;

    ck_assert_ptr_nonnull(open_folder);
    while ((entry = readdir(open_folder)) != NULL) {
        char path[512];
        struct stat status;

        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ck_assert_int_eq(lstat(path, &status), 0);
        if (S_ISDIR(status.st_mode)) {
            count += count_in_folder(path, word);
        } else if (S_ISREG(status.st_mode)) {
            count += count_in_file(path, word);
        }
    }
    closedir(open_folder);
    return count;
}

static void expect_keys_nowhere_in_files(void)
{
    static const char *const words[] = {KEY_WORD, USER_WORD, TAG_WORD};

    for (size_t i = 0; i < HGI_COUNT_OF(words); i++) {
        ck_assert_uint_eq(count_in_folder(d.dir, words[i]), 0);
    }
}

/* A thread may be at the end of what it did for the last request; who waits for it in vain has
 * found the word. */
static void expect_gone_from(pid_t pid, const char *word)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;

    if (!CAN_LOOK_INTO_MEMORY) {
        return;
    }
    while (count_in_memory(pid, word) > 0) {
        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "%s is still in memory", word);
        usleep(100000);
    }
}

static void expect_gone_from_memory(const char *word)
{
    expect_gone_from(d.pid, word);
}

/* ---- what is done with the secrets ---- */

static struct hg_key user_key(const char *api_key)
{
    return (struct hg_key){.kind = HG_KEY_USER_API_KEY,
                           .user_id = hg_slice_text(USER),
                           .api_key_id = hg_slice_text(api_key)};
}

static struct hg_key hash_key(void)
{
    return (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(KEY)};
}

/* The status; the answer is looked at by other tests. */
static enum hg_status read_key(const char *cache, struct hg_key key, enum hg_mode mode)
{
    const struct hg_read request = {.cache = cache, .key = key, .mode = mode};
    struct hg_answer answer;
    enum hg_status status = hg_client_get_or_load(d.client, &request, &answer, NULL);

    if (status == HG_OK) {
        hg_answer_deinit(&answer);
    }
    return status;
}

static enum hg_outcome outcome_of(const char *cache, struct hg_key key)
{
    const struct hg_read request = {.cache = cache, .key = key};
    enum hg_outcome outcome;
    struct hg_answer answer;

    ck_assert_int_eq(hg_client_get(d.client, &request, &answer, NULL), HG_OK);
    outcome = answer.outcome;
    hg_answer_deinit(&answer);
    return outcome;
}

static void put(const char *cache, struct hg_key key)
{
    const struct hg_slice tag = hg_slice_text(strcmp(cache, "open") == 0 ? "plain tag" : TAG);
    const struct hg_put request = {
        .cache = cache, .key = key, .value = hg_slice_text(VALUE), .tags = &tag, .tag_count = 1};
    struct hg_stored stored;
    struct hg_error error;

    ck_assert_msg(hg_client_put(d.client, &request, &stored, &error) == HG_OK, "%s", error.text);
}

static void invalidate(const struct hg_invalidate *request)
{
    struct hg_report report;
    struct hg_error error;

    ck_assert_msg(hg_client_invalidate(d.client, request, &report, &error) == HG_OK, "%s",
                  error.text);
    hg_report_deinit(&report);
}

static void load_and_read(void)
{
    const struct hg_key keys[] = {user_key(KEY), user_key("another"), user_key(KEY "3")};
    const struct hg_batch batch = {.cache = "users", .keys = keys, .key_count = 3};
    struct hg_answers answers;

    ck_assert_int_eq(outcome_of("users", user_key(KEY)), HG_NOT_CACHED);
    ck_assert_int_eq(read_key("users", user_key(KEY), HG_MODE_FRESH), HG_OK);
    ck_assert_int_eq(outcome_of("users", user_key(KEY)), HG_VALUE);
    ck_assert_int_eq(read_key("auth", hash_key(), HG_MODE_FRESH), HG_OK);
    ck_assert_int_eq(hg_client_batch_get_or_load(d.client, &batch, &answers, NULL), HG_OK);
    hg_answers_deinit(&answers);
    ck_assert_int_eq(read_key("users",
                              (struct hg_key){.kind = HG_KEY_BYTES, .bytes = hg_slice_text(KEY)},
                              HG_MODE_FRESH),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(read_key(KEY, user_key(KEY), HG_MODE_FRESH), HG_NOT_FOUND);
}

static void invalidate_by_all_means(void)
{
    const struct hg_key keys[] = {user_key(KEY), user_key("another")};
    const struct hg_slice tag = hg_slice_text(TAG);
    const struct hg_invalidate means[] = {
        {.cache = "users", .keys = keys, .key_count = 2},
        {.cache = "users", .tags = &tag, .tag_count = 1},
        {.cache = "users", .prefix = hg_slice_text(USER)},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(means); i++) {
        put("users", user_key(KEY));
        ck_assert_int_eq(outcome_of("users", user_key(KEY)), HG_VALUE);
        invalidate(&means[i]);
        ck_assert_int_eq(outcome_of("users", user_key(KEY)), HG_NOT_CACHED);
    }
    /* The one who asks for the stale value brings the key of the refresh behind it. */
    put("users", user_key(KEY));
    invalidate(&(const struct hg_invalidate){
        .cache = "users", .keys = keys, .key_count = 1, .soft = true});
    ck_assert_int_eq(read_key("users", user_key(KEY), HG_MODE_REVALIDATE), HG_OK);
    daemon_wait_metric(&d, "users", "refresh", 1);
    ck_assert_int_eq(read_key("users", user_key(KEY), HG_MODE_FRESH), HG_OK);
}

static void lead(void)
{
    const struct hg_read request = {
        .cache = "users", .key = user_key(KEY "lead"), .lead = true, .mode = HG_MODE_FRESH};
    const struct hg_slice tag = hg_slice_text(TAG);
    struct hg_fulfilled fulfilled;
    struct hg_answer answer;
    struct hg_fulfil fulfil = {.cache = "users",
                               .value = hg_slice_text(VALUE),
                               .keep_ms = 60000,
                               .tags = &tag,
                               .tag_count = 1};

    ck_assert_int_eq(hg_client_get_or_load(d.client, &request, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.source, HG_SOURCE_LEASED);
    fulfil.lease = answer.lease;
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_fulfil(d.client, &fulfil, &fulfilled, NULL), HG_OK);
    ck_assert_int_eq(outcome_of("users", request.key), HG_VALUE);
}

/* While a load runs the server has the key, and shows it to nobody. */
static void look_at_a_load(void)
{
    struct crowd crowd;
    const struct hg_read request = {
        .cache = "users", .key = user_key(KEY "gate"), .mode = HG_MODE_FRESH, .timeout_ms = 15000};
    const struct hg_explain explain = {.cache = "users", .key = request.key};
    struct hg_explanation said;

    hgi_script_set(&d.script, "* gate %/go\n* value " VALUE "\n* tags " TAG "\n");
    crowd_init(&crowd);
    crowd_read(&crowd, d.client, &request);
    hgi_script_await(&d.script, USER "/" KEY "gate", 1);
    if (CAN_LOOK_INTO_MEMORY) {
        ck_assert_uint_gt(count_in_memory(d.pid, KEY_WORD), 0);
    }
    ck_assert_int_eq(hg_client_explain(d.client, &explain, &said, NULL), HG_OK);
    ck_assert(said.has_flight);
    ck_assert_uint_eq(said.digest.len, 16);
    ck_assert(hgi_slice_equal(said.digest, said.flight.digest));
    ck_assert_uint_eq(count_in(said.sentence.data, said.sentence.len, KEY_WORD), 0);
    hg_explanation_deinit(&said);
    hgi_script_touch(&d.script, "go");
    crowd_wait(&crowd);
    crowd_deinit(&crowd);
    hgi_script_set(&d.script, "* value " VALUE "\n* tags " TAG "\n");
}

static void load_in_vain(void)
{
    hgi_script_set(&d.script, "* fail 14 the backend is away\n");
    ck_assert_int_eq(read_key("users", user_key(KEY "fails"), HG_MODE_FRESH), HG_UNAVAILABLE);
    ck_assert_int_eq(read_key("users", user_key(KEY "fails"), HG_MODE_FRESH), HG_UNAVAILABLE);
    hgi_script_set(&d.script, "* die\n");
    ck_assert_int_eq(read_key("users", user_key(KEY "dies"), HG_MODE_FRESH), HG_UNAVAILABLE);
    hgi_script_set(&d.script, "* absent\n");
    daemon_wait_loader_running(&d, 2);
    ck_assert_int_eq(read_key("users", user_key(KEY "absent"), HG_MODE_FRESH), HG_OK);
    ck_assert_int_eq(outcome_of("users", user_key(KEY "absent")), HG_ABSENT);
    hgi_script_set(&d.script, "* value " VALUE "\n* tags " TAG "\n");
}

static void ask_over_http(void)
{
    http_post(http_path, "/v1/load", "",
              "{\"cache\":\"users\",\"key\":{\"user_id\":\"" USER "\",\"api_key_id\":\"" KEY
              "http\"}}",
              &page);
    ck_assert_int_eq(page.status, 200);
    ck_assert_uint_eq(count_in(page.body, page.body_len, KEY_WORD), 0);
}

/* Events name no key of such caches, to those who may know them either; of others they do. */
static void watch(void)
{
    struct hg_watch request = {.timeout_ms = 1000};
    const struct hg_key keys[] = {user_key(KEY), user_key("another")};
    struct hg_events events;

    ck_assert_int_eq(hg_client_watch(d.client, &request, &events, NULL), HG_OK);
    request.after = events.last;
    request.epoch = events.epoch;
    hg_events_deinit(&events);
    put("users", user_key(KEY));
    invalidate(&(const struct hg_invalidate){.cache = "users", .keys = keys, .key_count = 2});
    put("open", daemon_key("not secret"));
    ck_assert_int_eq(hg_client_watch(d.client, &request, &events, NULL), HG_OK);
    ck_assert_uint_eq(events.count, 3);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_slice_eq(events.events[i].name, "users");
        ck_assert_int_eq(events.events[i].key.kind, 0);
    }
    ck_assert_int_eq(events.events[0].kind, HG_EVENT_PUT);
    ck_assert_int_eq(events.events[1].kind, HG_EVENT_INVALIDATE);
    ck_assert_slice_eq(events.events[2].key.bytes, "not secret");
    hg_events_deinit(&events);
}

/* What everybody who looks in is shown. */
static void expect_nothing_said(void)
{
    static const char *const verbs[][3] = {
        {"stats", NULL},   {"caches", NULL}, {"loaders", NULL},
        {"flights", NULL}, {"health", NULL}, {"token", "list", NULL},
    };
    static const char *const pages[] = {"/metrics", "/readyz?verbose", "/v1/status"};
    static char output[1 << 16];

    for (size_t i = 0; i < HGI_COUNT_OF(pages); i++) {
        http_get(http_path, pages[i], "", &page);
        ck_assert_int_eq(page.status, 200);
        ck_assert_uint_gt(page.body_len, 1);
        ck_assert_uint_eq(count_in(page.body, page.body_len, "Canary"), 0);
    }
    for (size_t i = 0; i < HGI_COUNT_OF(verbs); i++) {
        const char *const argv[] = {HGI_BUILD_DIR "/bin/herdgate",
                                    "-e",
                                    d.ipc_url,
                                    "-o",
                                    "json",
                                    verbs[i][0],
                                    verbs[i][1],
                                    NULL};
        int code = daemon_run(argv, output, sizeof(output));

        ck_assert_msg(code == 0, "%s: %s", verbs[i][0], output);
        ck_assert_msg(!strstr(output, "Canary"), "%s: %s", verbs[i][0], output);
        ck_assert_uint_gt(strlen(output), 1);
    }
}

static void go_through_all(void)
{
    load_and_read();
    invalidate_by_all_means();
    lead();
    look_at_a_load();
    load_in_vain();
    watch();
    expect_nothing_said();
}

static void clear_all(void)
{
    struct hg_reports reports;

    ck_assert_int_eq(
        hg_client_clear(d.client, &(const struct hg_clear){.all = true}, &reports, NULL), HG_OK);
    hg_reports_deinit(&reports);
}

static void save(void)
{
    struct hg_saved saved;

    ck_assert_int_eq(hg_client_save_snapshot(d.client, NULL, &saved, NULL), HG_OK);
}

/* ---- the tests ---- */

START_TEST(what_a_key_was_is_not_in_memory_when_nobody_asks_and_no_load_runs)
{
    start(encrypted_snapshot);
    go_through_all();
    save();
    expect_gone_from_memory(KEY_WORD);
    expect_gone_from_memory(USER_WORD);
    expect_gone_from_memory(TAG_WORD);
    /* Values are what a cache is for: here one sees that looking finds what is there. */
    if (CAN_LOOK_INTO_MEMORY) {
        ck_assert_uint_gt(count_in_memory(d.pid, VALUE_WORD), 0);
    }
    clear_all();
    expect_gone_from_memory(VALUE_WORD);
    daemon_stop(&d);
    expect_keys_nowhere_in_files();
    ck_assert_uint_eq(count_in_folder(d.dir, VALUE_WORD), 0);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_key_that_came_over_http_is_not_in_memory_either)
{
    start(encrypted_snapshot);
    ask_over_http();
    expect_gone_from_memory(KEY_WORD);
    expect_gone_from_memory(USER_WORD);
    daemon_stop(&d);
    expect_keys_nowhere_in_files();
    daemon_remove(&d);
}
END_TEST

/* What a shipped loader is told of: its process's memory is its own, and as clean. */
START_TEST(a_loader_that_has_looked_a_key_up_forgets_it)
{
    struct hg_loaders loaders;

    start(names_loader);
    ck_assert_int_eq(read_key("names", daemon_key(KEY), HG_MODE_FRESH), HG_OK);
    ck_assert_int_eq(outcome_of("names", daemon_key(KEY)), HG_ABSENT);
    ck_assert_int_eq(hg_client_list_loaders(d.client, NULL, &loaders, NULL), HG_OK);
    for (size_t i = 0; i < loaders.count; i++) {
        if (hgi_slice_equal(loaders.loaders[i].name, hg_slice_text("names"))) {
            expect_gone_from((pid_t)loaders.loaders[i].pid, KEY_WORD);
        }
    }
    ck_assert_uint_eq(loaders.count, 2);
    hg_loaders_deinit(&loaders);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_crash_leaves_no_key_in_any_file_and_what_was_saved_is_found_again)
{
    static const char *const snapshots[] = {plain_snapshot, encrypted_snapshot};

    for (size_t i = 0; i < HGI_COUNT_OF(snapshots); i++) {
        start(snapshots[i]);
        go_through_all();
        put("users", user_key(KEY));
        save();
        daemon_kill(&d);
        expect_keys_nowhere_in_files();
        if (snapshots[i] == encrypted_snapshot) {
            ck_assert_uint_eq(count_in_folder(d.dir, VALUE_WORD), 0);
        } else {
            ck_assert_uint_gt(count_in_folder(d.dir, VALUE_WORD), 0);
        }
        daemon_start(&d);
        ck_assert_int_eq(outcome_of("users", user_key(KEY)), HG_VALUE);
        daemon_stop(&d);
        expect_keys_nowhere_in_files();
        daemon_remove(&d);
    }
}
END_TEST

START_TEST(a_token_is_nowhere_once_it_was_told)
{
    const struct hg_new_token request = {.principal = "gateway"};
    struct hg_issued issued;
    struct hg_bytes payload;
    struct asker asker;
    char token[64];
    const char *secret = token + 12; /* behind hg_, the id and what stands between */

    start(encrypted_snapshot);
    ck_assert_int_eq(hg_client_new_token(d.client, &request, &issued, NULL), HG_OK);
    snprintf(token, sizeof(token), "%.*s", (int)issued.token.len, (const char *)issued.token.data);
    hg_issued_deinit(&issued);
    ck_assert_uint_gt(strlen(token), 40);
    hgi_bytes_init(&payload, &hgi_heap);
    asker_payload(HGI_METHOD_GET_OR_LOAD, "open", false, &payload);
    asker_open(&asker, token_url, token);
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_GET_OR_LOAD, hgi_bytes_slice(&payload)),
                     HG_FAILED_PRECONDITION); /* no loader: he was let in */
    token[20] = token[20] == 'a' ? 'b' : 'a';
    asker_show(&asker, token);
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_GET_OR_LOAD, hgi_bytes_slice(&payload)),
                     HG_UNAUTHENTICATED);
    expect_nothing_said();
    /* The end of it, which both have: the first bytes of what is freed are overwritten anyway. */
    expect_gone_from_memory(token + 21);
    ck_assert_uint_eq(count_in_folder(d.dir, token + 21), 0);
    ck_assert_uint_eq(count_in_folder(d.dir, secret), 0);
    asker_close(&asker);
    hgi_bytes_deinit(&payload);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.secrets", 240, what_a_key_was_is_not_in_memory_when_nobody_asks_and_no_load_runs,
          a_key_that_came_over_http_is_not_in_memory_either,
          a_loader_that_has_looked_a_key_up_forgets_it,
          a_crash_leaves_no_key_in_any_file_and_what_was_saved_is_found_again,
          a_token_is_nowhere_once_it_was_told)
