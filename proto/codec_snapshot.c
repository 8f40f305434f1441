/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Admin about the snapshot. */
#include "codec_part.h"

bool hgi_save_snapshot_reply_encode(const struct hgi_msg_saved *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__SaveSnapshotReply wire = HERDGATE__V1__SAVE_SNAPSHOT_REPLY__INIT;

    wire.entries = message->entries;
    wire.duration_ms = message->duration_ms;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_save_snapshot_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                              struct hgi_msg_saved *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__SaveSnapshotReply *wire = hgi_unpack(
        &herdgate__v1__save_snapshot_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->entries = wire->entries;
    ret_message->duration_ms = wire->duration_ms;
    return HG_OK;
}

bool hgi_snapshot_info_reply_encode(const struct hgi_msg_snapshot_info *message,
                                    struct hg_bytes *ret_bytes)
{
    Herdgate__V1__SnapshotInfoReply wire = HERDGATE__V1__SNAPSHOT_INFO_REPLY__INIT;

    wire.path = hgi_pack_borrow(message->path);
    wire.version = message->version;
    wire.protection = hgi_pack_borrow(message->protection);
    wire.file_bytes = message->file_bytes;
    wire.log_bytes = message->log_bytes;
    wire.pages = message->pages;
    wire.invalidations = message->invalidations;
    wire.generation = message->generation;
    wire.saved_at_ms = message->saved_at_ms;
    wire.interval_ms = message->interval_ms;
    wire.entries = message->entries;
    wire.unsaved = message->unsaved;
    wire.degraded = message->is_degraded;
    wire.message = hgi_pack_borrow(message->message);
    wire.saves = message->saves;
    wire.save_errors = message->save_errors;
    wire.rows_written = message->rows_written;
    wire.restored = message->restored;
    wire.dropped = message->dropped;
    wire.work = hgi_pack_borrow(message->work);
    wire.work_done = message->work_done;
    wire.work_total = message->work_total;
    wire.verified_at_ms = message->verified_at_ms;
    wire.faults = message->faults;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_snapshot_info_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                              struct hgi_msg_snapshot_info *ret_message,
                                              char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__SnapshotInfoReply *wire = hgi_unpack(
        &herdgate__v1__snapshot_info_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->path = hgi_unpack_slice(wire->path);
    ret_message->version = wire->version;
    ret_message->protection = hgi_unpack_slice(wire->protection);
    ret_message->file_bytes = wire->file_bytes;
    ret_message->log_bytes = wire->log_bytes;
    ret_message->pages = wire->pages;
    ret_message->invalidations = wire->invalidations;
    ret_message->generation = wire->generation;
    ret_message->saved_at_ms = wire->saved_at_ms;
    ret_message->interval_ms = wire->interval_ms;
    ret_message->entries = wire->entries;
    ret_message->unsaved = wire->unsaved;
    ret_message->is_degraded = wire->degraded;
    ret_message->message = hgi_unpack_slice(wire->message);
    ret_message->saves = wire->saves;
    ret_message->save_errors = wire->save_errors;
    ret_message->rows_written = wire->rows_written;
    ret_message->restored = wire->restored;
    ret_message->dropped = wire->dropped;
    ret_message->work = hgi_unpack_slice(wire->work);
    ret_message->work_done = wire->work_done;
    ret_message->work_total = wire->work_total;
    ret_message->verified_at_ms = wire->verified_at_ms;
    ret_message->faults = wire->faults;
    return HG_OK;
}

bool hgi_verify_snapshot_reply_encode(const struct hgi_msg_verified *message,
                                      struct hg_bytes *ret_bytes)
{
    Herdgate__V1__VerifySnapshotReply wire = HERDGATE__V1__VERIFY_SNAPSHOT_REPLY__INIT;

    wire.faults = message->faults;
    wire.fault = hgi_pack_borrow(message->fault);
    wire.rows = message->rows;
    wire.pages = message->pages;
    wire.caches = message->caches;
    wire.invalidations = message->invalidations;
    wire.generation = message->generation;
    wire.saved_at_ms = message->saved_at_ms;
    wire.structure_checked = message->is_structure_checked;
    wire.duration_ms = message->duration_ms;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_verify_snapshot_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                                struct hgi_msg_verified *ret_message,
                                                char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__VerifySnapshotReply *wire = hgi_unpack(
        &herdgate__v1__verify_snapshot_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->faults = wire->faults;
    ret_message->fault = hgi_unpack_slice(wire->fault);
    ret_message->rows = wire->rows;
    ret_message->pages = wire->pages;
    ret_message->caches = wire->caches;
    ret_message->invalidations = wire->invalidations;
    ret_message->generation = wire->generation;
    ret_message->saved_at_ms = wire->saved_at_ms;
    ret_message->is_structure_checked = wire->structure_checked;
    ret_message->duration_ms = wire->duration_ms;
    return HG_OK;
}
