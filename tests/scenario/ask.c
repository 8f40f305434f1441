/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#define ANSWER_MS 20000
#define TAGS_MAX  (HG_TAGS_MAX + 1) /* one more than a value may have */

/* What the words behind the verb come to. */
struct terms {
    const char *cache;
    struct hg_key keys[KEYS_MAX];
    size_t key_count;
    char text[KEYS_MAX][LINE_MAX_BYTES];
    struct hg_read read; /* mode, max_age, min_generation, lead, timeout */
    struct hg_put put;   /* outcome, value, lifetime, if_generation, op_id */
    unsigned char op_id[HG_OP_ID_LEN];
    struct hg_token token;
    struct hg_packed packed;
    enum hg_status status; /* of a fulfilment that fails */
    uint64_t keep_ms;
    char tag_text[LINE_MAX_BYTES];
    struct hg_slice tags[TAGS_MAX];
    size_t tag_count;
    struct hg_slice prefix;
    bool is_soft;
};

static void record(struct ask *ask, const struct hg_error *error)
{
    ask->status = error->status;
    if (ask->part_count == 0) {
        part_error(&ask->parts[ask->part_count++], error);
    }
    ask->is_answered = true;
    hgi_cond_wake_all(&ask->run->changed);
}

static void bring(struct ask *ask, const struct hg_answer *answer)
{
    struct part *part = &ask->parts[ask->part_count++];

    part_answer(part, answer);
    ask->brought.token.generation = answer->generation;
    ask->brought.lease = answer->lease;
}

static void loaded(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct ask *ask = arg;

    hgi_lock_conn(&ask->run->lock);
    if (answer) {
        bring(ask, answer);
    }
    record(ask, error);
    hgi_unlock_conn(&ask->run->lock);
}

static void batch_loaded(void *arg, const struct hg_error *error, const struct hg_answers *answers)
{
    struct ask *ask = arg;

    hgi_lock_conn(&ask->run->lock);
    for (size_t i = 0; answers && i < answers->count && i < PARTS_MAX; i++) {
        bring(ask, &answers->answers[i]);
    }
    record(ask, error);
    hgi_unlock_conn(&ask->run->lock);
}

/* "k", "key_hash:h", "user_api_key:u/k", "api_key_feature:u/k/1". */
static struct hg_key key_of(struct run *run, const char *word, char *text)
{
    struct hg_key key = {.kind = HG_KEY_BYTES};
    char *slash;

    words_unquote(word, text, LINE_MAX_BYTES);
    if (strncmp(text, "key_hash:", 9) == 0) {
        key.kind = HG_KEY_KEY_HASH;
        key.bytes = hg_slice_text(text + 9);
        return key;
    }
    if (strncmp(text, "user_api_key:", 13) != 0 && strncmp(text, "api_key_feature:", 16) != 0) {
        key.bytes = hg_slice_text(text);
        return key;
    }
    key.kind = text[0] == 'u' ? HG_KEY_USER_API_KEY : HG_KEY_API_KEY_FEATURE;
    text = strchr(text, ':') + 1;
    slash = strchr(text, '/');
    if (!slash) {
        scenario_fail(run, "\"%s\" is not USER/API_KEY", text);
    }
    key.user_id = hg_slice_of(text, (size_t)(slash - text));
    text = slash + 1;
    slash = key.kind == HG_KEY_API_KEY_FEATURE ? strchr(text, '/') : NULL;
    key.api_key_id = slash ? hg_slice_of(text, (size_t)(slash - text)) : hg_slice_text(text);
    key.is_standalone = slash && strcmp(slash, "/1") == 0;
    return key;
}

static enum hg_mode mode_of(struct run *run, const char *word)
{
    static const char *const words[] = {"", "fresh", "allow_stale", "revalidate", "peek"};

    for (size_t i = 1; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i]) == 0) {
            return (enum hg_mode)i;
        }
    }
    scenario_fail(run, "\"%s\" is not a mode: fresh, allow_stale, revalidate or peek", word);
}

static uint64_t number_of(struct run *run, const char *word)
{
    uint64_t number;

    return words_number(word, &number) ? number : words_saved(run, word)->token.generation;
}

static bool take_read(struct run *run, struct terms *terms, const char *word)
{
    const char *right;

    if ((right = words_option(word, "mode"))) {
        terms->read.mode = mode_of(run, right);
    } else if ((right = words_option(word, "max_age"))) {
        terms->read.has_max_age = true;
        terms->read.max_age_ms = number_of(run, right);
    } else if ((right = words_option(word, "min"))) {
        terms->read.min_generation = number_of(run, right);
    } else if ((right = words_option(word, "timeout"))) {
        terms->read.timeout_ms = (uint32_t)number_of(run, right);
    } else if ((right = words_option(word, "trace"))) {
        terms->read.traceparent = right;
    } else if (strcmp(word, "lead") == 0) {
        terms->read.lead = true;
    } else {
        return false;
    }
    return true;
}

static bool take_cover(struct run *run, struct terms *terms, const char *word)
{
    const char *right;
    char *at;

    if ((right = words_option(word, "tags"))) {
        words_unquote(right, terms->tag_text, sizeof(terms->tag_text));
        for (at = terms->tag_text; at && terms->tag_count < TAGS_MAX;) {
            terms->tags[terms->tag_count++] = hg_slice_text(strsep(&at, ","));
        }
        if (at) {
            scenario_fail(run, "more than %u tags", TAGS_MAX);
        }
        terms->put.tags = terms->tags;
        terms->put.tag_count = terms->tag_count;
    } else if ((right = words_option(word, "user"))) {
        terms->prefix = hg_slice_text(right);
    } else if (strcmp(word, "soft") == 0) {
        terms->is_soft = true;
    } else {
        return false;
    }
    return true;
}

static bool take_put(struct run *run, struct terms *terms, const char *word)
{
    const char *right;

    if ((right = words_option(word, "ttl"))) {
        terms->put.ttl_ms = number_of(run, right);
    } else if ((right = words_option(word, "stale_ttl"))) {
        terms->put.stale_ttl_ms = number_of(run, right);
    } else if ((right = words_option(word, "expires"))) {
        terms->put.expires_at_ms = words_moment(run, right);
    } else if ((right = words_option(word, "keep"))) {
        terms->keep_ms = number_of(run, right);
    } else if ((right = words_option(word, "op"))) {
        snprintf((char *)terms->op_id, sizeof(terms->op_id), "%s", right);
        terms->put.op_id = terms->op_id;
    } else if ((right = words_option(word, "if"))) {
        terms->token = words_saved(run, right)->token;
        terms->put.if_generation = &terms->token;
    } else if (strcmp(word, "absent") == 0) {
        terms->put.outcome = HG_ABSENT;
    } else if (strcmp(word, "denied") == 0) {
        terms->put.outcome = HG_DENIED;
    } else if ((right = words_option(word, "error"))) {
        terms->status = (enum hg_status)number_of(run, right);
    } else {
        return false;
    }
    return true;
}

/* auth:USER is an auth value that is allowed, auth-refused:USER one that is not. */
static void take_value(struct run *run, struct terms *terms, const char *word, char *text)
{
    struct hg_auth auth = {.allowed = strncmp(word, "auth:", 5) == 0};
    struct hg_error error;

    words_unquote(word, text, LINE_MAX_BYTES);
    terms->put.value = hg_slice_text(text);
    if (auth.allowed || strncmp(word, "auth-refused:", 13) == 0) {
        auth.user_id = hg_slice_text(strchr(text, ':') + 1);
        if (hg_auth_encode(&auth, &terms->packed, &error) != HG_OK) {
            scenario_fail(run, "%s", error.text);
        }
        terms->put.value = terms->packed.bytes;
    }
}

/* VERB CACHE KEY... OPTION...; of a put or fulfil the last plain word is the value. */
static void take(struct run *run, const struct words *words, size_t first, bool has_value,
                 struct terms *terms)
{
    size_t key_max = has_value ? 1 : KEYS_MAX;

    memset(terms, 0, sizeof(*terms));
    if (first + 1 < words->count) {
        terms->cache = words->at[first + 1];
    }
    for (size_t i = first + 2; i < words->count; i++) {
        const char *word = words->at[i];

        if (word[0] != '"' && (take_read(run, terms, word) || take_put(run, terms, word) ||
                               take_cover(run, terms, word))) {
            continue;
        }
        if (terms->key_count < key_max) {
            terms->keys[terms->key_count] = key_of(run, word, terms->text[terms->key_count]);
            terms->key_count++;
        } else if (has_value && !terms->put.value.data) {
            take_value(run, terms, word, terms->text[1]);
        } else {
            scenario_fail(run, "\"%s\" is one word too many", word);
        }
    }
    terms->read.cache = terms->cache;
    terms->read.key = terms->keys[0];
    terms->put.cache = terms->cache;
    terms->put.key = terms->keys[0];
}

static void ask_load(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_error error;

    if (hg_client_get_or_load_async(client, &terms->read, loaded, ask, &error) != HG_OK) {
        loaded(ask, &error, NULL);
    }
}

static void ask_batch(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_batch batch = {.cache = terms->cache,
                             .keys = terms->keys,
                             .key_count = terms->key_count,
                             .mode = terms->read.mode,
                             .has_max_age = terms->read.has_max_age,
                             .max_age_ms = terms->read.max_age_ms,
                             .min_generation = terms->read.min_generation,
                             .timeout_ms = terms->read.timeout_ms,
                             .traceparent = terms->read.traceparent};
    struct hg_error error;

    if (hg_client_batch_get_or_load_async(client, &batch, batch_loaded, ask, &error) != HG_OK) {
        batch_loaded(ask, &error, NULL);
    }
}

static void ask_get(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_answer answer;
    struct hg_error error;

    memset(&answer, 0, sizeof(answer));
    loaded(ask, &error,
           hg_client_get(client, &terms->read, &answer, &error) == HG_OK ? &answer : NULL);
    hg_answer_deinit(&answer);
}

static void ask_put(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_stored stored;
    struct hg_error error;

    if (hg_client_put(client, &terms->put, &stored, &error) == HG_OK) {
        part_number(&ask->parts[0], "generation", stored.generation);
        ask->brought.token.generation = stored.generation;
    }
    loaded(ask, &error, NULL);
}

static void ask_token(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_generation request = {.cache = terms->cache, .key = terms->keys[0]};
    struct hg_error error;

    if (hg_client_generation(client, &request, &ask->brought.token, &error) == HG_OK) {
        part_number(&ask->parts[0], "generation", ask->brought.token.generation);
    }
    loaded(ask, &error, NULL);
}

static void bring_report(struct ask *ask, const struct hg_report *report)
{
    part_number(&ask->parts[0], "generation", report->generation);
    part_number(&ask->parts[0], "dropped", report->dropped);
    part_number(&ask->parts[0], "fenced", report->fenced);
    part_number(&ask->parts[0], "released", report->released);
    ask->brought.token.generation = report->generation;
}

static void ask_del(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_invalidate request = {.cache = terms->cache,
                                    .keys = terms->keys,
                                    .key_count = terms->key_count,
                                    .tags = terms->tags,
                                    .tag_count = terms->tag_count,
                                    .prefix = terms->prefix,
                                    .soft = terms->is_soft,
                                    .op_id = terms->put.op_id};
    struct hg_report report;
    struct hg_error error;

    if (hg_client_invalidate(client, &request, &report, &error) == HG_OK) {
        bring_report(ask, &report);
        hg_report_deinit(&report);
    }
    loaded(ask, &error, NULL);
}

static void ask_clear(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    bool is_all = terms->cache && strcmp(terms->cache, "--all") == 0;
    struct hg_clear request = {
        .cache = is_all ? NULL : terms->cache, .all = is_all, .op_id = terms->put.op_id};
    struct hg_reports reports;
    struct hg_error error;

    if (hg_client_clear(client, &request, &reports, &error) == HG_OK) {
        if (reports.count == 1) {
            bring_report(ask, &reports.reports[0]);
        }
        hg_reports_deinit(&reports);
    }
    loaded(ask, &error, NULL);
}

static void ask_health(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    static const char *const words[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
    struct hg_named request = {.name = terms->cache};
    enum hg_health health;
    struct hg_error error;

    if (hg_client_health(client, &request, &health, &error) == HG_OK) {
        part_word(&ask->parts[0], "%s", words[health]);
        ask->part_count = 1;
    }
    loaded(ask, &error, NULL);
}

/* Of a fulfil, renew and release the cache's key is the name of a lease. */
static struct hg_leased leased_of(struct ask *ask, const struct terms *terms)
{
    return (struct hg_leased){.cache = terms->cache,
                              .lease = words_saved(ask->run, terms->text[0])->lease};
}

static void ask_fulfil(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_fulfil request = {.cache = terms->cache,
                                .lease = leased_of(ask, terms).lease,
                                .outcome = terms->put.outcome,
                                .value = terms->put.value,
                                .ttl_ms = terms->put.ttl_ms,
                                .stale_ttl_ms = terms->put.stale_ttl_ms,
                                .expires_at_ms = terms->put.expires_at_ms,
                                .keep_ms = terms->keep_ms,
                                .tags = terms->tags,
                                .tag_count = terms->tag_count,
                                .status = terms->status};
    struct hg_fulfilled fulfilled;
    struct hg_error error;

    if (terms->status != HG_OK) {
        request.message = terms->put.value;
        request.value = hg_slice_of(NULL, 0);
    }
    if (hg_client_fulfil(client, &request, &fulfilled, &error) == HG_OK) {
        part_number(&ask->parts[0], "left", fulfilled.ttl_left_ms);
    }
    loaded(ask, &error, NULL);
}

static void ask_renew(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_leased request = leased_of(ask, terms);
    struct hg_renewed renewed;
    struct hg_error error;

    if (hg_client_renew(client, &request, &renewed, &error) == HG_OK) {
        part_number(&ask->parts[0], "ttl", renewed.ttl_ms);
    }
    loaded(ask, &error, NULL);
}

static void ask_release(struct hg_client *client, struct ask *ask, const struct terms *terms)
{
    struct hg_leased request = leased_of(ask, terms);
    struct hg_error error;

    (void)!hg_client_release(client, &request, &error);
    loaded(ask, &error, NULL);
}

static const struct verb {
    const char *word;
    void (*ask)(struct hg_client *client, struct ask *ask, const struct terms *terms);
    bool has_value;
} verbs[] = {
    {"load", ask_load, false},       {"batch", ask_batch, false},   {"get", ask_get, false},
    {"put", ask_put, true},          {"token", ask_token, false},   {"del", ask_del, false},
    {"clear", ask_clear, false},     {"fulfil", ask_fulfil, true},  {"renew", ask_renew, false},
    {"release", ask_release, false}, {"health", ask_health, false},
};

static struct hg_client *connected(struct run *run, const char *name)
{
    struct hg_error error;
    struct conn *free_one = NULL;

    if (!*name) {
        return run->d.client;
    }
    for (size_t i = 0; i < CONNS_MAX; i++) {
        if (run->conns[i].client && strcmp(run->conns[i].name, name) == 0) {
            return run->conns[i].client;
        }
        if (!run->conns[i].client && !free_one) {
            free_one = &run->conns[i];
        }
    }
    if (!free_one) {
        scenario_fail(run, "more than %d connections", CONNS_MAX);
    }
    snprintf(free_one->name, sizeof(free_one->name), "%s", name);
    if (hg_client_open(strcmp(name, "tcp") == 0 ? run->d.tcp_url : run->d.ipc_url, NULL,
                       &free_one->client, &error) != HG_OK) {
        scenario_fail(run, "%s", error.text);
    }
    return free_one->client;
}

void scenario_hang_up(struct run *run, const char *name)
{
    for (size_t i = 0; i < CONNS_MAX; i++) {
        if (!name || strcmp(run->conns[i].name, name) == 0) {
            hg_client_close(&run->conns[i].client);
        }
    }
}

/* "> NAME@CONNECTION: VERB ...", where NAME, @CONNECTION and both may be missing. */
struct ask *scenario_ask(struct run *run, const struct words *words)
{
    char head[2 * NAME_MAX_BYTES] = "";
    const char *conn = "";
    size_t first = 1;
    struct ask *ask = &run->asks[run->ask_count++];
    struct terms terms;
    char *at;

    if (run->ask_count > ASKS_MAX) {
        scenario_fail(run, "more than %d requests", ASKS_MAX);
    }
    if (words->count > 2 && strchr(words->at[1], ':') == words->at[1] + strlen(words->at[1]) - 1) {
        snprintf(head, sizeof(head), "%.*s", (int)strlen(words->at[1]) - 1, words->at[1]);
        first = 2;
    }
    if ((at = strchr(head, '@'))) {
        *at = 0;
        conn = at + 1;
    }
    snprintf(ask->name, sizeof(ask->name), "%.*s", NAME_MAX_BYTES - 1, head);
    ask->run = run;
    ask->line = run->line;
    for (size_t i = 0; first < words->count && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(words->at[first], verbs[i].word) == 0) {
            take(run, words, first, verbs[i].has_value, &terms);
            verbs[i].ask(connected(run, conn), ask, &terms);
            hg_packed_deinit(&terms.packed);
            return ask;
        }
    }
    scenario_fail(run, "\"%s\" is not a request", first < words->count ? words->at[first] : "");
}

void scenario_wait(struct run *run, struct ask *ask)
{
    bool in_time = true;

    hgi_lock_conn(&run->lock);
    while (in_time && !ask->is_answered) {
        in_time = hgi_cond_wait(&run->changed, &run->lock, ANSWER_MS);
    }
    hgi_unlock_conn(&run->lock);
    if (!in_time) {
        scenario_fail(run, "the request of line %d was not answered in 20 s", ask->line);
    }
}
