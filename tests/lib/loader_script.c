/* SPDX-License-Identifier: Apache-2.0 */
/* loader_script: the loader whose every move a test writes into a file. Never installed.
 *
 * Options:
 *   control FILE   what to do; read again at each load, so a test may change it at any time
 *   journal FILE   optional; each load appends one line when it begins: "KEY ATTEMPT PID"
 *
 * Built with SCRIPT_BATCH_MAX it takes that many loads in a call, appends "@batch COUNT PID" to the
 * journal for each such call, and answers the last of them first. With SCRIPT_CAPS = 0 it is given
 * no old values.
 *
 * The control file has one directive a line, "KEY DIRECTIVE [ARGUMENT]"; KEY "*" is every key. All
 * lines of a key are obeyed from top to bottom; of several outcomes the last one holds. A line that
 * begins with '#' is skipped, no file is an empty file. KEY is written as
 *   bytes and key_hash keys   the bytes
 *   user_api_key              USER/API_KEY
 *   api_key_feature           USER/API_KEY/0 or /1
 *
 * First, in their order:
 *   delay MS          sleeps
 *   gate FILE         waits until FILE exists; a cancelled load ends CANCELLED
 *   ttl MS  stale_ttl MS  expires UNIX_MS  no_store   for the answer
 *   tags A,B,...      for the answer
 *   etag TEXT         for the answer
 *   sizeless          the answer's lifetime does not say its size
 *   log TEXT          says TEXT at level info
 *   invalidate WHAT [NAME [CACHE]]
 *                     WHAT is all, key, tag or user; "-" is no NAME; a wrong one fails
 *   flood COUNT       invalidates the key "flood" so many times
 * Outcomes (none: the value is the key itself):
 *   value TEXT        bytes TEXT, JSON TEXT, or an auth value that is allowed and has user_id TEXT
 *   version ETAG TEXT value TEXT with ETAG; unchanged if that is the old value's etag
 *   unchanged         whatever the old value is, if there is one
 *   old               the value is what it was told of the old one: VALUE|ETAG, or "nothing"
 *   trace             the value is the traceparent it was told, or "none"
 *   absent
 *   denied            in an auth cache through done_auth with allowed = false
 *   fail STATUS TEXT  STATUS is a number of status.def
 *   hang              never returns and does not look whether it is cancelled
 *   die               abort()
 *   die_once TEXT     abort() on the first attempt, value TEXT on the second
 *   exit              _exit(0)
 *   double            completes twice
 *   silent            returns without an answer
 *   wrong             done_auth in a bytes or json cache, done_bytes in an auth cache
 *   garbage           writes nonsense to the server's socket, then hangs
 *
 * The key "@open" is for open: fail TEXT, hang, die, invalidate. "@health" is for health: fail
 * STATUS TEXT, hang, delay, gate; each question appends "@health 0 PID" to the journal. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "herdgate/loader.h"

#define KEY_TEXT_MAX (HG_KEY_MAX + 8)
#define LINE_MAX_LEN 4096
#define SERVER_FD    3
#ifndef SCRIPT_BATCH_MAX
#define SCRIPT_BATCH_MAX 0
#endif
#ifndef SCRIPT_CAPS
#define SCRIPT_CAPS HG_LOADER_REVALIDATE
#endif
#define TAGS_MAX 32

enum outcome {
    OUTCOME_VALUE,
    OUTCOME_VERSION,
    OUTCOME_UNCHANGED,
    OUTCOME_OLD,
    OUTCOME_TRACE,
    OUTCOME_ABSENT,
    OUTCOME_DENIED,
    OUTCOME_FAIL,
    OUTCOME_HANG,
    OUTCOME_DIE,
    OUTCOME_DIE_ONCE,
    OUTCOME_EXIT,
    OUTCOME_DOUBLE,
    OUTCOME_SILENT,
    OUTCOME_WRONG,
    OUTCOME_GARBAGE,
};

static const char *const outcome_words[] = {
    [OUTCOME_VALUE] = "value",         [OUTCOME_VERSION] = "version",
    [OUTCOME_UNCHANGED] = "unchanged", [OUTCOME_OLD] = "old",
    [OUTCOME_TRACE] = "trace",         [OUTCOME_ABSENT] = "absent",
    [OUTCOME_DENIED] = "denied",       [OUTCOME_FAIL] = "fail",
    [OUTCOME_HANG] = "hang",           [OUTCOME_DIE] = "die",
    [OUTCOME_DIE_ONCE] = "die_once",   [OUTCOME_EXIT] = "exit",
    [OUTCOME_DOUBLE] = "double",       [OUTCOME_SILENT] = "silent",
    [OUTCOME_WRONG] = "wrong",         [OUTCOME_GARBAGE] = "garbage",
};

struct self {
    struct hg_host *host;
    const struct hg_host_services *services;
    char *control;
    char *journal;
};

struct plan {
    enum outcome outcome;
    char argument[LINE_MAX_LEN];
    struct hg_lifetime lifetime;
    char tag_text[LINE_MAX_LEN];
    struct hg_slice tags[TAGS_MAX];
    char etag[LINE_MAX_LEN];
    bool is_cancelled;
};

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

_Noreturn static void hang(void)
{
    for (;;) {
        pause();
    }
}

static void set_tags(struct plan *plan, const char *text)
{
    char *at = plan->tag_text;

    snprintf(plan->tag_text, sizeof(plan->tag_text), "%s", text);
    plan->lifetime.tags = plan->tags;
    plan->lifetime.tag_count = 0;
    while (at && plan->lifetime.tag_count < TAGS_MAX) {
        char *word = strsep(&at, ",");

        plan->tags[plan->lifetime.tag_count++] = hg_slice_text(word);
    }
}

static void set_etag(struct plan *plan, const char *text, size_t len)
{
    memcpy(plan->etag, text, len);
    plan->lifetime.etag = hg_slice_of(plan->etag, len);
}

/* Words of "tag red other", cut in place. NAME is a bytes key, or USER/API_KEY. */
static enum hg_status invalidate(const struct self *self, char *argument)
{
    static const char *const words[] = {
        [HG_INVALIDATED_ALL] = "all",
        [HG_INVALIDATED_KEY] = "key",
        [HG_INVALIDATED_TAG] = "tag",
        [HG_INVALIDATED_USER] = "user",
    };
    const char *what = strsep(&argument, " ");
    char *name = argument ? strsep(&argument, " ") : NULL;
    char *slash = name ? strchr(name, '/') : NULL;
    struct hg_invalidation invalidation = {.size = sizeof(invalidation)};

    for (int i = HG_INVALIDATED_ALL; i <= HG_INVALIDATED_USER; i++) {
        if (strcmp(what, words[i]) == 0) {
            invalidation.what = (enum hg_invalidated)i;
        }
    }
    if (slash) {
        *slash = '\0';
        invalidation.key.kind = HG_KEY_USER_API_KEY;
        invalidation.key.user_id = hg_slice_text(name);
        invalidation.key.api_key_id = hg_slice_text(slash + 1);
    } else if (name && strcmp(name, "-") != 0) {
        invalidation.key.kind = HG_KEY_BYTES;
        invalidation.key.bytes = invalidation.name = hg_slice_text(name);
    }
    invalidation.cache = hg_slice_text(argument);
    return self->services->invalidate(self->host, &invalidation);
}

/* `load` is NULL in open. */
static void obey(struct self *self, struct hg_load *load, char *word, struct plan *plan)
{
    char *argument = word + strcspn(word, " ");

    if (*argument) {
        *argument++ = '\0';
    }
    if (strcmp(word, "delay") == 0) {
        sleep_ms(atol(argument));
    } else if (strcmp(word, "gate") == 0) {
        while (access(argument, F_OK) != 0 && !plan->is_cancelled) {
            sleep_ms(1);
            plan->is_cancelled = load && self->services->is_cancelled(load);
        }
    } else if (strcmp(word, "ttl") == 0) {
        plan->lifetime.ttl_ms = atoll(argument);
    } else if (strcmp(word, "stale_ttl") == 0) {
        plan->lifetime.stale_ttl_ms = atoll(argument);
    } else if (strcmp(word, "expires") == 0) {
        plan->lifetime.expires_at_ms = atoll(argument);
    } else if (strcmp(word, "tags") == 0) {
        set_tags(plan, argument);
    } else if (strcmp(word, "etag") == 0) {
        set_etag(plan, argument, strlen(argument));
    } else if (strcmp(word, "no_store") == 0) {
        plan->lifetime.no_store = true;
    } else if (strcmp(word, "sizeless") == 0) {
        plan->lifetime.size = 0;
    } else if (strcmp(word, "log") == 0) {
        self->services->log(self->host, HG_LOG_INFO, argument);
    } else if (strcmp(word, "invalidate") == 0) {
        if (invalidate(self, argument) != HG_OK) {
            plan->outcome = OUTCOME_FAIL;
            snprintf(plan->argument, sizeof(plan->argument), "3 the host does not invalidate that");
        }
    } else if (strcmp(word, "flood") == 0) {
        for (long left = atol(argument); left > 0; left--) {
            char one[] = "key flood";

            (void)invalidate(self, one);
        }
    } else {
        for (size_t i = 0; i < sizeof(outcome_words) / sizeof(outcome_words[0]); i++) {
            if (strcmp(word, outcome_words[i]) == 0) {
                plan->outcome = (enum outcome)i;
                snprintf(plan->argument, sizeof(plan->argument), "%s", argument);
                return;
            }
        }
        plan->outcome = OUTCOME_FAIL;
        snprintf(plan->argument, sizeof(plan->argument), "13 the control file says \"%.60s\"",
                 word);
    }
}

/* Before a load is noted: who waits for that may replace the file as soon as it is, and this load
 * is still of the one before. */
static FILE *open_control(const struct self *self)
{
    return fopen(self->control, "re");
}

/* Closes the file; NULL: there is none. */
static void read_control(struct self *self, FILE *file, struct hg_load *load, const char *key,
                         struct plan *plan)
{
    char line[LINE_MAX_LEN];

    while (file && fgets(line, sizeof(line), file)) {
        char *word = strchr(line, ' ');

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || !word) {
            continue;
        }
        *word++ = '\0';
        if (strcmp(line, key) == 0 || (load && strcmp(line, "*") == 0)) {
            obey(self, load, word, plan);
        }
    }
    if (file) {
        fclose(file);
    }
}

static void key_text(const struct hg_key *key, char *text)
{
    int user = (int)key->user_id.len;
    int api = (int)key->api_key_id.len;

    switch (key->kind) {
    case HG_KEY_BYTES:
    case HG_KEY_KEY_HASH:
        snprintf(text, KEY_TEXT_MAX, "%.*s", (int)key->bytes.len, (const char *)key->bytes.data);
        break;
    case HG_KEY_USER_API_KEY:
        snprintf(text, KEY_TEXT_MAX, "%.*s/%.*s", user, (const char *)key->user_id.data, api,
                 (const char *)key->api_key_id.data);
        break;
    case HG_KEY_API_KEY_FEATURE:
        snprintf(text, KEY_TEXT_MAX, "%.*s/%.*s/%d", user, (const char *)key->user_id.data, api,
                 (const char *)key->api_key_id.data, key->is_standalone);
        break;
    }
}

static void note(const struct self *self, const char *key, uint32_t attempt)
{
    char line[KEY_TEXT_MAX + 64];
    int fd;

    if (!self->journal) {
        return;
    }
    fd = open(self->journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    snprintf(line, sizeof(line), "%s %u %d\n", key, attempt, (int)getpid());
    if (fd < 0 || write(fd, line, strlen(line)) < 0) {
        abort();
    }
    close(fd);
}

static void give_auth(const struct self *self, struct hg_load *load, const char *user,
                      bool is_allowed, const struct hg_lifetime *lifetime)
{
    struct hg_auth auth = {.user_id = hg_slice_text(user), .allowed = is_allowed};

    self->services->done_auth(load, &auth, lifetime);
}

static void give_value(const struct self *self, struct hg_load *load, enum hg_value_type type,
                       const char *text, const struct hg_lifetime *lifetime)
{
    switch (type) {
    case HG_TYPE_BYTES:
        self->services->done_bytes(load, hg_slice_text(text), lifetime);
        break;
    case HG_TYPE_JSON:
        self->services->done_json(load, hg_slice_text(text), lifetime);
        break;
    case HG_TYPE_AUTH:
        give_auth(self, load, text, true, lifetime);
        break;
    }
}

static void give_version(const struct self *self, struct hg_load *load,
                         const struct hg_load_request *request, struct plan *plan)
{
    size_t etag_len = strcspn(plan->argument, " ");
    const char *text = plan->argument + etag_len + strspn(plan->argument + etag_len, " ");

    if (request->has_old_value && request->etag.len == etag_len &&
        memcmp(request->etag.data, plan->argument, etag_len) == 0) {
        self->services->done_unchanged(load, &plan->lifetime);
        return;
    }
    set_etag(plan, plan->argument, etag_len);
    give_value(self, load, request->value_type, text, &plan->lifetime);
}

static void give_old(const struct self *self, struct hg_load *load,
                     const struct hg_load_request *request, const struct plan *plan)
{
    char text[LINE_MAX_LEN] = "nothing";

    if (request->has_old_value) {
        snprintf(text, sizeof(text), "%.*s|%.*s", (int)request->old_value.len,
                 (const char *)request->old_value.data, (int)request->etag.len,
                 (const char *)request->etag.data);
    }
    give_value(self, load, request->value_type, text, &plan->lifetime);
}

static void give_trace(const struct self *self, struct hg_load *load,
                       const struct hg_load_request *request, const struct plan *plan)
{
    char text[LINE_MAX_LEN] = "none";

    if (request->traceparent.len) {
        snprintf(text, sizeof(text), "%.*s", (int)request->traceparent.len,
                 (const char *)request->traceparent.data);
    }
    give_value(self, load, request->value_type, text, &plan->lifetime);
}

static void answer(const struct self *self, struct hg_load *load,
                   const struct hg_load_request *request, const char *key, struct plan *plan)
{
    enum hg_value_type type = request->value_type;
    const char *text = plan->argument[0] ? plan->argument : key;
    const char *words;

    switch (plan->outcome) {
    case OUTCOME_DOUBLE:
        give_value(self, load, type, text, &plan->lifetime);
        give_value(self, load, type, text, &plan->lifetime);
        break;
    case OUTCOME_VALUE:
        give_value(self, load, type, text, &plan->lifetime);
        break;
    case OUTCOME_VERSION:
        give_version(self, load, request, plan);
        break;
    case OUTCOME_UNCHANGED:
        self->services->done_unchanged(load, &plan->lifetime);
        break;
    case OUTCOME_OLD:
        give_old(self, load, request, plan);
        break;
    case OUTCOME_TRACE:
        give_trace(self, load, request, plan);
        break;
    case OUTCOME_ABSENT:
        self->services->done_absent(load, &plan->lifetime);
        break;
    case OUTCOME_DENIED:
        if (type == HG_TYPE_AUTH) {
            give_auth(self, load, text, false, &plan->lifetime);
        } else {
            self->services->done_denied(load, &plan->lifetime);
        }
        break;
    case OUTCOME_FAIL:
        words = strchr(plan->argument, ' ');
        self->services->done_error(load, (enum hg_status)atoi(plan->argument),
                                   words ? words + 1 : NULL);
        break;
    case OUTCOME_WRONG:
        if (type == HG_TYPE_AUTH) {
            self->services->done_bytes(load, hg_slice_text(text), NULL);
        } else {
            give_auth(self, load, text, true, NULL);
        }
        break;
    case OUTCOME_GARBAGE:
        if (write(SERVER_FD, "\xde\xad\xbe\xef nonsense", 13) < 0) {
            abort();
        }
        hang();
    case OUTCOME_HANG:
        hang();
    case OUTCOME_DIE:
    case OUTCOME_DIE_ONCE:
        abort();
    case OUTCOME_EXIT:
        _exit(0);
    case OUTCOME_SILENT:
        break;
    }
}

static void script_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    struct self *self = context;
    struct plan plan;
    char key[KEY_TEXT_MAX];
    FILE *control = open_control(self);

    memset(&plan, 0, sizeof(plan));
    plan.lifetime.size = sizeof(plan.lifetime);
    key_text(&request->key, key);
    note(self, key, request->attempt);
    read_control(self, control, load, key, &plan);
    if (plan.is_cancelled) {
        self->services->done_error(load, HG_CANCELLED, "cancelled");
        return;
    }
    if (plan.outcome == OUTCOME_DIE_ONCE) {
        plan.outcome = request->attempt == 1 ? OUTCOME_DIE : OUTCOME_VALUE;
    }
    answer(self, load, request, key, &plan);
}

static void script_load_batch(void *context, struct hg_load *const *loads,
                              const struct hg_load_request *const *requests, size_t count)
{
    note(context, "@batch", (uint32_t)count);
    while (count > 0) {
        count--;
        script_load(context, loads[count], requests[count]);
    }
}

static enum hg_status script_health(void *context, char *text, size_t text_size)
{
    struct self *self = context;
    struct plan plan;
    const char *words;
    FILE *control = open_control(self);

    memset(&plan, 0, sizeof(plan));
    note(self, "@health", 0);
    read_control(self, control, NULL, "@health", &plan);
    if (plan.outcome == OUTCOME_HANG) {
        hang();
    }
    if (plan.outcome != OUTCOME_FAIL) {
        return HG_OK;
    }
    words = strchr(plan.argument, ' ');
    snprintf(text, text_size, "%s", words ? words + 1 : "");
    return (enum hg_status)atoi(plan.argument);
}

static void script_close(void *context)
{
    struct self *self = context;

    free(self->control);
    free(self->journal);
    free(self);
}

static enum hg_status script_open(struct hg_host *host, const struct hg_host_services *services,
                                  const struct hg_loader_setting *settings, size_t setting_count,
                                  void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));
    struct plan plan;

    if (!self) {
        return HG_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (strcmp(settings[i].name, "control") == 0) {
            self->control = strdup(settings[i].value);
        } else {
            self->journal = strdup(settings[i].value);
        }
    }
    self->host = host;
    self->services = services;
    memset(&plan, 0, sizeof(plan));
    read_control(self, open_control(self), NULL, "@open", &plan);
    switch (plan.outcome) {
    case OUTCOME_HANG:
        hang();
    case OUTCOME_DIE:
        abort();
    case OUTCOME_FAIL:
        snprintf(error, error_size, "%s", plan.argument);
        script_close(self);
        return HG_FAILED_PRECONDITION;
    default:
        break;
    }
    *ret_self = self;
    return HG_OK;
}

static const struct hg_loader_option options[] = {
    {.name = "control", .help = "file of directives", .required = true},
    {.name = "journal", .help = "file of loads begun"},
    {.name = NULL},
};

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .caps = SCRIPT_CAPS,
    .name = "script",
    .version = "1",
    .options = options,
    .open = script_open,
    .load = script_load,
    .health = script_health,
    .max_batch = SCRIPT_BATCH_MAX,
    .load_batch = script_load_batch,
    .close = script_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
