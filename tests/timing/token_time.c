/* SPDX-License-Identifier: Apache-2.0 */
/* token_time: whether the time that looking at a token takes says anything of the right one.
 * Usage: token_time TRIES   (scripts/timing runs it, in an optimised build)
 *
 * The last line is a comparison that stops at the first wrong byte: if its difference is not seen,
 * the measurement sees nothing, and the program fails. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "token_file.h"
#include "welch.h"

#define BATCH     64
#define SECRET_AT (HGI_TOKEN_LEN - 43)
#define ID_AT     3

static char text[HGI_TOKEN_LEN + 1];
static volatile bool sink;

/* ---- what is shown ---- */

static char other_than(char c)
{
    return c == 'A' ? 'B' : 'A';
}

/* The one known token, wrong in its secret's first byte or in its last. */
static void show_wrong_early_or_late(bool is_second)
{
    size_t at = is_second ? HGI_TOKEN_LEN - 1 : SECRET_AT;

    memcpy(text, known[0].text, HGI_TOKEN_LEN);
    text[at] = other_than(text[at]);
}

static void draw_secret(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char drawn[43];

    hgi_random(drawn, sizeof(drawn));
    for (size_t i = 0; i < sizeof(drawn); i++) {
        text[SECRET_AT + i] = digits[drawn[i] % 64];
    }
}

/* dudect's own pair: always the same text, nearly the right one, or another each time. */
static void show_fixed_or_random(bool is_second)
{
    show_wrong_early_or_late(true);
    if (is_second) {
        draw_secret();
    }
}

/* A wrong secret to an id that somebody has, or that nobody has. */
static void show_known_or_unknown_id(bool is_second)
{
    uint16_t which;
    char id[HGI_TOKEN_ID_LEN + 1];

    hgi_random(&which, sizeof(which));
    memcpy(text, known[which % TOKENS].text, HGI_TOKEN_LEN);
    if (is_second) { /* no other token has these first digits and the same place */
        snprintf(id, sizeof(id), "%.*s", (int)HGI_TOKEN_ID_LEN, text + ID_AT);
        id[0] = id[0] == 'f' ? '0' : 'f';
        memcpy(text + ID_AT, id, HGI_TOKEN_ID_LEN);
    }
    draw_secret();
}

/* ---- what is done with it ---- */

static void look(void)
{
    struct hgi_bearer bearer;

    sink = hgi_tokens_check(tokens, hg_slice_of(text, HGI_TOKEN_LEN), TOKEN_NOW_MS, &bearer);
}

/* How not to do it. */
static void look_byte_by_byte(void)
{
    const volatile char *right = known[0].text;
    size_t i = 0;

    while (i < HGI_TOKEN_LEN && text[i] == right[i]) {
        i++;
    }
    sink = i == HGI_TOKEN_LEN;
}

int main(int argc, char **argv)
{
    static const struct hgi_principal principal = {.name = "gateway"};
    static const struct welch_pair pairs[] = {
        {"token wrong in the first byte, or in the last", show_wrong_early_or_late, look, BATCH},
        {"token nearly right, or drawn at random", show_fixed_or_random, look, BATCH},
        {"token wrong for a known id, or for an unknown one", show_known_or_unknown_id, look,
         BATCH},
    };
    static const struct welch_pair control = {"control: byte by byte, first or last",
                                              show_wrong_early_or_late, look_byte_by_byte, BATCH};
    struct welch welch;
    bool is_good = true;

    if (!welch_open(&welch, argc, argv)) {
        return 2;
    }
    token_file_open(&principal);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (welch_tells_apart(&welch, &pairs[i])) {
            printf("FAILED: a look at a token takes a time that depends on the token\n");
            is_good = false;
        }
    }
    if (!welch_tells_apart(&welch, &control)) {
        printf("FAILED: the control was not seen: nothing has been measured\n");
        is_good = false;
    }
    token_file_close();
    welch_close(&welch);
    return is_good ? 0 : 1;
}
