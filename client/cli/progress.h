/* SPDX-License-Identifier: Apache-2.0 */
/* progress: what a call that takes longer than a second tells the terminal meanwhile.
 * Owns:     its thread, from start to stop.
 * Threads:  start and stop are main's; `describe` runs on a thread of its own, beside the call.
 * Limits:   HGI_PROGRESS_MAX bytes of text.
 * Errors:   what cannot be told is not told; the call goes on.
 * Not here: what there is to tell (the verbs). */
#ifndef HGI_CLI_PROGRESS_H
#define HGI_CLI_PROGRESS_H

#include "base/thread.h"
#include "client/cli/cli.h"

#define HGI_PROGRESS_MAX 128u

struct hgi_progress {
    struct hgi_cli *cli;
    bool (*describe)(struct hgi_progress *progress, char *ret_text);
    const char *cache; /* for `describe`; may be NULL */
    int ends[2];       /* a pipe: closed when the call has ended */
    struct hgi_thread thread;
};

/* Only where stderr is a terminal. After a second, and then four times a second, one line says what
 * `describe` writes to ret_text (HGI_PROGRESS_MAX bytes); false: nothing new. It may ask the
 * server, with HGI_PROGRESS_TIMEOUT_MS. */
#define HGI_PROGRESS_TIMEOUT_MS 1000u
void hgi_progress_start(struct hgi_progress *progress, struct hgi_cli *cli,
                        bool (*describe)(struct hgi_progress *progress, char *ret_text));
/* The line is gone when this returns. */
void hgi_progress_stop(struct hgi_progress *progress);

#endif
