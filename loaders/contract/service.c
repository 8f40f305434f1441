/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include "base/clock.h"

static void service_log(struct hg_host *host, enum hg_log_level level, const char *text)
{
    hgi_host_log(host, level, text ? text : "");
}

static int64_t service_now_ms(struct hg_host *host)
{
    (void)host;
    return hgi_clock_now().wall_ms;
}

static void service_done_bytes(struct hg_load *load, struct hg_slice value,
                               const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {
        .kind = HGI_ANSWER_BYTES, .value = value, .lifetime = lifetime};

    hgi_host_complete(load, &draft);
}

static void service_done_json(struct hg_load *load, struct hg_slice text,
                              const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_JSON, .value = text, .lifetime = lifetime};

    hgi_host_complete(load, &draft);
}

static void service_done_auth(struct hg_load *load, const struct hg_auth *auth,
                              const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_AUTH, .lifetime = lifetime};
    struct hg_bytes packed;

    hgi_bytes_init(&packed, &hgi_heap);
    if (!auth || !hgi_answer_pack(auth, &packed)) {
        draft.kind = HGI_ANSWER_ERROR;
        draft.status = auth ? HG_RESOURCE_EXHAUSTED : HG_INTERNAL;
        draft.text = auth ? "the loader's process is out of memory"
                          : "the loader gave no auth value to done_auth";
    }
    draft.value = hgi_bytes_slice(&packed);
    hgi_host_complete(load, &draft);
    hgi_bytes_deinit(&packed);
}

static void service_done_absent(struct hg_load *load, const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_ABSENT, .lifetime = lifetime};

    hgi_host_complete(load, &draft);
}

static void service_done_denied(struct hg_load *load, const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_DENIED, .lifetime = lifetime};

    hgi_host_complete(load, &draft);
}

static void service_done_unchanged(struct hg_load *load, const struct hg_lifetime *lifetime)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_UNCHANGED, .lifetime = lifetime};

    hgi_host_complete(load, &draft);
}

static void service_done_error(struct hg_load *load, enum hg_status status, const char *text)
{
    struct hgi_answer_draft draft = {.kind = HGI_ANSWER_ERROR, .status = status, .text = text};

    hgi_host_complete(load, &draft);
}

const struct hg_host_services hgi_host_services = {
    .size = sizeof(hgi_host_services),
    .log = service_log,
    .now_ms = service_now_ms,
    .done_bytes = service_done_bytes,
    .done_json = service_done_json,
    .done_auth = service_done_auth,
    .done_absent = service_done_absent,
    .done_denied = service_done_denied,
    .done_error = service_done_error,
    .is_cancelled = hgi_host_is_cancelled,
    .done_unchanged = service_done_unchanged,
    .invalidate = hgi_host_invalidate,
};
