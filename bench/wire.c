/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "record.h"

bool wire_init(struct wire *wire, const struct wire_kind *kind, const struct wire_plan *plan)
{
    memset(wire, 0, sizeof(*wire));
    wire->kind = kind;
    wire->plan = *plan;
    hgi_bytes_init(&wire->request, &hgi_heap);
    if (!kind->build(wire)) {
        hgi_bytes_deinit(&wire->request);
        return false;
    }
    return true;
}

void wire_deinit(struct wire *wire)
{
    hgi_bytes_deinit(&wire->request);
}

void wire_ask(const struct wire *wire, uint32_t slot, const uint32_t *numbers,
              unsigned char *ret_request)
{
    memcpy(ret_request, wire->request.data, wire->request.len);
    for (uint32_t i = 0; i < wire->plan.batch; i++) {
        record_key(numbers[i], wire->plan.key_len, ret_request + wire->key_at[i]);
    }
    if (wire->plan.op == WIRE_PUT) {
        record_value(numbers[0], wire->plan.value_len, ret_request + wire->value_at);
    }
    if (wire->slot_at) {
        uint32_t id = 0x80000000u | (slot + 1);

        for (unsigned i = 0; i < 4; i++) {
            ret_request[wire->slot_at + i] = (unsigned char)(id >> (24 - 8 * i));
        }
    }
}

const struct wire_kind *wire_find(const char *name)
{
    static const struct wire_kind *const kinds[] = {&wire_resp, &wire_memcached, &wire_sp};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

bool wire_add_text(struct wire *wire, const char *text)
{
    return hgi_bytes_append(&wire->request, hg_slice_text(text));
}

bool wire_add_key(struct wire *wire, uint32_t index)
{
    unsigned char key[RECORD_KEY_MAX];

    record_key(0, wire->plan.key_len, key);
    wire->key_at[index] = wire->request.len;
    return hgi_bytes_append(&wire->request, hg_slice_of(key, wire->plan.key_len));
}

bool wire_add_value(struct wire *wire)
{
    unsigned char value[RECORD_VALUE_MAX];

    record_value(0, wire->plan.value_len, value);
    wire->value_at = wire->request.len;
    return hgi_bytes_append(&wire->request, hg_slice_of(value, wire->plan.value_len));
}
