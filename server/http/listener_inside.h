/* SPDX-License-Identifier: Apache-2.0 */
/* listener_inside: what a listener and the visits to it share.
 * Owns:     struct hgi_http_listener, struct hgi_http_connection.
 * Threads:  as the fields say; a visit's functions are the library's callbacks, on the one thread
 *           that has its connection.
 * Limits:   none of its own.
 * Errors:   none of its own.
 * Not here: anything others may see (listener.h). */
#ifndef HGI_SERVER_HTTP_LISTENER_INSIDE_H
#define HGI_SERVER_HTTP_LISTENER_INSIDE_H

#include <microhttpd.h>

#include "listener.h"
#include "proto/tls/identity.h"
#include "server/http/doors.h"
#include "server/http/socket.h"

struct hgi_http_listener {
    /* set once */
    struct hgi_http_listener_options options;
    struct hgi_http_socket socket;
    struct hgi_identity identity;
    struct hgi_dispatch *dispatch;
    struct MHD_Daemon *daemon;
    struct hgi_http_doors doors;
    bool is_quiet; /* the library does not have the socket any more */
    /* any thread's */
    _Atomic bool is_stopped;
    _Atomic uint64_t in_flight;
    _Atomic uint64_t connections;
    _Atomic uint64_t responses[HGI_HTTP_STATUSES_MAX];
};

struct hgi_http_visit;

/* A connection: the asker that dispatch sees. */
struct hgi_http_connection {
    struct hgi_http_door watched;
    struct hgi_asker asker;
    struct hgi_http_listener *listener;
    bool is_admitted;
    struct hgi_http_visit *visit; /* the one that asks */
};

/* A request's target has come: MHD_OPTION_URI_LOG_CALLBACK. NULL: no memory. */
void *hgi_http_visit_open(void *listener, const char *target, struct MHD_Connection *connection);
/* Its head, parts of its body, its end: what MHD_start_daemon takes. */
enum MHD_Result hgi_http_visit_take(void *listener, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *upload, size_t *upload_len, void **inout_visit);
/* It is over, one way or the other: MHD_OPTION_NOTIFY_COMPLETED. */
void hgi_http_visit_close(void *listener, struct MHD_Connection *connection, void **inout_visit,
                          enum MHD_RequestTerminationCode why);
/* What the door's asker is given. */
void hgi_http_visit_answer(struct hgi_asker *asker, const struct hgi_sp_route *route,
                           const struct hgi_pieces *body);
/* How many responses have had which status: the last place, of status 0, is any other. */
unsigned hgi_http_visit_status(size_t place);

#endif
