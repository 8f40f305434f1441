/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/kind.h"
#include "client/cli/cli.h"

#define MOMENT_MAX 40u

/* ---- JSON ---- */

/* Only then has JSON a place for all of it: a scope stands in a list, and an attribute's name is a
 * C string here. */
static bool is_sayable(const struct hg_auth *auth)
{
    for (size_t i = 0; i < auth->scope_count; i++) {
        if (!hgi_is_utf8(auth->scopes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < auth->attribute_count; i++) {
        struct hg_slice name = auth->attributes[i].name;

        if (!hgi_is_utf8(name) || (name.len && memchr(name.data, '\0', name.len)) ||
            !hgi_is_utf8(auth->attributes[i].value)) {
            return false;
        }
    }
    return true;
}

/* `auth` is_sayable. */
static json_t *auth_json(const struct hg_auth *auth)
{
    json_t *object = json_object();
    json_t *scopes = json_array();
    json_t *attributes = json_object();

    hgi_json_set_bytes(object, "user_id", auth->user_id);
    hgi_json_set_bytes(object, "api_key_id", auth->api_key_id);
    (void)json_object_set_new(object, "allowed", json_boolean(auth->allowed));
    for (size_t i = 0; i < auth->scope_count; i++) {
        (void)json_array_append_new(scopes,
                                    json_stringn(auth->scopes[i].data, auth->scopes[i].len));
    }
    (void)json_object_set_new(object, "scopes", scopes);
    for (size_t i = 0; i < auth->attribute_count; i++) {
        char *name = hgi_cli_must(hgi_text_copy(&hgi_heap, auth->attributes[i].name));

        hgi_json_set_bytes(attributes, name, auth->attributes[i].value);
        hgi_free(&hgi_heap, name);
    }
    (void)json_object_set_new(object, "attributes", attributes);
    (void)json_object_set_new(object, "not_after_ms",
                              auth->not_after_ms ? json_integer(auth->not_after_ms) : json_null());
    return object;
}

static bool set_typed(json_t *object, const struct hg_answer *answer)
{
    struct hg_auth_value value;
    json_t *json;
    bool is_set;

    if (answer->value_type == HG_TYPE_AUTH &&
        hg_auth_decode(answer->value, &value, NULL) == HG_OK) {
        is_set = is_sayable(&value.auth);
        if (is_set) {
            (void)json_object_set_new(object, "value", auth_json(&value.auth));
        }
        hg_auth_value_deinit(&value);
        return is_set;
    }
    if (answer->value_type == HG_TYPE_JSON) {
        json = json_loadb(answer->value.data, answer->value.len, JSON_DECODE_ANY, NULL);
        return json && json_object_set_new(object, "value", json) == 0;
    }
    return false;
}

json_t *hgi_answer_json(const struct hg_answer *answer)
{
    const char *outcome = hgi_outcome_name(answer->outcome);
    json_t *object = hgi_cli_must(json_pack("{s:s}", "outcome", outcome ? outcome : "unknown"));

    if (answer->outcome == HG_NOT_CACHED) {
        return object;
    }
    if (answer->value_type && !set_typed(object, answer)) {
        hgi_json_set_bytes(object, "value", answer->value);
    }
    hgi_json_set_bytes(object, "source", hg_slice_text(hgi_source_name(answer->source)));
    (void)json_object_set_new(object, "fenced", json_boolean(answer->is_fenced));
    hgi_json_set_number(object, "generation", answer->generation);
    hgi_json_set_number(object, "age_ms", answer->age_ms);
    hgi_json_set_number(object, "ttl_left_ms", answer->ttl_left_ms);
    hgi_json_set_number(object, "stale_left_ms", answer->stale_left_ms);
    return object;
}

/* ---- text ---- */

static const char *moment_text(int64_t ms, char *ret_text)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm calendar;

    if (!gmtime_r(&seconds, &calendar) ||
        strftime(ret_text, MOMENT_MAX, "%Y-%m-%dT%H:%M:%SZ", &calendar) == 0) {
        snprintf(ret_text, MOMENT_MAX, "%jd ms", (intmax_t)ms);
    }
    return ret_text;
}

static void print_field(const char *name, struct hg_slice value)
{
    printf("%-12s", name);
    hgi_print_escaped(stdout, value);
    fputc('\n', stdout);
}

static void print_auth(const struct hg_auth *auth)
{
    char moment[MOMENT_MAX];

    print_field("user_id", auth->user_id);
    print_field("api_key_id", auth->api_key_id);
    print_field("allowed", hg_slice_text(auth->allowed ? "yes" : "no"));
    for (size_t i = 0; i < auth->scope_count; i++) {
        print_field("scope", auth->scopes[i]);
    }
    for (size_t i = 0; i < auth->attribute_count; i++) {
        printf("%-12s", "attribute");
        hgi_print_escaped(stdout, auth->attributes[i].name);
        fputc('=', stdout);
        hgi_print_escaped(stdout, auth->attributes[i].value);
        fputc('\n', stdout);
    }
    if (auth->not_after_ms) {
        print_field("not_after", hg_slice_text(moment_text(auth->not_after_ms, moment)));
    }
}

static void print_value(const struct hg_answer *answer, bool is_raw)
{
    struct hg_auth_value value;

    if (!is_raw && answer->value_type == HG_TYPE_AUTH &&
        hg_auth_decode(answer->value, &value, NULL) == HG_OK) {
        print_auth(&value.auth);
        hg_auth_value_deinit(&value);
        return;
    }
    if (!is_raw && isatty(STDOUT_FILENO)) {
        hgi_print_escaped(stdout, answer->value);
    } else {
        (void)fwrite(answer->value.data, 1, answer->value.len, stdout);
    }
    if (!is_raw) {
        fputc('\n', stdout);
    }
}

void hgi_answer_print(const struct hg_answer *answer, bool is_raw)
{
    switch (answer->outcome) {
    case HG_VALUE:
        print_value(answer, is_raw);
        return;
    case HG_DENIED:
        fprintf(stderr, "herdgate: denied\n");
        if (answer->value_type == HG_TYPE_AUTH) {
            print_value(answer, is_raw);
        }
        return;
    case HG_ABSENT:
        fprintf(stderr, "herdgate: absent: it was looked up, and it is not there\n");
        return;
    case HG_NOT_CACHED:
        fprintf(stderr, "herdgate: not cached\n");
        return;
    }
    fprintf(stderr, "herdgate: an outcome this version does not know (%d)\n", answer->outcome);
}

void hgi_answer_print_more(const struct hg_answer *answer)
{
    char age[HGI_DURATION_MAX];
    char ttl[HGI_DURATION_MAX];
    char stale[HGI_DURATION_MAX];

    if (answer->outcome == HG_NOT_CACHED) {
        return;
    }
    fprintf(stderr, "%s, age %s, fresh for %s, servable for %s, generation %ju%s\n",
            hgi_source_name(answer->source), hgi_duration_text(answer->age_ms, age),
            hgi_duration_text(answer->ttl_left_ms, ttl),
            hgi_duration_text(answer->stale_left_ms, stale), (uintmax_t)answer->generation,
            answer->is_fenced ? ", overtaken by an invalidation and not kept" : "");
}

void hgi_answer_add_value(struct hgi_table *table, const struct hg_answer *answer)
{
    struct hg_auth_value value;

    if (answer->value_type == HG_TYPE_AUTH &&
        hg_auth_decode(answer->value, &value, NULL) == HG_OK) {
        struct hg_slice user = value.auth.user_id;
        struct hg_slice api_key = value.auth.api_key_id;

        hgi_table_add(table, "%.*s/%.*s %s", (int)user.len, user.len ? (const char *)user.data : "",
                      (int)api_key.len, api_key.len ? (const char *)api_key.data : "",
                      value.auth.allowed ? "allowed" : "not allowed");
        hg_auth_value_deinit(&value);
        return;
    }
    hgi_table_add_slice(table, answer->value);
}

int hgi_answer_exit(const struct hg_answer *answer)
{
    return answer->outcome == HG_VALUE ? HGI_EXIT_DONE : HGI_EXIT_NO_VALUE;
}
