/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <signal.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "client/conn.h"
#include "client/credentials.h"
#include "client/error.h"
#include "client/keeper.h"
#include "client/local.h"
#include "client/url.h"

#define TIMEOUT_DEFAULT_MS         15000u
#define CONNECT_TIMEOUT_DEFAULT_MS 5000u
#define IN_FLIGHT_DEFAULT          4096u
#define UNANSWERED_DEFAULT         224u
#define MESSAGE_DEFAULT_BYTES      (1024u * 1024u)
#define UNSENT_DEFAULT_BYTES       (8u * 1024u * 1024u)
#define BACKOFF_MIN_MS             20
#define BACKOFF_MAX_MS             250
#define WHY_MAX                    128u

/* A connection as the client sees it: current, or closed and waiting to be freed. */
struct link {
    struct hg_client *client;
    struct hgi_client_conn *conn;
    struct hgi_node dead;
    unsigned users;      /* threads inside a function of conn that were sent there by the client */
    unsigned unanswered; /* requests sent, also of callers who wait no longer */
    bool is_started;
    bool is_up;
    int64_t due_ms; /* not started: when to dial; not up: when to give up */
};

/* All calls in flight belong to the current link: they are taken out in the critical section that
 * ends it. */
struct hg_client {
    char *url;
    struct hg_client_options options;
    struct hgi_credentials credentials;
    struct hgi_thread thread;
    struct hgi_keeper keeper;
    struct hgi_local local;
    struct hgi_lock lock;
    struct hgi_cond work; /* for the thread */
    struct hgi_cond left; /* for close */
    /* guarded */
    struct hgi_calls calls;
    struct link *link;
    struct hgi_node dead;
    unsigned users;
    bool is_closing;
    int64_t wake_ms; /* when the thread looks again by itself */
    int64_t dial_at_ms;
    int64_t backoff_ms;
    char why[WHY_MAX]; /* the last connection could not be made, or broke */
};

/* ---- the link ---- */

static void link_leave(struct link *link) HGI_EXCLUDES(client)
{
    struct hg_client *client = link->client;

    hgi_lock_client(&client->lock);
    if (--link->users == 0 && client->link != link) {
        hgi_cond_wake_one(&client->work);
    }
    hgi_unlock_client(&client->lock);
}

/* After a send that failed at once: true if the call, which may be gone, had not ended yet. It is
 * taken out then. */
static bool take_unsent(struct link *link, uint32_t id, const struct hgi_call *call)
    HGI_EXCLUDES(client)
{
    struct hg_client *client = link->client;
    struct hgi_call *found;

    hgi_lock_client(&client->lock);
    link->unanswered--;
    found = hgi_calls_find(&client->calls, id);
    if (found == call) {
        hgi_calls_take(&client->calls, found);
    }
    hgi_unlock_client(&client->lock);
    return found == call;
}

/* The next call that waited for the link to open, or to have room; when there is none the link is
 * up. */
static struct hgi_call *next_waiting(struct link *link, struct hg_bytes *ret_body, uint32_t *ret_id)
    HGI_EXCLUDES(client)
{
    struct hg_client *client = link->client;
    struct hgi_call *call = NULL;

    hgi_lock_client(&client->lock);
    if (client->link == link) {
        call = link->unanswered < client->options.unanswered_max
                   ? hgi_calls_next_waiting(&client->calls, ret_body)
                   : NULL;
        if (call) {
            *ret_id = call->id;
            link->unanswered++;
        } else {
            link->is_up = true;
            client->backoff_ms = 0;
            client->why[0] = '\0';
        }
    }
    hgi_unlock_client(&client->lock);
    return call;
}

static void send_waiting(struct link *link) HGI_EXCLUDES(client)
{
    struct hgi_call *call;
    struct hg_bytes body;
    uint32_t id;

    while ((call = next_waiting(link, &body, &id))) {
        enum hg_status status = hgi_client_conn_send(link->conn, id, hgi_bytes_slice(&body));

        hgi_bytes_deinit(&body);
        if (status != HG_OK && take_unsent(link, id, call)) {
            hgi_calls_end_unsent(call);
        }
    }
}

static void on_opened(void *context)
{
    send_waiting(context);
}

static void on_frame(void *context, uint32_t id, struct hg_slice body)
{
    struct link *link = context;
    struct hg_client *client = link->client;
    struct hgi_call *call;
    bool has_waiting;

    hgi_lock_client(&client->lock);
    call = client->link == link ? hgi_calls_find(&client->calls, id) : NULL;
    /* Also for a reply whose caller is gone. */
    link->unanswered -= link->unanswered > 0;
    has_waiting = hgi_calls_has_waiting(&client->calls);
    /* A reply to what was not asked yet is a server's mistake, not an answer. */
    if (call && !call->is_sent) {
        call = NULL;
    }
    if (call) {
        hgi_calls_take(&client->calls, call);
    }
    hgi_unlock_client(&client->lock);
    if (has_waiting) {
        send_waiting(link);
    }
    if (call) {
        hgi_calls_end_reply(call, body);
    }
}

static void back_off_locked(struct hg_client *client) HGI_REQUIRES(client)
{
    client->backoff_ms = client->backoff_ms ? client->backoff_ms * 2 : BACKOFF_MIN_MS;
    if (client->backoff_ms > BACKOFF_MAX_MS) {
        client->backoff_ms = BACKOFF_MAX_MS;
    }
    client->dial_at_ms = hgi_clock_now().boot_ms + client->backoff_ms;
}

static void on_closed(void *context, const char *why)
{
    struct link *link = context;
    struct hg_client *client = link->client;
    struct hgi_call *chain;

    hgi_lock_client(&client->lock);
    HGI_BUG_ON(client->link != link);
    client->link = NULL;
    hgi_list_push_back(&client->dead, &link->dead);
    chain = hgi_calls_take_all(&client->calls);
    if (!link->is_up) {
        back_off_locked(client);
    }
    snprintf(client->why, sizeof(client->why), "%s", why);
    hgi_cond_wake_one(&client->work);
    hgi_unlock_client(&client->lock);
    /* The client stays: it frees the link, which waits for this event, before itself. */
    hgi_calls_end_lost(chain, client->url, why);
}

/* The link calls go to; made when there is none. Memory only: the thread dials. */
static struct link *link_locked(struct hg_client *client) HGI_REQUIRES(client)
{
    struct hgi_client_conn_limits limits = {.message_max_bytes = client->options.message_max_bytes,
                                            .unsent_max_bytes = client->options.unsent_max_bytes};
    struct hgi_client_conn_events events = {
        .opened = on_opened, .frame = on_frame, .closed = on_closed};
    struct link *link;

    if (client->link) {
        return client->link;
    }
    link = hgi_alloc(&hgi_heap, sizeof(*link));
    if (!link) {
        return NULL;
    }
    link->client = client;
    hgi_list_init(&link->dead);
    events.context = link;
    link->conn = hgi_client_conn_create(client->url, &client->credentials, &limits, &events);
    if (!link->conn) {
        hgi_free(&hgi_heap, link);
        return NULL;
    }
    link->due_ms = client->dial_at_ms;
    client->link = link;
    hgi_cond_wake_one(&client->work);
    return link;
}

/* ---- submit ---- */

/* The server reads no more of a connection on which it has too much to answer, not even what would
 * end those waits: so that goes first, and the rest leaves it room. */
static bool has_room_locked(const struct hg_client *client, const struct link *link,
                            const struct hgi_call *call) HGI_REQUIRES(client)
{
    return call->ends_waits || (link->unanswered < client->options.unanswered_max &&
                                !hgi_calls_has_waiting(&client->calls));
}

/* OK: the call is in flight. *ret_link: send the body there, then link_leave; NULL: the body waits
 * with the call. */
static enum hg_status admit_locked(struct hg_client *client, struct hgi_call *call,
                                   struct hg_bytes *body, uint32_t timeout_ms,
                                   struct link **ret_link, uint32_t *ret_id, struct hg_error *error)
    HGI_REQUIRES(client)
{
    struct link *link;
    int64_t due_ms;

    if (client->is_closing) {
        return hgi_error_set(error, HG_CANCELLED, "the client was closed");
    }
    if (hgi_calls_count(&client->calls) >= client->options.in_flight_max) {
        return hgi_error_set(error, HG_RESOURCE_EXHAUSTED,
                             "%u calls are in flight; more are not allowed",
                             client->options.in_flight_max);
    }
    link = link_locked(client);
    due_ms = hgi_clock_now().boot_ms + timeout_ms;
    if (!link || !hgi_calls_insert(&client->calls, call, timeout_ms, due_ms)) {
        return hgi_error_set(error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    if (due_ms < client->wake_ms) {
        hgi_cond_wake_one(&client->work);
    }
    if (link->is_up && has_room_locked(client, link, call)) {
        link->users++;
        link->unanswered++;
        *ret_link = link;
    } else {
        hgi_calls_wait(&client->calls, call, body);
    }
    *ret_id = call->id;
    return HG_OK;
}

enum hg_status hgi_client_submit(struct hg_client *client, struct hgi_call *call,
                                 struct hg_bytes *body, uint32_t timeout_ms, struct hg_error *error)
{
    struct link *link = NULL;
    enum hg_status status;
    uint32_t id = 0;

    hgi_lock_client(&client->lock);
    status = admit_locked(client, call, body, timeout_ms, &link, &id, error);
    hgi_unlock_client(&client->lock);
    if (link) {
        status = hgi_client_conn_send(link->conn, id, hgi_bytes_slice(body));
        if (status != HG_OK && take_unsent(link, id, call)) {
            (void)hgi_error_set(error, status,
                                "too much is waiting to be sent; the server does not read");
        } else {
            status = HG_OK; /* sent, or it has ended meanwhile and its end was told */
        }
        link_leave(link);
    }
    hgi_bytes_deinit(body);
    return status;
}

uint32_t hgi_client_timeout_ms(const struct hg_client *client, uint32_t timeout_ms)
{
    if (timeout_ms == 0) {
        timeout_ms = client->options.timeout_ms;
    }
    return timeout_ms > HG_TIMEOUT_MAX_MS ? HG_TIMEOUT_MAX_MS : timeout_ms;
}

struct hg_slice hgi_client_bearer(const struct hg_client *client)
{
    return hgi_bytes_slice(&client->credentials.bearer);
}

size_t hgi_client_message_max(const struct hg_client *client)
{
    return client->options.message_max_bytes;
}

void hgi_client_enter(struct hg_client *client)
{
    hgi_lock_client(&client->lock);
    client->users++;
    hgi_unlock_client(&client->lock);
}

void hgi_client_leave(struct hg_client *client)
{
    hgi_lock_client(&client->lock);
    if (--client->users == 0) {
        hgi_cond_wake_all(&client->left);
    }
    hgi_unlock_client(&client->lock);
}

struct hgi_keeper *hgi_client_keeper(struct hg_client *client)
{
    return &client->keeper;
}

struct hgi_local *hgi_client_local(struct hg_client *client)
{
    return &client->local;
}

void hgi_client_wait(struct hg_client *client, struct hgi_cond *cond, const bool *is_done)
{
    hgi_lock_client(&client->lock);
    while (!*is_done) {
        hgi_cond_wait(cond, &client->lock, -1);
    }
    hgi_unlock_client(&client->lock);
}

void hgi_client_wake(struct hg_client *client, struct hgi_cond *cond, bool *is_done)
{
    /* Woken under the lock: the waiter, whose stack `cond` is on, goes on only after it. */
    hgi_lock_client(&client->lock);
    *is_done = true;
    hgi_cond_wake_one(cond);
    hgi_unlock_client(&client->lock);
}

/* ---- the thread ---- */

static struct link *take_dead_locked(struct hg_client *client) HGI_REQUIRES(client)
{
    for (struct hgi_node *node = client->dead.next; node != &client->dead; node = node->next) {
        struct link *link = HGI_CONTAINER(node, struct link, dead);

        if (link->users == 0) {
            hgi_list_remove(node);
            return link;
        }
    }
    return NULL;
}

static int64_t next_due_locked(const struct hg_client *client) HGI_REQUIRES(client)
{
    int64_t due_ms = hgi_calls_first_due_ms(&client->calls);

    if (client->link && !client->link->is_up && client->link->due_ms < due_ms) {
        due_ms = client->link->due_ms;
    }
    return due_ms;
}

/* What one turn of the thread found to do; done without the lock. */
struct turn {
    struct hgi_call *late;
    struct link *dead;
    struct link *dial;
    struct link *give_up;
    char why[WHY_MAX];
    bool is_up;
    bool is_over;
};

/* False: nothing to do for *ret_wait_ms (-1: until woken). */
static bool look_locked(struct hg_client *client, struct turn *turn, int64_t *ret_wait_ms)
    HGI_REQUIRES(client)
{
    int64_t now_ms = hgi_clock_now().boot_ms;
    struct link *link = client->link;

    *turn = (struct turn){0};
    turn->late = hgi_calls_take_due(&client->calls, now_ms);
    snprintf(turn->why, sizeof(turn->why), "%s", client->why);
    turn->dead = take_dead_locked(client);
    turn->is_up = link && link->is_up;
    if (link && !link->is_up && now_ms >= link->due_ms) {
        if (link->is_started) {
            turn->give_up = link;
            link->due_ms = INT64_MAX;
        } else {
            turn->dial = link;
            link->is_started = true;
            link->due_ms = now_ms + client->options.connect_timeout_ms;
        }
        link->users++;
    }
    turn->is_over = client->is_closing && !client->link && !turn->dead &&
                    hgi_list_is_empty(&client->dead) && !turn->late;
    client->wake_ms = next_due_locked(client);
    *ret_wait_ms = client->wake_ms == INT64_MAX ? -1 : client->wake_ms - now_ms;
    return turn->late || turn->dead || turn->dial || turn->give_up || turn->is_over;
}

static void act(struct hg_client *client, struct turn *turn) HGI_EXCLUDES(client)
{
    hgi_calls_end_late(turn->late, turn->is_up ? NULL : client->url, turn->why);
    if (turn->dial) {
        hgi_client_conn_start(turn->dial->conn);
        link_leave(turn->dial);
    }
    if (turn->give_up) {
        hgi_client_conn_close(turn->give_up->conn, "it did not answer in time");
        link_leave(turn->give_up);
    }
    if (turn->dead) {
        hgi_client_conn_destroy(&turn->dead->conn);
        hgi_free(&hgi_heap, turn->dead);
    }
}

static void run(void *arg)
{
    struct hg_client *client = arg;
    struct turn turn = {0};

    while (!turn.is_over) {
        int64_t wait_ms;

        hgi_lock_client(&client->lock);
        while (!look_locked(client, &turn, &wait_ms)) {
            hgi_cond_wait(&client->work, &client->lock, wait_ms);
        }
        hgi_unlock_client(&client->lock);
        act(client, &turn);
    }
}

/* ---- open and close ---- */

static void set_options(struct hg_client *client, const struct hg_client_options *options)
{
    struct hg_client_options *own = &client->options;

    *own = options ? *options : (struct hg_client_options){0};
    own->timeout_ms = own->timeout_ms ? own->timeout_ms : TIMEOUT_DEFAULT_MS;
    own->connect_timeout_ms =
        own->connect_timeout_ms ? own->connect_timeout_ms : CONNECT_TIMEOUT_DEFAULT_MS;
    own->in_flight_max = own->in_flight_max ? own->in_flight_max : IN_FLIGHT_DEFAULT;
    own->unanswered_max = own->unanswered_max ? own->unanswered_max : UNANSWERED_DEFAULT;
    own->message_max_bytes =
        own->message_max_bytes ? own->message_max_bytes : MESSAGE_DEFAULT_BYTES;
    own->unsent_max_bytes = own->unsent_max_bytes ? own->unsent_max_bytes : UNSENT_DEFAULT_BYTES;
}

static void destroy(struct hg_client *client)
{
    hgi_local_deinit(&client->local);
    hgi_keeper_deinit(&client->keeper);
    hgi_calls_deinit(&client->calls);
    hgi_cond_deinit(&client->work);
    hgi_cond_deinit(&client->left);
    hgi_lock_deinit(&client->lock);
    hgi_credentials_deinit(&client->credentials);
    hgi_free(&hgi_heap, client->url);
    hgi_free(&hgi_heap, client);
}

static struct hg_client *create(const char *url, const struct hg_client_options *options)
{
    struct hg_client *client = hgi_alloc(&hgi_heap, sizeof(*client));

    if (!client) {
        return NULL;
    }
    set_options(client, options);
    hgi_lock_init(&client->lock);
    hgi_cond_init(&client->work);
    hgi_cond_init(&client->left);
    hgi_list_init(&client->dead);
    hgi_keeper_init(&client->keeper, client);
    client->url = hgi_text_copy(&hgi_heap, hg_slice_text(url));
    if (!hgi_calls_init(&client->calls) || !client->url ||
        !hgi_local_init(&client->local, client, client->options.local_dir,
                        client->options.message_max_bytes)) {
        destroy(client);
        return NULL;
    }
    return client;
}

/* With all signals blocked, so that neither this thread nor the ones nng starts from it take a
 * signal that the program wants. (Linux: sigprocmask is the calling thread's.) */
bool hgi_client_start_thread(struct hgi_thread *thread, const char *name, void (*enter)(void *arg),
                             void *arg)
{
    sigset_t all;
    sigset_t before;
    bool is_started;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    is_started = hgi_thread_start(thread, name, enter, arg);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

enum hg_status hg_client_open(const char *url, const struct hg_client_options *options,
                              struct hg_client **ret_client, struct hg_error *ret_error)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_client *client;
    enum hg_status status;

    if (!url) {
        url = HG_URL_DEFAULT;
    }
    if (hgi_client_url_check(url, sentence) != HG_OK) {
        return hgi_error_set(ret_error, HG_INVALID_ARGUMENT, "%s", sentence);
    }
    if (!hgi_hash_start()) {
        return hgi_error_set(ret_error, HG_UNAVAILABLE, "the system gives no random bytes");
    }
    client = create(url, options);
    if (!client) {
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    status = hgi_credentials_init(url, options, &client->credentials, sentence);
    if (status != HG_OK) {
        destroy(client);
        return hgi_error_set(ret_error, status, "%s", sentence);
    }
    if (!hgi_client_start_thread(&client->thread, "hg-client", run, client)) {
        destroy(client);
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "the system gives no thread");
    }
    *ret_client = client;
    return HG_OK;
}

void hg_client_close(struct hg_client **client)
{
    struct hg_client *old = *client;
    struct hgi_call *chain;
    struct link *link;

    if (!old) {
        return;
    }
    HGI_BUG_ON(hgi_calls_is_ending()); /* it would wait for itself */
    hgi_lock_client(&old->lock);
    old->is_closing = true;
    chain = hgi_calls_take_all(&old->calls);
    link = old->link;
    if (link) {
        link->users++;
    }
    hgi_cond_wake_one(&old->work);
    hgi_unlock_client(&old->lock);
    hgi_calls_end_closed(chain);
    if (link) {
        hgi_client_conn_close(link->conn, "the client was closed");
        link_leave(link);
    }
    hgi_keeper_stop(&old->keeper);
    hgi_thread_join(&old->thread);
    hgi_lock_client(&old->lock);
    while (old->users > 0) {
        hgi_cond_wait(&old->left, &old->lock, -1);
    }
    hgi_unlock_client(&old->lock);
    destroy(old);
    *client = NULL;
}
