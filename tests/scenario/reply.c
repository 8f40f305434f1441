/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "scenario.h"

static const char *const outcome_words[] = {"NOT_CACHED", "VALUE", "ABSENT", "DENIED"};
static const char *const source_words[] = {"", "fresh", "stale", "loaded", "joined", "leased"};

void part_word(struct part *part, const char *format, ...)
{
    size_t len = strlen(part->shown);
    va_list args;

    if (len && len + 1 < sizeof(part->shown)) {
        part->shown[len++] = ' ';
    }
    va_start(args, format);
    vsnprintf(part->shown + len, sizeof(part->shown) - len, format, args);
    va_end(args);
}

static void quoted(struct part *part, const void *data, size_t len)
{
    const char *text = data;
    char escaped[512];
    size_t at = 0;

    for (size_t i = 0; i < len && at + 3 < sizeof(escaped); i++) {
        if (text[i] == '"' || text[i] == '\\') {
            escaped[at++] = '\\';
        }
        escaped[at++] = text[i];
    }
    escaped[at] = 0;
    part_word(part, "\"%s\"", escaped);
}

void part_number(struct part *part, const char *name, uint64_t value)
{
    ck_assert_uint_lt(part->number_count, NUMBERS_MAX);
    part->numbers[part->number_count++] = (struct number){name, value};
}

void part_error(struct part *part, const struct hg_error *error)
{
    part_word(part, "%s", hg_status_name(error->status));
    if (error->status == HG_OK) {
        return;
    }
    quoted(part, error->text, strlen(error->text));
    if (error->source) {
        part_word(part, "%s", source_words[error->source]);
    }
    if (error->retry_after_ms) {
        part_number(part, "retry", error->retry_after_ms);
    }
}

static void show_value(struct part *part, const struct hg_answer *answer)
{
    struct hg_auth_value auth;

    if (answer->value_type != HG_TYPE_AUTH) {
        quoted(part, answer->value.data, answer->value.len);
        return;
    }
    if (hg_auth_decode(answer->value, &auth, NULL) != HG_OK) {
        part_word(part, "undecodable");
        return;
    }
    quoted(part, auth.auth.user_id.data, auth.auth.user_id.len);
    hg_auth_value_deinit(&auth);
}

void part_answer(struct part *part, const struct hg_answer *answer)
{
    if (answer->status != HG_OK) {
        part_word(part, "%s", hg_status_name(answer->status));
        quoted(part, answer->message.data, answer->message.len);
        return;
    }
    part_word(part, "%s", outcome_words[answer->outcome]);
    if (answer->value_type) {
        show_value(part, answer);
    }
    if (answer->source) {
        part_word(part, "%s", source_words[answer->source]);
    }
    if (answer->is_fenced) {
        part_word(part, "fenced");
    }
    if (answer->lease.id) {
        part_word(part, "lease");
    }
    part_number(part, "age", answer->age_ms);
    part_number(part, "left", answer->ttl_left_ms);
    part_number(part, "stale_left", answer->stale_left_ms);
    part_number(part, "generation", answer->generation);
}

static bool has_word(const struct words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->at[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* ~"text": one of the words contains it. */
static bool has_part(const struct words *words, const char *word)
{
    char text[LINE_MAX_BYTES];

    snprintf(text, sizeof(text), "%.*s", (int)strlen(word) - 3, word + 2);
    for (size_t i = 0; i < words->count; i++) {
        if (words->at[i][0] == '"' && strstr(words->at[i], text)) {
            return true;
        }
    }
    return false;
}

/* age>=100ms, dropped=1, generation=NAME, ...; false: not a comparison, or it does not hold. */
static bool holds(struct run *run, const struct part *part, const char *word)
{
    size_t len = strcspn(word, "<>=");
    const char *sign = word + len;
    const char *right = sign + strspn(sign, "<>=");
    uint64_t value;

    if (word[0] == '"' || !*sign) {
        return false;
    }
    if (!words_number(right, &value)) {
        value = words_saved(run, right)->token.generation;
    }
    for (size_t i = 0; i < part->number_count; i++) {
        uint64_t mine = part->numbers[i].value;

        if (strlen(part->numbers[i].name) != len ||
            strncmp(part->numbers[i].name, word, len) != 0) {
            continue;
        }
        return (strchr(sign, '=') && mine == value) || (*sign == '<' && mine < value) ||
               (*sign == '>' && mine > value);
    }
    return false;
}

static bool matches(struct run *run, const struct part *part, char *const *expected, size_t count)
{
    static const char *const never_silent[] = {"fenced", "lease"};
    struct words shown;
    struct words wanted = {.count = count};

    words_cut(run, part->shown, &shown);
    if (count == 0 || strcmp(shown.at[0], expected[0]) != 0) {
        return false;
    }
    memcpy(wanted.at, expected, count * sizeof(*expected));
    for (size_t i = 0; i < sizeof(never_silent) / sizeof(never_silent[0]); i++) {
        if (has_word(&shown, never_silent[i]) && !has_word(&wanted, never_silent[i])) {
            return false;
        }
    }
    for (size_t i = 1; i < count; i++) {
        if (expected[i][0] == '~'
                ? !has_part(&shown, expected[i])
                : !has_word(&shown, expected[i]) && !holds(run, part, expected[i])) {
            return false;
        }
    }
    return true;
}

static void show(const struct ask *ask, char *text, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < ask->part_count && len < size; i++) {
        const struct part *part = &ask->parts[i];

        len += (size_t)snprintf(text + len, size - len, "%s%s", i ? " | " : "", part->shown);
        for (size_t j = 0; j < part->number_count && len < size; j++) {
            len += (size_t)snprintf(text + len, size - len, " %s=%llu", part->numbers[j].name,
                                    (unsigned long long)part->numbers[j].value);
        }
    }
}

static void differ(struct run *run, const struct ask *ask, const struct words *words, size_t first)
{
    char came[2 * LINE_MAX_BYTES];
    char expected[LINE_MAX_BYTES];
    size_t len = 0;

    show(ask, came, sizeof(came));
    for (size_t i = first; i < words->count && len < sizeof(expected); i++) {
        len += (size_t)snprintf(expected + len, sizeof(expected) - len, "%s%s",
                                i > first ? " " : "", words->at[i]);
    }
    scenario_fail(run, "expected: %s\n%s:%d: came:     %s (asked in line %d)", expected, run->path,
                  run->line, came, ask->line);
}

void scenario_compare(struct run *run, struct ask *ask, const struct words *words, size_t first)
{
    size_t end = words->count;
    size_t at = first;
    size_t part = 0;

    if (end >= first + 2 && strcmp(words->at[end - 2], "as") == 0) {
        end -= 2;
        if (run->saved_count == SAVED_MAX) {
            scenario_fail(run, "more than %d saved names", SAVED_MAX);
        }
        run->saved[run->saved_count] = ask->brought;
        snprintf(run->saved[run->saved_count++].name, NAME_MAX_BYTES, "%s", words->at[end + 1]);
    }
    while (at <= end) {
        size_t stop = at;

        while (stop < end && strcmp(words->at[stop], "|") != 0) {
            stop++;
        }
        if (part == ask->part_count ||
            !matches(run, &ask->parts[part], words->at + at, stop - at)) {
            differ(run, ask, words, first);
        }
        part++;
        at = stop + 1;
    }
    if (part != ask->part_count) {
        differ(run, ask, words, first);
    }
    ask->is_read = true;
}
