/* SPDX-License-Identifier: Apache-2.0 */
/* notebook: a supervisor with real children and the scripted loader; the engine is a notebook that
 * writes down what it is told of each load (it stands in for server/cache at link time).
 * Owns:     the script's folder and the supervisor, from start to finish.
 * Threads:  the test's; the engine's side is called from loader-io.
 * Limits:   load ids below LOADS_MAX; 15 s for whatever is waited for.
 * Errors:   anything unexpected fails the test.
 * Not here: the real engine (test_loading). */
#ifndef HGI_TESTS_SERVER_NOTEBOOK_H
#define HGI_TESTS_SERVER_NOTEBOOK_H

#include "hg_test.h"

#include <pthread.h>

#include "hg_script.h"
#include "server/loader/supervisor.h"

#define ASYNC_PLUGIN HGI_BUILD_DIR "/tests/loaders/plugins/async.so"
#define LOADS_MAX    256u
#define TEXT_MAX     512u

struct note {
    unsigned sent;
    unsigned done;
    unsigned lost;
    enum hg_status status;
    enum hg_outcome outcome;
    bool is_unchanged;
    char value[TEXT_MAX];
    char message[TEXT_MAX];
    uint32_t retry_after_ms;
};

struct hgi_cache {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct note notes[LOADS_MAX];
};

struct reloaded {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned count;
    enum hg_status status;
    char sentence[TEXT_MAX];
    struct hgi_loader_state state;
};

extern struct hgi_script script;
extern struct hgi_cache cache;
extern struct hg_loader_setting settings[2];
extern struct hgi_loader_config configs[2]; /* "keys" and "others" */
extern struct hgi_supervisor_options options;
extern struct hgi_supervisor *supervisor;
extern struct hgi_executor executor; /* of "keys", for bytes */
extern char sentence[HGI_SUPERVISOR_SENTENCE_MAX];

/* prepare, then begin: what lies between may change the options. */
void prepare(uint32_t workers, uint32_t loads_max, const char *control);
void begin(void);
void start(uint32_t workers, uint32_t loads_max, const char *control);
/* Stops; every load from 1 to last_id has ended once, in one way. */
void finish(uint64_t last_id);
void assert_each_ended_once(uint64_t last_id);
/* What finish does after the stop. */
void clean(void);

void load_with(const struct hgi_executor *through, uint64_t id, const char *key,
               int64_t timeout_ms);
void load(uint64_t id, const char *key);
/* A load that is told in the log if it takes so long; traceparent: NULL for none. */
void load_slow(uint64_t id, const char *key, int64_t slow_ms, const char *traceparent);
/* With something to confirm. */
void load_old(uint64_t id, const char *key, struct hg_slice old_value, const char *etag);
void cancel(uint64_t id);

bool is_sent(const struct note *note);
bool is_ended(const struct note *note);
const struct note *await(uint64_t id, bool (*is_so)(const struct note *note));
void assert_value(uint64_t id, const char *value);
void assert_lost(uint64_t id);
void assert_failed(uint64_t id, enum hg_status status, const char *wanted);

struct hgi_loader_state state_now(void);
/* The state is a copy that follows events, so it is waited for. */
struct hgi_loader_state await_state(const char *wanted, int64_t not_pid);
void reload_begin(const char *name, struct reloaded *ret_reloaded);
void reload_await(struct reloaded *reloaded);
void reload(const char *name, struct reloaded *ret_reloaded);
void assert_not_started(const char *wanted);

#endif
