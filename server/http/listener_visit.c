/* SPDX-License-Identifier: Apache-2.0 */
/* A request is a visit from its target's arrival (open) to its end (close). All of it but the reply
 * runs on the one thread of the library that has the connection.
 *
 * The reply to a question may come from any thread, before or after the visit was put aside, so the
 * two meet in `meeting`: whoever comes second wakes the visit. A reply that comes in the turn that
 * asked puts nobody aside.
 *
 *   ASKED --answer--> ANSWERED              the turn goes on by itself
 *   ASKED --put aside--> ASIDE --answer--> ANSWERED, and the answerer resumes the connection */
#include "listener_inside.h"

#include <string.h>

#include "base/check.h"
#include "server/rpc/dispatch.h"

#define RETRY_AFTER "1"

enum meeting { ASKED, ASIDE, ANSWERED };

static const unsigned counted[] = {200, 204, 304, 400, 401, 403, 404, 405,
                                   409, 413, 429, 431, 500, 503, 504, 0};
_Static_assert(sizeof(counted) / sizeof(counted[0]) == HGI_HTTP_STATUSES_MAX, "one place each");

unsigned hgi_http_visit_status(size_t place)
{
    return counted[place];
}

struct hgi_http_visit {
    struct hgi_http_exchange exchange;
    struct hgi_http_listener *listener;
    struct MHD_Connection *connection;
    struct hgi_http_connection *door;
    char *target;
    struct hgi_http_field *fields; /* HGI_HTTP_FIELDS_MAX */
    size_t head_len;
    bool is_head_too_long;
    bool is_body_too_long;
    bool is_begun;  /* its head has come */
    bool is_routed; /* and counts in in_flight */
    bool is_asking;
    struct hg_bytes body;
    _Atomic unsigned meeting;
};

/* ---- asking ---- */

void hgi_http_visit_answer(struct hgi_asker *asker, const struct hgi_sp_route *route,
                           const struct hgi_pieces *body)
{
    struct hgi_http_connection *door = HGI_CONTAINER(asker, struct hgi_http_connection, asker);
    struct hgi_http_visit *visit = door->visit;
    struct hgi_http_question *question = &visit->exchange.question;

    (void)route; /* one question at a time */
    question->has_reply = hgi_pieces_append(body, &question->reply_bytes);
    if (atomic_exchange(&visit->meeting, ANSWERED) == ASIDE) {
        MHD_resume_connection(visit->connection);
    }
}

/* What came back, understood; without memory it is what that is called. */
static void read_reply(struct hgi_http_exchange *exchange)
{
    struct hgi_http_question *question = &exchange->question;

    if (!question->has_reply || hgi_reply_decode(hgi_bytes_slice(&question->reply_bytes),
                                                 &exchange->arena, &question->reply) != HG_OK) {
        question->reply = (struct hgi_reply){.status = HG_RESOURCE_EXHAUSTED,
                                             .message = hg_slice_text("no memory for the reply")};
    }
}

/* True: the reply is there. False: the visit is put aside. */
static bool ask(struct hgi_http_visit *visit)
{
    struct hgi_http_question *question = &visit->exchange.question;
    const struct hgi_sp_route route = hgi_sp_route_of(1);
    struct hgi_request request = {.method = question->method,
                                  .timeout_ms = question->timeout_ms,
                                  .payload = hgi_bytes_slice(&question->payload),
                                  .metadata_count = question->told_count};
    struct hg_bytes packed;
    unsigned asked = ASKED;

    memcpy(request.metadata, question->told, sizeof(question->told));
    hgi_bytes_init(&packed, &hgi_heap);
    if (!hgi_request_encode(&request, &packed)) {
        hgi_bytes_deinit(&packed);
        return true; /* no reply is what it reads */
    }
    atomic_store(&visit->meeting, ASKED);
    visit->door->visit = visit;
    hgi_dispatch_request(visit->listener->dispatch, &visit->door->asker, &route,
                         hgi_bytes_slice(&packed));
    hgi_bytes_deinit(&packed);
    if (atomic_load(&visit->meeting) == ANSWERED) {
        return true;
    }
    MHD_suspend_connection(visit->connection);
    if (!atomic_compare_exchange_strong(&visit->meeting, &asked, ASIDE)) {
        MHD_resume_connection(
            visit->connection); /* answered just now: its next turn begins at once */
    }
    return false;
}

/* Goes on until the response is filled (true) or somebody else has to answer first. */
static bool go_on(struct hgi_http_visit *visit)
{
    struct hgi_http_exchange *exchange = &visit->exchange;

    while (exchange->answered) {
        void (*answered)(struct hgi_http_exchange * exchange) = exchange->answered;

        if (!visit->is_asking && !ask(visit)) {
            visit->is_asking = true;
            return false;
        }
        visit->is_asking = false;
        exchange->answered = NULL;
        read_reply(exchange);
        answered(exchange);
    }
    return true;
}

/* ---- one request ---- */

static void count_response(struct hgi_http_listener *listener, unsigned status)
{
    size_t place = 0;

    while (counted[place] && counted[place] != status) {
        place++;
    }
    atomic_fetch_add_explicit(&listener->responses[place], 1, memory_order_relaxed);
}

/* The body lies in the visit's arena, or in the program, longer than the library looks at it: it is
 * not copied once more, and wiped with the arena. */
static enum MHD_Result respond(struct hgi_http_visit *visit)
{
    const struct hgi_http_response *said = &visit->exchange.response;
    /* Not copied: it is there until the visit is forgotten, which is after the last byte, and is
     * wiped then. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        said->body.len, said->body.len ? (void *)(uintptr_t)said->body.data : "",
        MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_NO;

    if (response) {
        result = MHD_YES;
        for (size_t i = 0; i < said->field_count && result == MHD_YES; i++) {
            result = MHD_add_response_header(response, said->fields[i].name, said->fields[i].value);
        }
        if (result == MHD_YES) {
            result = MHD_queue_response(visit->connection, said->status, response);
        }
        MHD_destroy_response(response);
    }
    count_response(visit->listener, result == MHD_YES ? said->status : 500);
    if (visit->is_routed) {
        visit->is_routed = false;
        atomic_fetch_sub(&visit->listener->in_flight, 1);
    }
    hgi_http_door_allow(&visit->door->watched, visit->listener->options.config->idle_ms);
    return result;
}

static void refuse_busy(struct hgi_http_exchange *exchange, const char *sentence)
{
    hgi_http_refuse(exchange, 503, "UNAVAILABLE", sentence);
    hgi_http_response_say(&exchange->response, "Retry-After", RETRY_AFTER);
}

/* Who is counted in is answered before the listener stops, so is_stopped is looked at after it. */
static void run_route(struct hgi_http_visit *visit)
{
    struct hgi_http_listener *listener = visit->listener;
    struct hgi_http_exchange *exchange = &visit->exchange;
    uint64_t others = atomic_fetch_add(&listener->in_flight, 1);

    visit->is_routed = true;
    hgi_http_door_allow(&visit->door->watched, 0);
    exchange->request.body = hgi_bytes_slice(&visit->body);
    if (visit->is_head_too_long) {
        hgi_http_refuse(exchange, 431, "INVALID_ARGUMENT",
                        "target and fields are longer than 64 KiB, or more than 200");
    } else if (visit->is_body_too_long) {
        hgi_http_refuse(exchange, 413, "INVALID_ARGUMENT", "the body is longer than message_max");
    } else if (atomic_load(&listener->is_stopped)) {
        refuse_busy(exchange, "the server is stopping");
    } else if (others >= listener->options.config->in_flight_max) {
        refuse_busy(exchange, "too many requests wait for an answer (in_flight_max)");
    } else if (!visit->door->is_admitted) {
        hgi_http_refuse(exchange, 403, "PERMISSION_DENIED",
                        "this socket is for the users in peers only");
    } else {
        listener->options.route(exchange);
    }
}

static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_len, const char *value, size_t value_len)
{
    struct hgi_http_visit *visit = context;
    struct hgi_http_request *request = &visit->exchange.request;

    (void)kind;
    visit->head_len += name_len + value_len + 4;
    if (request->field_count == HGI_HTTP_FIELDS_MAX || visit->head_len > HGI_HTTP_HEAD_MAX) {
        visit->is_head_too_long = true;
        return MHD_NO;
    }
    visit->fields[request->field_count++] =
        (struct hgi_http_field){hg_slice_of(name, name_len), hg_slice_of(value, value_len)};
    return MHD_YES;
}

static bool begin(struct hgi_http_visit *visit, const char *method)
{
    struct hgi_http_exchange *exchange = &visit->exchange;

    visit->is_begun = true;
    visit->fields = hgi_arena_alloc(&exchange->arena, HGI_HTTP_FIELDS_MAX * sizeof(*visit->fields));
    if (!visit->fields) {
        return false;
    }
    hgi_http_door_allow(&visit->door->watched, visit->listener->options.limits->body_ms);
    exchange->peer = &visit->door->asker.peer;
    exchange->now = hgi_clock_now();
    exchange->request.method = hg_slice_text(method);
    exchange->request.fields = visit->fields;
    visit->head_len = strlen(visit->target);
    hgi_http_target_split(hg_slice_text(visit->target), &exchange->request.path,
                          &exchange->request.query);
    (void)MHD_get_connection_values_n(visit->connection, MHD_HEADER_KIND, take_field, visit);
    return true;
}

static void take_body(struct hgi_http_visit *visit, const char *data, size_t *inout_len)
{
    struct hgi_http_listener *listener = visit->listener;

    if (visit->body.len + *inout_len > listener->options.limits->message_max_bytes) {
        visit->is_body_too_long = true;
    } else if (listener->options.takes_body && !visit->is_body_too_long &&
               !hgi_bytes_append(&visit->body, hg_slice_of(data, *inout_len))) {
        visit->is_body_too_long = true;
    }
    *inout_len = 0;
}

enum MHD_Result hgi_http_visit_take(void *listener, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *upload, size_t *upload_len, void **inout_visit)
{
    struct hgi_http_visit *visit = *inout_visit;

    (void)listener;
    (void)connection;
    (void)url; /* decoded; the target is as it came */
    (void)version;
    if (!visit) {
        return MHD_NO;
    }
    if (!visit->is_begun) {
        return begin(visit, method) ? MHD_YES : MHD_NO;
    }
    if (*upload_len) {
        take_body(visit, upload, upload_len);
        return MHD_YES;
    }
    if (!visit->is_routed) {
        run_route(visit);
    }
    return go_on(visit) ? respond(visit) : MHD_YES;
}

/* ---- its beginning and its end ---- */

void *hgi_http_visit_open(void *listener, const char *target, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct hgi_http_connection *door = info ? info->socket_context : NULL;
    struct hgi_http_visit *visit = door ? hgi_alloc(&hgi_heap, sizeof(*visit)) : NULL;
    struct hgi_http_exchange *exchange;

    if (!visit) {
        return NULL;
    }
    hgi_http_door_allow(&door->watched, door->listener->options.limits->body_ms);
    visit->door = door;
    exchange = &visit->exchange;
    visit->listener = listener;
    visit->connection = connection;
    visit->target = hgi_text_copy(&hgi_heap, hg_slice_text(target));
    if (!visit->target) {
        hgi_free(&hgi_heap, visit);
        return NULL;
    }
    exchange->http = visit->listener->options.http;
    exchange->listener = visit->listener->options.config;
    hgi_arena_init(&exchange->arena, HGI_HTTP_ARENA_MIN);
    hgi_http_response_init(&exchange->response, &exchange->arena);
    hgi_bytes_init(&exchange->question.payload, &hgi_heap);
    hgi_bytes_init(&exchange->question.reply_bytes, &hgi_heap);
    hgi_bytes_init(&visit->body, &hgi_heap);
    return visit;
}

/* All of it may be credentials. */
void hgi_http_visit_close(void *listener, struct MHD_Connection *connection, void **inout_visit,
                          enum MHD_RequestTerminationCode why)
{
    struct hgi_http_visit *visit = *inout_visit;

    (void)listener;
    (void)connection;
    (void)why;
    if (!visit) {
        return;
    }
    if (visit->is_routed) {
        atomic_fetch_sub(&visit->listener->in_flight, 1);
    }
    hgi_bytes_deinit(&visit->body);
    hgi_bytes_deinit(&visit->exchange.question.payload);
    hgi_bytes_deinit(&visit->exchange.question.reply_bytes);
    hgi_arena_deinit(&visit->exchange.arena);
    explicit_bzero(visit->target, strlen(visit->target));
    hgi_free(&hgi_heap, visit->target);
    hgi_free(&hgi_heap, visit);
    *inout_visit = NULL;
}
