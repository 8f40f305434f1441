/* SPDX-License-Identifier: Apache-2.0 */
/* What comes over HTTP behind the library that cuts requests: a gateway's question, and the body of
 * a call in JSON; and what a loader's value makes of a response. Whatever it is: what is taken for
 * a credential is one, facts do not run together, no response has a line's end inside a field.
 *
 * An input is lines: a target, then fields; behind an empty line a JSON text. */
#include <string.h>

#include "fuzz.h"
#include "server/http/credential.h"
#include "server/http/facts.h"
#include "server/http/identity.h"
#include "server/http/json.h"

#define FIELDS_MAX 32

static bool is_clean(struct hg_slice text)
{
    const unsigned char *bytes = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] < ' ' || bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static struct hg_slice next_line(struct hg_slice *input)
{
    const char *end = input->len ? memchr(input->data, '\n', input->len) : NULL;
    size_t len = end ? (size_t)(end - (const char *)input->data) : input->len;
    struct hg_slice line = hg_slice_of(input->data, len);

    len += end != NULL;
    *input = hg_slice_of((const char *)input->data + len, input->len - len);
    return line;
}

static void check_credential(const struct hgi_http_request *request, struct hgi_arena *arena)
{
    static const struct hgi_authz_config authzs[] = {
        {.source = HGI_CREDENTIAL_BEARER},
        {.source = HGI_CREDENTIAL_HEADER, .source_name = "X-Api-Key"},
        {.source = HGI_CREDENTIAL_COOKIE, .source_name = "key"},
        {.source = HGI_CREDENTIAL_QUERY, .source_name = "key"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(authzs); i++) {
        struct hg_slice credential = {NULL, 0};
        struct hg_slice digits;

        if (hgi_credential_find(&authzs[i], request, request->query, arena, &credential) !=
            HGI_CREDENTIAL_FOUND) {
            continue;
        }
        HGI_BUG_ON(credential.len == 0 || !is_clean(credential));
        HGI_BUG_ON(hgi_slice_trim(credential).len != credential.len);
        HGI_BUG_ON(i == 0 && memchr(credential.data, ',', credential.len));
        HGI_BUG_ON(hgi_credential_sha256(credential, arena, &digits) && digits.len != 64);
    }
}

static void check_facts(const struct hgi_http_request *request, struct hgi_arena *arena)
{
    const unsigned all = HGI_FACT_METHOD | HGI_FACT_HOST | HGI_FACT_PATH;

    for (enum hgi_facts_from from = HGI_FACTS_FROM_ANY; from <= HGI_FACTS_FROM_REQUEST; from++) {
        struct hgi_facts facts;
        struct hg_slice joined;
        size_t spaces = 0;

        if (!hgi_facts_read(request, from, request->path, arena, &facts) ||
            !hgi_facts_join(&facts, all, arena, &joined)) {
            continue;
        }
        HGI_BUG_ON(!is_clean(joined));
        for (size_t i = 0; i < joined.len; i++) {
            spaces += ((const char *)joined.data)[i] == ' ';
        }
        HGI_BUG_ON(spaces != 2);
    }
}

static void check_response(const struct hgi_http_response *response)
{
    for (size_t i = 0; i < response->field_count; i++) {
        const char *value = response->fields[i].value;

        HGI_BUG_ON(!*value || strpbrk(value, "\r\n"));
    }
}

static void check_identity(struct hg_slice value, struct hgi_arena *arena)
{
    static const struct hgi_identity_header of_json[] = {
        {"X-A", "/user"}, {"X-B", "/user/id"}, {"X-C", "/roles"}, {"X-D", "/0"}};
    static const struct hgi_identity_header of_auth[] = {
        {"X-A", "user_id"}, {"X-B", "scopes"}, {"X-C", "not_after"}, {"X-D", "attribute:plan"}};
    static const struct hgi_identity_header of_bytes[] = {{"X-A", "value"}};
    static const struct hgi_authz_config authzs[] = {
        {.value_type = HG_TYPE_JSON, .headers = of_json, .header_count = 4},
        {.value_type = HG_TYPE_AUTH, .headers = of_auth, .header_count = 4},
        {.value_type = HG_TYPE_BYTES, .headers = of_bytes, .header_count = 1},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(authzs); i++) {
        const struct hgi_msg_answer answer = {.value = value, .value_type = authzs[i].value_type};
        struct hgi_http_response response;

        hgi_http_response_init(&response, arena);
        if (hgi_identity_say(&authzs[i], &answer, &response)) {
            HGI_BUG_ON(response.field_count != authzs[i].header_count);
        }
        check_response(&response);
    }
}

/* What is refused has a sentence, and what is a key is one that its cache judges. */
static void check_call(const json_t *json, struct hgi_arena *arena)
{
    char sentence[HGI_SENTENCE_MAX];

    for (enum hgi_key_type type = HGI_KEYS_BYTES; type <= HGI_KEYS_AUTH; type++) {
        struct hgi_key canonical;
        struct hg_key key;

        if (!hgi_json_read_key(json_object_get(json, "key"), type, &key, sentence)) {
            fuzz_check_sentence(sentence, sizeof(sentence));
        } else if (hgi_key_encode(type, &key, &canonical, sentence) != HG_OK) {
            fuzz_check_sentence(sentence, sizeof(sentence));
        }
    }
    for (enum hg_value_type type = HG_TYPE_BYTES; type <= HG_TYPE_AUTH; type++) {
        struct hgi_msg_answer answer = {.outcome = HG_VALUE, .value_type = type};
        json_t *said;

        if (!hgi_json_read_value(json, "value", type, arena, &answer.value, sentence)) {
            fuzz_check_sentence(sentence, sizeof(sentence));
            continue;
        }
        said = hgi_json_of_answer(&answer, arena);
        HGI_BUG_ON(!said && !fuzz_has_failed());
        json_decref(said);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);
    struct hgi_http_field fields[FIELDS_MAX];
    struct hgi_http_request request = {.method = hg_slice_text("GET"), .fields = fields};
    struct hgi_arena arena;
    json_t *json;

    hgi_arena_init(&arena, 1u << 24);
    hgi_http_target_split(next_line(&input), &request.path, &request.query);
    for (struct hg_slice line = next_line(&input); line.len; line = next_line(&input)) {
        const char *colon = memchr(line.data, ':', line.len);
        size_t len = colon ? (size_t)(colon - (const char *)line.data) : line.len;

        if (request.field_count < FIELDS_MAX) {
            fields[request.field_count++] = (struct hgi_http_field){
                hg_slice_of(line.data, len),
                colon ? hg_slice_of(colon + 1, line.len - len - 1) : hg_slice_of(NULL, 0)};
        }
    }
    fuzz_memory_may_fail(true);
    check_credential(&request, &arena);
    check_facts(&request, &arena);
    check_identity(input, &arena);
    fuzz_memory_may_fail(false); /* the library under JSON has its own */
    json = json_loadb(input.len ? input.data : "", input.len, JSON_DECODE_ANY, NULL);
    fuzz_memory_may_fail(true);
    check_call(json, &arena);
    fuzz_memory_may_fail(false);
    json_decref(json);
    hgi_arena_deinit(&arena);
    return 0;
}
