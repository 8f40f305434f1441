/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/clock.h"
#include "scenario.h"

void words_cut(struct run *run, const char *line, struct words *ret_words)
{
    char *at = ret_words->text;
    bool is_quoted = false;

    if (strlen(line) >= sizeof(ret_words->text)) {
        scenario_fail(run, "the line is longer than %d bytes", LINE_MAX_BYTES - 1);
    }
    strcpy(ret_words->text, line);
    ret_words->count = 0;
    for (;;) {
        at += strspn(at, " \t\n");
        if (!*at) {
            break;
        }
        if (ret_words->count == WORDS_MAX) {
            scenario_fail(run, "the line has more than %d words", WORDS_MAX);
        }
        ret_words->at[ret_words->count++] = at;
        for (; *at && (is_quoted || !strchr(" \t\n", *at)); at++) {
            if (*at == '\\' && at[1]) {
                at++;
            } else if (*at == '"') {
                is_quoted = !is_quoted;
            }
        }
        if (*at) {
            *at++ = 0;
        }
    }
    if (is_quoted) {
        scenario_fail(run, "a quote is not closed");
    }
}

bool words_number(const char *text, uint64_t *ret_number)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    char *end;
    uint64_t number;

    if (*text < '0' || *text > '9') {
        return false;
    }
    number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *ret_number = number * units[i].ms;
            return true;
        }
    }
    return false;
}

int64_t words_moment(struct run *run, const char *text)
{
    int64_t now_ms = hgi_clock_now().wall_ms;
    uint64_t distance_ms;

    if ((*text != '+' && *text != '-') || !words_number(text + 1, &distance_ms)) {
        scenario_fail(run, "\"%s\" is not a moment such as +200ms or -1s", text);
    }
    return *text == '+' ? now_ms + (int64_t)distance_ms : now_ms - (int64_t)distance_ms;
}

void words_unquote(const char *word, char *ret_text, size_t size)
{
    size_t len = 0;

    for (; *word && len + 1 < size; word++) {
        if (*word == '\\' && word[1]) {
            word++;
        } else if (*word == '"') {
            continue;
        }
        ret_text[len++] = *word;
    }
    ret_text[len] = 0;
}

const char *words_option(const char *word, const char *name)
{
    size_t len = strlen(name);

    return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

const struct saved *words_saved(struct run *run, const char *name)
{
    for (size_t i = run->saved_count; i > 0; i--) {
        if (strcmp(run->saved[i - 1].name, name) == 0) {
            return &run->saved[i - 1];
        }
    }
    scenario_fail(run, "nothing was saved \"as %s\"", name);
}
