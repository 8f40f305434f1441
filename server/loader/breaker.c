/* SPDX-License-Identifier: Apache-2.0 */
#include "breaker.h"

#include <stdio.h>

#include "base/check.h"

bool hgi_breaker_is_fault(enum hg_status status)
{
    return status == HG_UNAVAILABLE || status == HG_DEADLINE_EXCEEDED || status == HG_INTERNAL ||
           status == HG_UNKNOWN;
}

static void open_again(struct hgi_breaker *breaker, int64_t now_ms)
{
    breaker->state = HGI_BREAKER_OPEN;
    breaker->is_probing = false;
    breaker->until_ms = now_ms + (breaker->why == HGI_BREAKER_BY_KEYS ? HGI_BREAKER_KEYS_OPEN_MS
                                                                      : HGI_BREAKER_DEATHS_OPEN_MS);
}

/* What led here has been paid for: it must not be counted a second time. */
static void open_first(struct hgi_breaker *breaker, enum hgi_breaker_why why, int64_t now_ms)
{
    breaker->why = why;
    breaker->failure_count = 0;
    breaker->death_count = 0;
    open_again(breaker, now_ms);
}

enum hgi_breaker_answer hgi_breaker_admit(struct hgi_breaker *breaker, int64_t now_ms)
{
    if (breaker->state == HGI_BREAKER_CLOSED) {
        return HGI_BREAKER_PASS;
    }
    if (breaker->is_probing || now_ms < breaker->until_ms) {
        return HGI_BREAKER_REFUSE;
    }
    breaker->is_probing = true;
    return HGI_BREAKER_PROBE;
}

/* Drops what is too old, and the key itself: a key that fails again and again is one key. */
static void forget_failures(struct hgi_breaker *breaker, uint64_t key_hash, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < breaker->failure_count; i++) {
        if (now_ms - breaker->failures[i].at_ms <= HGI_BREAKER_KEYS_MS &&
            breaker->failures[i].key_hash != key_hash) {
            breaker->failures[kept++] = breaker->failures[i];
        }
    }
    breaker->failure_count = kept;
}

bool hgi_breaker_failed(struct hgi_breaker *breaker, uint64_t key_hash, int64_t now_ms)
{
    if (breaker->state != HGI_BREAKER_CLOSED) {
        return false; /* sent before it opened: the probe decides */
    }
    forget_failures(breaker, key_hash, now_ms);
    HGI_BUG_ON(breaker->failure_count >= HGI_BREAKER_KEYS);
    breaker->failures[breaker->failure_count++] = (struct hgi_breaker_failure){key_hash, now_ms};
    if (breaker->failure_count < HGI_BREAKER_KEYS) {
        return false;
    }
    open_first(breaker, HGI_BREAKER_BY_KEYS, now_ms);
    return true;
}

void hgi_breaker_succeeded(struct hgi_breaker *breaker)
{
    breaker->failure_count = 0;
}

bool hgi_breaker_died(struct hgi_breaker *breaker, int64_t now_ms)
{
    size_t kept = 0;

    if (breaker->state != HGI_BREAKER_CLOSED) {
        return false;
    }
    for (size_t i = 0; i < breaker->death_count; i++) {
        if (now_ms - breaker->deaths_ms[i] <= HGI_BREAKER_DEATHS_MS) {
            breaker->deaths_ms[kept++] = breaker->deaths_ms[i];
        }
    }
    HGI_BUG_ON(kept >= HGI_BREAKER_DEATHS);
    breaker->deaths_ms[kept] = now_ms;
    breaker->death_count = kept + 1;
    if (breaker->death_count < HGI_BREAKER_DEATHS) {
        return false;
    }
    open_first(breaker, HGI_BREAKER_BY_DEATHS, now_ms);
    return true;
}

void hgi_breaker_probe_ended(struct hgi_breaker *breaker, bool is_success, int64_t now_ms)
{
    HGI_BUG_ON(!breaker->is_probing);
    if (is_success) {
        breaker->state = HGI_BREAKER_CLOSED;
        breaker->is_probing = false;
    } else {
        open_again(breaker, now_ms);
    }
}

void hgi_breaker_probe_dropped(struct hgi_breaker *breaker)
{
    HGI_BUG_ON(!breaker->is_probing);
    breaker->is_probing = false;
}

uint32_t hgi_breaker_retry_after_ms(const struct hgi_breaker *breaker, int64_t now_ms)
{
    if (breaker->is_probing) {
        return HGI_BREAKER_PROBING_RETRY_MS;
    }
    return breaker->until_ms > now_ms ? (uint32_t)(breaker->until_ms - now_ms) : 1;
}

void hgi_breaker_sentence(const struct hgi_breaker *breaker,
                          char ret_sentence[HGI_BREAKER_SENTENCE_MAX])
{
    if (breaker->why == HGI_BREAKER_BY_KEYS) {
        snprintf(ret_sentence, HGI_BREAKER_SENTENCE_MAX,
                 "breaker open: %u keys failed within %d s and none succeeded; one load tries "
                 "every %d s",
                 HGI_BREAKER_KEYS, HGI_BREAKER_KEYS_MS / 1000, HGI_BREAKER_KEYS_OPEN_MS / 1000);
    } else {
        snprintf(ret_sentence, HGI_BREAKER_SENTENCE_MAX,
                 "breaker open: %u processes died within %d s; one load tries every %d s",
                 HGI_BREAKER_DEATHS, HGI_BREAKER_DEATHS_MS / 1000,
                 HGI_BREAKER_DEATHS_OPEN_MS / 1000);
    }
}
