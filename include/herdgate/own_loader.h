/* SPDX-License-Identifier: Apache-2.0 */
/* own_loader: loads led by a loader plugin that the caller opens itself.
 * Owns:     the opened plugin, its threads and its loads until hg_loader_close.
 * Threads:  open and close from one thread at a time; loads from any number at once.
 * Limits:   hg_open_loader.
 * Errors:   as client.h. What the plugin does wrong is an error of its load.
 * Not here: writing a plugin (loader.h, docs/LOADERS.md), what it is to lead (lease.h).
 *
 * The plugin runs in this process, at its own risk: when it crashes, so does the program; when it
 * hangs, it keeps its thread. In a herdgated it would have a process of its own. It is handed to
 * hg_client_load_through in the place of a callback:
 *
 *     struct hg_load_through request = {.read = read, .load = hg_loader_lead, .arg = loader};
 *
 * A program that forks opens it after the fork. */
#ifndef HERDGATE_OWN_LOADER_H
#define HERDGATE_OWN_LOADER_H

#include "herdgate/lease.h"
#include "herdgate/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HG_LOADER_WORKERS_MAX 256u

struct hg_own_loader;

/* What the plugin logs, NUL-ended; borrowed for the call. From any thread, also before
 * hg_client_open_loader has returned; it must not close the loader. */
typedef void (*hg_loader_log_fn)(void *arg, enum hg_log_level level, const char *text);

/* All but `path` may be 0. Borrowed for the call. */
struct hg_open_loader {
    const char *path;                         /* of the .so, absolute */
    const struct hg_loader_setting *settings; /* its options */
    size_t setting_count;
    uint32_t workers;         /* threads that call its `load`: 4; at most HG_LOADER_WORKERS_MAX */
    uint32_t value_max_bytes; /* of one value: 64 KiB; the server has a limit of its own */
    hg_loader_log_fn log;     /* NULL: nobody wants to know */
    void *log_arg;
};

/* Checks the file, its ABI and the options as the server does, and opens it; may block as long as
 * the plugin's `open` does. The file and its folders must belong to root or to this process's user,
 * and nobody else may write there. FAILED_PRECONDITION: such a file, or not a plugin of this ABI.
 * Each file that is opened keeps one descriptor until the process ends. INVALID_ARGUMENT: an
 * option that is unknown, given twice or missing. Whatever else the plugin's `open` says. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_open_loader(const struct hg_open_loader *request,
                                                            struct hg_own_loader **ret_loader,
                                                            struct hg_error *ret_error);

/* A hg_load_fn whose `arg` is the loader. Waits until the plugin has answered, at most until the
 * lead's time is up: then the plugin is told to cancel, what it still answers is dropped, and the
 * load is DEADLINE_EXCEEDED. After hg_loader_close every load is CANCELLED. */
HG_EXPORT void hg_loader_lead(void *loader, const struct hg_lead *lead);

/* Begins no load any more, waits for those that run, also those nobody waits for any more, and
 * closes the plugin; then sets *loader to NULL. DEADLINE_EXCEEDED: after timeout_ms (0: 15,000) one
 * still ran; the loader is as good as closed, and to be closed again. The plugin's code stays
 * mapped. A NULL loader is nothing to close. Not from a callback. */
HG_EXPORT HG_NODISCARD enum hg_status hg_loader_close(struct hg_own_loader **loader,
                                                      uint32_t timeout_ms,
                                                      struct hg_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
