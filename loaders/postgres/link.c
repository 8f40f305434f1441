/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "loaders/kit/columns.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000

/* What each connection is set to. A query that would write is refused by the database itself, and
 * instants are written in one way. */
#define SET_UP                                                                                     \
    "SELECT set_config('default_transaction_read_only', 'on', false),"                             \
    " set_config('statement_timeout', $1, false), set_config('TimeZone', 'UTC', false),"           \
    " set_config('DateStyle', 'ISO, YMD', false)"

void link_init(struct link *link, const struct settings *settings, bool is_ear)
{
    memset(link, 0, sizeof(*link));
    link->settings = settings;
    link->is_ear = is_ear;
    link->pause_ms = PAUSE_MIN_MS;
}

int link_poll(const struct link *link, short *ret_events)
{
    *ret_events = (short)(link->wants_write ? POLLIN | POLLOUT : POLLIN);
    if (link->state == LINK_CONNECTING) {
        *ret_events = link->wants_write ? POLLOUT : POLLIN;
    }
    return link->conn ? PQsocket(link->conn) : -1;
}

int64_t link_due_ms(const struct link *link)
{
    if (link->state == LINK_READY) {
        return link->is_unsent ? 0 : INT64_MAX;
    }
    return link->due_ms;
}

bool link_has_room(const struct link *link)
{
    return link->state == LINK_READY && link->job_count < LINK_JOBS_MAX && !link->is_outdated &&
           !link->is_unsent;
}

/* libpq's words end with a line feed, and may have several lines. */
static void copy_line(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%.*s", (int)strcspn(text, "\n"), text);
}

void link_drop(struct link *link, const struct link_events *events, int64_t now_ms, bool is_fault,
               const char *why)
{
    struct job *orphans = link->first;

    copy_line(link->why, sizeof(link->why), why);
    link->is_lost = link->state == LINK_READY;
    PQfinish(link->conn);
    link->conn = NULL;
    link->state = LINK_DOWN;
    link->wants_write = false;
    link->first = NULL;
    link->last = NULL;
    link->job_count = 0;
    link->is_unsent = false;
    link->due_ms = now_ms;
    link->has_failed = is_fault;
    if (is_fault) {
        link->due_ms += link->pause_ms;
        link->pause_ms = link->pause_ms * 2 < PAUSE_MAX_MS ? link->pause_ms * 2 : PAUSE_MAX_MS;
    }
    events->lost(events->context, link, orphans);
}

/* What the option says wins over what is set before it. A peer that is gone without a word is
 * noticed in half a minute, for an ear has nothing to say by itself. */
static void connect_begin(struct link *link, const struct link_events *events, int64_t now_ms)
{
    const struct settings *settings = link->settings;
    const char *const names[] = {"keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "tcp_user_timeout",
                                 "fallback_application_name",
                                 "dbname",
                                 "client_encoding",
                                 settings->password.len ? "password" : NULL,
                                 NULL};
    const char *const values[] = {"10",       "5",
                                  "3",        "25000",
                                  "herdgate", settings->connection.data,
                                  "UTF8",     settings->password.data,
                                  NULL};

    link->conn = PQconnectStartParams(names, values, 1);
    link->due_ms = now_ms + settings->connect_timeout_ms;
    link->state = LINK_CONNECTING;
    link->wants_write = true;
    link->is_outdated = false;
    if (!link->conn) {
        link_drop(link, events, now_ms, true, "out of memory");
    } else if (PQstatus(link->conn) == CONNECTION_BAD) {
        link_drop(link, events, now_ms, true, PQerrorMessage(link->conn));
    }
}

static bool send_queries(struct link *link)
{
    char timeout[32];
    const char *const values[] = {timeout};
    bool is_done;

    snprintf(timeout, sizeof(timeout), "%ld", link->settings->statement_timeout_ms);
    is_done = PQenterPipelineMode(link->conn) &&
              PQsendQueryParams(link->conn, SET_UP, 1, NULL, values, NULL, NULL, 0);
    for (int q = 0; q < QUERY_COUNT && is_done; q++) {
        if (link->settings->sql[q]) {
            is_done = PQsendPrepare(link->conn, settings_query_name((enum query)q),
                                    link->settings->sql[q], 0, NULL) &&
                      PQsendDescribePrepared(link->conn, settings_query_name((enum query)q));
        }
    }
    link->syncs = 1;
    return is_done && PQpipelineSync(link->conn);
}

static bool send_listens(struct link *link)
{
    struct text sql = {NULL, 0, 0};
    bool is_done = true;

    for (size_t i = 0; i < link->settings->channel_count && is_done; i++) {
        const char *channel = link->settings->channels[i];
        char *quoted = PQescapeIdentifier(link->conn, channel, strlen(channel));

        is_done = quoted && text_append_word(&sql, "LISTEN ") && text_append_word(&sql, quoted) &&
                  text_append_word(&sql, ";");
        PQfreemem(quoted);
    }
    is_done = is_done && PQsendQuery(link->conn, sql.data);
    text_clear(&sql);
    return is_done;
}

/* Notices would go to stderr, and may quote what was asked for. */
static void pass_over(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static void connect_go_on(struct link *link, const struct link_events *events, int64_t now_ms)
{
    PostgresPollingStatusType status = PQconnectPoll(link->conn);

    if (status == PGRES_POLLING_FAILED) {
        link_drop(link, events, now_ms, true, PQerrorMessage(link->conn));
        return;
    }
    link->wants_write = status == PGRES_POLLING_WRITING;
    if (status != PGRES_POLLING_OK) {
        return;
    }
    link->state = LINK_PREPARING;
    link->prepared = 0;
    link->wants_write = true;
    PQsetNoticeProcessor(link->conn, pass_over, NULL);
    if (PQsetnonblocking(link->conn, 1) != 0 ||
        !(link->is_ear ? send_listens(link) : send_queries(link))) {
        link_drop(link, events, now_ms, true, PQerrorMessage(link->conn));
    }
}

static void become_ready(struct link *link, const struct link_events *events)
{
    link->state = LINK_READY;
    link->has_failed = false;
    link->pause_ms = PAUSE_MIN_MS;
    events->ready(events->context, link);
}

/* Which query the nth answer of the preparation is about: one for the settings, then two each. */
static enum query query_at(const struct link *link, size_t n)
{
    size_t left = (n - 1) / 2;

    for (int q = 0; q < QUERY_COUNT; q++) {
        if (link->settings->sql[q] && left-- == 0) {
            return (enum query)q;
        }
    }
    return QUERY_COUNT;
}

/* What can be seen of a query before it is run; false and a sentence. */
static bool check_query(enum query query, const PGresult *described, char *ret_sentence)
{
    const char *option = settings_query_name(query);
    bool has_nr = false;
    bool has_key = false;

    for (int i = 0; i < PQnfields(described); i++) {
        has_nr = has_nr || strcmp(PQfname(described, i), ANSWER_NR) == 0;
        has_key = has_key || strcmp(PQfname(described, i), ANSWER_KEY) == 0;
    }
    if (PQnfields(described) == 0 || PQnfields(described) > COLUMNS_MAX) {
        snprintf(ret_sentence, LINK_SENTENCE_MAX,
                 "option \"%s\" must be a SELECT of at most %d columns", option, COLUMNS_MAX);
        return false;
    }
    if (PQnparams(described) > settings_query_parts(query)) {
        snprintf(ret_sentence, LINK_SENTENCE_MAX,
                 "option \"%s\" uses $%d, but its key has %d part%s", option, PQnparams(described),
                 settings_query_parts(query), settings_query_parts(query) == 1 ? "" : "s");
        return false;
    }
    if (!has_nr && !has_key) {
        snprintf(ret_sentence, LINK_SENTENCE_MAX,
                 "option \"%s\" must have a column " ANSWER_KEY
                 " (the key a row is of) or " ANSWER_NR " (its place in the list, from 1)",
                 option);
        return false;
    }
    if (!has_nr && query != QUERY_ANY && query != QUERY_KEY_HASH) {
        snprintf(ret_sentence, LINK_SENTENCE_MAX,
                 "option \"%s\" must have a column " ANSWER_NR ", for its keys have several parts",
                 option);
        return false;
    }
    return true;
}

/* False: the connection is of no use, and why is written. */
static bool take_prepared(struct link *link, const PGresult *result, char *ret_why)
{
    ExecStatusType status = PQresultStatus(result);
    size_t n = link->prepared++;
    char fault[LINK_SENTENCE_MAX / 2];

    if (status == PGRES_FATAL_ERROR) {
        (void)answer_fault(result, fault, sizeof(fault));
        if (n == 0) {
            snprintf(ret_why, LINK_SENTENCE_MAX, "%s", fault);
        } else {
            snprintf(ret_why, LINK_SENTENCE_MAX, "option \"%s\": %s",
                     settings_query_name(query_at(link, n)), fault);
        }
        return false;
    }
    return n == 0 || n % 2 == 1 || check_query(query_at(link, n), result, ret_why);
}

static void forget_first(struct link *link)
{
    struct job *job = link->first;

    link->first = job->next;
    link->last = link->first ? link->last : NULL;
    link->job_count--;
    job_destroy(&job);
}

void link_close(struct link *link)
{
    while (link->first) {
        forget_first(link);
    }
    PQfinish(link->conn);
    link->conn = NULL;
    link->state = LINK_DOWN;
}

/* False: the connection is to be made anew, for what it has prepared is of no use. */
static bool take_rows(struct job *job, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char sentence[LINK_SENTENCE_MAX / 2];
    enum hg_status status;

    /* The plan's columns have changed (0A000), the statement is gone (26000), or the server is
     * about to hang up (57P..). */
    if (state && job->tries < LINK_TRIES_MAX &&
        (strcmp(state, "0A000") == 0 || strcmp(state, "26000") == 0 ||
         strncmp(state, "57P", 3) == 0)) {
        return false;
    }
    job->is_answered = true;
    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        answer_rows(job, result);
        return true;
    }
    status = answer_fault(result, sentence, sizeof(sentence));
    job_fail(job, status, sentence);
    return true;
}

/* One answer of the pipeline; false: the connection was dropped. */
static bool take_result(struct link *link, const struct link_events *events, int64_t now_ms,
                        const PGresult *result)
{
    char why[LINK_SENTENCE_MAX] = "";

    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        link->syncs--;
        if (link->state == LINK_PREPARING) {
            become_ready(link, events);
        } else {
            job_fail(link->first, HG_INTERNAL, "the database gave no rows");
            forget_first(link);
        }
        return true;
    }
    if (link->state == LINK_PREPARING) {
        if (!take_prepared(link, result, why)) {
            link_drop(link, events, now_ms, true, why);
            return false;
        }
    } else if (!take_rows(link->first, result)) {
        link->is_outdated = true;
        link_drop(link, events, now_ms, false, "the database has changed what was prepared");
        return false;
    }
    return true;
}

/* False: the connection was dropped. */
static bool take_results(struct link *link, const struct link_events *events, int64_t now_ms)
{
    while (link->syncs > 0 && !PQisBusy(link->conn)) {
        PGresult *result = PQgetResult(link->conn); /* NULL between two queries */
        bool is_kept = !result || take_result(link, events, now_ms, result);

        PQclear(result);
        if (!is_kept) {
            return false;
        }
    }
    return true;
}

static bool take_listened(struct link *link, const struct link_events *events, int64_t now_ms)
{
    while (link->state == LINK_PREPARING && !PQisBusy(link->conn)) {
        PGresult *result = PQgetResult(link->conn);

        if (!result) {
            become_ready(link, events);
        } else if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            link_drop(link, events, now_ms, true, PQresultErrorMessage(result));
        }
        PQclear(result);
    }
    return link->conn != NULL;
}

static void take_notifications(struct link *link, const struct link_events *events)
{
    PGnotify *notification;

    while ((notification = PQnotifies(link->conn))) {
        events->notified(events->context, notification->extra);
        PQfreemem(notification);
    }
}

static void talk(struct link *link, const struct link_events *events, int64_t now_ms)
{
    int left;

    if (!PQconsumeInput(link->conn)) {
        link_drop(link, events, now_ms, true, PQerrorMessage(link->conn));
        return;
    }
    if (link->is_ear) {
        if (!take_listened(link, events, now_ms)) {
            return;
        }
        take_notifications(link, events);
    } else if (!take_results(link, events, now_ms)) {
        return;
    }
    left = PQflush(link->conn);
    link->wants_write = left > 0;
    if (left < 0 || PQstatus(link->conn) == CONNECTION_BAD) {
        link_drop(link, events, now_ms, true, PQerrorMessage(link->conn));
    }
}

void link_step(struct link *link, const struct link_events *events, int64_t now_ms)
{
    if (link->state == LINK_DOWN && now_ms >= link->due_ms) {
        connect_begin(link, events, now_ms);
        return;
    }
    if ((link->state == LINK_CONNECTING || link->state == LINK_PREPARING) &&
        now_ms >= link->due_ms) {
        link_drop(link, events, now_ms, true, "the database does not answer in connect_timeout_ms");
        return;
    }
    if (link->is_unsent) {
        link_drop(link, events, now_ms, true, "a query could not be sent");
        return;
    }
    if (link->state == LINK_CONNECTING) {
        /* Earlier than poll says it would take a connection for one that is not there yet. */
        if (link->has_io) {
            connect_go_on(link, events, now_ms);
        }
    } else if (link->conn) {
        talk(link, events, now_ms);
    }
}

void link_send(struct link *link, struct job *job)
{
    const char *values[JOB_PARTS_MAX];
    int parts = 0;

    while (parts < JOB_PARTS_MAX && job->lists[parts].len) {
        values[parts] = job->lists[parts].data;
        parts++;
    }
    job->next = NULL;
    job->tries++;
    if (link->last) {
        link->last->next = job;
    } else {
        link->first = job;
    }
    link->last = job;
    link->job_count++;
    link->syncs++;
    /* The connection is gone, or memory is out; then others' answers would be taken for its own. */
    link->is_unsent = link->is_unsent ||
                      !PQsendQueryPrepared(link->conn, settings_query_name(job->query), parts,
                                           values, NULL, NULL, 0) ||
                      !PQpipelineSync(link->conn);
    if (!link->is_unsent) {
        link->wants_write = PQflush(link->conn) > 0;
    }
}
