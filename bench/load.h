/* SPDX-License-Identifier: Apache-2.0 */
/* load: asks a server as fast as it answers, and checks every answer.
 * Owns:     its connections, until load_run returns.
 * Threads:  one, and no more: epoll, non-blocking sockets.
 * Limits:   LOAD_CONNECTIONS_MAX, LOAD_IN_FLIGHT_MAX on each; gives up after LOAD_SILENCE_S.
 * Errors:   false and a sentence: not connected, or a connection that broke. A wrong answer is
 * counted, not an error.
 * Not here: what the bytes mean (wire), the command line (load_main). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "histogram.h"
#include "wire.h"

#include <sys/types.h>

#define LOAD_CONNECTIONS_MAX 10000u
#define LOAD_IN_FLIGHT_MAX   4096u
#define LOAD_SILENCE_S       10u

struct load_plan {
    const char *address; /* unix:///PATH, ipc:///PATH or tcp://A.B.C.D:PORT */
    const struct wire_kind *kind;
    struct wire_plan wire;
    uint32_t connections;
    uint32_t in_flight; /* requests, on each connection */
    uint32_t numbers;   /* records are drawn from 0 to numbers - 1 */
    bool is_in_order;   /* one after the other instead of at random */
    uint64_t seed;
    uint64_t count; /* requests to send; 0: for so many seconds */
    double seconds;
    double warm_s; /* before the seconds; not counted */
    pid_t pid;     /* of the server; 0: its processor time is not asked for */
};

struct load_result {
    uint64_t asked; /* keys, warming and end included: all of them are checked */
    uint64_t wrong;
    uint64_t missing;
    uint64_t counted; /* keys answered in the counted time */
    double seconds;
    double server_cpu_s;
    double own_cpu_s;
    struct histogram latency; /* of requests */
};

HG_NODISCARD bool load_run(const struct load_plan *plan, struct load_result *ret_result,
                           char *ret_sentence, size_t sentence_size);

#endif
