/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/kind.h"
#include "server/cache/policy.h"
#include "server/config.h"

#define STRUCT_global    struct hgi_config
#define STRUCT_limits    struct hgi_limits
#define STRUCT_listen    struct hgi_listen_config
#define STRUCT_snapshot  struct hgi_snapshot_config
#define STRUCT_principal struct hgi_principal
#define STRUCT_loader    struct hgi_loader_config
#define STRUCT_cache     struct hgi_cache_config
#define STRUCT_http      struct hgi_http_config
#define STRUCT_authz     struct hgi_authz_config

/* How wide a kind's field is: hgi_option_store writes as much, or config_build makes a list. */
#define WIDTH_TEXT            sizeof(const char *)
#define WIDTH_PATH            sizeof(const char *)
#define WIDTH_PLUGIN          sizeof(const char *)
#define WIDTH_PATHS           sizeof(const char *)
#define WIDTH_DIGEST          sizeof(const char *)
#define WIDTH_UIDS            sizeof(const uint32_t *)
#define WIDTH_SETTING         sizeof(const struct hg_loader_setting *)
#define WIDTH_DURATION        sizeof(int64_t)
#define WIDTH_SIZE            sizeof(size_t)
#define WIDTH_COUNT           sizeof(uint32_t)
#define WIDTH_BIG_COUNT       sizeof(size_t)
#define WIDTH_LOG_LEVEL       sizeof(unsigned)
#define WIDTH_LOG_FORMAT      sizeof(unsigned)
#define WIDTH_ACCESS          sizeof(unsigned)
#define WIDTH_SERVICES        sizeof(unsigned)
#define WIDTH_KEY_TYPE        sizeof(unsigned)
#define WIDTH_VALUE_TYPE      sizeof(unsigned)
#define WIDTH_MODE            sizeof(unsigned)
#define WIDTH_ON_ERROR        sizeof(unsigned)
#define WIDTH_ON_FENCED       sizeof(unsigned)
#define WIDTH_HTTP_SERVICES   sizeof(unsigned)
#define WIDTH_CREDENTIAL_HASH sizeof(unsigned)
#define WIDTH_FACTS_FROM      sizeof(unsigned)
#define WIDTH_AUTHZ_FAIL      sizeof(unsigned)
#define WIDTH_PERCENT         sizeof(uint32_t)
#define WIDTH_SWITCH          sizeof(bool)
#define WIDTH_DURATION_OR_OFF sizeof(int64_t)
#define WIDTH_REFRESH_AHEAD   sizeof(uint32_t)

#define HGI_OPTION_ROW(section_, name_, kind_, field_, fallback_, auth_, low_, high_, help_)       \
    _Static_assert(sizeof(((STRUCT_##section_ *)NULL)->field_) == WIDTH_##kind_,                   \
                   "options.def: " #section_ "." #name_ " has another width than its field");
#include "server/options.def"
#undef HGI_OPTION_ROW

static const struct hgi_option options[] = {
#define HGI_OPTION_ROW(section_, name_, kind_, field_, fallback_, auth_, low_, high_, help_)       \
    {.section = #section_,                                                                         \
     .name = #name_,                                                                               \
     .kind = HGI_OPTION_##kind_,                                                                   \
     .offset = offsetof(STRUCT_##section_, field_),                                                \
     .fallback = (fallback_),                                                                      \
     .fallback_auth = (auth_),                                                                     \
     .low = (low_),                                                                                \
     .high = (high_),                                                                              \
     .help = (help_)},
#include "server/options.def"
#undef HGI_OPTION_ROW
};

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
static const struct unit sizes[] = {
    {"", 1}, {"KiB", INT64_C(1) << 10}, {"MiB", INT64_C(1) << 20}, {"GiB", INT64_C(1) << 30}};
static const struct unit counts[] = {{"", 1}};
static const struct unit percents[] = {{"%", 1}};

#define DURATION_FORM "a time such as \"10s\", \"500ms\", \"5m\" or \"1h\""
#define SIZE_FORM     "a number of bytes, or one such as \"64KiB\", \"64MiB\" or \"1GiB\""
#define COUNT_FORM    "a whole number"
#define PERCENT_FORM  "a percentage such as \"10%\""
#define OFF_OR        "\"off\", or "

#define WORD_VALUE_END 16

size_t hgi_option_count(void)
{
    return HGI_COUNT_OF(options);
}

const struct hgi_option *hgi_option_at(size_t index)
{
    HGI_BUG_ON(index >= HGI_COUNT_OF(options));
    return &options[index];
}

const struct hgi_option *hgi_option_find(const char *section, const char *name)
{
    for (size_t i = 0; i < HGI_COUNT_OF(options); i++) {
        if (strcmp(options[i].section, section) == 0 && strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

const char *hgi_option_home(const char *name)
{
    for (size_t i = 0; i < HGI_COUNT_OF(options); i++) {
        if (strcmp(options[i].name, name) == 0) {
            return options[i].section;
        }
    }
    return NULL;
}

static const char *pick(const char *const *names, size_t count, int value)
{
    return value >= 0 && (size_t)value < count ? names[value] : NULL;
}

/* The word for the value of an enum that only HTTP has; NULL: no such value. */
static const char *http_word_of(enum hgi_option_kind kind, int value)
{
    static const char *const http_services[] = {
        [HGI_HTTP_AUTHZ] = "authz", [HGI_HTTP_OPERATOR] = "operator"};
    static const char *const hashes[] = {
        [HGI_CREDENTIAL_PLAIN] = "none", [HGI_CREDENTIAL_SHA256] = "sha256"};
    static const char *const facts_from[] = {
        [HGI_FACTS_FROM_ANY] = "any",
        [HGI_FACTS_FROM_FORWARDED] = "forwarded",
        [HGI_FACTS_FROM_ORIGINAL] = "original",
        [HGI_FACTS_FROM_REQUEST] = "request",
    };
    static const char *const fails[] = {
        [HGI_FAIL_CLOSED] = "closed", [HGI_FAIL_OPEN] = "open", [HGI_FAIL_STALE] = "stale"};

    if (kind == HGI_OPTION_HTTP_SERVICES) {
        return pick(http_services, HGI_COUNT_OF(http_services), value);
    }
    if (kind == HGI_OPTION_CREDENTIAL_HASH) {
        return pick(hashes, HGI_COUNT_OF(hashes), value);
    }
    if (kind == HGI_OPTION_FACTS_FROM) {
        return pick(facts_from, HGI_COUNT_OF(facts_from), value);
    }
    return pick(fails, HGI_COUNT_OF(fails), value);
}

/* The word for the value of an enum; NULL: no such value, or none that a file may ask for. */
const char *hgi_option_word(enum hgi_option_kind kind, int value)
{
    static const char *const log_levels[] = {
        [HG_LOG_ERROR] = "error",
        [HG_LOG_WARN] = "warn",
        [HG_LOG_INFO] = "info",
        [HG_LOG_DEBUG] = "debug",
    };
    static const char *const log_formats[] = {[HGI_LOG_TEXT] = "text", [HGI_LOG_JSON] = "json"};
    static const char *const accesses[] = {
        [HGI_ACCESS_OWNER] = "owner",
        [HGI_ACCESS_DATA] = "data",
        [HGI_ACCESS_TOKEN] = "token",
    };
    static const char *const services[] = {[HGI_SERVES_ALL] = "all", [HGI_SERVES_ADMIN] = "admin"};
    static const char *const switches[] = {"off", "on"};
    static const char *const on_fenced[] = {
        [HGI_ON_FENCED_DELIVER] = "deliver", [HGI_ON_FENCED_RELOAD] = "reload"};
    switch (kind) {
    case HGI_OPTION_LOG_FORMAT:
        return pick(log_formats, HGI_COUNT_OF(log_formats), value);
    case HGI_OPTION_HTTP_SERVICES:
    case HGI_OPTION_CREDENTIAL_HASH:
    case HGI_OPTION_FACTS_FROM:
    case HGI_OPTION_AUTHZ_FAIL:
        return http_word_of(kind, value);
    case HGI_OPTION_LOG_LEVEL:
        return pick(log_levels, HGI_COUNT_OF(log_levels), value);
    case HGI_OPTION_ACCESS:
        return pick(accesses, HGI_COUNT_OF(accesses), value);
    case HGI_OPTION_SERVICES:
        return pick(services, HGI_COUNT_OF(services), value);
    case HGI_OPTION_KEY_TYPE:
        return hgi_key_type_name((enum hgi_key_type)value);
    case HGI_OPTION_VALUE_TYPE:
        return hgi_value_type_name((enum hg_value_type)value);
    case HGI_OPTION_MODE:
        return value == HG_MODE_DEFAULT ? NULL : hgi_mode_name((enum hg_mode)value);
    case HGI_OPTION_ON_ERROR:
        return hgi_on_error_name((enum hgi_on_error)value);
    case HGI_OPTION_ON_FENCED:
        return pick(on_fenced, HGI_COUNT_OF(on_fenced), value);
    case HGI_OPTION_SWITCH:
        return pick(switches, HGI_COUNT_OF(switches), value);
    case HGI_OPTION_TEXT:
    case HGI_OPTION_PATH:
    case HGI_OPTION_PLUGIN:
    case HGI_OPTION_PATHS:
    case HGI_OPTION_DIGEST:
    case HGI_OPTION_UIDS:
    case HGI_OPTION_SETTING:
    case HGI_OPTION_DURATION:
    case HGI_OPTION_SIZE:
    case HGI_OPTION_COUNT:
    case HGI_OPTION_BIG_COUNT:
    case HGI_OPTION_PERCENT:
    case HGI_OPTION_DURATION_OR_OFF:
    case HGI_OPTION_REFRESH_AHEAD:
        break;
    }
    return NULL;
}

void hgi_option_words(enum hgi_option_kind kind, char *ret_list, size_t size)
{
    const char *words[WORD_VALUE_END];
    size_t count = 0;
    size_t len = 0;

    for (int value = 0; value < WORD_VALUE_END; value++) {
        const char *word = hgi_option_word(kind, value);

        if (word) {
            words[count++] = word;
        }
    }
    ret_list[0] = '\0';
    for (size_t i = 0; i < count && len < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";

        len += (size_t)snprintf(ret_list + len, size - len, "%s%s", between, words[i]);
    }
}

static bool parse_word(const struct hgi_option *option, const char *text,
                       struct hgi_option_value *ret_value, char *ret_sentence)
{
    char words[128];

    for (int value = 0; value < WORD_VALUE_END; value++) {
        const char *word = hgi_option_word(option->kind, value);

        if (word && strcmp(word, text) == 0) {
            ret_value->number = value;
            return true;
        }
    }
    hgi_option_words(option->kind, words, sizeof(words));
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s = \"%.60s\" is no known word; write %s",
             option->name, text, words);
    return false;
}

enum number_fault { NUMBER_OK, NUMBER_NO_UNIT, NUMBER_BAD, NUMBER_TOO_BIG };

/* Digits and a unit, nothing else: no sign, no space, no fraction. Nothing of a unit needs none. */
static enum number_fault parse_number(const char *text, const struct unit *units, size_t unit_count,
                                      int64_t *ret_number)
{
    int64_t number = 0;
    const char *at = text;

    if (!isdigit((unsigned char)*at)) {
        return NUMBER_BAD;
    }
    for (; isdigit((unsigned char)*at); at++) {
        if (number > (INT64_MAX - 9) / 10) {
            return NUMBER_TOO_BIG;
        }
        number = number * 10 + (*at - '0');
    }
    for (size_t i = 0; i < unit_count; i++) {
        if (strcmp(units[i].name, at) == 0) {
            if (number > INT64_MAX / units[i].factor) {
                return NUMBER_TOO_BIG;
            }
            *ret_number = number * units[i].factor;
            return NUMBER_OK;
        }
    }
    if (*at) {
        return NUMBER_BAD;
    }
    if (number > 0) {
        return NUMBER_NO_UNIT;
    }
    *ret_number = 0;
    return NUMBER_OK;
}

struct number_form {
    const struct unit *units;
    size_t unit_count;
    const char *form;
};

static struct number_form form_of(enum hgi_option_kind kind)
{
    if (kind == HGI_OPTION_DURATION) {
        return (struct number_form){durations, HGI_COUNT_OF(durations), DURATION_FORM};
    }
    if (kind == HGI_OPTION_DURATION_OR_OFF) {
        return (struct number_form){durations, HGI_COUNT_OF(durations), OFF_OR DURATION_FORM};
    }
    if (kind == HGI_OPTION_SIZE) {
        return (struct number_form){sizes, HGI_COUNT_OF(sizes), SIZE_FORM};
    }
    if (kind == HGI_OPTION_PERCENT) {
        return (struct number_form){percents, HGI_COUNT_OF(percents), PERCENT_FORM};
    }
    if (kind == HGI_OPTION_REFRESH_AHEAD) {
        return (struct number_form){percents, HGI_COUNT_OF(percents),
                                    OFF_OR "\"xfetch\", or " PERCENT_FORM};
    }
    return (struct number_form){counts, HGI_COUNT_OF(counts), COUNT_FORM};
}

static bool parse_bounded(const struct hgi_option *option, const char *text,
                          struct hgi_option_value *ret_value, char *ret_sentence)
{
    struct number_form form = form_of(option->kind);
    int64_t low = 0;
    int64_t high = 0;
    int64_t number = 0;
    const char *wrong = NULL;

    switch (parse_number(text, form.units, form.unit_count, &number)) {
    case NUMBER_OK:
        break;
    case NUMBER_NO_UNIT:
        wrong = "has no unit";
        break;
    case NUMBER_BAD:
        wrong = text[0] == '-' ? "is negative" : "is not understood";
        break;
    case NUMBER_TOO_BIG:
        number = INT64_MAX;
        break;
    }
    if (wrong) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s = \"%.60s\" %s; write %s", option->name, text,
                 wrong, form.form);
        return false;
    }
    HGI_BUG_ON(parse_number(option->low, form.units, form.unit_count, &low) != NUMBER_OK);
    HGI_BUG_ON(parse_number(option->high, form.units, form.unit_count, &high) != NUMBER_OK);
    if (number < low || number > high) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s = \"%.60s\" is out of range; it may be %s to %s", option->name, text,
                 option->low, option->high);
        return false;
    }
    ret_value->number = number;
    return true;
}

static bool parse_or_off(const struct hgi_option *option, const char *text,
                         struct hgi_option_value *ret_value, char *ret_sentence)
{
    if (strcmp(text, "off") == 0) {
        ret_value->number = 0;
        return true;
    }
    if (option->kind == HGI_OPTION_REFRESH_AHEAD && strcmp(text, "xfetch") == 0) {
        ret_value->number = HGI_REFRESH_AHEAD_XFETCH;
        return true;
    }
    return parse_bounded(option, text, ret_value, ret_sentence);
}

/* No path is empty, and each is absolute. */
static bool are_paths(const char *text)
{
    bool is_good = text[0] == '/';

    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        is_good = is_good && colon[1] == '/';
    }
    return is_good;
}

static bool parse_text(const struct hgi_option *option, const char *text, char *ret_sentence)
{
    if (!*text) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s is empty; leave the line out or give it a value", option->name);
        return false;
    }
    if (option->kind == HGI_OPTION_PATH && text[0] != '/') {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s = \"%.100s\" is relative; write an absolute path", option->name, text);
        return false;
    }
    if (option->kind == HGI_OPTION_PATHS && !are_paths(text)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s = \"%.100s\" is no list of absolute paths; write such as \"/a:/b\"",
                 option->name, text);
        return false;
    }
    if (option->kind == HGI_OPTION_DIGEST &&
        (strlen(text) != HGI_HASH_HEX_LEN ||
         strspn(text, "0123456789abcdefABCDEF") != HGI_HASH_HEX_LEN)) {
        snprintf(
            ret_sentence, HGI_SENTENCE_MAX,
            "%s = \"%.100s\" is no digest; write the %u digits that `b2sum -l 256 FILE` prints",
            option->name, text, HGI_HASH_HEX_LEN);
        return false;
    }
    if (option->kind == HGI_OPTION_PLUGIN && text[0] != '/' && strchr(text, '/')) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s = \"%.100s\" is a relative path; write an absolute path, or a name such as "
                 "\"sqlite\" that is looked up in plugin_dir",
                 option->name, text);
        return false;
    }
    return true;
}

bool hgi_option_parse(const struct hgi_option *option, const char *text,
                      struct hgi_option_value *ret_value, char *ret_sentence)
{
    struct hgi_option_value value = {.number = 0, .text = text};
    bool is_good = false;

    switch (option->kind) {
    case HGI_OPTION_TEXT:
    case HGI_OPTION_PATH:
    case HGI_OPTION_PLUGIN:
    case HGI_OPTION_PATHS:
    case HGI_OPTION_DIGEST:
    case HGI_OPTION_UIDS:
    case HGI_OPTION_SETTING:
        is_good = parse_text(option, text, ret_sentence);
        break;
    case HGI_OPTION_DURATION:
    case HGI_OPTION_SIZE:
    case HGI_OPTION_COUNT:
    case HGI_OPTION_BIG_COUNT:
    case HGI_OPTION_PERCENT:
        is_good = parse_bounded(option, text, &value, ret_sentence);
        break;
    case HGI_OPTION_DURATION_OR_OFF:
    case HGI_OPTION_REFRESH_AHEAD:
        is_good = parse_or_off(option, text, &value, ret_sentence);
        break;
    case HGI_OPTION_LOG_LEVEL:
    case HGI_OPTION_LOG_FORMAT:
    case HGI_OPTION_ACCESS:
    case HGI_OPTION_SERVICES:
    case HGI_OPTION_KEY_TYPE:
    case HGI_OPTION_VALUE_TYPE:
    case HGI_OPTION_MODE:
    case HGI_OPTION_ON_ERROR:
    case HGI_OPTION_ON_FENCED:
    case HGI_OPTION_HTTP_SERVICES:
    case HGI_OPTION_CREDENTIAL_HASH:
    case HGI_OPTION_FACTS_FROM:
    case HGI_OPTION_AUTHZ_FAIL:
    case HGI_OPTION_SWITCH:
        is_good = parse_word(option, text, &value, ret_sentence);
        break;
    }
    if (is_good) {
        *ret_value = value;
    }
    return is_good;
}

void hgi_option_store(const struct hgi_option *option, const struct hgi_option_value *value,
                      void *section_struct)
{
    unsigned char *field = (unsigned char *)section_struct + option->offset;
    size_t wide = (size_t)value->number;
    uint32_t narrow = (uint32_t)value->number;
    bool is_on = value->number != 0;

    switch (option->kind) {
    case HGI_OPTION_TEXT:
    case HGI_OPTION_PATH:
    case HGI_OPTION_PLUGIN:
    case HGI_OPTION_PATHS:
    case HGI_OPTION_DIGEST:
        memcpy(field, (const void *)&value->text, sizeof(value->text));
        break;
    case HGI_OPTION_DURATION:
    case HGI_OPTION_DURATION_OR_OFF:
        memcpy(field, &value->number, sizeof(value->number));
        break;
    case HGI_OPTION_SIZE:
    case HGI_OPTION_BIG_COUNT:
        memcpy(field, &wide, sizeof(wide));
        break;
    case HGI_OPTION_COUNT:
    case HGI_OPTION_PERCENT:
    case HGI_OPTION_LOG_LEVEL:
    case HGI_OPTION_LOG_FORMAT:
    case HGI_OPTION_ACCESS:
    case HGI_OPTION_SERVICES:
    case HGI_OPTION_KEY_TYPE:
    case HGI_OPTION_VALUE_TYPE:
    case HGI_OPTION_MODE:
    case HGI_OPTION_ON_ERROR:
    case HGI_OPTION_ON_FENCED:
    case HGI_OPTION_HTTP_SERVICES:
    case HGI_OPTION_CREDENTIAL_HASH:
    case HGI_OPTION_FACTS_FROM:
    case HGI_OPTION_AUTHZ_FAIL:
        memcpy(field, &narrow, sizeof(narrow));
        break;
    case HGI_OPTION_REFRESH_AHEAD:
        if (value->number != HGI_REFRESH_AHEAD_XFETCH) {
            memcpy(field, &narrow, sizeof(narrow));
        }
        break;
    case HGI_OPTION_SWITCH:
        memcpy(field, &is_on, sizeof(is_on));
        break;
    case HGI_OPTION_UIDS:
    case HGI_OPTION_SETTING:
        break; /* lists: config_build makes them */
    }
}
