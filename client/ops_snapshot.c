/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Admin about the snapshot, but for saving it (ops_admin). */
#include "herdgate/snapshot.h"

#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static const struct hg_named no_name;

static enum hg_status decode_info(struct hg_slice payload, struct hgi_arena *arena,
                                  size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hg_snapshot_info *reply = ret_reply;
    struct hgi_msg_snapshot_info message;
    enum hg_status status = hgi_snapshot_info_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status != HG_OK) {
        return status;
    }
    reply->path = message.path;
    reply->version = message.version;
    reply->protection = message.protection;
    reply->file_bytes = message.file_bytes;
    reply->log_bytes = message.log_bytes;
    reply->pages = message.pages;
    reply->invalidations = message.invalidations;
    reply->generation = message.generation;
    reply->saved_at_ms = message.saved_at_ms;
    reply->interval_ms = message.interval_ms;
    reply->entries = message.entries;
    reply->unsaved = message.unsaved;
    reply->degraded = message.is_degraded;
    reply->message = message.message;
    reply->saves = message.saves;
    reply->save_errors = message.save_errors;
    reply->rows_written = message.rows_written;
    reply->restored = message.restored;
    reply->dropped = message.dropped;
    reply->work = message.work;
    reply->work_done = message.work_done;
    reply->work_total = message.work_total;
    reply->verified_at_ms = message.verified_at_ms;
    reply->faults = message.faults;
    return HG_OK;
}

static enum hg_status decode_verified(struct hg_slice payload, struct hgi_arena *arena,
                                      size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hg_verified *reply = ret_reply;
    struct hgi_msg_verified message;
    enum hg_status status =
        hgi_verify_snapshot_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status != HG_OK) {
        return status;
    }
    reply->faults = message.faults;
    reply->fault = message.fault;
    reply->rows = message.rows;
    reply->pages = message.pages;
    reply->caches = message.caches;
    reply->invalidations = message.invalidations;
    reply->generation = message.generation;
    reply->saved_at_ms = message.saved_at_ms;
    reply->structure_checked = message.is_structure_checked;
    reply->duration_ms = message.duration_ms;
    return HG_OK;
}

HGI_OP_DELIVER(info, struct hg_snapshot_info)
HGI_OP_DELIVER(verified, struct hg_verified)

static const struct hgi_op op_snapshot_info = {.method = HGI_METHOD_SNAPSHOT_INFO,
                                               .encode = hgi_op_encode_nothing,
                                               .decode = decode_info,
                                               .deliver = deliver_info,
                                               .reply_size = sizeof(struct hg_snapshot_info),
                                               .memory_offset =
                                                   offsetof(struct hg_snapshot_info, memory)};
static const struct hgi_op op_verify_snapshot = {.method = HGI_METHOD_VERIFY_SNAPSHOT,
                                                 .encode = hgi_op_encode_nothing,
                                                 .decode = decode_verified,
                                                 .deliver = deliver_verified,
                                                 .reply_size = sizeof(struct hg_verified),
                                                 .memory_offset =
                                                     offsetof(struct hg_verified, memory)};

HGI_OP_CALLS(snapshot_info, struct hg_named, struct hg_snapshot_info, hg_snapshot_info_fn,
             {.request = request ? request : &no_name,
              .timeout_ms = request ? request->timeout_ms : 0})
HGI_OP_CALLS(verify_snapshot, struct hg_named, struct hg_verified, hg_verified_fn,
             {.request = request ? request : &no_name,
              .timeout_ms = request ? request->timeout_ms : 0})
