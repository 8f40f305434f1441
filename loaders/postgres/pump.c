/* SPDX-License-Identifier: Apache-2.0 */
#include "pump.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "notice.h"

#define OPEN_MS 8000 /* the host waits 10 s */

int64_t pump_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t link_count(const struct pump *pump)
{
    return (size_t)pump->settings->connections;
}

static void say(const struct pump *pump, enum hg_log_level level, const char *what, const char *why)
{
    char line[LINK_SENTENCE_MAX + 128];

    snprintf(line, sizeof(line), "%s%s", what, why);
    pump->services->log(pump->host, level, line);
}

/* ---- what happens to links ---- */

/* Whoever asks how the loader is sees this copy. */
static void note_trouble(struct pump *pump)
{
    const char *why = "";
    const char *what = "";
    bool is_ready = false;

    for (size_t i = 0; i < link_count(pump); i++) {
        is_ready = is_ready || pump->links[i].state == LINK_READY;
        why = pump->links[i].has_failed ? pump->links[i].why : why;
    }
    if (!is_ready) {
        what = "no connection to the database";
    } else if (pump->has_ear && pump->ear.state != LINK_READY) {
        what = "nobody listens for changes";
        why = pump->ear.why;
    } else {
        why = "";
    }
    pthread_mutex_lock(&pump->lock);
    snprintf(pump->trouble, sizeof(pump->trouble), "%s%s%.400s", what, *what && *why ? ": " : "",
             why);
    pthread_mutex_unlock(&pump->lock);
}

/* It listens from here on; what happened before nobody told. */
static void on_ready(void *context, struct link *link)
{
    struct pump *pump = context;

    if (link->is_ear) {
        pump->is_deaf = notice_everything(pump->host, pump->services) == HG_UNIMPLEMENTED;
        if (pump->is_open) {
            say(pump, HG_LOG_WARN, "listens again; what was cached meanwhile is invalidated", "");
        }
    }
    note_trouble(pump);
}

static void on_notified(void *context, const char *payload)
{
    struct pump *pump = context;

    notice_take(pump->host, pump->services, payload);
}

/* Reading again does no harm, so what was in flight and is still wanted goes to another connection,
 * once. */
static void on_lost(void *context, struct link *link, struct job *orphans)
{
    struct pump *pump = context;

    if (pump->is_open && link->has_failed) {
        say(pump, HG_LOG_WARN,
            link->is_ear ? "does not listen: " : "a connection is gone: ", link->why);
    }
    /* The others have prepared the same. */
    for (size_t i = 0; i < link_count(pump) && link->is_outdated; i++) {
        pump->links[i].is_outdated = true;
    }
    while (orphans) {
        struct job *job = orphans;

        orphans = job->next;
        if (job_due_ms(job) == INT64_MAX) {
            job_destroy(&job); /* nobody waits for it */
        } else if (job->tries < LINK_TRIES_MAX) {
            job->next = pump->waiting;
            pump->waiting = job;
        } else {
            job_fail(job, HG_UNAVAILABLE, "the connection to the database was lost");
            job_destroy(&job);
        }
    }
    note_trouble(pump);
}

/* ---- jobs ---- */

/* NULL: every one that could take a job is busy. *ret_may_come: wait for it, or for a connection
 * that is being made. */
static struct link *choose(struct pump *pump, bool *ret_may_come, const char **ret_why)
{
    struct link *best = NULL;

    *ret_may_come = false;
    *ret_why = "";
    for (size_t i = 0; i < link_count(pump); i++) {
        struct link *link = &pump->links[i];

        if (link_has_room(link) && (!best || link->job_count < best->job_count)) {
            best = link;
        }
        /* One that could not be made is no hope until it stands; one that was lost may be. */
        *ret_may_come =
            *ret_may_come || link->state == LINK_READY || !link->has_failed || link->is_lost;
        *ret_why = link->has_failed ? link->why : *ret_why;
    }
    return best;
}

static void fail_waiting(struct pump *pump, const char *why)
{
    char sentence[256];

    snprintf(sentence, sizeof(sentence), "the database cannot be reached: %.200s", why);
    while (pump->waiting) {
        struct job *job = pump->waiting;

        pump->waiting = job->next;
        job_fail(job, HG_UNAVAILABLE, sentence);
        job_destroy(&job);
    }
}

static void send_waiting(struct pump *pump)
{
    while (pump->waiting) {
        bool may_come;
        const char *why;
        struct link *link = choose(pump, &may_come, &why);
        struct job *job = pump->waiting;

        if (!link) {
            if (!may_come) {
                fail_waiting(pump, why);
            }
            return;
        }
        pump->waiting = job->next;
        link_send(link, job);
    }
}

static void expire_waiting(struct pump *pump, bool look, int64_t now_ms)
{
    struct job **at = &pump->waiting;

    while (*at) {
        struct job *job = *at;

        if (job_expire(job, look, now_ms)) {
            *at = job->next;
            job_destroy(&job);
        } else {
            at = &job->next;
        }
    }
}

/* A pipeline goes at the pace of its first: when nobody waits for that one any more, and the
 * database still works on it, the others, and who would come next, are better off elsewhere.
 * statement_timeout ends it there.
 */
static void expire_flying(struct pump *pump, bool look, int64_t now_ms)
{
    for (size_t i = 0; i < link_count(pump); i++) {
        struct link *link = &pump->links[i];
        const struct job *first = link->first;
        bool is_first_over = false;

        for (struct job *job = link->first; job; job = job->next) {
            bool is_over = job_expire(job, look, now_ms);

            is_first_over = is_first_over || (job == first && is_over);
        }
        if (is_first_over && !first->is_answered && (first->next || pump->waiting)) {
            link_drop(link, &pump->events, now_ms, false, "a query that nobody waits for");
        }
    }
}

/* False: it is to stop. A load may have been cancelled, and looked for, before its job came here.
 */
static bool take_orders(struct pump *pump, bool *ret_look)
{
    const int64_t now_ms = pump_now_ms();
    struct job *jobs;
    struct job **end = &pump->waiting;
    bool is_stopping;

    pthread_mutex_lock(&pump->lock);
    jobs = pump->queue_first;
    pump->queue_first = NULL;
    pump->queue_last = NULL;
    *ret_look = pump->is_to_look;
    pump->is_to_look = false;
    is_stopping = pump->is_stopping;
    pthread_mutex_unlock(&pump->lock);
    for (struct job *job = jobs; job; job = job->next) {
        (void)job_expire(job, true, now_ms);
    }
    while (*end) {
        end = &(*end)->next;
    }
    *end = jobs;
    return !is_stopping;
}

/* ---- the loop ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t due_ms_of(const struct pump *pump)
{
    int64_t due_ms = pump->has_ear ? link_due_ms(&pump->ear) : INT64_MAX;

    for (const struct job *job = pump->waiting; job; job = job->next) {
        due_ms = earlier(due_ms, job_due_ms(job));
    }
    for (size_t i = 0; i < link_count(pump); i++) {
        due_ms = earlier(due_ms, link_due_ms(&pump->links[i]));
        for (const struct job *job = pump->links[i].first; job; job = job->next) {
            due_ms = earlier(due_ms, job_due_ms(job));
        }
    }
    return due_ms;
}

static void wait_for(struct pump *pump, int64_t until_ms)
{
    struct pollfd fds[SETTINGS_CONNECTIONS_MAX + 2];
    int64_t due_ms = earlier(due_ms_of(pump), until_ms);
    int64_t left_ms = due_ms == INT64_MAX ? -1 : due_ms - pump_now_ms();
    nfds_t count = 0;
    uint64_t woken;

    fds[count++] = (struct pollfd){.fd = pump->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < link_count(pump); i++, count++) {
        fds[count].fd = link_poll(&pump->links[i], &fds[count].events);
    }
    if (pump->has_ear) {
        fds[count].fd = link_poll(&pump->ear, &fds[count].events);
        count++;
    }
    if (due_ms != INT64_MAX) {
        left_ms = left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : left_ms;
    }
    if (poll(fds, count, (int)left_ms) < 0) {
        memset(fds, 0, sizeof(fds)); /* interrupted: nothing is known */
    }
    for (size_t i = 0; i < link_count(pump); i++) {
        pump->links[i].has_io = fds[i + 1].revents != 0;
    }
    pump->ear.has_io = pump->has_ear && fds[count - 1].revents != 0;
    while ((fds[0].revents & POLLIN) && read(pump->wake_fd, &woken, sizeof(woken)) > 0) {
    }
}

static void step(struct pump *pump, bool look)
{
    int64_t now_ms = pump_now_ms();

    for (size_t i = 0; i < link_count(pump); i++) {
        link_step(&pump->links[i], &pump->events, now_ms);
    }
    if (pump->has_ear) {
        link_step(&pump->ear, &pump->events, now_ms);
    }
    for (size_t i = 0; i < link_count(pump); i++) {
        if (pump->links[i].is_outdated && pump->links[i].state == LINK_READY &&
            pump->links[i].job_count == 0) {
            link_drop(&pump->links[i], &pump->events, now_ms, false, "prepared anew");
        }
    }
    expire_waiting(pump, look, now_ms);
    send_waiting(pump);
    expire_flying(pump, look,
                  now_ms); /* last, for a job may just have got behind one that is over */
}

static void *run(void *context)
{
    struct pump *pump = context;
    bool look;

    while (take_orders(pump, &look)) {
        step(pump, look);
        wait_for(pump, INT64_MAX);
    }
    return NULL;
}

/* ---- from outside ---- */

/* Every link there is to be, the ear the last of them. */
static const struct link *link_at(const struct pump *pump, size_t i)
{
    return i < link_count(pump) ? &pump->links[i] : &pump->ear;
}

/* NULL, or why it cannot be opened: each connection must stand once. */
static const char *await_all(struct pump *pump)
{
    const int64_t until_ms = pump_now_ms() + OPEN_MS;
    size_t count = link_count(pump) + pump->has_ear;

    while (pump_now_ms() < until_ms) {
        size_t ready = 0;

        step(pump, false);
        if (pump->is_deaf) {
            return "option \"listen\": this host takes no invalidations; leave it out";
        }
        for (size_t i = 0; i < count; i++) {
            if (link_at(pump, i)->has_failed) {
                return link_at(pump, i)->why;
            }
            ready += link_at(pump, i)->state == LINK_READY;
        }
        if (ready == count) {
            return NULL;
        }
        wait_for(pump, until_ms);
    }
    return "the database does not answer";
}

static void close_all(struct pump *pump)
{
    for (size_t i = 0; i < link_count(pump); i++) {
        link_close(&pump->links[i]);
    }
    link_close(&pump->ear);
    pthread_mutex_destroy(&pump->lock);
    close(pump->wake_fd);
}

bool pump_open(struct pump *pump, const struct settings *settings, struct hg_host *host,
               const struct hg_host_services *services, char *error, size_t error_size)
{
    const char *why;

    pump->settings = settings;
    pump->host = host;
    pump->services = services;
    pump->events = (struct link_events){on_ready, on_notified, on_lost, pump};
    pump->has_ear = settings->channel_count > 0;
    pump->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pump->wake_fd < 0) {
        snprintf(error, error_size, "no descriptor to be had");
        return false;
    }
    pthread_mutex_init(&pump->lock, NULL);
    for (size_t i = 0; i < link_count(pump); i++) {
        link_init(&pump->links[i], settings, false);
    }
    link_init(&pump->ear, settings, true);
    why = await_all(pump);
    pump->is_open = true;
    if (!why && pthread_create(&pump->thread, NULL, run, pump) != 0) {
        why = "cannot start a thread";
    }
    if (why) {
        snprintf(error, error_size, "%s", why);
        close_all(pump);
    }
    return why == NULL;
}

static void wake(const struct pump *pump)
{
    const uint64_t one = 1;

    /* Can only fail when the counter is full, and then the thread is awake. */
    if (write(pump->wake_fd, &one, sizeof(one)) < 0) {
        return;
    }
}

void pump_add(struct pump *pump, struct job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&pump->lock);
    if (pump->queue_last) {
        pump->queue_last->next = job;
    } else {
        pump->queue_first = job;
    }
    pump->queue_last = job;
    pthread_mutex_unlock(&pump->lock);
    wake(pump);
}

void pump_look(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->is_to_look = true;
    pthread_mutex_unlock(&pump->lock);
    wake(pump);
}

enum hg_status pump_health(struct pump *pump, char *text, size_t text_size)
{
    enum hg_status status;

    pthread_mutex_lock(&pump->lock);
    status = pump->trouble[0] ? HG_UNAVAILABLE : HG_OK;
    snprintf(text, text_size, "%s", pump->trouble);
    pthread_mutex_unlock(&pump->lock);
    return status;
}

void pump_stop(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->is_stopping = true;
    pthread_mutex_unlock(&pump->lock);
    wake(pump);
    pthread_join(pump->thread, NULL);
    close_all(pump);
}
