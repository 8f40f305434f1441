/* SPDX-License-Identifier: Apache-2.0 */
/* scenario: the language of the .hgs files (docs/TESTING.md).
 * Owns:     struct run: one file, its server, its connections, what was asked and answered.
 * Threads:  one; answers to load and batch come on the client's threads, under the run's lock.
 * Limits:   the _MAX below; 10 s for a condition, 20 s for an answer.
 * Errors:   scenario_fail says FILE:LINE and why, and fails the test.
 * Not here: the server and the scripted loader (tests/lib). */
#ifndef HG_TEST_SCENARIO_H
#define HG_TEST_SCENARIO_H

#include <stdio.h>

#include "base/lock.h"
#include "daemon.h"
#include "herdgate/lease.h"

#define LINE_MAX_BYTES 1024
#define WORDS_MAX      64
#define NAME_MAX_BYTES 32
#define PARTS_MAX      8
#define NUMBERS_MAX    6
#define ASKS_MAX       64
#define SAVED_MAX      16
#define CONNS_MAX      8
#define MARKS_MAX      32
#define KEYS_MAX       PARTS_MAX

/* A line cut at its blanks; "what is quoted", with its quotes, belongs to one word. */
struct words {
    char text[LINE_MAX_BYTES];
    char *at[WORDS_MAX];
    size_t count;
};

struct number {
    const char *name;
    uint64_t value;
};

/* One answer as words ("VALUE", "\"x\"", "loaded") and numbers (age, generation). */
struct part {
    char shown[LINE_MAX_BYTES];
    struct number numbers[NUMBERS_MAX];
    size_t number_count;
};

/* What a name of "as NAME" stands for. */
struct saved {
    char name[NAME_MAX_BYTES];
    struct hg_token token;
    struct hg_lease lease;
};

struct ask {
    struct run *run;
    char name[NAME_MAX_BYTES]; /* empty: nobody names it, it is waited for at once */
    int line;
    bool is_answered;
    bool is_read;
    enum hg_status status;
    struct saved brought;
    struct part parts[PARTS_MAX]; /* more than one: of a batch */
    size_t part_count;
};

struct conn {
    char name[NAME_MAX_BYTES];
    struct hg_client *client;
};

/* What a counter was when it was last looked at. */
struct mark {
    char name[64];
    uint64_t value;
};

struct run {
    const char *path;
    int line;
    struct daemon d;
    struct hgi_lock lock;
    struct hgi_cond changed;
    struct ask asks[ASKS_MAX];
    size_t ask_count;
    struct saved saved[SAVED_MAX];
    size_t saved_count;
    struct conn conns[CONNS_MAX];
    struct mark marks[MARKS_MAX];
    size_t mark_count;
    char control[4096]; /* what the loader does next */
    bool is_control_open;
};

_Noreturn void scenario_fail(struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- words.c ---- */
void words_cut(struct run *run, const char *line, struct words *ret_words);
/* "150ms", "2s", "1m", "1h" or a bare number. */
bool words_number(const char *text, uint64_t *ret_number);
/* "+200ms" and "-1s" from now, in unix milliseconds. */
int64_t words_moment(struct run *run, const char *text);
/* Without its quotes, if it has some. */
void words_unquote(const char *word, char *ret_text, size_t size);
/* The part behind "NAME=", or NULL. */
const char *words_option(const char *word, const char *name);
const struct saved *words_saved(struct run *run, const char *name);

/* ---- ask.c: ">" ---- */
struct ask *scenario_ask(struct run *run, const struct words *words);
void scenario_wait(struct run *run, struct ask *ask);
void scenario_hang_up(struct run *run, const char *name); /* NULL: all */

/* ---- reply.c: "<" ---- */
void part_error(struct part *part, const struct hg_error *error);
void part_answer(struct part *part, const struct hg_answer *answer);
void part_word(struct part *part, const char *format, ...) __attribute__((format(printf, 2, 3)));
void part_number(struct part *part, const char *name, uint64_t value);
void scenario_compare(struct run *run, struct ask *ask, const struct words *words, size_t first);

/* ---- count.c: "+" and "=" ---- */
void scenario_count_change(struct run *run, const char *name, uint64_t expected);
void scenario_count_await(struct run *run, const char *name, uint64_t expected);
void scenario_count_restart(struct run *run); /* a new server counts from 0 */

#endif
