/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <time.h>

#include "base/check.h"
#include "base/clock.h"

#define DURATION_MAX_MS (10ull * 365 * 24 * 3600 * 1000)
#define SECONDS_MAX     (INT64_MAX / 1000)

static const struct {
    const char *name;
    uint64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

bool hgi_parse_digits(const char *text, size_t len, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (len == 0) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');

        if (text[i] < '0' || text[i] > '9' || number > (max - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

static bool parse_duration(const char *text, uint64_t *ret_ms)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t number;

    for (size_t i = 0; i < HGI_COUNT_OF(units); i++) {
        if (strcmp(text + digits, units[i].name) == 0 &&
            hgi_parse_digits(text, digits, DURATION_MAX_MS / units[i].ms, &number)) {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

uint64_t hgi_parse_duration(struct argp_state *state, const char *option, const char *text)
{
    uint64_t ms = 0;

    if (!parse_duration(text, &ms)) {
        argp_error(state, "%s %s is no duration; write for example 250ms, 10s, 5m, 2h or 1d",
                   option, text);
    }
    return ms;
}

int64_t hgi_parse_moment(struct argp_state *state, const char *option, const char *text)
{
    struct tm calendar = {0};
    const char *end;
    uint64_t number;

    if (text[0] == '+' && parse_duration(text + 1, &number)) {
        return hgi_clock_now().wall_ms + (int64_t)number;
    }
    if (hgi_parse_digits(text, strlen(text), SECONDS_MAX, &number)) {
        return (int64_t)number * 1000;
    }
    end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &calendar);
    if (!end || *end) {
        argp_error(state,
                   "%s %s is no moment; write for example 2030-01-31T12:00:00Z, unix seconds, or "
                   "+10m",
                   option, text);
        return 0;
    }
    return (int64_t)timegm(&calendar) * 1000;
}

struct hg_token hgi_parse_token(struct argp_state *state, const char *option, const char *text)
{
    const char *colon = strchr(text, ':');
    struct hg_token token = {0};

    if (!colon || !hgi_parse_digits(text, (size_t)(colon - text), UINT64_MAX, &token.generation) ||
        !hgi_parse_digits(colon + 1, strlen(colon + 1), UINT64_MAX, &token.epoch)) {
        argp_error(state,
                   "%s %s is no token; write what \"herdgate generation CACHE KEY\" printed, "
                   "GENERATION:EPOCH",
                   option, text);
    }
    return token;
}
