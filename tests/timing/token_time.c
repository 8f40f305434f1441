/* SPDX-License-Identifier: Apache-2.0 */
/* token_time: whether the time that looking at a token takes says anything of the right one.
 * Usage: token_time TRIES   (scripts/timing runs it, in an optimised build)
 *
 * As dudect does it (Reparaz, Balasch, Verbauwhede, 2017): two classes of what is shown, drawn at
 * random and made ready before the clock is read; Welch's t between their times, of all of them and
 * of those below several percentiles, because what disturbs a measurement only ever makes it
 * longer. The largest |t| counts; 10 and more is a difference that chance does not make.
 *
 * The last line is a comparison that stops at the first wrong byte: if its difference is not seen,
 * the measurement sees nothing, and the program fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/lock.h"
#include "bench/ticks.h"
#include "server/access/tokens.h"

#define NOW_MS     INT64_C(1796083871499)
#define TOKENS     512
#define T_MAX      10.0
#define BATCH      64 /* looks at one text between two readings of the clock: more than its grain */
#define TRIES_MAX  10000000ul
#define SECRET_AT  (HGI_TOKEN_LEN - 43)
#define ID_AT      3
#define WAIT_MS    20000
#define CROP_COUNT 6

static const double crops[CROP_COUNT] = {1.0, 0.99, 0.95, 0.9, 0.75, 0.5};

static struct hgi_tokens *tokens;
static struct hgi_token_text known[TOKENS];

/* ---- a file of tokens ---- */

static struct {
    struct hgi_lock lock;
    struct hgi_cond cond;
    size_t count;
} told;

static void tell(void *context, const struct hgi_tokens_done *done)
{
    hgi_lock_host(&told.lock);
    if (done->token) {
        *(struct hgi_token_text *)context = *done->token;
        told.count++;
    }
    hgi_cond_wake_all(&told.cond);
    hgi_unlock_host(&told.lock);
}

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "token_time: %s\n", what);
    abort();
}

static void make_tokens(const char *folder)
{
    static const struct hgi_principal principal = {.name = "gateway"};
    static char path[96];
    static char key_path[96];
    const struct hgi_tokens_options options = {
        .path = path, .key_path = key_path, .principals = &principal, .principal_count = 1};
    char sentence[HGI_SENTENCE_MAX];

    snprintf(path, sizeof(path), "%s/tokens", folder);
    snprintf(key_path, sizeof(key_path), "%s/key", folder);
    if (hgi_tokens_open(&options, &tokens, sentence) != HG_OK) {
        give_up(sentence);
    }
    hgi_lock_init(&told.lock);
    hgi_cond_init(&told.cond);
    for (size_t i = 0; i < TOKENS; i++) {
        if (hgi_tokens_new(tokens, hg_slice_text("gateway"), 0, NOW_MS, tell, &known[i],
                           sentence) != HG_OK) {
            give_up(sentence);
        }
    }
    hgi_lock_host(&told.lock);
    while (told.count < TOKENS) {
        if (!hgi_cond_wait(&told.cond, &told.lock, WAIT_MS)) {
            give_up("the tokens were not written");
        }
    }
    hgi_unlock_host(&told.lock);
}

static void remove_tokens(const char *folder)
{
    static const char *const names[] = {"tokens", "tokens.lock", "key", "key.lock"};
    char path[96];

    hgi_tokens_close(&tokens);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    if (rmdir(folder) != 0) {
        give_up("its folder could not be removed");
    }
}

/* ---- what is shown ---- */

static char other_than(char c)
{
    return c == 'A' ? 'B' : 'A';
}

/* The one known token, wrong in its secret's first byte or in its last. */
static void show_wrong_early_or_late(bool is_second, char *ret_text)
{
    size_t at = is_second ? HGI_TOKEN_LEN - 1 : SECRET_AT;

    memcpy(ret_text, known[0].text, HGI_TOKEN_LEN);
    ret_text[at] = other_than(ret_text[at]);
}

static void draw_secret(char *ret_text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char drawn[43];

    hgi_random(drawn, sizeof(drawn));
    for (size_t i = 0; i < sizeof(drawn); i++) {
        ret_text[SECRET_AT + i] = digits[drawn[i] % 64];
    }
}

/* dudect's own pair: always the same text, nearly the right one, or another each time. */
static void show_fixed_or_random(bool is_second, char *ret_text)
{
    show_wrong_early_or_late(true, ret_text);
    if (is_second) {
        draw_secret(ret_text);
    }
}

/* A wrong secret to an id that somebody has, or that nobody has. */
static void show_known_or_unknown_id(bool is_second, char *ret_text)
{
    uint16_t which;
    char id[HGI_TOKEN_ID_LEN + 1];

    hgi_random(&which, sizeof(which));
    memcpy(ret_text, known[which % TOKENS].text, HGI_TOKEN_LEN);
    if (is_second) { /* no other token has these first digits and the same place */
        snprintf(id, sizeof(id), "%.*s", (int)HGI_TOKEN_ID_LEN, ret_text + ID_AT);
        id[0] = id[0] == 'f' ? '0' : 'f';
        memcpy(ret_text + ID_AT, id, HGI_TOKEN_ID_LEN);
    }
    draw_secret(ret_text);
}

/* ---- what is done with it ---- */

static bool look(const char *text)
{
    struct hgi_bearer bearer;

    return hgi_tokens_check(tokens, hg_slice_of(text, HGI_TOKEN_LEN), NOW_MS, &bearer);
}

/* How not to do it. */
static bool look_byte_by_byte(const char *text)
{
    const volatile char *right = known[0].text;

    for (size_t i = 0; i < HGI_TOKEN_LEN; i++) {
        if (text[i] != right[i]) {
            return false;
        }
    }
    return true;
}

/* ---- how long it takes ---- */

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

struct measured {
    float *times;
    bool *is_second;
    size_t count;
};

static double largest_t(const struct measured *m, double *ret_difference_ns)
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
            *ret_difference_ns = (moments[1].mean - moments[0].mean) / BATCH;
        }
    }
    free(sorted);
    return largest;
}

static double measure(struct measured *m, const char *name, void (*show)(bool, char *),
                      bool (*judge)(const char *))
{
    char text[HGI_TOKEN_LEN + 1] = "";
    double difference_ns = 0;
    double t;
    volatile bool sink;

    for (size_t i = 0; i < m->count; i++) {
        unsigned char drawn;
        uint64_t begun_ns;

        hgi_random(&drawn, 1);
        m->is_second[i] = drawn & 1;
        show(m->is_second[i], text);
        sink = judge(text); /* its memory is near, whichever it is */
        begun_ns = ticks_now_ns();
        for (size_t k = 0; k < BATCH; k++) {
            sink = judge(text);
        }
        m->times[i] = (float)(ticks_now_ns() - begun_ns);
    }
    (void)sink;
    t = largest_t(m, &difference_ns);
    printf("%-46s |t| = %7.2f  (%+.2f ns a look)\n", name, t, difference_ns);
    fflush(stdout);
    return t;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    unsigned long tries = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
    char folder[] = "/tmp/herdgate-timing-XXXXXX";
    struct measured m;
    bool is_good = true;

    if (!end || *end || tries < 1000 || tries > TRIES_MAX) {
        fprintf(stderr, "usage: token_time TRIES   (1000 to %lu)\n", TRIES_MAX);
        return 2;
    }
    m = (struct measured){malloc(tries * sizeof(float)), malloc(tries * sizeof(bool)), tries};
    if (!m.times || !m.is_second || !hgi_hash_start() || !mkdtemp(folder)) {
        give_up("no memory or no folder");
    }
    make_tokens(folder);
    is_good = measure(&m, "wrong in the first byte, or in the last", show_wrong_early_or_late,
                      look) < T_MAX;
    is_good = measure(&m, "nearly right, or drawn at random", show_fixed_or_random, look) < T_MAX &&
              is_good;
    is_good = measure(&m, "wrong for a known id, or for an unknown one", show_known_or_unknown_id,
                      look) < T_MAX &&
              is_good;
    if (!is_good) {
        printf("FAILED: a look at a token takes a time that depends on the token\n");
    }
    if (measure(&m, "control: byte by byte, first or last", show_wrong_early_or_late,
                look_byte_by_byte) < T_MAX) {
        printf("FAILED: the control was not seen: nothing has been measured\n");
        is_good = false;
    }
    remove_tokens(folder);
    free(m.times);
    free(m.is_second);
    return is_good ? 0 : 1;
}
