/* SPDX-License-Identifier: Apache-2.0 */
/* gateway: what an API gateway's worker does with herdgate.
 *
 * Reads the hash of an API key per line from standard input, asks an auth cache about it and prints
 * what the gateway would answer. Build it against an installed herdgate:
 *
 *     cc gateway.c $(pkg-config --cflags --libs herdgate) -o gateway
 *     echo 9f86d081884c7d65 | ./gateway ipc:///run/herdgate/herdgate.sock auth
 *
 * Two rules make it safe. It fails closed: only HG_OK together with HG_VALUE and `allowed` lets a
 * request in. And it says which refusals are final (401, 403: the client must change something) and
 * which are not (503: ask again), so that a cache that is away does not look like a revoked key. */
#include <herdgate/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A gateway's request waits this long for its key at most. */
#define CHECK_TIMEOUT_MS 2000

enum verdict { ADMIT = 200, UNKNOWN_KEY = 401, FORBIDDEN = 403, TRY_LATER = 503 };

struct decision {
    enum verdict verdict;
    char who[128]; /* ADMIT: the user the key belongs to */
    char why[HG_ERROR_TEXT_MAX];
};

static struct decision decide(enum verdict verdict, const char *why)
{
    struct decision decision = {.verdict = verdict};

    snprintf(decision.why, sizeof(decision.why), "%s", why);
    return decision;
}

/* A value is there: it still has to be read, and to say yes. */
static struct decision decide_by_value(const struct hg_answer *answer)
{
    struct hg_auth_value value;
    struct hg_error error;
    struct decision decision;

    if (answer->value_type != HG_TYPE_AUTH ||
        hg_auth_decode(answer->value, &value, &error) != HG_OK) {
        return decide(TRY_LATER, "the cache does not hold auth values");
    }
    if (!value.auth.allowed) {
        decision = decide(FORBIDDEN, "the key is not allowed");
    } else if (answer->source == HG_SOURCE_STALE) {
        /* Older than its ttl, younger than its stale_ttl: the operator chose to serve it, and a
         * refresh runs behind. A payment would ask again with HG_MODE_FRESH here. */
        decision = decide(ADMIT, "stale, being refreshed");
    } else {
        decision = decide(ADMIT, "allowed");
    }
    snprintf(decision.who, sizeof(decision.who), "%.*s", (int)value.auth.user_id.len,
             (const char *)value.auth.user_id.data);
    hg_auth_value_deinit(&value);
    return decision;
}

static struct decision decide_by_error(const struct hg_error *error)
{
    switch (error->status) {
    case HG_INVALID_ARGUMENT: /* what the client sent can be no key */
        return decide(UNKNOWN_KEY, error->text);
    case HG_UNAVAILABLE:        /* herdgate, or the loader's database, is away */
    case HG_DEADLINE_EXCEEDED:  /* or slow */
    case HG_RESOURCE_EXHAUSTED: /* or busy: error->retry_after_ms says for how long */
    default:                    /* or something is set up wrongly. Never a reason to let in. */
        return decide(TRY_LATER, error->text);
    }
}

static struct decision check(struct hg_client *client, const char *cache, const char *key_hash)
{
    struct hg_read request = {
        .cache = cache,
        .key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(key_hash)},
        .timeout_ms = CHECK_TIMEOUT_MS,
    };
    struct hg_answer answer;
    struct hg_error error;
    struct decision decision;

    if (hg_client_get_or_load(client, &request, &answer, &error) != HG_OK) {
        return decide_by_error(&error);
    }
    switch (answer.outcome) {
    case HG_VALUE:
        decision = decide_by_value(&answer);
        break;
    case HG_ABSENT:
        decision = decide(UNKNOWN_KEY, "no such key");
        break;
    case HG_DENIED:
        decision = decide(FORBIDDEN, "the key is revoked, expired or not allowed");
        break;
    case HG_NOT_CACHED: /* only from a peek */
    default:
        decision = decide(TRY_LATER, "no answer");
        break;
    }
    hg_answer_deinit(&answer);
    return decision;
}

int main(int argc, char **argv)
{
    struct hg_client *client = NULL;
    struct hg_error error;
    char line[1100];

    if (argc != 3) {
        fprintf(stderr, "usage: gateway URL CACHE < key-hashes\n");
        return 2;
    }
    if (hg_client_open(argv[1], NULL, &client, &error) != HG_OK) {
        fprintf(stderr, "gateway: %s\n", error.text);
        return 1;
    }
    while (fgets(line, sizeof(line), stdin)) {
        struct decision decision;

        line[strcspn(line, "\n")] = '\0';
        decision = check(client, argv[2], line);
        printf("%d %s%s%s\n", decision.verdict, decision.who, decision.who[0] ? ": " : "",
               decision.why);
        fflush(stdout);
    }
    hg_client_close(&client);
    return 0;
}
