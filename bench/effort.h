/* SPDX-License-Identifier: Apache-2.0 */
/* effort: how long a benchmark may try, and how it says what it found.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   EFFORT_REPEATS_MAX samples of one figure.
 * Errors:   a work returns false when an answer was wrong or something failed; it has said which.
 * Not here: medians, ratios, tables: whoever reads the lines makes them (bench/rows.py). */
#ifndef BENCH_EFFORT_H
#define BENCH_EFFORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EFFORT_REPEATS_MAX 16u

struct effort {
    bool is_quick;
    uint32_t repeats;
    double seconds;     /* of one sample */
    const char *folder; /* for files, in work_snapshot */
};

/* One figure's samples on one side, as they come. */
struct samples {
    const char *work;
    const char *side; /* "ours", "peer", or what else is compared */
    const char *unit;
    double values[EFFORT_REPEATS_MAX];
    size_t count;
};

void samples_add(struct samples *samples, double value);
/* Prints one line of JSON. */
void samples_say(const struct samples *samples);
/* For a figure with one sample. */
void say(const char *work, const char *side, const char *unit, double value);
/* Says on stderr what went wrong; returns false. */
bool effort_fault(const char *work, const char *what);

/* The works, each in its file. */
bool work_hits(const struct effort *effort);
bool work_mixed(const struct effort *effort);
bool work_growth(const struct effort *effort);
bool work_rss(const struct effort *effort);
bool work_clear(const struct effort *effort);
bool work_tags(const struct effort *effort);
bool work_policy(const struct effort *effort);
bool work_snapshot(const struct effort *effort);
/* A sample for each line on stdin, so that another program can be asked in turn. */
bool work_get_or_load(const struct effort *effort);

#endif
