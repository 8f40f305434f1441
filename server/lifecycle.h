/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the whole server, from a configuration to serving and back.
 * Owns:     every part; starts them in order and stops them in reverse. The thread `ticker`.
 * Threads:  start, reload, stop from the main thread, which has blocked all signals.
 * Limits:   a stop takes at most about 10 s, whatever loaders and clients do.
 * Errors:   start: one sentence and the exit code it deserves; nothing stays half started.
 * Not here: the command line and signals (main). */
#ifndef HGI_SERVER_LIFECYCLE_H
#define HGI_SERVER_LIFECYCLE_H

#include "server/config.h"

/* Exit codes of herdgated (semantics 9). */
enum hgi_exit {
    HGI_EXIT_OK = 0,
    HGI_EXIT_FAILED = 1,
    HGI_EXIT_USAGE = 2,
    HGI_EXIT_RUNNING = 75, /* another server is running, or a port is in use */
    HGI_EXIT_CONFIG = 78,
};

#define HGI_LIFECYCLE_SENTENCE_MAX 1024u

struct hgi_server;

/* `config` and `loader_program` (path of herdgate-loader) are borrowed until stop. NULL: *ret_exit
 * and ret_sentence say why. */
HG_NODISCARD struct hgi_server *hgi_server_start(const struct hgi_config *config,
                                                 const char *loader_program,
                                                 enum hgi_exit *ret_exit, char *ret_sentence);
/* The bound addresses, for the ready line. */
size_t hgi_server_url_count(const struct hgi_server *server);
const char *hgi_server_url(const struct hgi_server *server, size_t index);
/* Does what `wanted` (taken) has other than what holds, as far as that can be done while the server
 * serves; says what, and what needs a restart, in the log and to those who asked over RPC. NULL:
 * it could not be read, and `sentence` says why. If anything is wrong with it, all stays as it is.
 * From the main thread. */
void hgi_server_reload(struct hgi_server *server, HG_TAKES struct hgi_config *wanted,
                       const char *sentence);
/* Connections that are open, but for those over HTTP. */
size_t hgi_server_connection_count(const struct hgi_server *server);
/* Many of these have ended and do not go away; for a moment that may be. */
bool hgi_server_is_clogged(const struct hgi_server *server);
/* Takes no new requests, answers those it has, saves, ends the loaders. */
void hgi_server_stop(struct hgi_server **server);

/* Starts every loader's process and lets it open its plugin, then ends them again (herdgated -t).
 */
HG_NODISCARD enum hgi_exit hgi_server_check(const struct hgi_config *config,
                                            const char *loader_program, char *ret_sentence);

#endif
