/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "server/access/keyfile.h"

enum state { FREE, PENDING, LIVE };

/* A FREE place has a random digest, so that comparing with it is like comparing with any other. */
struct place {
    enum state state;
    struct hgi_token_record record;
    const struct hgi_principal *principal; /* NULL: the configuration does not name it any more */
};

/* What waits to be on disk: a new token, or (id 0) the file without some. */
struct job {
    struct hgi_node node;
    uint32_t id;
    struct hgi_token_text text; /* of a new one */
    size_t revoked;
    hgi_tokens_done_fn done;
    void *context;
};

struct hgi_tokens {
    /* set once, but for the principals, which are changed under the lock */
    struct hgi_tokens_options options;
    struct hgi_digest_key digest_key;
    struct hgi_digest_key seal_key;
    int lock_fd;
    struct hgi_thread thread;
    /* the thread's */
    struct hgi_token_record *records;
    _Atomic uint64_t ended; /* tokens revoked since open; raised under the lock */
    /* guarded */
    struct hgi_lock lock;
    struct hgi_cond wake;
    struct place *places HGI_GUARDED_BY(tokens);
    struct hgi_node inbox HGI_GUARDED_BY(tokens);
    uint64_t ended_saved HGI_GUARDED_BY(tokens); /* of them, those that the file is free of */
    bool is_stopping HGI_GUARDED_BY(tokens);
};

static struct place *place_of_locked(struct hgi_tokens *tokens, uint32_t id) HGI_REQUIRES(tokens)
{
    return &tokens->places[id % HGI_TOKENS_MAX];
}

static void free_place(struct place *place)
{
    place->state = FREE;
    place->principal = NULL;
    hgi_random(&place->record.digest, sizeof(place->record.digest));
}

/* The lock is held, or there is no thread yet. */
static const struct hgi_principal *find_principal(const struct hgi_tokens *tokens,
                                                  struct hg_slice name)
{
    for (size_t i = 0; i < tokens->options.principal_count; i++) {
        if (hgi_slice_equal(name, hg_slice_text(tokens->options.principals[i].name))) {
            return &tokens->options.principals[i];
        }
    }
    return NULL;
}

/* ---- asking ---- */

bool hgi_tokens_check(struct hgi_tokens *tokens, struct hg_slice text, int64_t now_wall_ms,
                      struct hgi_bearer *ret_bearer)
{
    static const char no_token[HGI_TOKEN_LEN];
    uint32_t id = 0;
    bool is_token = hgi_token_id(text, &id);
    struct hgi_digest digest =
        hgi_digest(&tokens->digest_key, is_token ? text : hg_slice_of(no_token, sizeof(no_token)));
    struct place place;
    uint64_t ended;
    bool is_it;

    hgi_lock_tokens(&tokens->lock);
    place = *place_of_locked(tokens, id);
    ended = atomic_load(&tokens->ended);
    hgi_unlock_tokens(&tokens->lock);
    is_it = hgi_digest_equal(&digest, &place.record.digest);
    if (!is_it || !is_token || place.state != LIVE || place.record.id != id || !place.principal ||
        (place.record.expires_at_ms && now_wall_ms >= place.record.expires_at_ms)) {
        return false;
    }
    *ret_bearer = (struct hgi_bearer){.principal = place.principal, .id = id, .ended = ended};
    return true;
}

bool hgi_tokens_is_live(struct hgi_tokens *tokens, const struct hgi_bearer *bearer)
{
    const struct place *place;
    bool is_live;

    if (atomic_load(&tokens->ended) == bearer->ended) {
        return true;
    }
    hgi_lock_tokens(&tokens->lock);
    place = place_of_locked(tokens, bearer->id);
    is_live = place->state == LIVE && place->record.id == bearer->id;
    hgi_unlock_tokens(&tokens->lock);
    return is_live;
}

static int compare_ages(const void *a, const void *b)
{
    const struct hgi_token_record *one = a;
    const struct hgi_token_record *other = b;

    return (one->created_at_ms > other->created_at_ms) -
           (one->created_at_ms < other->created_at_ms);
}

size_t hgi_tokens_list(struct hgi_tokens *tokens, struct hgi_token_record *ret_records)
{
    size_t count = 0;

    hgi_lock_tokens(&tokens->lock);
    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        if (tokens->places[i].state == LIVE) {
            ret_records[count++] = tokens->places[i].record;
        }
    }
    hgi_unlock_tokens(&tokens->lock);
    qsort(ret_records, count, sizeof(*ret_records), compare_ages);
    return count;
}

void hgi_tokens_set_principals(struct hgi_tokens *tokens, const struct hgi_principal *principals,
                               size_t count)
{
    hgi_lock_tokens(&tokens->lock);
    tokens->options.principals = principals;
    tokens->options.principal_count = count;
    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        struct place *place = &tokens->places[i];

        if (place->state != FREE) {
            place->principal = find_principal(tokens, hg_slice_text(place->record.principal));
        }
    }
    hgi_unlock_tokens(&tokens->lock);
}

/* ---- changing ---- */

static struct job *make_job(hgi_tokens_done_fn done, void *context, char *ret_sentence)
{
    struct job *job = hgi_alloc(&hgi_heap, sizeof(*job));

    if (job) {
        hgi_list_init(&job->node);
        job->done = done;
        job->context = context;
    } else {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "no memory; nothing was changed");
    }
    return job;
}

static void give_locked(struct hgi_tokens *tokens, HG_TAKES struct job *job) HGI_REQUIRES(tokens)
{
    hgi_list_push_back(&tokens->inbox, &job->node);
    hgi_cond_wake_one(&tokens->wake);
}

/* An id whose place is free; 0: none is. Random, so that ids are not used again soon. */
static uint32_t new_id_locked(struct hgi_tokens *tokens) HGI_REQUIRES(tokens)
{
    uint32_t id;

    hgi_random(&id, sizeof(id));
    for (size_t i = 0; i < HGI_TOKENS_MAX; i++, id++) {
        if (id != 0 && place_of_locked(tokens, id)->state == FREE) {
            return id;
        }
    }
    return 0;
}

static enum hg_status keep_place(struct hgi_tokens *tokens, struct hg_slice name,
                                 int64_t expires_at_ms, int64_t now_wall_ms, struct job *job,
                                 char *ret_sentence) HGI_EXCLUDES(tokens)
{
    const struct hgi_principal *principal;
    enum hg_status status = HG_OK;
    struct place *place;

    hgi_lock_tokens(&tokens->lock);
    principal = find_principal(tokens, name);
    job->id = new_id_locked(tokens);
    if (!principal) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "the configuration has no principal \"%.*s\"; add a section principal",
                 (int)(name.len < 100 ? name.len : 100), name.len ? (const char *)name.data : "");
        status = HG_NOT_FOUND;
    } else if (tokens->is_stopping) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the server is ending");
        status = HG_UNAVAILABLE;
    } else if (!job->id) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "there are %u tokens, and no more can be; revoke "
                 "those that nobody uses",
                 HGI_TOKENS_MAX);
        status = HG_RESOURCE_EXHAUSTED;
    } else {
        hgi_token_make(job->id, &job->text);
        place = place_of_locked(tokens, job->id);
        *place = (struct place){.state = PENDING, .principal = principal};
        place->record.id = job->id;
        place->record.created_at_ms = now_wall_ms;
        place->record.expires_at_ms = expires_at_ms;
        place->record.digest = hgi_digest(&tokens->digest_key, hg_slice_text(job->text.text));
        snprintf(place->record.principal, sizeof(place->record.principal), "%s", principal->name);
        give_locked(tokens, job);
    }
    hgi_unlock_tokens(&tokens->lock);
    return status;
}

enum hg_status hgi_tokens_new(struct hgi_tokens *tokens, struct hg_slice principal,
                              int64_t expires_at_ms, int64_t now_wall_ms, hgi_tokens_done_fn done,
                              void *context, char *ret_sentence)
{
    enum hg_status status;
    struct job *job;

    if (expires_at_ms && expires_at_ms <= now_wall_ms) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the token would have expired already");
        return HG_FAILED_PRECONDITION;
    }
    job = make_job(done, context, ret_sentence);
    if (!job) {
        return HG_RESOURCE_EXHAUSTED;
    }
    status = keep_place(tokens, principal, expires_at_ms, now_wall_ms, job, ret_sentence);
    if (status != HG_OK) {
        hgi_free(&hgi_heap, job);
    }
    return status;
}

static size_t end_locked(struct hgi_tokens *tokens, struct hg_slice id, struct hg_slice principal)
    HGI_REQUIRES(tokens)
{
    uint32_t wanted = 0;
    bool is_id = hgi_token_id_parse(id, &wanted);
    size_t count = 0;

    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        struct place *place = &tokens->places[i];
        bool is_meant = id.len ? is_id && place->record.id == wanted
                               : hgi_slice_equal(principal, hg_slice_text(place->record.principal));

        if (place->state == LIVE && is_meant) {
            free_place(place);
            atomic_fetch_add(&tokens->ended, 1);
            count++;
        }
    }
    return count;
}

enum hg_status hgi_tokens_revoke(struct hgi_tokens *tokens, struct hg_slice id,
                                 struct hg_slice principal, hgi_tokens_done_fn done, void *context,
                                 char *ret_sentence)
{
    struct job *job = make_job(done, context, ret_sentence);
    enum hg_status status = HG_OK;

    if (!job) {
        return HG_RESOURCE_EXHAUSTED;
    }
    hgi_lock_tokens(&tokens->lock);
    job->revoked = end_locked(tokens, id, principal);
    if (tokens->is_stopping) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the server is ending");
        status = HG_UNAVAILABLE;
    } else if (job->revoked == 0 && atomic_load(&tokens->ended) == tokens->ended_saved) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "there is no such token; \"herdgate token list\" "
                 "shows those there are");
        status = HG_NOT_FOUND;
    } else {
        give_locked(tokens, job);
    }
    hgi_unlock_tokens(&tokens->lock);
    if (status != HG_OK) {
        hgi_free(&hgi_heap, job);
    }
    return status;
}

/* ---- the thread ---- */

/* What one turn of the thread writes, and for whom. */
struct turn {
    struct hgi_node jobs;
    size_t count; /* of tokens->records */
    uint64_t ended;
};

/* False: stop. */
static bool take(struct hgi_tokens *tokens, struct turn *turn) HGI_EXCLUDES(tokens)
{
    bool goes_on;

    hgi_lock_tokens(&tokens->lock);
    while (hgi_list_is_empty(&tokens->inbox) && !tokens->is_stopping) {
        (void)hgi_cond_wait(&tokens->wake, &tokens->lock, -1);
    }
    goes_on = !hgi_list_is_empty(&tokens->inbox);
    hgi_list_move_all(&tokens->inbox, &turn->jobs);
    turn->ended = atomic_load(&tokens->ended);
    turn->count = 0;
    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        if (tokens->places[i].state != FREE) {
            tokens->records[turn->count++] = tokens->places[i].record;
        }
    }
    hgi_unlock_tokens(&tokens->lock);
    return goes_on;
}

static void settle(struct hgi_tokens *tokens, const struct turn *turn, bool is_saved)
    HGI_EXCLUDES(tokens)
{
    const struct hgi_node *node = turn->jobs.next;

    hgi_lock_tokens(&tokens->lock);
    for (; node != &turn->jobs; node = node->next) {
        const struct job *job = HGI_CONTAINER(node, struct job, node);
        struct place *place = place_of_locked(tokens, job->id);

        if (job->id && is_saved) {
            place->state = LIVE;
        } else if (job->id) {
            free_place(place);
        }
    }
    if (is_saved) {
        tokens->ended_saved = turn->ended;
    }
    hgi_unlock_tokens(&tokens->lock);
}

static void finish(HG_TAKES struct job *job, enum hg_status status, const char *sentence)
{
    const struct hgi_tokens_done done = {.status = status,
                                         .sentence = sentence,
                                         .token = job->id && status == HG_OK ? &job->text : NULL,
                                         .revoked = job->revoked};

    job->done(job->context, &done);
    explicit_bzero(&job->text, sizeof(job->text));
    hgi_free(&hgi_heap, job);
}

static void run(void *arg)
{
    struct hgi_tokens *tokens = arg;
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_node *node;
    struct turn turn;

    hgi_list_init(&turn.jobs);
    while (take(tokens, &turn)) {
        enum hg_status status = hgi_tokens_file_write(tokens->options.path, &tokens->seal_key,
                                                      tokens->records, turn.count, sentence);

        if (status != HG_OK) {
            hgi_log(HG_LOG_ERROR, "tokens: %s", sentence);
        }
        settle(tokens, &turn, status == HG_OK);
        while ((node = hgi_list_pop_front(&turn.jobs)) != NULL) {
            finish(HGI_CONTAINER(node, struct job, node), status, status == HG_OK ? "" : sentence);
        }
    }
}

/* ---- open, close ---- */

static enum hg_status read_keys(struct hgi_tokens *tokens, char *ret_sentence)
{
    const struct hgi_tokens_options *options = &tokens->options;
    struct hgi_digest_key master;
    enum hg_status status = hgi_keyfile_read(options->key_path, access(options->path, F_OK) != 0,
                                             &master, ret_sentence);

    if (status == HG_OK) {
        tokens->digest_key = hgi_digest_key_derive(&master, HGI_KEY_USE_TOKENS);
        tokens->seal_key = hgi_digest_key_derive(&master, HGI_KEY_USE_TOKEN_FILE);
        explicit_bzero(&master, sizeof(master));
    }
    return status;
}

/* Before there is a thread. */
static enum hg_status read_tokens(struct hgi_tokens *tokens, char *ret_sentence) HGI_UNCHECKED
{
    size_t count = 0;
    enum hg_status status = hgi_tokens_file_read(tokens->options.path, &tokens->seal_key,
                                                 tokens->records, &count, ret_sentence);

    for (size_t i = 0; i < HGI_TOKENS_MAX; i++) {
        free_place(&tokens->places[i]);
    }
    if (status == HG_NOT_FOUND) {
        return HG_OK;
    }
    for (size_t i = 0; i < count && status == HG_OK; i++) {
        const struct hgi_token_record *record = &tokens->records[i];
        struct place *place = place_of_locked(tokens, record->id);

        *place = (struct place){.state = LIVE, .record = *record};
        place->principal = find_principal(tokens, hg_slice_text(record->principal));
        if (!place->principal) {
            hgi_log(HG_LOG_WARN,
                    "token %08x is of \"%s\", which the configuration does not name: it is refused",
                    record->id, record->principal);
        }
    }
    return status;
}

static void destroy(struct hgi_tokens *tokens) HGI_UNCHECKED
{
    if (tokens->lock_fd >= 0) {
        close(tokens->lock_fd);
    }
    explicit_bzero(&tokens->digest_key, sizeof(tokens->digest_key));
    explicit_bzero(&tokens->seal_key, sizeof(tokens->seal_key));
    hgi_free(&hgi_heap, tokens->places);
    hgi_free(&hgi_heap, tokens->records);
    hgi_cond_deinit(&tokens->wake);
    hgi_lock_deinit(&tokens->lock);
    hgi_free(&hgi_heap, tokens);
}

static struct hgi_tokens *create(const struct hgi_tokens_options *options) HGI_UNCHECKED
{
    struct hgi_tokens *tokens = hgi_alloc(&hgi_heap, sizeof(*tokens));

    if (!tokens) {
        return NULL;
    }
    tokens->options = *options;
    tokens->lock_fd = -1;
    hgi_lock_init(&tokens->lock);
    hgi_cond_init(&tokens->wake);
    hgi_list_init(&tokens->inbox);
    tokens->places = hgi_alloc(&hgi_heap, HGI_TOKENS_MAX * sizeof(*tokens->places));
    tokens->records = hgi_alloc(&hgi_heap, HGI_TOKENS_MAX * sizeof(*tokens->records));
    if (!tokens->places || !tokens->records) {
        destroy(tokens);
        return NULL;
    }
    return tokens;
}

enum hg_status hgi_tokens_open(const struct hgi_tokens_options *options,
                               struct hgi_tokens **ret_tokens, char *ret_sentence)
{
    struct hgi_tokens *tokens = create(options);
    enum hg_status status;

    if (!tokens) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "no memory for the tokens");
        return HG_RESOURCE_EXHAUSTED;
    }
    status = hgi_private_lock(options->path, &tokens->lock_fd, ret_sentence);
    if (status == HG_OK) {
        status = read_keys(tokens, ret_sentence);
    }
    if (status == HG_OK) {
        status = read_tokens(tokens, ret_sentence);
    }
    if (status == HG_OK && !hgi_thread_start(&tokens->thread, "tokens", run, tokens)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "no thread for the tokens");
        status = HG_RESOURCE_EXHAUSTED;
    }
    if (status != HG_OK) {
        destroy(tokens);
        return status;
    }
    *ret_tokens = tokens;
    return HG_OK;
}

void hgi_tokens_close(struct hgi_tokens **tokens)
{
    struct hgi_tokens *old = *tokens;

    if (!old) {
        return;
    }
    hgi_lock_tokens(&old->lock);
    old->is_stopping = true;
    hgi_cond_wake_all(&old->wake);
    hgi_unlock_tokens(&old->lock);
    hgi_thread_join(&old->thread);
    destroy(old);
    *tokens = NULL;
}
