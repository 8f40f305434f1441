/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_MS 1000
#define THEN_MS  250

/* True: the call has ended. */
static bool sleep_unless_ended(const struct hgi_progress *progress, int ms)
{
    struct pollfd end = {.fd = progress->ends[0], .events = POLLIN};

    return poll(&end, 1, ms) > 0;
}

static void tell(void *arg)
{
    struct hgi_progress *progress = arg;
    bool is_ended = sleep_unless_ended(progress, FIRST_MS);
    bool has_line = false;

    while (!is_ended) {
        char text[HGI_PROGRESS_MAX];

        if (progress->describe(progress, text)) {
            fprintf(stderr, "\r%s\033[K", text);
            has_line = true;
        }
        is_ended = sleep_unless_ended(progress, THEN_MS);
    }
    if (has_line) {
        fprintf(stderr, "\r\033[K");
    }
}

void hgi_progress_start(struct hgi_progress *progress, struct hgi_cli *cli,
                        bool (*describe)(struct hgi_progress *progress, char *ret_text))
{
    progress->cli = cli;
    progress->describe = describe;
    progress->thread.is_started = false;
    if (!isatty(STDERR_FILENO) || pipe(progress->ends) != 0) {
        return;
    }
    if (!hgi_thread_start(&progress->thread, "progress", tell, progress)) {
        close(progress->ends[0]);
        close(progress->ends[1]);
    }
}

void hgi_progress_stop(struct hgi_progress *progress)
{
    if (!progress->thread.is_started) {
        return;
    }
    close(progress->ends[1]);
    hgi_thread_join(&progress->thread);
    close(progress->ends[0]);
}
