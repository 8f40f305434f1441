/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of grpc.health.v1.Health. */
#include "codec_part.h"

#include "health.pb-c.h"

bool hgi_health_request_encode(const struct hgi_msg_name *message, struct hg_bytes *ret_bytes)
{
    Grpc__Health__V1__HealthCheckRequest wire = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;

    wire.service = hgi_pack_borrow(message->name);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_health_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                         struct hgi_msg_name *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Grpc__Health__V1__HealthCheckRequest *wire = hgi_unpack(
        &grpc__health__v1__health_check_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->name = hgi_unpack_slice(wire->service);
    return HG_OK;
}

bool hgi_health_reply_encode(const struct hgi_msg_health *message, struct hg_bytes *ret_bytes)
{
    Grpc__Health__V1__HealthCheckResponse wire = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    wire.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)message->status;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_health_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                       struct hgi_msg_health *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Grpc__Health__V1__HealthCheckResponse *wire = hgi_unpack(
        &grpc__health__v1__health_check_response__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    status =
        hgi_codec_enum_check("status", (int)wire->status, HGI_HEALTH_SERVICE_UNKNOWN, ret_sentence);
    if (status != HG_OK) {
        return status;
    }
    ret_message->status = (enum hgi_health)wire->status;
    return HG_OK;
}
