/* SPDX-License-Identifier: Apache-2.0 */
/* What the ends of loads and processes say of a loader, and what follows: its breaker. */
#include "section.h"

#include <stdio.h>

#include "base/check.h"
#include "base/log.h"

/* Keys of two caches are two keys. */
static uint64_t hash_of(const struct hgi_section *section, const struct hgi_load *load)
{
    return hgi_hash(&section->pool->hash_key, load->key) ^
           ((uint64_t)(uintptr_t)load->cache * 0x9E3779B97F4A7C15u);
}

static void refuse_open(struct hgi_section *section, struct hgi_load *load,
                        const struct hgi_now *now)
{
    char why[HGI_BREAKER_SENTENCE_MAX];
    char text[HGI_MESSAGE_MAX];

    hgi_breaker_sentence(&section->breaker, why);
    snprintf(text, sizeof(text), "loader %.63s: %s", hgi_section_name(section), why);
    hgi_section_refuse(section, load, HG_UNAVAILABLE, text,
                       hgi_breaker_retry_after_ms(&section->breaker, now->boot_ms), now);
}

/* It has just opened: who waits in the queue need not wait for the same end. */
static void note_open(struct hgi_section *section, const struct hgi_now *now)
{
    char why[HGI_BREAKER_SENTENCE_MAX];
    struct hgi_node *node;

    hgi_breaker_sentence(&section->breaker, why);
    hgi_log(HG_LOG_ERROR, "loader %s: %s", hgi_section_name(section), why);
    while ((node = hgi_list_pop_front(&section->queue))) {
        section->queued--;
        refuse_open(section, HGI_CONTAINER(node, struct hgi_load, node), now);
    }
}

bool hgi_section_admit(struct hgi_section *section, struct hgi_load *load,
                       const struct hgi_now *now)
{
    enum hgi_breaker_answer answer = hgi_breaker_admit(&section->breaker, now->boot_ms);

    if (answer == HGI_BREAKER_REFUSE) {
        refuse_open(section, load, now);
        return false;
    }
    load->is_probe = answer == HGI_BREAKER_PROBE;
    return true;
}

void hgi_section_drop_probe(struct hgi_section *section, struct hgi_load *load)
{
    if (load->is_probe) {
        load->is_probe = false;
        hgi_breaker_probe_dropped(&section->breaker);
    }
}

static void end_probe(struct hgi_section *section, struct hgi_load *load, bool is_success,
                      const struct hgi_now *now)
{
    load->is_probe = false;
    hgi_breaker_probe_ended(&section->breaker, is_success, now->boot_ms);
    hgi_log(is_success ? HG_LOG_INFO : HG_LOG_WARN, "loader %s: the breaker %s",
            hgi_section_name(section), is_success ? "closes: a load succeeded" : "stays open");
}

/* At most max_loads lines of a cache in each slow_load: there are no more loads at once. */
static void note_slow(const struct hgi_section *section, const struct hgi_load *load,
                      enum hg_status status, const struct hgi_now *now)
{
    const struct hgi_log_subject subject = {
        .cache = hgi_cache_name(load->cache),
        .has_key = true,
        .key_hash = load->key_hash,
        .trace_id = hgi_trace_id(&load->trace),
    };
    int64_t took_ms = now->boot_ms - load->sent_ms;

    if (load->slow_ms > 0 && took_ms >= load->slow_ms) {
        hgi_log_about(HG_LOG_WARN, &subject, "loader %s: a load took %lld ms: %s",
                      hgi_section_name(section), (long long)took_ms, hg_status_name(status));
    }
}

void hgi_section_judge(struct hgi_section *section, struct hgi_load *load, enum hg_status status,
                       const struct hgi_now *now)
{
    bool is_fault = hgi_breaker_is_fault(status);

    if (load->is_judged) {
        return; /* it timed out, and whatever it said later came too late */
    }
    load->is_judged = true;
    note_slow(section, load, status, now);
    if (load->is_probe && status == HG_CANCELLED) {
        hgi_section_drop_probe(section, load);
    } else if (load->is_probe) {
        end_probe(section, load, !is_fault, now);
    } else if (load->child != section->current) {
        return; /* a replaced process says nothing of the one that serves */
    } else if (status == HG_OK) {
        hgi_breaker_succeeded(&section->breaker);
    } else if (is_fault &&
               hgi_breaker_failed(&section->breaker, hash_of(section, load), now->boot_ms)) {
        note_open(section, now);
    }
}

void hgi_section_judge_cancel(struct hgi_section *section, struct hgi_load *load,
                              const struct hgi_now *now)
{
    if (now->boot_ms - load->sent_ms >= load->timeout_ms) {
        hgi_section_judge(section, load, HG_DEADLINE_EXCEEDED, now);
    }
}

void hgi_section_judge_lost(struct hgi_section *section, struct hgi_load *load,
                            const struct hgi_now *now)
{
    if (load->is_probe) {
        end_probe(section, load, false, now);
    }
}

void hgi_section_judge_death(struct hgi_section *section, const struct hgi_now *now)
{
    if (!section->pool->is_stopping && hgi_breaker_died(&section->breaker, now->boot_ms)) {
        note_open(section, now);
    }
}

static void forget_probes(struct hgi_node *loads)
{
    for (struct hgi_node *n = loads->next; n != loads; n = n->next) {
        HGI_CONTAINER(n, struct hgi_load, node)->is_probe = false;
    }
}

void hgi_section_close_breaker(struct hgi_section *section)
{
    struct hgi_node *children = &section->pool->children;

    /* Also of processes that drain: one of them may have been sent the probe. */
    for (struct hgi_node *n = children->next; n != children; n = n->next) {
        struct hgi_child *child = HGI_CONTAINER(n, struct hgi_child, node);

        if (child->section == section) {
            forget_probes(&child->loads);
        }
    }
    forget_probes(&section->queue);
    memset(&section->breaker, 0, sizeof(section->breaker));
}
