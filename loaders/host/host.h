/* SPDX-License-Identifier: Apache-2.0 */
/* host: one opened plugin, its loads in flight and what is to be sent about them.
 * Owns:     the worker threads, the loads until they are done, the outgoing bytes until taken.
 * Threads:  one main thread calls everything here; the services given to the plugin may be called
 *           from any thread.
 * Limits:   HGI_HOST_LOG_MAX_BYTES of outgoing bytes, past which log lines are dropped; answers
 *           are bounded by the loads the server sends at once, health replies by its questions.
 * Errors:   open: one sentence. Out of memory for an answer ends the process: the server treats
 *           its loads as lost, which is what they are.
 * Not here: the socket (main), what a plugin is held to (loaders/contract). */
#ifndef HGI_LOADERS_HOST_HOST_H
#define HGI_LOADERS_HOST_HOST_H

#include "proto/frame.h"

#define HGI_HOST_WORKERS_MAX   256u
#define HGI_HOST_LOG_MAX_BYTES (1u << 20)

struct hg_host;

/* `wake_fd` is an eventfd, written when there are bytes to take. NULL: no memory. */
HG_NODISCARD struct hg_host *hgi_host_create(int wake_fd);
/* Every load is done and hgi_host_stop has been called, or open failed. */
void hgi_host_destroy(struct hg_host **host);

/* Opens the plugin as the server asks and starts the workers. Fills the answer in either case; its
 * texts are borrowed until destroy. */
void hgi_host_open(struct hg_host *host, const struct hgi_frame_hello *hello,
                   struct hgi_frame_ready *ret_ready);
/* Copies. Several go to the plugin in one call, as far as it takes so many. */
void hgi_host_load(struct hg_host *host, const struct hgi_frame_load *loads, size_t count);
void hgi_host_cancel(struct hg_host *host, uint64_t id);
/* A HealthReply follows. False: the plugin has no `health`, so nobody should have asked. */
HG_NODISCARD bool hgi_host_ask_health(struct hg_host *host);
/* Appends what is to be sent since the last call. False: no memory. */
HG_NODISCARD bool hgi_host_take(struct hg_host *host, struct hg_bytes *ret_bytes);
/* No load is in flight and nothing is to be taken. */
bool hgi_host_is_idle(struct hg_host *host);
/* Joins the workers and closes the plugin; the host must be idle. */
void hgi_host_stop(struct hg_host *host);

#endif
