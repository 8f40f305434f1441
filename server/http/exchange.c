/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include "json.h"

static void tell(struct hgi_http_exchange *exchange, const char *name)
{
    struct hgi_http_question *question = &exchange->question;

    /* More than one is said as it is, for who judges it to refuse. */
    for (size_t i = 0; i < exchange->request.field_count; i++) {
        struct hgi_http_request one = {.fields = &exchange->request.fields[i], .field_count = 1};
        struct hg_slice value;

        if (question->told_count < HGI_HTTP_TOLD_MAX && hgi_http_field_find(&one, name, &value)) {
            question->told[question->told_count++] =
                (struct hgi_metadata){hg_slice_text(name), value};
        }
    }
}

void hgi_http_ask(struct hgi_http_exchange *exchange, enum hgi_method method,
                  void (*answered)(struct hgi_http_exchange *exchange))
{
    struct hgi_http_question *question = &exchange->question;

    question->method = method;
    question->payload.len = 0;
    question->reply_bytes.len = 0;
    question->has_reply = false;
    question->told_count = 0;
    exchange->answered = answered;
    if (exchange->peer->access == HGI_ACCESS_TOKEN) {
        tell(exchange, "authorization");
    }
    tell(exchange, "traceparent");
}

void hgi_http_refuse(struct hgi_http_exchange *exchange, unsigned status, const char *code,
                     const char *sentence)
{
    json_t *error = json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", sentence);
    struct hg_bytes text;

    hgi_bytes_init(&text, &hgi_heap);
    hgi_http_response_reset(&exchange->response, status);
    if (error && hgi_json_write(error, &text)) {
        hgi_http_response_body(&exchange->response, status, "application/json",
                               hgi_bytes_slice(&text));
    }
    json_decref(error);
    hgi_bytes_deinit(&text);
}
