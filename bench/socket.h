/* SPDX-License-Identifier: Apache-2.0 */
/* socket: a connected socket for an address.
 * Owns:     nothing; the descriptor is the caller's.
 * Threads:  any.
 * Limits:   loopback tcp and unix sockets.
 * Errors:   -1 and a sentence.
 * Not here: reading and writing. */
#ifndef BENCH_SOCKET_H
#define BENCH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* unix:///PATH, ipc:///PATH or tcp://A.B.C.D:PORT. Connects blocking; what it returns is
 * non-blocking, and without delay on tcp. */
int socket_connect(const char *address, char *ret_sentence, size_t sentence_size);
bool socket_is_unix(const char *address);

#endif
