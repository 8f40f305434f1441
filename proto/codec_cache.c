/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Cache. */
#include "codec_part.h"

#include "proto/plain.h"

#define BATCH_REQUEST_KEYS      2u /* field numbers of herdgate.proto */
#define INVALIDATE_REQUEST_KEYS 2u
#define INVALIDATE_REQUEST_TAGS 3u
#define PUT_REQUEST_TAGS        9u

static int64_t read_max_age(bool is_set, uint64_t wire_ms)
{
    if (!is_set) {
        return -1;
    }
    /* It only shortens, so a huge one means the same as a large one. */
    return wire_ms > (uint64_t)HGI_LIFETIME_MS_MAX ? HGI_LIFETIME_MS_MAX : (int64_t)wire_ms;
}

bool hgi_get_request_encode(const struct hgi_msg_get *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__GetRequest wire = HERDGATE__V1__GET_REQUEST__INIT;
    struct hgi_codec_key key;

    wire.cache = hgi_pack_borrow(message->cache);
    hgi_codec_key_borrow(&message->key, &key);
    wire.key = key.wire.kind_case ? &key.wire : NULL;
    wire.mode = (Herdgate__V1__Mode)message->mode;
    if (message->max_age_ms >= 0) {
        wire.max_age_case = HERDGATE__V1__GET_REQUEST__MAX_AGE_MAX_AGE_MS;
        wire.max_age_ms = (uint64_t)message->max_age_ms;
    }
    wire.min_generation = message->min_generation;
    wire.lead = message->lead;
    return hgi_pack(&wire.base, ret_bytes);
}

enum { GET_CACHE = 1, GET_KEY, GET_MODE, GET_MAX_AGE, GET_MIN_GENERATION, GET_LEAD }; /* fields */

/* False: not plain, and *ret_message is of no use. */
static bool read_plain_get(struct hg_slice bytes, struct hgi_msg_get *ret_message)
{
    struct hgi_plain plain = {
        .number_fields = HGI_PLAIN_FIELD(GET_MODE) | HGI_PLAIN_FIELD(GET_LEAD),
        .long_fields = HGI_PLAIN_FIELD(GET_MAX_AGE) | HGI_PLAIN_FIELD(GET_MIN_GENERATION),
        .bytes_fields = HGI_PLAIN_FIELD(GET_CACHE) | HGI_PLAIN_FIELD(GET_KEY),
    };

    if (!hgi_plain_read(bytes, &plain) || !(plain.seen & HGI_PLAIN_FIELD(GET_KEY)) ||
        !hgi_codec_key_plain(plain.bytes[GET_KEY], &ret_message->key)) {
        return false;
    }
    ret_message->cache = plain.bytes[GET_CACHE];
    ret_message->mode = (enum hg_mode)plain.numbers[GET_MODE];
    ret_message->max_age_ms =
        read_max_age(plain.seen & HGI_PLAIN_FIELD(GET_MAX_AGE), plain.numbers[GET_MAX_AGE]);
    ret_message->min_generation = plain.numbers[GET_MIN_GENERATION];
    ret_message->lead = plain.numbers[GET_LEAD] != 0;
    return true;
}

enum hg_status hgi_get_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_get *ret_message, char *ret_sentence)
{
    struct hgi_msg_get message;
    enum hg_status status;

    if (!read_plain_get(bytes, &message)) {
        const Herdgate__V1__GetRequest *wire =
            hgi_unpack(&herdgate__v1__get_request__descriptor, bytes, arena, &status, ret_sentence);

        if (!wire) {
            return status;
        }
        message.cache = hgi_unpack_slice(wire->cache);
        hgi_codec_key_read(wire->key, &message.key);
        message.mode = (enum hg_mode)wire->mode;
        message.max_age_ms = read_max_age(
            wire->max_age_case == HERDGATE__V1__GET_REQUEST__MAX_AGE_MAX_AGE_MS, wire->max_age_ms);
        message.min_generation = wire->min_generation;
        message.lead = wire->lead != 0;
    }
    status = hgi_codec_enum_check("mode", (int)message.mode, HG_MODE_PEEK, ret_sentence);
    if (status == HG_OK) {
        *ret_message = message;
    }
    return status;
}

/* The numbers are herdgate.proto's. */
void hgi_answer_pieces(const struct hgi_msg_answer *answer, struct hgi_pieces *ret_pieces)
{
    hgi_pieces_init(ret_pieces);
    hgi_pieces_number(ret_pieces, 1, (uint32_t)answer->status);
    hgi_pieces_bytes(ret_pieces, 2, answer->message);
    hgi_pieces_number(ret_pieces, 3, answer->retry_after_ms);
    hgi_pieces_number(ret_pieces, 4, (uint32_t)answer->outcome);
    hgi_pieces_number(ret_pieces, 5, (uint32_t)answer->source);
    hgi_pieces_bytes(ret_pieces, 6, answer->value);
    hgi_pieces_number(ret_pieces, 7, (uint32_t)answer->value_type);
    hgi_pieces_number(ret_pieces, 8, answer->is_fenced);
    hgi_pieces_number(ret_pieces, 9, answer->generation);
    hgi_pieces_number(ret_pieces, 10, answer->age_ms);
    hgi_pieces_number(ret_pieces, 11, answer->ttl_left_ms);
    hgi_pieces_number(ret_pieces, 12, answer->stale_left_ms);
    hgi_pieces_fixed64(ret_pieces, 13, answer->lease_id);
    hgi_pieces_fixed64(ret_pieces, 14, answer->lease_epoch);
    hgi_pieces_number(ret_pieces, 15, answer->lease_ttl_ms);
}

static enum hg_status read_answer(const Herdgate__V1__Answer *wire,
                                  struct hgi_msg_answer *ret_answer, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);

    if (status == HG_OK) {
        status = hgi_codec_enum_check("source", (int)wire->source, HG_SOURCE_LEASED, ret_sentence);
    }
    if (status == HG_OK) {
        status =
            hgi_codec_enum_check("value_type", (int)wire->value_type, HG_TYPE_AUTH, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    ret_answer->status = hgi_unpack_status(wire->status);
    ret_answer->message = hgi_unpack_slice(wire->message);
    ret_answer->retry_after_ms = wire->retry_after_ms;
    ret_answer->outcome = (enum hg_outcome)wire->outcome;
    ret_answer->source = (enum hg_source)wire->source;
    ret_answer->value = hgi_unpack_slice(wire->value);
    ret_answer->value_type = (enum hg_value_type)wire->value_type;
    ret_answer->is_fenced = wire->fenced != 0;
    ret_answer->generation = wire->generation;
    ret_answer->age_ms = wire->age_ms;
    ret_answer->ttl_left_ms = wire->ttl_left_ms;
    ret_answer->stale_left_ms = wire->stale_left_ms;
    ret_answer->lease_id = wire->lease_id;
    ret_answer->lease_epoch = wire->lease_epoch;
    ret_answer->lease_ttl_ms = wire->lease_ttl_ms;
    return HG_OK;
}

bool hgi_answer_encode(const struct hgi_msg_answer *message, struct hg_bytes *ret_bytes)
{
    struct hgi_pieces pieces;

    hgi_answer_pieces(message, &pieces);
    return hgi_pieces_append(&pieces, ret_bytes);
}

enum hg_status hgi_answer_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                 struct hgi_msg_answer *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__Answer *wire =
        hgi_unpack(&herdgate__v1__answer__descriptor, bytes, arena, &status, ret_sentence);

    return wire ? read_answer(wire, ret_message, ret_sentence) : status;
}

bool hgi_batch_request_encode(const struct hgi_msg_batch *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__BatchRequest wire = HERDGATE__V1__BATCH_REQUEST__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.mode = (Herdgate__V1__Mode)message->mode;
    if (message->max_age_ms >= 0) {
        wire.max_age_case = HERDGATE__V1__BATCH_REQUEST__MAX_AGE_MAX_AGE_MS;
        wire.max_age_ms = (uint64_t)message->max_age_ms;
    }
    wire.min_generation = message->min_generation;
    is_done = hgi_pack(&wire.base, ret_bytes) &&
              hgi_codec_keys_pack(BATCH_REQUEST_KEYS, message->keys, message->key_count, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum { BATCH_CACHE = 1, BATCH_MODE = 3, BATCH_MAX_AGE, BATCH_MIN_GENERATION }; /* fields */

/* False: not plain, or too many keys, or no memory for them; *ret_message is of no use. */
static bool read_plain_batch(struct hg_slice bytes, struct hgi_arena *arena,
                             struct hgi_msg_batch *ret_message)
{
    struct hg_slice elements[HGI_BATCH_KEYS_MAX];
    struct hgi_plain plain = {
        .number_fields = HGI_PLAIN_FIELD(BATCH_MODE),
        .long_fields = HGI_PLAIN_FIELD(BATCH_MAX_AGE) | HGI_PLAIN_FIELD(BATCH_MIN_GENERATION),
        .bytes_fields = HGI_PLAIN_FIELD(BATCH_CACHE),
        .repeated_field = BATCH_REQUEST_KEYS,
        .elements = elements,
        .elements_max = HGI_BATCH_KEYS_MAX,
    };

    if (!hgi_plain_read(bytes, &plain)) {
        return false;
    }
    ret_message->keys = hgi_arena_alloc(arena, plain.element_count * sizeof(*ret_message->keys));
    for (size_t i = 0; i < plain.element_count; i++) {
        if (!ret_message->keys || !hgi_codec_key_plain(elements[i], &ret_message->keys[i])) {
            return false;
        }
    }
    ret_message->cache = plain.bytes[BATCH_CACHE];
    ret_message->key_count = plain.element_count;
    ret_message->mode = (enum hg_mode)plain.numbers[BATCH_MODE];
    ret_message->max_age_ms =
        read_max_age(plain.seen & HGI_PLAIN_FIELD(BATCH_MAX_AGE), plain.numbers[BATCH_MAX_AGE]);
    ret_message->min_generation = plain.numbers[BATCH_MIN_GENERATION];
    return true;
}

static enum hg_status unpack_batch(struct hg_slice bytes, struct hgi_arena *arena,
                                   struct hgi_msg_batch *ret_message, char *ret_sentence)
{
    const Herdgate__V1__BatchRequest *wire;
    enum hg_status status = hgi_codec_keys_check(bytes, BATCH_REQUEST_KEYS, "batch", ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    wire =
        hgi_unpack(&herdgate__v1__batch_request__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->key_count = wire->n_keys;
    ret_message->mode = (enum hg_mode)wire->mode;
    ret_message->max_age_ms = read_max_age(
        wire->max_age_case == HERDGATE__V1__BATCH_REQUEST__MAX_AGE_MAX_AGE_MS, wire->max_age_ms);
    ret_message->min_generation = wire->min_generation;
    return hgi_codec_keys_read(wire->keys, wire->n_keys, arena, &ret_message->keys, ret_sentence);
}

enum hg_status hgi_batch_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_batch *ret_message, char *ret_sentence)
{
    struct hgi_msg_batch message;
    enum hg_status status = HG_OK;

    if (!read_plain_batch(bytes, arena, &message)) {
        status = unpack_batch(bytes, arena, &message, ret_sentence);
    }
    if (status == HG_OK && message.key_count == 0) {
        status = hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                            "the batch is empty; it must have 1 to %u keys", HGI_BATCH_KEYS_MAX);
    }
    if (status == HG_OK) {
        status = hgi_codec_enum_check("mode", (int)message.mode, HG_MODE_PEEK, ret_sentence);
    }
    if (status == HG_OK) {
        *ret_message = message;
    }
    return status;
}

bool hgi_batch_reply_encode(const struct hgi_msg_batch_reply *message, struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->answer_count; i++) {
        struct hgi_pieces pieces;

        hgi_answer_pieces(&message->answers[i], &pieces);
        is_done = hgi_pieces_append_element(&pieces, HGI_BATCH_REPLY_ANSWERS, ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_batch_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_batch_reply *ret_message, char *ret_sentence)
{
    const Herdgate__V1__BatchReply *wire;
    struct hgi_msg_answer *answers;
    enum hg_status status;

    wire = hgi_unpack(&herdgate__v1__batch_reply__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    answers = hgi_unpack_array(wire->n_answers, sizeof(*answers), arena, &status, ret_sentence);
    if (!answers) {
        return status;
    }
    for (size_t i = 0; i < wire->n_answers; i++) {
        status = read_answer(wire->answers[i], &answers[i], ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    ret_message->answers = answers;
    ret_message->answer_count = wire->n_answers;
    return HG_OK;
}

bool hgi_put_request_encode(const struct hgi_msg_put *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__PutRequest wire = HERDGATE__V1__PUT_REQUEST__INIT;
    Herdgate__V1__Token token = HERDGATE__V1__TOKEN__INIT;
    struct hgi_codec_key key;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.cache = hgi_pack_borrow(message->cache);
    hgi_codec_key_borrow(&message->key, &key);
    wire.key = key.wire.kind_case ? &key.wire : NULL;
    wire.outcome = (Herdgate__V1__Outcome)message->outcome;
    wire.value = hgi_pack_borrow(message->value);
    wire.ttl_ms = (uint64_t)message->ttl_ms;
    wire.stale_ttl_ms = (uint64_t)message->stale_ttl_ms;
    wire.expires_at_ms = message->expires_at_ms;
    if (message->has_if_generation) {
        token.generation = message->if_generation.generation;
        token.epoch = message->if_generation.epoch;
        wire.condition_case = HERDGATE__V1__PUT_REQUEST__CONDITION_IF_GENERATION;
        wire.if_generation = &token;
    }
    is_done = hgi_pack(&wire.base, ret_bytes) &&
              hgi_codec_tags_pack(PUT_REQUEST_TAGS, message->tags, message->tag_count, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_put_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_put *ret_message, char *ret_sentence)
{
    struct hgi_msg_put message = {0};
    const Herdgate__V1__PutRequest *wire;
    enum hg_status status =
        hgi_codec_tags_check(bytes, PUT_REQUEST_TAGS, HG_TAGS_MAX, "put", ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    wire = hgi_unpack(&herdgate__v1__put_request__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    status = hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);
    if (status == HG_OK) {
        status = hgi_codec_lifetime_read("ttl_ms", wire->ttl_ms, &message.ttl_ms, ret_sentence);
    }
    if (status == HG_OK) {
        status = hgi_codec_lifetime_read("stale_ttl_ms", wire->stale_ttl_ms, &message.stale_ttl_ms,
                                         ret_sentence);
    }
    if (status == HG_OK) {
        status = hgi_codec_unix_ms_check("expires_at_ms", wire->expires_at_ms, ret_sentence);
    }
    if (status == HG_OK) {
        status = hgi_codec_tags_read(wire->tags, wire->n_tags, arena, &message.tags, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    message.tag_count = wire->n_tags;
    message.cache = hgi_unpack_slice(wire->cache);
    hgi_codec_key_read(wire->key, &message.key);
    message.outcome = (enum hg_outcome)wire->outcome;
    message.value = hgi_unpack_slice(wire->value);
    message.expires_at_ms = wire->expires_at_ms;
    if (wire->condition_case == HERDGATE__V1__PUT_REQUEST__CONDITION_IF_GENERATION) {
        message.has_if_generation = true;
        message.if_generation.generation = wire->if_generation->generation;
        message.if_generation.epoch = wire->if_generation->epoch;
    }
    *ret_message = message;
    return HG_OK;
}

bool hgi_put_reply_encode(const struct hgi_msg_put_reply *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__PutReply wire = HERDGATE__V1__PUT_REPLY__INIT;

    wire.generation = message->generation;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_put_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                    struct hgi_msg_put_reply *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__PutReply *wire =
        hgi_unpack(&herdgate__v1__put_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->generation = wire->generation;
    return HG_OK;
}

bool hgi_invalidate_request_encode(const struct hgi_msg_invalidate *message,
                                   struct hg_bytes *ret_bytes)
{
    Herdgate__V1__InvalidateRequest wire = HERDGATE__V1__INVALIDATE_REQUEST__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.prefix = hgi_pack_borrow(message->prefix);
    wire.soft = message->is_soft;
    is_done =
        hgi_pack(&wire.base, ret_bytes) &&
        hgi_codec_keys_pack(INVALIDATE_REQUEST_KEYS, message->keys, message->key_count,
                            ret_bytes) &&
        hgi_codec_tags_pack(INVALIDATE_REQUEST_TAGS, message->tags, message->tag_count, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_invalidate_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_msg_invalidate *ret_message,
                                             char *ret_sentence)
{
    const Herdgate__V1__InvalidateRequest *wire;
    const struct hg_slice *tags;
    struct hg_key *keys;
    enum hg_status status =
        hgi_codec_keys_check(bytes, INVALIDATE_REQUEST_KEYS, "invalidation", ret_sentence);

    if (status == HG_OK) {
        status = hgi_codec_tags_check(bytes, INVALIDATE_REQUEST_TAGS, HGI_INVALIDATE_TAGS_MAX,
                                      "invalidation", ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    wire = hgi_unpack(&herdgate__v1__invalidate_request__descriptor, bytes, arena, &status,
                      ret_sentence);
    if (!wire) {
        return status;
    }
    if (wire->n_keys == 0 && wire->n_tags == 0 && wire->prefix.len == 0) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the invalidation names nothing; it must have a key, a tag or a prefix "
                          "(Admin/Clear empties a whole cache)");
    }
    if (wire->prefix.len > HG_KEY_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the prefix has %zu bytes; at most %u are allowed", wire->prefix.len,
                          HG_KEY_MAX);
    }
    status = hgi_codec_keys_read(wire->keys, wire->n_keys, arena, &keys, ret_sentence);
    if (status == HG_OK) {
        status = hgi_codec_tags_read(wire->tags, wire->n_tags, arena, &tags, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->keys = keys;
    ret_message->key_count = wire->n_keys;
    ret_message->tags = tags;
    ret_message->tag_count = wire->n_tags;
    ret_message->prefix = hgi_unpack_slice(wire->prefix);
    ret_message->is_soft = wire->soft != 0;
    return HG_OK;
}

bool hgi_generation_request_encode(const struct hgi_msg_generation *message,
                                   struct hg_bytes *ret_bytes)
{
    Herdgate__V1__GenerationRequest wire = HERDGATE__V1__GENERATION_REQUEST__INIT;
    struct hgi_codec_key key;

    wire.cache = hgi_pack_borrow(message->cache);
    hgi_codec_key_borrow(&message->key, &key);
    wire.key = key.wire.kind_case ? &key.wire : NULL;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_generation_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_msg_generation *ret_message,
                                             char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__GenerationRequest *wire = hgi_unpack(
        &herdgate__v1__generation_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    hgi_codec_key_read(wire->key, &ret_message->key);
    return HG_OK;
}

bool hgi_generation_reply_encode(const struct hgi_msg_token *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__GenerationReply wire = HERDGATE__V1__GENERATION_REPLY__INIT;
    Herdgate__V1__Token token = HERDGATE__V1__TOKEN__INIT;

    token.generation = message->generation;
    token.epoch = message->epoch;
    wire.token = &token;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_generation_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                           struct hgi_msg_token *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__GenerationReply *wire = hgi_unpack(
        &herdgate__v1__generation_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    if (!wire->token) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the GenerationReply has no token; it must have one");
    }
    ret_message->generation = wire->token->generation;
    ret_message->epoch = wire->token->epoch;
    return HG_OK;
}
