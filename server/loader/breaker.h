/* SPDX-License-Identifier: Apache-2.0 */
/* breaker: whether a loader is worth asking at all.
 * Owns:     the failures and deaths it still remembers; `now` is handed in.
 * Threads:  the caller's (loader-io).
 * Limits:   HGI_BREAKER_KEYS keys and HGI_BREAKER_DEATHS deaths: as many as open it.
 * Errors:   none; a refusal is an answer.
 * Not here: ending the loads (section), when a process is started again (section).
 *
 * CLOSED -> OPEN when HGI_BREAKER_KEYS different keys have failed within HGI_BREAKER_KEYS_MS and no
 * load succeeded between, or when HGI_BREAKER_DEATHS processes died within HGI_BREAKER_DEATHS_MS.
 * OPEN refuses every load until its time is over; then one load is let through, the probe, and the
 * others are still refused. Its success closes, its failure opens again for the same time. */
#ifndef HGI_SERVER_LOADER_BREAKER_H
#define HGI_SERVER_LOADER_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/status.h"

#define HGI_BREAKER_KEYS         10u
#define HGI_BREAKER_KEYS_MS      10000
#define HGI_BREAKER_KEYS_OPEN_MS 5000

#define HGI_BREAKER_DEATHS         5u
#define HGI_BREAKER_DEATHS_MS      60000
#define HGI_BREAKER_DEATHS_OPEN_MS 30000

#define HGI_BREAKER_PROBING_RETRY_MS 500 /* told to who comes while the probe runs */
#define HGI_BREAKER_SENTENCE_MAX     160u

enum hgi_breaker_state { HGI_BREAKER_CLOSED, HGI_BREAKER_OPEN };
enum hgi_breaker_why { HGI_BREAKER_BY_KEYS, HGI_BREAKER_BY_DEATHS };
enum hgi_breaker_answer { HGI_BREAKER_PASS, HGI_BREAKER_PROBE, HGI_BREAKER_REFUSE };

struct hgi_breaker_failure {
    uint64_t key_hash;
    int64_t at_ms;
};

/* Zeroed memory is a closed breaker that remembers nothing. */
struct hgi_breaker {
    enum hgi_breaker_state state;
    enum hgi_breaker_why why;
    bool is_probing;
    int64_t until_ms; /* OPEN: when a probe may go */
    struct hgi_breaker_failure failures[HGI_BREAKER_KEYS];
    size_t failure_count;
    int64_t deaths_ms[HGI_BREAKER_DEATHS];
    size_t death_count;
};

/* What a load that ends like this says of the loader: UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL and
 * UNKNOWN are its faults; what it says of the request is not. */
bool hgi_breaker_is_fault(enum hg_status status);

/* Whether a load may go now. PROBE: it is the one; it must end in probe_ended or probe_dropped. */
HG_NODISCARD enum hgi_breaker_answer hgi_breaker_admit(struct hgi_breaker *breaker, int64_t now_ms);
/* Loads that are no probe. True: this one opened it. */
bool hgi_breaker_failed(struct hgi_breaker *breaker, uint64_t key_hash, int64_t now_ms);
void hgi_breaker_succeeded(struct hgi_breaker *breaker);
/* A process that served has died. True: this one opened it. */
bool hgi_breaker_died(struct hgi_breaker *breaker, int64_t now_ms);
void hgi_breaker_probe_ended(struct hgi_breaker *breaker, bool is_success, int64_t now_ms);
/* The probe said nothing of the loader (cancelled by its callers); the next load is one. */
void hgi_breaker_probe_dropped(struct hgi_breaker *breaker);

/* Of an open one: when to come back, at least 1, and why it is open. */
uint32_t hgi_breaker_retry_after_ms(const struct hgi_breaker *breaker, int64_t now_ms);
void hgi_breaker_sentence(const struct hgi_breaker *breaker,
                          char ret_sentence[HGI_BREAKER_SENTENCE_MAX]);

#endif
