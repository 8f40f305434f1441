/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kind.h"
#include "client/call.h"
#include "client/error.h"
#include "proto/codec.h"

enum hg_status hg_auth_encode(const struct hg_auth *auth, struct hg_packed *ret_packed,
                              struct hg_error *ret_error)
{
    enum hg_status status = HG_OK;
    struct hg_memory *memory = NULL;
    struct hg_bytes bytes;
    void *copy = NULL;

    hgi_bytes_init(&bytes, &hgi_heap);
    if (hgi_auth_encode(auth, &bytes)) {
        memory = hgi_memory_create(hgi_arena_budget(bytes.len));
        copy = memory ? hgi_arena_alloc(&memory->arena, bytes.len) : NULL;
    }
    if (!copy) {
        hgi_memory_destroy(&memory);
        status = hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "no memory left");
        goto out;
    }
    if (bytes.len) {
        memcpy(copy, bytes.data, bytes.len);
    }
    ret_packed->bytes = hg_slice_of(copy, bytes.len);
    ret_packed->memory = memory;
out:
    hgi_bytes_deinit(&bytes);
    return status;
}

enum hg_status hg_auth_decode(struct hg_slice bytes, struct hg_auth_value *ret_value,
                              struct hg_error *ret_error)
{
    struct hg_memory *memory = hgi_memory_create(hgi_arena_budget(bytes.len));
    char sentence[HGI_SENTENCE_MAX];
    struct hg_auth auth;
    enum hg_status status;

    if (!memory) {
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    status = hgi_auth_decode(bytes, &memory->arena, &auth, sentence);
    if (status != HG_OK) {
        hgi_memory_destroy(&memory);
        return hgi_error_set(ret_error, status, "%s", sentence);
    }
    ret_value->auth = auth;
    ret_value->memory = memory;
    return HG_OK;
}
