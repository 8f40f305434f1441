/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Admin; Report is also what Cache/Invalidate answers. */
#include "codec_part.h"

#define CLEAR_REPLY_REPORTS        1u /* field numbers of herdgate.proto */
#define LIST_CACHES_REPLY_CACHES   1u
#define CACHE_STATS_COUNTERS       2u
#define STATS_REPLY_CACHES         1u
#define STATS_REPLY_SERVER         2u
#define LIST_LOADERS_REPLY_LOADERS 1u

static void borrow_report(const struct hgi_msg_report *report, Herdgate__V1__Report *ret_wire)
{
    herdgate__v1__report__init(ret_wire);
    ret_wire->cache = hgi_pack_borrow(report->cache);
    ret_wire->generation = report->generation;
    ret_wire->dropped = report->dropped;
    ret_wire->fenced = report->fenced;
    ret_wire->released = report->released;
}

static void read_report(const Herdgate__V1__Report *wire, struct hgi_msg_report *ret_report)
{
    ret_report->cache = hgi_unpack_slice(wire->cache);
    ret_report->generation = wire->generation;
    ret_report->dropped = wire->dropped;
    ret_report->fenced = wire->fenced;
    ret_report->released = wire->released;
}

bool hgi_report_encode(const struct hgi_msg_report *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__Report wire;

    borrow_report(message, &wire);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_report_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                 struct hgi_msg_report *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__Report *wire =
        hgi_unpack(&herdgate__v1__report__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    read_report(wire, ret_message);
    return HG_OK;
}

bool hgi_clear_request_encode(const struct hgi_msg_clear *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__ClearRequest wire = HERDGATE__V1__CLEAR_REQUEST__INIT;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.wait = message->waits;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_clear_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_clear *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__ClearRequest *wire =
        hgi_unpack(&herdgate__v1__clear_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->waits = wire->wait;
    return HG_OK;
}

bool hgi_clear_reply_encode(const struct hgi_msg_clear_reply *message, struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->report_count; i++) {
        Herdgate__V1__Report wire;

        borrow_report(&message->reports[i], &wire);
        is_done = hgi_pack_element(CLEAR_REPLY_REPORTS, &wire.base, ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_clear_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_clear_reply *ret_message, char *ret_sentence)
{
    struct hgi_msg_report *reports;
    enum hg_status status;
    const Herdgate__V1__ClearReply *wire =
        hgi_unpack(&herdgate__v1__clear_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    reports = hgi_unpack_array(wire->n_reports, sizeof(*reports), arena, &status, ret_sentence);
    if (!reports) {
        return status;
    }
    for (size_t i = 0; i < wire->n_reports; i++) {
        read_report(wire->reports[i], &reports[i]);
    }
    ret_message->reports = reports;
    ret_message->report_count = wire->n_reports;
    return HG_OK;
}

static bool pack_cache_info(const struct hgi_msg_cache_info *info, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__CacheInfo wire = HERDGATE__V1__CACHE_INFO__INIT;

    wire.name = hgi_pack_borrow(info->name);
    wire.key_type = hgi_pack_borrow(info->key_type);
    wire.value_type = hgi_pack_borrow(info->value_type);
    wire.loader = hgi_pack_borrow(info->loader);
    wire.mode = (Herdgate__V1__Mode)info->mode;
    wire.ttl_ms = info->ttl_ms;
    wire.stale_ttl_ms = info->stale_ttl_ms;
    wire.negative_ttl_ms = info->negative_ttl_ms;
    wire.max_entries = info->max_entries;
    wire.max_bytes = info->max_bytes;
    wire.entries = info->entries;
    wire.bytes = info->bytes;
    wire.generation = info->generation;
    wire.on_error = hgi_pack_borrow(info->on_error);
    wire.jitter_percent = info->jitter_percent;
    wire.stale_if_error_ms = info->stale_if_error_ms;
    wire.error_backoff_ms = info->error_backoff_ms;
    wire.refresh_ahead = hgi_pack_borrow(info->refresh_ahead);
    wire.alone = info->is_alone;
    return hgi_pack_element(LIST_CACHES_REPLY_CACHES, &wire.base, ret_bytes);
}

bool hgi_list_caches_reply_encode(const struct hgi_msg_caches *message, struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->cache_count; i++) {
        is_done = pack_cache_info(&message->caches[i], ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

static enum hg_status read_cache_info(const Herdgate__V1__CacheInfo *wire,
                                      struct hgi_msg_cache_info *ret_info, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_enum_check("mode", (int)wire->mode, HG_MODE_PEEK, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    ret_info->name = hgi_unpack_slice(wire->name);
    ret_info->key_type = hgi_unpack_slice(wire->key_type);
    ret_info->value_type = hgi_unpack_slice(wire->value_type);
    ret_info->loader = hgi_unpack_slice(wire->loader);
    ret_info->mode = (enum hg_mode)wire->mode;
    ret_info->ttl_ms = wire->ttl_ms;
    ret_info->stale_ttl_ms = wire->stale_ttl_ms;
    ret_info->negative_ttl_ms = wire->negative_ttl_ms;
    ret_info->max_entries = wire->max_entries;
    ret_info->max_bytes = wire->max_bytes;
    ret_info->entries = wire->entries;
    ret_info->bytes = wire->bytes;
    ret_info->generation = wire->generation;
    ret_info->on_error = hgi_unpack_slice(wire->on_error);
    ret_info->jitter_percent = wire->jitter_percent;
    ret_info->stale_if_error_ms = wire->stale_if_error_ms;
    ret_info->error_backoff_ms = wire->error_backoff_ms;
    ret_info->refresh_ahead = hgi_unpack_slice(wire->refresh_ahead);
    ret_info->is_alone = wire->alone != 0;
    return HG_OK;
}

enum hg_status hgi_list_caches_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                            struct hgi_msg_caches *ret_message, char *ret_sentence)
{
    struct hgi_msg_cache_info *caches;
    enum hg_status status;
    const Herdgate__V1__ListCachesReply *wire = hgi_unpack(
        &herdgate__v1__list_caches_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    caches = hgi_unpack_array(wire->n_caches, sizeof(*caches), arena, &status, ret_sentence);
    if (!caches) {
        return status;
    }
    for (size_t i = 0; i < wire->n_caches; i++) {
        status = read_cache_info(wire->caches[i], &caches[i], ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    ret_message->caches = caches;
    ret_message->cache_count = wire->n_caches;
    return HG_OK;
}

static bool pack_counters(uint32_t field, const struct hgi_msg_counter *counters, size_t count,
                          struct hg_bytes *ret_bytes)
{
    for (size_t i = 0; i < count; i++) {
        Herdgate__V1__Counter wire = HERDGATE__V1__COUNTER__INIT;

        wire.name = hgi_pack_borrow(counters[i].name);
        wire.value = counters[i].value;
        if (!hgi_pack_element(field, &wire.base, ret_bytes)) {
            return false;
        }
    }
    return true;
}

/* Its length must stand before it, so it is packed beside first. */
static bool pack_cache_stats(const struct hgi_msg_cache_stats *stats, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__CacheStats wire = HERDGATE__V1__CACHE_STATS__INIT;
    struct hg_bytes inner;
    bool is_done;

    hgi_bytes_init(&inner, ret_bytes->allocator);
    wire.cache = hgi_pack_borrow(stats->cache);
    is_done = hgi_pack(&wire.base, &inner) &&
              pack_counters(CACHE_STATS_COUNTERS, stats->counters, stats->counter_count, &inner) &&
              hgi_pack_bytes(STATS_REPLY_CACHES, hgi_bytes_slice(&inner), ret_bytes);
    hgi_bytes_deinit(&inner);
    return is_done;
}

bool hgi_stats_reply_encode(const struct hgi_msg_stats *message, struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->cache_count; i++) {
        is_done = pack_cache_stats(&message->caches[i], ret_bytes);
    }
    is_done = is_done &&
              pack_counters(STATS_REPLY_SERVER, message->server, message->server_count, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

static enum hg_status read_counters(Herdgate__V1__Counter *const *wire, size_t count,
                                    struct hgi_arena *arena, struct hgi_msg_counter **ret_counters,
                                    char *ret_sentence)
{
    enum hg_status status;
    struct hgi_msg_counter *counters =
        hgi_unpack_array(count, sizeof(*counters), arena, &status, ret_sentence);

    if (!counters) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        counters[i].name = hgi_unpack_slice(wire[i]->name);
        counters[i].value = wire[i]->value;
    }
    *ret_counters = counters;
    return HG_OK;
}

enum hg_status hgi_stats_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_stats *ret_message, char *ret_sentence)
{
    struct hgi_msg_stats message = {0};
    enum hg_status status;
    const Herdgate__V1__StatsReply *wire =
        hgi_unpack(&herdgate__v1__stats_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    message.cache_count = wire->n_caches;
    message.caches =
        hgi_unpack_array(wire->n_caches, sizeof(*message.caches), arena, &status, ret_sentence);
    if (!message.caches) {
        return status;
    }
    for (size_t i = 0; i < wire->n_caches; i++) {
        message.caches[i].cache = hgi_unpack_slice(wire->caches[i]->cache);
        message.caches[i].counter_count = wire->caches[i]->n_counters;
        status = read_counters(wire->caches[i]->counters, wire->caches[i]->n_counters, arena,
                               &message.caches[i].counters, ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    message.server_count = wire->n_server;
    status = read_counters(wire->server, wire->n_server, arena, &message.server, ret_sentence);
    if (status != HG_OK) {
        return status;
    }
    *ret_message = message;
    return HG_OK;
}

bool hgi_stats_request_encode(const struct hgi_msg_name *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__StatsRequest wire = HERDGATE__V1__STATS_REQUEST__INIT;

    wire.cache = hgi_pack_borrow(message->name);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_stats_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_name *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__StatsRequest *wire =
        hgi_unpack(&herdgate__v1__stats_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->name = hgi_unpack_slice(wire->cache);
    return HG_OK;
}

static void borrow_loader_info(const struct hgi_msg_loader_info *info,
                               Herdgate__V1__LoaderInfo *ret_wire)
{
    herdgate__v1__loader_info__init(ret_wire);
    ret_wire->name = hgi_pack_borrow(info->name);
    ret_wire->plugin = hgi_pack_borrow(info->plugin);
    ret_wire->version = hgi_pack_borrow(info->version);
    ret_wire->state = hgi_pack_borrow(info->state);
    ret_wire->abi = info->abi;
    ret_wire->pid = info->pid;
    ret_wire->started_count = info->started_count;
    ret_wire->deaths = info->deaths;
    ret_wire->in_flight = info->in_flight;
    ret_wire->queued = info->queued;
    ret_wire->message = hgi_pack_borrow(info->message);
}

static void read_loader_info(const Herdgate__V1__LoaderInfo *wire,
                             struct hgi_msg_loader_info *ret_info)
{
    ret_info->name = hgi_unpack_slice(wire->name);
    ret_info->plugin = hgi_unpack_slice(wire->plugin);
    ret_info->version = hgi_unpack_slice(wire->version);
    ret_info->state = hgi_unpack_slice(wire->state);
    ret_info->abi = wire->abi;
    ret_info->pid = wire->pid;
    ret_info->started_count = wire->started_count;
    ret_info->deaths = wire->deaths;
    ret_info->in_flight = wire->in_flight;
    ret_info->queued = wire->queued;
    ret_info->message = hgi_unpack_slice(wire->message);
}

bool hgi_loader_info_encode(const struct hgi_msg_loader_info *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__LoaderInfo wire;

    borrow_loader_info(message, &wire);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_loader_info_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_loader_info *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__LoaderInfo *wire =
        hgi_unpack(&herdgate__v1__loader_info__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    read_loader_info(wire, ret_message);
    return HG_OK;
}

bool hgi_list_loaders_reply_encode(const struct hgi_msg_loaders *message,
                                   struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->loader_count; i++) {
        Herdgate__V1__LoaderInfo wire;

        borrow_loader_info(&message->loaders[i], &wire);
        is_done = hgi_pack_element(LIST_LOADERS_REPLY_LOADERS, &wire.base, ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_list_loaders_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_msg_loaders *ret_message,
                                             char *ret_sentence)
{
    struct hgi_msg_loader_info *loaders;
    enum hg_status status;
    const Herdgate__V1__ListLoadersReply *wire = hgi_unpack(
        &herdgate__v1__list_loaders_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    loaders = hgi_unpack_array(wire->n_loaders, sizeof(*loaders), arena, &status, ret_sentence);
    if (!loaders) {
        return status;
    }
    for (size_t i = 0; i < wire->n_loaders; i++) {
        read_loader_info(wire->loaders[i], &loaders[i]);
    }
    ret_message->loaders = loaders;
    ret_message->loader_count = wire->n_loaders;
    return HG_OK;
}

bool hgi_reload_loader_request_encode(const struct hgi_msg_name *message,
                                      struct hg_bytes *ret_bytes)
{
    Herdgate__V1__ReloadLoaderRequest wire = HERDGATE__V1__RELOAD_LOADER_REQUEST__INIT;

    wire.name = hgi_pack_borrow(message->name);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_reload_loader_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                                struct hgi_msg_name *ret_message,
                                                char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__ReloadLoaderRequest *wire = hgi_unpack(
        &herdgate__v1__reload_loader_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->name = hgi_unpack_slice(wire->name);
    return HG_OK;
}
