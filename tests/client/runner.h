/* SPDX-License-Identifier: Apache-2.0 */
/* runner: one run of a built program, with what it printed.
 * Owns:     nothing after the run.
 * Threads:  one.
 * Limits:   RUN_OUTPUT_MAX bytes a stream.
 * Errors:   a program that cannot be run, or ends by a signal, fails the test.
 * Not here: what it should have printed. */
#ifndef RUNNER_H
#define RUNNER_H

#include <stddef.h>

#define RUN_OUTPUT_MAX 16384

struct run {
    int rc;
    char out[RUN_OUTPUT_MAX];
    size_t out_len;
    char err[RUN_OUTPUT_MAX];
    size_t err_len;
};

/* program: a path. line: its arguments, split at blanks. input: its standard input. */
void run_program(const char *program, const char *input, const char *line, struct run *ret_run);

#endif
