/* SPDX-License-Identifier: Apache-2.0 */
#include "welch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/ticks.h"

#define CROP_COUNT 6

static const double crops[CROP_COUNT] = {1.0, 0.99, 0.95, 0.9, 0.75, 0.5};

_Noreturn void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

bool welch_open(struct welch *welch, int argc, char **argv)
{
    char *end = NULL;
    unsigned long tries = argc == 2 ? strtoul(argv[1], &end, 10) : 0;

    if (!end || *end || tries < WELCH_TRIES_MIN || tries > WELCH_TRIES_MAX) {
        fprintf(stderr, "usage: %s TRIES   (%lu to %lu)\n", argv[0], WELCH_TRIES_MIN,
                WELCH_TRIES_MAX);
        return false;
    }
    *welch = (struct welch){malloc(tries * sizeof(float)), malloc(tries * sizeof(bool)), tries};
    if (!welch->times || !welch->is_second || !hgi_hash_start()) {
        give_up("no memory");
    }
    return true;
}

void welch_close(struct welch *welch)
{
    free(welch->times);
    free(welch->is_second);
}

struct moments {
    double count;
    double mean;
    double m2;
};

static void add(struct moments *moments, double x)
{
    double delta = x - moments->mean;

    moments->count++;
    moments->mean += delta / moments->count;
    moments->m2 += delta * (x - moments->mean);
}

static double welch(const struct moments *a, const struct moments *b)
{
    double spread;

    if (a->count < 2 || b->count < 2) {
        return 0;
    }
    spread = a->m2 / (a->count - 1) / a->count + b->m2 / (b->count - 1) / b->count;
    return spread > 0 ? fabs(a->mean - b->mean) / sqrt(spread) : 0;
}

static int compare(const void *a, const void *b)
{
    float one = *(const float *)a;
    float other = *(const float *)b;

    return (one > other) - (one < other);
}

static double largest_t(const struct welch *m, size_t batch, double *ret_difference_ns)
{
    float *sorted = malloc(m->count * sizeof(*sorted));
    double largest = 0;

    if (!sorted) {
        give_up("no memory");
    }
    memcpy(sorted, m->times, m->count * sizeof(*sorted));
    qsort(sorted, m->count, sizeof(*sorted), compare);
    for (size_t c = 0; c < CROP_COUNT; c++) {
        float limit = sorted[(size_t)(crops[c] * (double)(m->count - 1))];
        struct moments moments[2] = {{0}};
        double t;

        for (size_t i = 0; i < m->count; i++) {
            if (m->times[i] <= limit) {
                add(&moments[m->is_second[i]], m->times[i]);
            }
        }
        t = welch(&moments[0], &moments[1]);
        if (c == 0 || t > largest) {
            largest = t;
            *ret_difference_ns = (moments[1].mean - moments[0].mean) / (double)batch;
        }
    }
    free(sorted);
    return largest;
}

bool welch_tells_apart(struct welch *welch, const struct welch_pair *pair)
{
    double difference_ns = 0;
    double t;

    for (size_t i = 0; i < welch->count; i++) {
        unsigned char drawn;
        uint64_t begun_ns;

        hgi_random(&drawn, 1);
        welch->is_second[i] = drawn & 1;
        pair->show(welch->is_second[i]);
        pair->look(); /* its memory is near, whichever it is */
        begun_ns = ticks_now_ns();
        for (size_t k = 0; k < pair->batch; k++) {
            pair->look();
        }
        welch->times[i] = (float)(ticks_now_ns() - begun_ns);
    }
    t = largest_t(welch, pair->batch, &difference_ns);
    printf("%-58s |t| = %7.2f  (%+.2f ns a look)\n", pair->name, t, difference_ns);
    fflush(stdout);
    return t >= WELCH_T_MAX;
}
