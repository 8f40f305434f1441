/* SPDX-License-Identifier: Apache-2.0 */
/* log: one line to stderr, as text for people or as a JSON object.
 * Owns:     the level threshold and the format.
 * Threads:  any.
 * Limits:   1,024 bytes of message, longer ones are cut. What is not UTF-8, and what would end the
 *           line or steer a terminal, is shown as '?'.
 * Errors:   none; what cannot be written is lost.
 * Not here: keys and values, which never go into a log line: a key is named by its hash. Only
 * server/, loaders/host and client/cli log. */
#ifndef HGI_BASE_LOG_H
#define HGI_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/loader.h"

/* "warn: what happened", or {"ts":"...","level":"warn","msg":"what happened"}. */
enum hgi_log_format { HGI_LOG_TEXT, HGI_LOG_JSON };

/* What a line is about, so that it can be found by it. What is left out is not said. */
struct hgi_log_subject {
    const char *cache;
    bool has_key;
    uint64_t key_hash;        /* as `herdgate flights` shows it */
    struct hg_slice trace_id; /* of the request that wanted it */
};

/* Lines above this level are dropped; HG_LOG_INFO at start. */
void hgi_log_set_level(enum hg_log_level level);
/* HGI_LOG_TEXT at start. */
void hgi_log_set_format(enum hgi_log_format format);
enum hgi_log_format hgi_log_get_format(void);
/* If stderr is the journal's (JOURNAL_STREAM), each line begins with its priority, "<4>", which the
 * journal takes off again. */
void hgi_log_look_for_journal(void);
void hgi_log(enum hg_log_level level, const char *format, ...) HG_PRINTF(2, 3);
void hgi_log_about(enum hg_log_level level, const struct hgi_log_subject *subject,
                   const char *format, ...) HG_PRINTF(3, 4);

#endif
