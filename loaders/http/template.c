/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
    [TEMPLATE_KEY] = "{key}",
    [TEMPLATE_USER_ID] = "{user_id}",
    [TEMPLATE_API_KEY_ID] = "{api_key_id}",
    [TEMPLATE_STANDALONE] = "{standalone}",
    [TEMPLATE_CACHE] = "{cache}",
};

/* TEMPLATE_TEXT: no place begins here. */
static enum template_place place_at(const char *text)
{
    for (int place = TEMPLATE_KEY; place <= TEMPLATE_CACHE; place++) {
        if (strncmp(text, names[place], strlen(names[place])) == 0) {
            return (enum template_place)place;
        }
    }
    return TEMPLATE_TEXT;
}

static bool add_piece(struct template *template, enum template_place place, size_t from, size_t len)
{
    if (template->count == TEMPLATE_PIECES_MAX) {
        return false;
    }
    template->pieces[template->count].place = place;
    template->pieces[template->count].from = from;
    template->pieces[template->count++].len = len;
    return true;
}

/* A part is escaped as text is between quotes. Outside of them a key would say what the JSON is, so
 * there may only stand what no caller chooses: 0 or 1. No JSON has an x outside of quotes. */
static bool check_json(const struct template *template, const char *option, char *error,
                       size_t error_size)
{
    struct text filled = {NULL, 0, 0};
    bool is_done = text_append_word(&filled, "");
    json_t *json;

    for (size_t i = 0; i < template->count && is_done; i++) {
        is_done = template->pieces[i].place == TEMPLATE_TEXT
                      ? text_append(&filled, template->text.data + template->pieces[i].from,
                                    template->pieces[i].len)
                      : text_append_word(
                            &filled, template->pieces[i].place == TEMPLATE_STANDALONE ? "1" : "x");
    }
    json = is_done ? json_loadb(filled.data, filled.len, JSON_DECODE_ANY, NULL) : NULL;
    text_clear(&filled);
    json_decref(json);
    if (!is_done) {
        snprintf(error, error_size, "out of memory");
    } else if (!json) {
        snprintf(error, error_size,
                 "option \"%s\" is no JSON, or has a place that is not between quotes; "
                 "{\"token\":\"{key}\"} is right",
                 option);
    }
    return json != NULL;
}

bool template_parse(struct template *template, const char *option, const char *text,
                    enum template_form form, char *error, size_t error_size)
{
    size_t from = 0;
    size_t at = 0;
    bool is_done = true;

    memset(template, 0, sizeof(*template));
    template->form = form;
    if (!text_append_word(&template->text, text)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    while (text[at] && is_done) {
        enum template_place place = place_at(text + at);

        if (place == TEMPLATE_TEXT) {
            if (form != TEMPLATE_JSON && (text[at] == '{' || text[at] == '}')) {
                snprintf(error, error_size,
                         "option \"%s\": no place begins at \"%.20s\"; {key}, {user_id}, "
                         "{api_key_id}, {standalone} and {cache} are right",
                         option, text + at);
                return false;
            }
            at++;
            continue;
        }
        is_done = (at == from || add_piece(template, TEMPLATE_TEXT, from, at - from)) &&
                  add_piece(template, place, 0, 0);
        at += strlen(names[place]);
        from = at;
    }
    if (is_done && at > from) {
        is_done = add_piece(template, TEMPLATE_TEXT, from, at - from);
    }
    if (!is_done) {
        snprintf(error, error_size, "option \"%s\" has more places than can be filled", option);
    }
    return is_done && (form != TEMPLATE_JSON || check_json(template, option, error, error_size));
}

void template_clear(struct template *template)
{
    text_clear(&template->text);
    template->count = 0;
}

size_t template_first_place(const struct template *template)
{
    size_t at = 0;

    for (size_t i = 0; i < template->count; i++) {
        if (template->pieces[i].place != TEMPLATE_TEXT) {
            return at;
        }
        at += template->pieces[i].len;
    }
    return at;
}

/* False: a key of this kind has no such part. */
static bool part_of(enum template_place place, const struct hg_load_request *request,
                    struct hg_slice *ret_part)
{
    const struct hg_key *key = &request->key;
    bool is_pair = key->kind == HG_KEY_USER_API_KEY || key->kind == HG_KEY_API_KEY_FEATURE;

    switch (place) {
    case TEMPLATE_TEXT:
        break;
    case TEMPLATE_KEY:
        *ret_part = key->bytes;
        return !is_pair;
    case TEMPLATE_USER_ID:
        *ret_part = key->user_id;
        return is_pair;
    case TEMPLATE_API_KEY_ID:
        *ret_part = key->api_key_id;
        return is_pair;
    case TEMPLATE_STANDALONE:
        *ret_part = hg_slice_text(key->is_standalone ? "1" : "0");
        return key->kind == HG_KEY_API_KEY_FEATURE;
    case TEMPLATE_CACHE:
        *ret_part = request->cache;
        return true;
    }
    return false;
}

static bool append_encoded(struct text *text, struct hg_slice part)
{
    static const char digits[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    const unsigned char *data = part.data;
    bool is_done = true;

    for (size_t i = 0; i < part.len && is_done; i++) {
        const char escape[3] = {'%', digits[data[i] >> 4], digits[data[i] & 15]};

        if (data[i] && strchr(plain, data[i])) {
            is_done = text_append(text, data + i, 1);
        } else {
            is_done = text_append(text, escape, sizeof(escape));
        }
    }
    return is_done;
}

/* Dots are as plain as letters, but a path of them leads elsewhere, however they are written. */
static bool is_dots(struct hg_slice part)
{
    return (part.len == 1 && memcmp(part.data, ".", 1) == 0) ||
           (part.len == 2 && memcmp(part.data, "..", 2) == 0);
}

static bool has_control(struct hg_slice part)
{
    const unsigned char *data = part.data;

    for (size_t i = 0; i < part.len; i++) {
        if (data[i] < 0x20 || data[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

/* What the part is, as JSON writes it between its quotes; NULL: it is no UTF-8. */
static char *json_of(struct hg_slice part)
{
    json_t *string = json_stringn(part.len ? part.data : "", part.len);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;

    json_decref(string);
    return text;
}

/* False and a sentence, which is empty if memory is out. */
static bool append_part(struct text *text, enum template_form form, struct hg_slice part,
                        char *sentence, size_t sentence_size)
{
    bool is_done = false;
    char *json;

    sentence[0] = '\0';
    switch (form) {
    case TEMPLATE_URL:
        if (is_dots(part)) {
            snprintf(sentence, sentence_size, "a key that is a path of dots is never asked for");
            return false;
        }
        return append_encoded(text, part);
    case TEMPLATE_HEADER:
        if (has_control(part)) {
            snprintf(sentence, sentence_size,
                     "the key has control characters, which no header can carry");
            return false;
        }
        return text_append(text, part.data, part.len);
    case TEMPLATE_JSON:
        json = json_of(part);
        if (!json) {
            snprintf(sentence, sentence_size, "the key is no UTF-8, which JSON needs");
            return false;
        }
        is_done = text_append(text, json + 1, strlen(json) - 2);
        explicit_bzero(json, strlen(json));
        free(json);
        break;
    }
    return is_done;
}

enum hg_status template_fill(const struct template *template, const struct hg_load_request *request,
                             struct text *ret_text, char *sentence, size_t sentence_size)
{
    for (size_t i = 0; i < template->count; i++) {
        enum template_place place = template->pieces[i].place;
        struct hg_slice part =
            hg_slice_of(template->text.data + template->pieces[i].from, template->pieces[i].len);
        bool is_done;

        if (place == TEMPLATE_TEXT) {
            sentence[0] = '\0';
            is_done = text_append(ret_text, part.data, part.len);
        } else if (part_of(place, request, &part)) {
            is_done = append_part(ret_text, template->form, part, sentence, sentence_size);
        } else {
            snprintf(sentence, sentence_size,
                     "the request has a place for %s, which keys of this "
                     "cache do not have",
                     names[place]);
            return HG_INVALID_ARGUMENT;
        }
        if (!is_done && sentence[0]) {
            return HG_INVALID_ARGUMENT;
        }
        if (!is_done) {
            snprintf(sentence, sentence_size, "out of memory");
            return HG_RESOURCE_EXHAUSTED;
        }
    }
    return HG_OK;
}
