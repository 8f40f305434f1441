/* SPDX-License-Identifier: Apache-2.0 */
#include "effort.h"

#include <stdio.h>

void samples_add(struct samples *samples, double value)
{
    if (samples->count < EFFORT_REPEATS_MAX) {
        samples->values[samples->count++] = value;
    }
}

void samples_say(const struct samples *samples)
{
    printf("{\"work\": \"%s\", \"side\": \"%s\", \"unit\": \"%s\", \"samples\": [", samples->work,
           samples->side, samples->unit);
    for (size_t i = 0; i < samples->count; i++) {
        printf("%s%.6g", i ? ", " : "", samples->values[i]);
    }
    printf("]}\n");
    fflush(stdout);
}

void say(const char *work, const char *side, const char *unit, double value)
{
    struct samples samples = {.work = work, .side = side, .unit = unit};

    samples_add(&samples, value);
    samples_say(&samples);
}

bool effort_fault(const char *work, const char *what)
{
    fprintf(stderr, "bench-inprocess: %s: %s\n", work, what);
    return false;
}
