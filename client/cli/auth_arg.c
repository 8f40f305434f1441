/* SPDX-License-Identifier: Apache-2.0 */
#include "auth_arg.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "client/cli/cli.h"
#include "client/cli/parse.h"

HG_PRINTF(2, 3)
static bool refuse(char *ret_sentence, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(ret_sentence, HGI_SENTENCE_MAX, format, args);
    va_end(args);
    return false;
}

static bool add_scope(struct hgi_auth_arg *arg, struct hg_slice scope, char *ret_sentence)
{
    if (arg->auth.scope_count == HGI_AUTH_LIST_MAX) {
        return refuse(ret_sentence, "an auth value has at most %u scopes here", HGI_AUTH_LIST_MAX);
    }
    arg->scopes[arg->auth.scope_count++] = scope;
    return true;
}

static bool add_attribute(struct hgi_auth_arg *arg, const char *name, struct hg_slice value,
                          char *ret_sentence)
{
    struct hg_attribute *attribute;

    if (arg->auth.attribute_count == HGI_AUTH_LIST_MAX) {
        return refuse(ret_sentence, "an auth value has at most %u attributes here",
                      HGI_AUTH_LIST_MAX);
    }
    attribute = &arg->attributes[arg->auth.attribute_count++];
    attribute->name = hg_slice_text(name);
    attribute->value = value;
    return true;
}

static void begin(struct hgi_auth_arg *arg)
{
    memset(arg, 0, sizeof(*arg));
    arg->auth.scopes = arg->scopes;
    arg->auth.attributes = arg->attributes;
}

static bool set_allowed(struct hgi_auth_arg *arg, const char *value, char *ret_sentence)
{
    arg->auth.allowed = strcmp(value, "true") == 0 || strcmp(value, "yes") == 0;
    if (!arg->auth.allowed && strcmp(value, "false") != 0 && strcmp(value, "no") != 0) {
        return refuse(ret_sentence, "allowed=%.60s is neither yes nor no", value);
    }
    return true;
}

/* One "name=value", already cut apart. */
static bool set_field(struct hgi_auth_arg *arg, const char *name, const char *value,
                      char *ret_sentence)
{
    uint64_t seconds;

    if (strcmp(name, "user") == 0 || strcmp(name, "user_id") == 0) {
        arg->auth.user_id = hg_slice_text(value);
        return true;
    }
    if (strcmp(name, "key") == 0 || strcmp(name, "api_key_id") == 0) {
        arg->auth.api_key_id = hg_slice_text(value);
        return true;
    }
    if (strcmp(name, "allowed") == 0) {
        return set_allowed(arg, value, ret_sentence);
    }
    if (strcmp(name, "scope") == 0) {
        return add_scope(arg, hg_slice_text(value), ret_sentence);
    }
    if (strncmp(name, "attr.", 5) == 0 && name[5]) {
        return add_attribute(arg, name + 5, hg_slice_text(value), ret_sentence);
    }
    if (strcmp(name, "not_after") == 0) {
        if (!hgi_parse_digits(value, strlen(value), INT64_MAX / 1000, &seconds)) {
            return refuse(ret_sentence, "not_after=%.60s is not a number of unix seconds", value);
        }
        arg->auth.not_after_ms = (int64_t)seconds * 1000;
        return true;
    }
    return refuse(ret_sentence,
                  "an auth value has no field \"%.60s\"; there are user, key, allowed, scope, "
                  "attr.NAME and not_after",
                  name);
}

bool hgi_auth_arg_parse(const char *fields, struct hgi_auth_arg *ret_arg, char *ret_sentence)
{
    bool has_allowed = false;
    char *rest;
    char *field;

    begin(ret_arg);
    ret_arg->text = hgi_cli_must(hgi_text_copy(&hgi_heap, hg_slice_text(fields)));
    rest = ret_arg->text;
    while ((field = strsep(&rest, ","))) {
        char *value = strchr(field, '=');

        if (!value) {
            return refuse(ret_sentence, "\"%.60s\" in --auth is not NAME=VALUE", field);
        }
        *value = '\0';
        has_allowed = has_allowed || strcmp(field, "allowed") == 0;
        if (!set_field(ret_arg, field, value + 1, ret_sentence)) {
            return false;
        }
    }
    return has_allowed || refuse(ret_sentence, "--auth must say allowed=yes or allowed=no");
}

/* ---- JSON ---- */

static struct hg_slice json_slice(const json_t *text)
{
    return hg_slice_of(json_string_value(text), json_string_length(text));
}

static bool take_scopes(struct hgi_auth_arg *arg, json_t *value, char *ret_sentence)
{
    size_t index;
    json_t *scope;

    if (!json_is_array(value)) {
        return refuse(ret_sentence, "\"scopes\" must be a list of texts");
    }
    json_array_foreach(value, index, scope)
    {
        if (!json_is_string(scope)) {
            return refuse(ret_sentence, "\"scopes\" must be a list of texts");
        }
        if (!add_scope(arg, json_slice(scope), ret_sentence)) {
            return false;
        }
    }
    return true;
}

static bool take_attributes(struct hgi_auth_arg *arg, json_t *value, char *ret_sentence)
{
    const char *name;
    json_t *attribute;

    if (!json_is_object(value)) {
        return refuse(ret_sentence, "\"attributes\" must be an object of texts");
    }
    json_object_foreach(value, name, attribute)
    {
        if (!json_is_string(attribute)) {
            return refuse(ret_sentence, "\"attributes\" must be an object of texts");
        }
        if (!add_attribute(arg, name, json_slice(attribute), ret_sentence)) {
            return false;
        }
    }
    return true;
}

static bool take_text(json_t *value, const char *name, struct hg_slice *ret_text,
                      char *ret_sentence)
{
    if (!json_is_string(value)) {
        return refuse(ret_sentence, "\"%s\" must be a text", name);
    }
    *ret_text = json_slice(value);
    return true;
}

static bool take_member(struct hgi_auth_arg *arg, const char *name, json_t *value,
                        char *ret_sentence)
{
    if (strcmp(name, "user_id") == 0) {
        return take_text(value, name, &arg->auth.user_id, ret_sentence);
    }
    if (strcmp(name, "api_key_id") == 0) {
        return take_text(value, name, &arg->auth.api_key_id, ret_sentence);
    }
    if (strcmp(name, "allowed") == 0) {
        arg->auth.allowed = json_is_true(value);
        return json_is_boolean(value) || refuse(ret_sentence, "\"allowed\" must be true or false");
    }
    if (strcmp(name, "scopes") == 0) {
        return take_scopes(arg, value, ret_sentence);
    }
    if (strcmp(name, "attributes") == 0) {
        return take_attributes(arg, value, ret_sentence);
    }
    if (strcmp(name, "not_after_ms") == 0) {
        arg->auth.not_after_ms = json_integer_value(value);
        return json_is_null(value) || (json_is_integer(value) && arg->auth.not_after_ms >= 0) ||
               refuse(ret_sentence, "\"not_after_ms\" must be unix milliseconds or null");
    }
    return refuse(ret_sentence,
                  "an auth value has no member \"%.60s\"; there are user_id, api_key_id, allowed, "
                  "scopes, attributes and not_after_ms",
                  name);
}

bool hgi_auth_arg_parse_json(struct hg_slice text, struct hgi_auth_arg *ret_arg, char *ret_sentence)
{
    json_error_t error;
    const char *name;
    json_t *value;

    begin(ret_arg);
    ret_arg->json = json_loadb(text.len ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(ret_arg->json)) {
        return refuse(ret_sentence, "the auth value is not a JSON object (line %d: %.120s)",
                      error.line, error.text);
    }
    json_object_foreach(ret_arg->json, name, value)
    {
        if (!take_member(ret_arg, name, value, ret_sentence)) {
            return false;
        }
    }
    return json_object_get(ret_arg->json, "allowed") ||
           refuse(ret_sentence, "the auth value must have \"allowed\": true or false");
}

void hgi_auth_arg_deinit(struct hgi_auth_arg *arg)
{
    hgi_free(&hgi_heap, arg->text);
    json_decref(arg->json);
    arg->text = NULL;
    arg->json = NULL;
}
