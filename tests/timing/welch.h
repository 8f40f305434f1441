/* SPDX-License-Identifier: Apache-2.0 */
/* welch: whether how long something takes tells two classes of input apart.
 * Owns:     the times of one comparison.
 * Threads:  one.
 * Limits:   WELCH_TRIES_MIN to WELCH_TRIES_MAX tries.
 * Errors:   no memory ends the program (give_up).
 * Not here: what is shown, and to what.
 *
 * As dudect does it (Reparaz, Balasch, Verbauwhede, 2017): two classes of what is shown, drawn at
 * random and made ready before the clock is read; Welch's t between their times, of all of them and
 * of those below several percentiles, because what disturbs a measurement only ever makes it
 * longer. The largest |t| counts; WELCH_T_MAX and more is a difference that chance does not make.
 */
#ifndef HGI_TIMING_WELCH_H
#define HGI_TIMING_WELCH_H

#include <stdbool.h>
#include <stddef.h>

#define WELCH_T_MAX     10.0
#define WELCH_TRIES_MIN 1000ul
#define WELCH_TRIES_MAX 10000000ul

struct welch {
    float *times;
    bool *is_second;
    size_t count;
};

/* What is compared. `batch` looks at one thing between two readings of the clock: more than its
 * grain. */
struct welch_pair {
    const char *name;
    void (*show)(bool is_second);
    void (*look)(void);
    size_t batch;
};

/* The program's only argument is how many tries. False: it is not, and stderr says so. */
bool welch_open(struct welch *welch, int argc, char **argv);
void welch_close(struct welch *welch);
/* Prints a line. True: the two are told apart. */
bool welch_tells_apart(struct welch *welch, const struct welch_pair *pair);

/* Says so and aborts. */
_Noreturn void give_up(const char *what);

#endif
