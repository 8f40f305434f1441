/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Admin that look into a cache: flights, and why a key is answered as
 * it is. */
#include "codec_part.h"

#define LIST_FLIGHTS_REPLY_FLIGHTS 1u /* field numbers of herdgate.proto */
#define EXPLANATION_ANSWERS        8u

bool hgi_list_flights_request_encode(const struct hgi_msg_list_flights *message,
                                     struct hg_bytes *ret_bytes)
{
    Herdgate__V1__ListFlightsRequest wire = HERDGATE__V1__LIST_FLIGHTS_REQUEST__INIT;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.max = message->max;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_list_flights_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                               struct hgi_msg_list_flights *ret_message,
                                               char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__ListFlightsRequest *wire = hgi_unpack(
        &herdgate__v1__list_flights_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->max = wire->max;
    return HG_OK;
}

/* ---- one flight ---- */

static void borrow_flight(const struct hgi_msg_flight *flight, Herdgate__V1__FlightInfo *ret_wire)
{
    herdgate__v1__flight_info__init(ret_wire);
    ret_wire->cache = hgi_pack_borrow(flight->cache);
    ret_wire->id = flight->id;
    ret_wire->digest = hgi_pack_borrow(flight->digest);
    ret_wire->leader = hgi_pack_borrow(flight->leader);
    ret_wire->phase = hgi_pack_borrow(flight->phase);
    ret_wire->pid = flight->pid;
    ret_wire->age_ms = flight->age_ms;
    ret_wire->left_ms = flight->left_ms;
    ret_wire->followers = flight->followers;
    ret_wire->generation = flight->generation;
    ret_wire->attempt = flight->attempt;
    ret_wire->fenced = flight->is_fenced;
}

static void read_flight(const Herdgate__V1__FlightInfo *wire, struct hgi_msg_flight *ret_flight)
{
    ret_flight->cache = hgi_unpack_slice(wire->cache);
    ret_flight->id = wire->id;
    ret_flight->digest = hgi_unpack_slice(wire->digest);
    ret_flight->leader = hgi_unpack_slice(wire->leader);
    ret_flight->phase = hgi_unpack_slice(wire->phase);
    ret_flight->pid = wire->pid;
    ret_flight->age_ms = wire->age_ms;
    ret_flight->left_ms = wire->left_ms;
    ret_flight->followers = wire->followers;
    ret_flight->generation = wire->generation;
    ret_flight->attempt = wire->attempt;
    ret_flight->is_fenced = wire->fenced != 0;
}

bool hgi_flight_info_encode(const struct hgi_msg_flight *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__FlightInfo wire;

    borrow_flight(message, &wire);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_flight_info_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_flight *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__FlightInfo *wire =
        hgi_unpack(&herdgate__v1__flight_info__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    read_flight(wire, ret_message);
    return HG_OK;
}

/* ---- ListFlights, KillFlight ---- */

bool hgi_list_flights_reply_encode(const struct hgi_msg_flights *message,
                                   struct hg_bytes *ret_bytes)
{
    Herdgate__V1__ListFlightsReply wire = HERDGATE__V1__LIST_FLIGHTS_REPLY__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->flight_count; i++) {
        Herdgate__V1__FlightInfo flight;

        borrow_flight(&message->flights[i], &flight);
        is_done = hgi_pack_element(LIST_FLIGHTS_REPLY_FLIGHTS, &flight.base, ret_bytes);
    }
    wire.count = message->count;
    is_done = is_done && hgi_pack(&wire.base, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_list_flights_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_msg_flights *ret_message,
                                             char *ret_sentence)
{
    struct hgi_msg_flight *flights;
    enum hg_status status;
    const Herdgate__V1__ListFlightsReply *wire = hgi_unpack(
        &herdgate__v1__list_flights_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    flights = hgi_unpack_array(wire->n_flights, sizeof(*flights), arena, &status, ret_sentence);
    if (!flights) {
        return status;
    }
    for (size_t i = 0; i < wire->n_flights; i++) {
        read_flight(wire->flights[i], &flights[i]);
    }
    ret_message->flights = flights;
    ret_message->flight_count = wire->n_flights;
    ret_message->count = wire->count;
    return HG_OK;
}

bool hgi_kill_flight_request_encode(const struct hgi_msg_kill_flight *message,
                                    struct hg_bytes *ret_bytes)
{
    Herdgate__V1__KillFlightRequest wire = HERDGATE__V1__KILL_FLIGHT_REQUEST__INIT;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.id = message->id;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_kill_flight_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                              struct hgi_msg_kill_flight *ret_message,
                                              char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__KillFlightRequest *wire = hgi_unpack(
        &herdgate__v1__kill_flight_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->id = wire->id;
    return HG_OK;
}

/* ---- Explain ---- */

bool hgi_explain_request_encode(const struct hgi_msg_explain *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__ExplainRequest wire = HERDGATE__V1__EXPLAIN_REQUEST__INIT;
    struct hgi_codec_key key;

    hgi_codec_key_borrow(&message->key, &key);
    wire.cache = hgi_pack_borrow(message->cache);
    wire.key = &key.wire;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_explain_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                          struct hgi_msg_explain *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__ExplainRequest *wire =
        hgi_unpack(&herdgate__v1__explain_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    hgi_codec_key_read(wire->key, &ret_message->key);
    return HG_OK;
}

static void borrow_entry(const struct hgi_msg_entry_info *entry, Herdgate__V1__EntryInfo *ret_wire)
{
    herdgate__v1__entry_info__init(ret_wire);
    ret_wire->outcome = (Herdgate__V1__Outcome)entry->outcome;
    ret_wire->generation = entry->generation;
    ret_wire->age_ms = entry->age_ms;
    ret_wire->ttl_left_ms = entry->ttl_left_ms;
    ret_wire->stale_left_ms = entry->stale_left_ms;
    ret_wire->refresh_pause_ms = entry->refresh_pause_ms;
    ret_wire->ttl_ms = entry->ttl_ms;
}

static enum hg_status read_entry(const Herdgate__V1__EntryInfo *wire,
                                 struct hgi_msg_entry_info *ret_entry, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    ret_entry->outcome = (enum hg_outcome)wire->outcome;
    ret_entry->generation = wire->generation;
    ret_entry->age_ms = wire->age_ms;
    ret_entry->ttl_left_ms = wire->ttl_left_ms;
    ret_entry->stale_left_ms = wire->stale_left_ms;
    ret_entry->refresh_pause_ms = wire->refresh_pause_ms;
    ret_entry->ttl_ms = wire->ttl_ms;
    return HG_OK;
}

static bool pack_past(const struct hgi_msg_past_answer *past, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__PastAnswer wire = HERDGATE__V1__PAST_ANSWER__INIT;

    wire.at_ms = past->at_ms;
    wire.status = past->status;
    wire.outcome = (Herdgate__V1__Outcome)past->outcome;
    wire.source = (Herdgate__V1__Source)past->source;
    wire.fenced = past->is_fenced;
    wire.generation = past->generation;
    wire.age_ms = past->age_ms;
    return hgi_pack_element(EXPLANATION_ANSWERS, &wire.base, ret_bytes);
}

static enum hg_status read_past(const Herdgate__V1__PastAnswer *wire,
                                struct hgi_msg_past_answer *ret_past, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);

    if (status == HG_OK) {
        status = hgi_codec_enum_check("source", (int)wire->source, HG_SOURCE_LEASED, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    ret_past->at_ms = wire->at_ms;
    ret_past->status = hgi_unpack_status(wire->status);
    ret_past->outcome = (enum hg_outcome)wire->outcome;
    ret_past->source = (enum hg_source)wire->source;
    ret_past->is_fenced = wire->fenced != 0;
    ret_past->generation = wire->generation;
    ret_past->age_ms = wire->age_ms;
    return HG_OK;
}

bool hgi_explanation_encode(const struct hgi_msg_explanation *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__Explanation wire = HERDGATE__V1__EXPLANATION__INIT;
    Herdgate__V1__EntryInfo entry;
    Herdgate__V1__FlightInfo flight;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.rule = hgi_pack_borrow(message->rule);
    wire.sentence = hgi_pack_borrow(message->sentence);
    wire.digest = hgi_pack_borrow(message->digest);
    wire.generation = message->generation;
    if (message->has_entry) {
        borrow_entry(&message->entry, &entry);
        wire.entry = &entry;
    }
    if (message->has_flight) {
        borrow_flight(&message->flight, &flight);
        wire.flight = &flight;
    }
    wire.failure_left_ms = message->failure_left_ms;
    is_done = hgi_pack(&wire.base, ret_bytes);
    for (size_t i = 0; is_done && i < message->answer_count; i++) {
        is_done = pack_past(&message->answers[i], ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_explanation_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_explanation *ret_message, char *ret_sentence)
{
    struct hgi_msg_explanation message = {0};
    enum hg_status status;
    const Herdgate__V1__Explanation *wire =
        hgi_unpack(&herdgate__v1__explanation__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    message.answer_count = wire->n_answers;
    message.answers =
        hgi_unpack_array(wire->n_answers, sizeof(*message.answers), arena, &status, ret_sentence);
    if (!message.answers) {
        return status;
    }
    for (size_t i = 0; i < wire->n_answers; i++) {
        status = read_past(wire->answers[i], &message.answers[i], ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    message.rule = hgi_unpack_slice(wire->rule);
    message.sentence = hgi_unpack_slice(wire->sentence);
    message.digest = hgi_unpack_slice(wire->digest);
    message.generation = wire->generation;
    message.failure_left_ms = wire->failure_left_ms;
    message.has_flight = wire->flight != NULL;
    if (wire->flight) {
        read_flight(wire->flight, &message.flight);
    }
    message.has_entry = wire->entry != NULL;
    if (wire->entry) {
        status = read_entry(wire->entry, &message.entry, ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    *ret_message = message;
    return HG_OK;
}
