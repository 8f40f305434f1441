/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <string.h>

#include "loader.pb-c.h"

#include "base/trace.h"
#include "proto/unpack.h"

#define SETTINGS_FIELD 4u  /* Hello.settings */
#define LOADS_FIELD    1u  /* Loads.loads */
#define TAGS_FIELD     10u /* Done.tags */

enum hgi_frame_cut hgi_frame_cut(struct hg_slice bytes, size_t frame_max, struct hg_slice *ret_body,
                                 size_t *ret_used)
{
    const unsigned char *data = bytes.data;
    size_t len;

    if (bytes.len < HGI_FRAME_HEAD_BYTES) {
        return HGI_FRAME_PARTIAL;
    }
    len = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    if (len == 0 || len > frame_max) {
        return HGI_FRAME_BAD;
    }
    if (bytes.len - HGI_FRAME_HEAD_BYTES < len) {
        return HGI_FRAME_PARTIAL;
    }
    *ret_body = hg_slice_of(data + HGI_FRAME_HEAD_BYTES, len);
    *ret_used = HGI_FRAME_HEAD_BYTES + len;
    return HGI_FRAME_WHOLE;
}

static Herdgate__Loader__Confine confine_of(const struct hgi_frame_confine *confine)
{
    Herdgate__Loader__Confine message = HERDGATE__LOADER__CONFINE__INIT;

    message.memory_max_bytes = confine->memory_max_bytes;
    message.descriptors_max = confine->descriptors_max;
    message.processes_max = confine->processes_max;
    message.cpu_max_s = confine->cpu_max_s;
    message.files_read = hgi_pack_borrow(confine->files_read);
    message.files_write = hgi_pack_borrow(confine->files_write);
    message.is_offline = confine->is_offline;
    message.may_dump = confine->may_dump;
    message.has_user = confine->has_user;
    message.uid = confine->uid;
    message.gid = confine->gid;
    return message;
}

static bool encode_hello(const struct hgi_frame_hello *hello, struct hg_bytes *ret_bytes)
{
    Herdgate__Loader__Hello message = HERDGATE__LOADER__HELLO__INIT;
    Herdgate__Loader__Confine confine = confine_of(&hello->confine);
    struct hg_bytes inner;
    bool is_done;

    hgi_bytes_init(&inner, ret_bytes->allocator);
    message.plugin = hgi_pack_borrow(hello->plugin);
    message.workers = hello->workers;
    message.value_max_bytes = hello->value_max_bytes;
    message.pin = hgi_pack_borrow(hello->pin);
    message.owners = (uint32_t *)(uintptr_t)hello->owners; /* only read */
    message.n_owners = hello->owner_count;
    message.confine = &confine;
    message.log_json = hello->log_json;
    message.is_program = hello->is_program;
    is_done = hgi_pack(&message.base, &inner);
    for (size_t i = 0; is_done && i < hello->setting_count; i++) {
        Herdgate__Loader__Setting setting = HERDGATE__LOADER__SETTING__INIT;

        setting.name = hgi_pack_borrow(hello->settings[i].name);
        setting.value = hgi_pack_borrow(hello->settings[i].value);
        is_done = hgi_pack_element(SETTINGS_FIELD, &setting.base, &inner);
    }
    is_done = is_done && hgi_pack_bytes(HGI_FRAME_HELLO, hgi_bytes_slice(&inner), ret_bytes);
    hgi_bytes_deinit(&inner);
    return is_done;
}

static bool encode_ready(const struct hgi_frame_ready *ready, struct hg_bytes *ret_bytes)
{
    Herdgate__Loader__Ready message = HERDGATE__LOADER__READY__INIT;

    message.status = (uint32_t)ready->status;
    message.message = hgi_pack_borrow(ready->message);
    message.name = hgi_pack_borrow(ready->name);
    message.version = hgi_pack_borrow(ready->version);
    message.abi = ready->abi;
    message.max_inflight = ready->max_inflight;
    message.has_health = ready->has_health;
    message.batch_max = ready->batch_max;
    message.is_async = ready->is_async;
    message.wants_old = ready->wants_old;
    message.invalidates = ready->invalidates;
    return hgi_pack_element(HGI_FRAME_READY, &message.base, ret_bytes);
}

static bool encode_load(uint32_t field, const struct hgi_frame_load *load,
                        struct hg_bytes *ret_bytes)
{
    Herdgate__Loader__Load message = HERDGATE__LOADER__LOAD__INIT;

    message.id = load->id;
    message.cache = hgi_pack_borrow(load->cache);
    message.key = hgi_pack_borrow(load->key);
    message.value_type = (uint32_t)load->value_type;
    message.attempt = load->attempt;
    message.remaining_ms = load->remaining_ms;
    message.has_old = load->has_old;
    message.old_value = hgi_pack_borrow(load->old_value);
    message.etag = hgi_pack_borrow(load->etag);
    message.traceparent = hgi_pack_borrow(load->traceparent);
    return hgi_pack_element(field, &message.base, ret_bytes);
}

static bool encode_loads(const struct hgi_frame_loads *loads, struct hg_bytes *ret_bytes)
{
    struct hg_bytes inner;
    bool is_done = true;

    hgi_bytes_init(&inner, ret_bytes->allocator);
    for (size_t i = 0; is_done && i < loads->count; i++) {
        is_done = encode_load(LOADS_FIELD, &loads->loads[i], &inner);
    }
    is_done = is_done && hgi_pack_bytes(HGI_FRAME_LOADS, hgi_bytes_slice(&inner), ret_bytes);
    hgi_bytes_deinit(&inner);
    return is_done;
}

static bool encode_done(const struct hgi_frame_done *done, struct hg_bytes *ret_bytes)
{
    Herdgate__Loader__Done message = HERDGATE__LOADER__DONE__INIT;
    struct hg_bytes inner;
    bool is_done;

    message.id = done->id;
    message.status = (uint32_t)done->status;
    message.outcome = (uint32_t)done->outcome;
    message.value = hgi_pack_borrow(done->value);
    message.message = hgi_pack_borrow(done->message);
    message.no_store = done->no_store;
    message.ttl_ms = done->ttl_ms;
    message.stale_ttl_ms = done->stale_ttl_ms;
    message.expires_at_ms = done->expires_at_ms;
    message.user = hgi_pack_borrow(done->user);
    message.etag = hgi_pack_borrow(done->etag);
    message.is_unchanged = done->is_unchanged;
    if (done->tag_count == 0) {
        return hgi_pack_element(HGI_FRAME_DONE, &message.base, ret_bytes);
    }
    hgi_bytes_init(&inner, ret_bytes->allocator);
    is_done = hgi_pack(&message.base, &inner);
    for (size_t i = 0; is_done && i < done->tag_count; i++) {
        is_done = hgi_pack_bytes(TAGS_FIELD, done->tags[i], &inner);
    }
    is_done = is_done && hgi_pack_bytes(HGI_FRAME_DONE, hgi_bytes_slice(&inner), ret_bytes);
    hgi_bytes_deinit(&inner);
    return is_done;
}

static bool encode_body(const struct hgi_frame *frame, struct hg_bytes *ret_bytes)
{
    Herdgate__Loader__Cancel cancel = HERDGATE__LOADER__CANCEL__INIT;
    Herdgate__Loader__Log log = HERDGATE__LOADER__LOG__INIT;
    Herdgate__Loader__Drain drain = HERDGATE__LOADER__DRAIN__INIT;
    Herdgate__Loader__Health health = HERDGATE__LOADER__HEALTH__INIT;
    Herdgate__Loader__HealthReply reply = HERDGATE__LOADER__HEALTH_REPLY__INIT;
    Herdgate__Loader__Invalidate invalidate = HERDGATE__LOADER__INVALIDATE__INIT;

    switch (frame->kind) {
    case HGI_FRAME_HELLO:
        return encode_hello(&frame->u.hello, ret_bytes);
    case HGI_FRAME_READY:
        return encode_ready(&frame->u.ready, ret_bytes);
    case HGI_FRAME_LOAD:
        return encode_load(HGI_FRAME_LOAD, &frame->u.load, ret_bytes);
    case HGI_FRAME_LOADS:
        return encode_loads(&frame->u.loads, ret_bytes);
    case HGI_FRAME_CANCEL:
        cancel.id = frame->u.cancel_id;
        return hgi_pack_element(HGI_FRAME_CANCEL, &cancel.base, ret_bytes);
    case HGI_FRAME_DONE:
        return encode_done(&frame->u.done, ret_bytes);
    case HGI_FRAME_LOG:
        log.level = (uint32_t)frame->u.log.level;
        log.text = hgi_pack_borrow(frame->u.log.text);
        return hgi_pack_element(HGI_FRAME_LOG, &log.base, ret_bytes);
    case HGI_FRAME_DRAIN:
        return hgi_pack_element(HGI_FRAME_DRAIN, &drain.base, ret_bytes);
    case HGI_FRAME_HEALTH:
        return hgi_pack_element(HGI_FRAME_HEALTH, &health.base, ret_bytes);
    case HGI_FRAME_HEALTH_REPLY:
        reply.status = (uint32_t)frame->u.health.status;
        reply.message = hgi_pack_borrow(frame->u.health.message);
        return hgi_pack_element(HGI_FRAME_HEALTH_REPLY, &reply.base, ret_bytes);
    case HGI_FRAME_INVALIDATE:
        invalidate.what = (uint32_t)frame->u.invalidate.what;
        invalidate.cache = hgi_pack_borrow(frame->u.invalidate.cache);
        invalidate.key = hgi_pack_borrow(frame->u.invalidate.key);
        invalidate.name = hgi_pack_borrow(frame->u.invalidate.name);
        return hgi_pack_element(HGI_FRAME_INVALIDATE, &invalidate.base, ret_bytes);
    }
    return false;
}

bool hgi_frame_encode(const struct hgi_frame *frame, size_t frame_max, struct hg_bytes *ret_bytes)
{
    static const unsigned char head[HGI_FRAME_HEAD_BYTES];
    size_t before = ret_bytes->len;
    size_t len;

    if (!hgi_bytes_append(ret_bytes, hg_slice_of(head, sizeof(head))) ||
        !encode_body(frame, ret_bytes)) {
        ret_bytes->len = before;
        return false;
    }
    len = ret_bytes->len - before - HGI_FRAME_HEAD_BYTES;
    if (len > frame_max) {
        ret_bytes->len = before;
        return false;
    }
    for (size_t i = 0; i < HGI_FRAME_HEAD_BYTES; i++) {
        ret_bytes->data[before + i] = (unsigned char)(len >> (24 - 8 * i));
    }
    return true;
}

/* A body is one length-delimited field that fills it. protobuf would take more than one and merge
 * them, which costs time (docs/notes/001-substrate.md 5) and hides what was meant. */
static bool cut_message(struct hg_slice body, enum hgi_frame_kind *ret_kind,
                        struct hg_slice *ret_message)
{
    const unsigned char *data = body.data;
    size_t at = 1;
    size_t len = 0;
    unsigned kind;

    if (body.len < 2 || (data[0] & 7) != 2) {
        return false;
    }
    kind = data[0] >> 3;
    for (unsigned shift = 0; at < body.len && shift < 32; shift += 7) {
        len |= (size_t)(data[at] & 0x7f) << shift;
        if (!(data[at++] & 0x80)) {
            *ret_kind = (enum hgi_frame_kind)kind;
            *ret_message = hg_slice_of(data + at, body.len - at);
            return kind >= HGI_FRAME_HELLO && kind <= HGI_FRAME_INVALIDATE && len == body.len - at;
        }
    }
    return false;
}

static bool is_status(uint32_t number)
{
    return number == HG_UNKNOWN || hgi_unpack_status(number) != HG_UNKNOWN;
}

static void fill_confine(const Herdgate__Loader__Confine *message,
                         struct hgi_frame_confine *ret_confine)
{
    ret_confine->memory_max_bytes = message->memory_max_bytes;
    ret_confine->descriptors_max = message->descriptors_max;
    ret_confine->processes_max = message->processes_max;
    ret_confine->cpu_max_s = message->cpu_max_s;
    ret_confine->files_read = hgi_unpack_slice(message->files_read);
    ret_confine->files_write = hgi_unpack_slice(message->files_write);
    ret_confine->is_offline = message->is_offline;
    ret_confine->may_dump = message->may_dump;
    ret_confine->has_user = message->has_user;
    ret_confine->uid = message->uid;
    ret_confine->gid = message->gid;
}

static enum hg_status fill_hello(const Herdgate__Loader__Hello *message, struct hgi_arena *arena,
                                 struct hgi_frame_hello *ret_hello, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hgi_frame_setting *settings =
        hgi_unpack_array(message->n_settings ? message->n_settings : 1, sizeof(*settings), arena,
                         &status, ret_sentence);

    if (!settings) {
        return status;
    }
    for (size_t i = 0; i < message->n_settings; i++) {
        settings[i].name = hgi_unpack_slice(message->settings[i]->name);
        settings[i].value = hgi_unpack_slice(message->settings[i]->value);
    }
    ret_hello->plugin = hgi_unpack_slice(message->plugin);
    ret_hello->workers = message->workers;
    ret_hello->value_max_bytes = message->value_max_bytes;
    ret_hello->settings = settings;
    ret_hello->setting_count = message->n_settings;
    ret_hello->pin = hgi_unpack_slice(message->pin);
    ret_hello->owners = message->owners; /* the arena's, as all of it */
    ret_hello->owner_count = message->n_owners;
    if (message->confine) {
        fill_confine(message->confine, &ret_hello->confine);
    }
    ret_hello->log_json = message->log_json;
    ret_hello->is_program = message->is_program;
    return HG_OK;
}

static enum hg_status fill_ready(const Herdgate__Loader__Ready *message,
                                 struct hgi_frame_ready *ret_ready, char *ret_sentence)
{
    if (!is_status(message->status)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Ready with status %u",
                          message->status);
    }
    ret_ready->status = (enum hg_status)message->status;
    ret_ready->message = hgi_unpack_slice(message->message);
    ret_ready->name = hgi_unpack_slice(message->name);
    ret_ready->version = hgi_unpack_slice(message->version);
    ret_ready->abi = message->abi;
    ret_ready->max_inflight = message->max_inflight;
    ret_ready->has_health = message->has_health;
    ret_ready->batch_max = message->batch_max;
    ret_ready->is_async = message->is_async;
    ret_ready->wants_old = message->wants_old;
    ret_ready->invalidates = message->invalidates;
    return HG_OK;
}

static enum hg_status fill_load(const Herdgate__Loader__Load *message,
                                struct hgi_frame_load *ret_load, char *ret_sentence)
{
    struct hgi_trace trace;

    if (message->value_type < HG_TYPE_BYTES || message->value_type > HG_TYPE_AUTH) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Load of value type %u",
                          message->value_type);
    }
    if (message->traceparent.len &&
        !hgi_trace_read(hgi_unpack_slice(message->traceparent), &trace)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "a Load with an ill-formed traceparent");
    }
    ret_load->id = message->id;
    ret_load->cache = hgi_unpack_slice(message->cache);
    ret_load->key = hgi_unpack_slice(message->key);
    ret_load->value_type = (enum hg_value_type)message->value_type;
    ret_load->attempt = message->attempt;
    ret_load->remaining_ms = message->remaining_ms;
    ret_load->has_old = message->has_old;
    ret_load->old_value = hgi_unpack_slice(message->old_value);
    ret_load->etag = hgi_unpack_slice(message->etag);
    ret_load->traceparent = hgi_unpack_slice(message->traceparent);
    return HG_OK;
}

static enum hg_status fill_loads(const Herdgate__Loader__Loads *message, struct hgi_arena *arena,
                                 struct hgi_frame_loads *ret_loads, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hgi_frame_load *loads;

    if (message->n_loads == 0) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Loads without a load");
    }
    loads = hgi_unpack_array(message->n_loads, sizeof(*loads), arena, &status, ret_sentence);
    if (!loads) {
        return status;
    }
    for (size_t i = 0; status == HG_OK && i < message->n_loads; i++) {
        status = fill_load(message->loads[i], &loads[i], ret_sentence);
    }
    ret_loads->loads = loads;
    ret_loads->count = message->n_loads;
    return status;
}

static enum hg_status fill_tags(const Herdgate__Loader__Done *message, struct hgi_arena *arena,
                                struct hgi_frame_done *ret_done, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hg_slice *tags;

    if (message->n_tags > HG_TAGS_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with %zu tags",
                          message->n_tags);
    }
    tags = hgi_unpack_array(message->n_tags, sizeof(*tags), arena, &status, ret_sentence);
    if (!tags) {
        return status;
    }
    for (size_t i = 0; i < message->n_tags; i++) {
        tags[i] = hgi_unpack_slice(message->tags[i]);
        if (tags[i].len == 0 || tags[i].len > HG_TAG_MAX) {
            return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with a tag of %zu bytes",
                              tags[i].len);
        }
    }
    ret_done->tags = tags;
    ret_done->tag_count = message->n_tags;
    return HG_OK;
}

static enum hg_status fill_done(const Herdgate__Loader__Done *message, struct hgi_arena *arena,
                                struct hgi_frame_done *ret_done, char *ret_sentence)
{
    if (!is_status(message->status)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with status %u",
                          message->status);
    }
    if (message->status == HG_OK && (message->outcome < HG_VALUE || message->outcome > HG_DENIED)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with outcome %u",
                          message->outcome);
    }
    if (message->ttl_ms < 0 || message->stale_ttl_ms < 0 || message->expires_at_ms < 0) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with a negative time");
    }
    if (message->user.len > HG_KEY_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with a user of %zu bytes",
                          message->user.len);
    }
    if (message->etag.len > HG_ETAG_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Done with an etag of %zu bytes",
                          message->etag.len);
    }
    if (message->is_unchanged &&
        (message->status != HG_OK || message->outcome != HG_VALUE || message->value.len)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "a Done that is unchanged and something else");
    }
    ret_done->id = message->id;
    ret_done->status = (enum hg_status)message->status;
    ret_done->outcome = message->status == HG_OK ? (enum hg_outcome)message->outcome : 0;
    ret_done->value = hgi_unpack_slice(message->value);
    ret_done->message = hgi_unpack_slice(message->message);
    ret_done->no_store = message->no_store;
    ret_done->ttl_ms = message->ttl_ms;
    ret_done->stale_ttl_ms = message->stale_ttl_ms;
    ret_done->expires_at_ms = message->expires_at_ms;
    ret_done->user = hgi_unpack_slice(message->user);
    ret_done->etag = hgi_unpack_slice(message->etag);
    ret_done->is_unchanged = message->is_unchanged;
    return fill_tags(message, arena, ret_done, ret_sentence);
}

static enum hg_status fill_log(const Herdgate__Loader__Log *message, struct hgi_frame_log *ret_log,
                               char *ret_sentence)
{
    if (message->level > HG_LOG_DEBUG) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a Log of level %u", message->level);
    }
    ret_log->level = (enum hg_log_level)message->level;
    ret_log->text = hgi_unpack_slice(message->text);
    return HG_OK;
}

static enum hg_status fill_health(const Herdgate__Loader__HealthReply *message,
                                  struct hgi_frame_health *ret_health, char *ret_sentence)
{
    if (!is_status(message->status)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "a HealthReply with status %u",
                          message->status);
    }
    ret_health->status = (enum hg_status)message->status;
    ret_health->message = hgi_unpack_slice(message->message);
    return HG_OK;
}

/* Whether the key is one is for those to see who know the cache's. */
static enum hg_status fill_invalidate(const Herdgate__Loader__Invalidate *message,
                                      struct hgi_frame_invalidate *ret_invalidate,
                                      char *ret_sentence)
{
    size_t name_max = message->what == HG_INVALIDATED_TAG    ? HG_TAG_MAX
                      : message->what == HG_INVALIDATED_USER ? HG_KEY_MAX
                                                             : 0;

    if (message->what < HG_INVALIDATED_ALL || message->what > HG_INVALIDATED_USER) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "an Invalidate of what %u",
                          message->what);
    }
    if (message->name.len > name_max || (name_max && message->name.len == 0)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "an Invalidate with a name of %zu bytes", message->name.len);
    }
    if ((message->what == HG_INVALIDATED_KEY) != (message->key.len > 0) ||
        message->key.len > HGI_KEY_CANONICAL_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "an Invalidate with a key of %zu bytes", message->key.len);
    }
    ret_invalidate->what = (enum hg_invalidated)message->what;
    ret_invalidate->cache = hgi_unpack_slice(message->cache);
    ret_invalidate->key = hgi_unpack_slice(message->key);
    ret_invalidate->name = hgi_unpack_slice(message->name);
    return HG_OK;
}

static const ProtobufCMessageDescriptor *type_of(enum hgi_frame_kind kind)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        [HGI_FRAME_HELLO] = &herdgate__loader__hello__descriptor,
        [HGI_FRAME_READY] = &herdgate__loader__ready__descriptor,
        [HGI_FRAME_LOAD] = &herdgate__loader__load__descriptor,
        [HGI_FRAME_LOADS] = &herdgate__loader__loads__descriptor,
        [HGI_FRAME_CANCEL] = &herdgate__loader__cancel__descriptor,
        [HGI_FRAME_DONE] = &herdgate__loader__done__descriptor,
        [HGI_FRAME_LOG] = &herdgate__loader__log__descriptor,
        [HGI_FRAME_DRAIN] = &herdgate__loader__drain__descriptor,
        [HGI_FRAME_HEALTH] = &herdgate__loader__health__descriptor,
        [HGI_FRAME_HEALTH_REPLY] = &herdgate__loader__health_reply__descriptor,
        [HGI_FRAME_INVALIDATE] = &herdgate__loader__invalidate__descriptor,
    };

    return types[kind];
}

enum hg_status hgi_frame_decode(struct hg_slice body, struct hgi_arena *arena,
                                struct hgi_frame *ret_frame, char *ret_sentence)
{
    struct hgi_frame frame;
    struct hg_slice packed;
    enum hg_status status = HG_OK;
    const void *message;

    memset(&frame, 0, sizeof(frame));
    if (!cut_message(body, &frame.kind, &packed)) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence, "these %zu bytes are not one Frame",
                          body.len);
    }
    message = hgi_unpack(type_of(frame.kind), packed, arena, &status, ret_sentence);
    if (!message) {
        return status;
    }
    switch (frame.kind) {
    case HGI_FRAME_HELLO:
        status = fill_hello(message, arena, &frame.u.hello, ret_sentence);
        break;
    case HGI_FRAME_READY:
        status = fill_ready(message, &frame.u.ready, ret_sentence);
        break;
    case HGI_FRAME_LOAD:
        status = fill_load(message, &frame.u.load, ret_sentence);
        break;
    case HGI_FRAME_LOADS:
        status = fill_loads(message, arena, &frame.u.loads, ret_sentence);
        break;
    case HGI_FRAME_CANCEL:
        frame.u.cancel_id = ((const Herdgate__Loader__Cancel *)message)->id;
        break;
    case HGI_FRAME_DONE:
        status = fill_done(message, arena, &frame.u.done, ret_sentence);
        break;
    case HGI_FRAME_LOG:
        status = fill_log(message, &frame.u.log, ret_sentence);
        break;
    case HGI_FRAME_HEALTH_REPLY:
        status = fill_health(message, &frame.u.health, ret_sentence);
        break;
    case HGI_FRAME_INVALIDATE:
        status = fill_invalidate(message, &frame.u.invalidate, ret_sentence);
        break;
    case HGI_FRAME_DRAIN:
    case HGI_FRAME_HEALTH:
        break;
    }
    if (status == HG_OK) {
        *ret_frame = frame;
    }
    return status;
}
