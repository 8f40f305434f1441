/* SPDX-License-Identifier: Apache-2.0 */
/* reply: messages made into what include/herdgate/client.h promises.
 * Owns:     nothing; lists are allocated in the arena the message lives in.
 * Threads:  any.
 * Limits:   the arena's budget.
 * Errors:   false when the arena is full.
 * Not here: decoding the bytes (proto/codec). */
#ifndef HGI_CLIENT_REPLY_H
#define HGI_CLIENT_REPLY_H

#include "base/alloc.h"
#include "herdgate/access.h"
#include "herdgate/control.h"
#include "herdgate/inspect.h"
#include "herdgate/lease.h"
#include "herdgate/snapshot.h"
#include "proto/codec.h"

union hgi_any_reply {
    struct hg_answer answer;
    struct hg_answers answers;
    struct hg_stored stored;
    struct hg_token token;
    struct hg_report report;
    struct hg_reports reports;
    struct hg_caches caches;
    struct hg_stats stats;
    struct hg_loaders loaders;
    struct hg_loader_info loader;
    struct hg_saved saved;
    struct hg_events events;
    struct hg_flight flight;
    struct hg_flights flights;
    struct hg_explanation explanation;
    enum hg_health health;
    struct hg_fulfilled fulfilled;
    struct hg_renewed renewed;
    struct hg_issued issued;
    struct hg_revoked revoked;
    struct hg_token_infos token_infos;
    struct hg_reloaded reloaded;
    struct hg_drained drained;
    struct hg_snapshot_info snapshot_info;
    struct hg_verified verified;
};

struct hg_answer hgi_reply_answer(const struct hgi_msg_answer *message);
struct hg_report hgi_reply_report(const struct hgi_msg_report *message);
struct hg_loader_info hgi_reply_loader(const struct hgi_msg_loader_info *message);
HG_NODISCARD bool hgi_reply_answers(const struct hgi_msg_batch_reply *message,
                                    struct hgi_arena *arena, struct hg_answers *ret_answers);
HG_NODISCARD bool hgi_reply_reports(const struct hgi_msg_clear_reply *message,
                                    struct hgi_arena *arena, struct hg_reports *ret_reports);
HG_NODISCARD bool hgi_reply_caches(const struct hgi_msg_caches *message, struct hgi_arena *arena,
                                   struct hg_caches *ret_caches);
HG_NODISCARD bool hgi_reply_stats(const struct hgi_msg_stats *message, struct hgi_arena *arena,
                                  struct hg_stats *ret_stats);
HG_NODISCARD bool hgi_reply_loaders(const struct hgi_msg_loaders *message, struct hgi_arena *arena,
                                    struct hg_loaders *ret_loaders);
struct hg_flight hgi_reply_flight(const struct hgi_msg_flight *message);
HG_NODISCARD bool hgi_reply_flights(const struct hgi_msg_flights *message, struct hgi_arena *arena,
                                    struct hg_flights *ret_flights);
HG_NODISCARD bool hgi_reply_explanation(const struct hgi_msg_explanation *message,
                                        struct hgi_arena *arena,
                                        struct hg_explanation *ret_explanation);
HG_NODISCARD bool hgi_reply_token_infos(const struct hgi_msg_token_infos *message,
                                        struct hgi_arena *arena, struct hg_token_infos *ret_infos);
HG_NODISCARD bool hgi_reply_events(const struct hgi_msg_events *message, struct hgi_arena *arena,
                                   struct hg_events *ret_events);

#endif
