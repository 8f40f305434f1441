/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEADER_FAMILY    "header_"
#define ATTRIBUTE_FAMILY "attribute_"

const struct hg_loader_option settings_options[] = {
    {.name = "url", .help = "what is asked, with places such as {key}", .required = true},
    {.name = "preset", .help = "json, body or introspection"},
    {.name = "method", .help = "GET or POST"},
    {.name = "body", .help = "what a POST sends, with places"},
    {.name = "content_type", .help = "of the body"},
    {.name = "header_*", .help = "a header of the request, with places"},
    {.name = "user", .help = "user of Basic authentication"},
    {.name = "password", .help = "its password, or file:PATH"},
    {.name = "bearer", .help = "a bearer token of the request, or file:PATH"},
    {.name = "ca_file", .help = "certificates the server's must go back to"},
    {.name = "client_cert", .help = "own certificate, PEM"},
    {.name = "client_key", .help = "its private key, PEM"},
    {.name = "unix_socket", .help = "path of a socket to ask instead of the url's host"},
    {.name = "proxy", .help = "url of a proxy"},
    {.name = "http", .help = "1.1, 2 or 2-prior-knowledge"},
    {.name = "redirects_max", .help = "redirects that are followed"},
    {.name = "timeout_ms", .help = "longest time of one request"},
    {.name = "connect_timeout_ms", .help = "longest time until a connection stands"},
    {.name = "response_max_bytes", .help = "longest body of an answer"},
    {.name = "connections_max", .help = "connections at once"},
    {.name = "health_url", .help = "asked how the server is"},
    {.name = "value", .help = "pointer to the value"},
    {.name = "ttl", .help = "pointer to seconds the answer is fresh"},
    {.name = "expires_at", .help = "pointer to unix seconds of its end"},
    {.name = "tags", .help = "pointer to its tags"},
    {.name = "allowed", .help = "pointer to true or false, or the word status"},
    {.name = "user_id", .help = "pointer to the user"},
    {.name = "api_key_id", .help = "pointer to the API key"},
    {.name = "scopes", .help = "pointer to the scopes"},
    {.name = "attribute_*", .help = "pointer to an attribute"},
    {.name = NULL},
};

/* Options that are one text each, and which of them is a pointer or a path. */
enum text_kind { TEXT_ANY, TEXT_POINTER, TEXT_PATH };

static const struct text_option {
    const char *name;
    enum text_kind kind;
    size_t at; /* in struct settings */
} text_options[] = {
    {"content_type", TEXT_ANY, offsetof(struct settings, content_type)},
    {"user", TEXT_ANY, offsetof(struct settings, user)},
    {"proxy", TEXT_ANY, offsetof(struct settings, proxy)},
    {"health_url", TEXT_ANY, offsetof(struct settings, health_url)},
    {"ca_file", TEXT_PATH, offsetof(struct settings, ca_file)},
    {"client_cert", TEXT_PATH, offsetof(struct settings, client_cert)},
    {"client_key", TEXT_PATH, offsetof(struct settings, client_key)},
    {"unix_socket", TEXT_PATH, offsetof(struct settings, unix_socket)},
    {"value", TEXT_POINTER, offsetof(struct settings, pointers.value)},
    {"ttl", TEXT_POINTER, offsetof(struct settings, pointers.ttl)},
    {"expires_at", TEXT_POINTER, offsetof(struct settings, pointers.expires_at)},
    {"tags", TEXT_POINTER, offsetof(struct settings, pointers.tags)},
    {"allowed", TEXT_POINTER, offsetof(struct settings, pointers.allowed)},
    {"user_id", TEXT_POINTER, offsetof(struct settings, pointers.user_id)},
    {"api_key_id", TEXT_POINTER, offsetof(struct settings, pointers.api_key_id)},
    {"scopes", TEXT_POINTER, offsetof(struct settings, pointers.scopes)},
};

static const struct number_option {
    const char *name;
    size_t at;
    long min;
    long max;
} number_options[] = {
    {"redirects_max", offsetof(struct settings, redirects_max), 0, 10},
    {"timeout_ms", offsetof(struct settings, timeout_ms), 1, 3600000},
    {"connect_timeout_ms", offsetof(struct settings, connect_timeout_ms), 1, 60000},
    {"response_max_bytes", offsetof(struct settings, response_max_bytes), 1, 16777216},
    {"connections_max", offsetof(struct settings, connections_max), 1, 256},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What came with the options that others decide over: read when all are known. */
struct draft {
    const char *url;
    const char *preset;
    const char *method;
    const char *body;
    const char *http;
};

static bool copy(char **ret_copy, const char *text, char *error, size_t error_size)
{
    *ret_copy = strdup(text);
    if (!*ret_copy) {
        snprintf(error, error_size, "out of memory");
    }
    return *ret_copy != NULL;
}

/* A token of RFC 9110: what a header's name may be of. */
static bool is_token(const char *text)
{
    return *text && text[strspn(text, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

static bool check_pointer(const char *option, const char *value, char *error, size_t error_size)
{
    bool is_right = (value[0] == '\0' || value[0] == '/') && strlen(value) < SETTINGS_POINTER_MAX;

    if (strcmp(option, "allowed") == 0 && strcmp(value, SETTINGS_ALLOWED_BY_STATUS) == 0) {
        return true;
    }
    for (const char *at = value; *at && is_right; at++) {
        is_right = at[0] != '~' || at[1] == '0' || at[1] == '1';
    }
    if (!is_right) {
        snprintf(error, error_size,
                 "option \"%s\": \"%.100s\" is no JSON pointer; \"/data/value\" is one, and \"\" "
                 "is the whole answer",
                 option, value);
    }
    return is_right;
}

static bool check_text(const char *option, enum text_kind kind, const char *value, char *error,
                       size_t error_size)
{
    if (kind == TEXT_POINTER) {
        return check_pointer(option, value, error, error_size);
    }
    if (kind == TEXT_PATH && value[0] != '/') {
        snprintf(error, error_size, "option \"%s\": \"%.200s\" is not an absolute path", option,
                 value);
        return false;
    }
    /* Of a socket the server may come later. */
    if (kind == TEXT_PATH && strcmp(option, "unix_socket") != 0 && access(value, R_OK) != 0) {
        snprintf(error, error_size, "option \"%s\": %.200s: %s", option, value, strerror(errno));
        return false;
    }
    return true;
}

static bool read_number(const struct number_option *option, const char *value, long *ret_number,
                        char *error, size_t error_size)
{
    char *end;

    errno = 0;
    *ret_number = strtol(value, &end, 10);
    if (errno || end == value || *end || *ret_number < option->min || *ret_number > option->max) {
        snprintf(error, error_size,
                 "option \"%s\": \"%.40s\" is not a whole number from %ld to %ld", option->name,
                 value, option->min, option->max);
        return false;
    }
    return true;
}

static bool read_header(struct settings *settings, const char *option, const char *value,
                        char *error, size_t error_size)
{
    const char *name = option + strlen(HEADER_FAMILY);
    struct named_header *header = &settings->headers[settings->header_count];
    struct text secret = {NULL, 0, 0};
    bool is_done;

    if (!is_token(name)) {
        snprintf(error, error_size, "option \"%s\": \"%.60s\" is no name of a header", option,
                 name);
        return false;
    }
    if (settings->header_count == SETTINGS_HEADERS_MAX) {
        snprintf(error, error_size, "more than %d options header_*", SETTINGS_HEADERS_MAX);
        return false;
    }
    is_done = text_secret(&secret, option, value, error, error_size);
    if (is_done && strpbrk(secret.data, "\r\n")) {
        snprintf(error, error_size, "option \"%s\": a header has one line", option);
        is_done = false;
    }
    is_done = is_done && copy(&header->name, name, error, error_size);
    if (is_done) {
        settings->header_count++;
        is_done =
            template_parse(&header->value, option, secret.data, TEMPLATE_HEADER, error, error_size);
    }
    text_clear(&secret);
    return is_done;
}

static bool read_attribute(struct settings *settings, const char *option, const char *value,
                           char *error, size_t error_size)
{
    struct named_attribute *attribute = &settings->attributes[settings->attribute_count];

    if (settings->attribute_count == SETTINGS_ATTRIBUTES_MAX) {
        snprintf(error, error_size, "more than %d options attribute_*", SETTINGS_ATTRIBUTES_MAX);
        return false;
    }
    if (!check_pointer(option, value, error, error_size)) {
        return false;
    }
    settings->attribute_count++;
    return copy(&attribute->name, option + strlen(ATTRIBUTE_FAMILY), error, error_size) &&
           copy(&attribute->pointer, value, error, error_size);
}

static bool read_one(struct settings *settings, struct draft *draft, const char *name,
                     const char *value, char *error, size_t error_size)
{
    const struct {
        const char *name;
        const char **to;
    } later[] = {{"url", &draft->url},
                 {"preset", &draft->preset},
                 {"method", &draft->method},
                 {"body", &draft->body},
                 {"http", &draft->http}};

    for (size_t i = 0; i < COUNT(later); i++) {
        if (strcmp(name, later[i].name) == 0) {
            *later[i].to = value;
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(text_options); i++) {
        if (strcmp(name, text_options[i].name) == 0) {
            return check_text(name, text_options[i].kind, value, error, error_size) &&
                   copy((char **)((char *)settings + text_options[i].at), value, error, error_size);
        }
    }
    for (size_t i = 0; i < COUNT(number_options); i++) {
        if (strcmp(name, number_options[i].name) == 0) {
            return read_number(&number_options[i], value,
                               (long *)((char *)settings + number_options[i].at), error,
                               error_size);
        }
    }
    if (strcmp(name, "password") == 0) {
        return text_secret(&settings->password, name, value, error, error_size);
    }
    if (strcmp(name, "bearer") == 0) {
        return text_secret(&settings->bearer, name, value, error, error_size);
    }
    return strncmp(name, HEADER_FAMILY, strlen(HEADER_FAMILY)) == 0
               ? read_header(settings, name, value, error, error_size)
               : read_attribute(settings, name, value, error, error_size);
}

/* Which of `words` the option's value is; -1 and a sentence. */
static int choose(const char *option, const char *value, const char *const *words, int count,
                  const char *right, char *error, size_t error_size)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(value, words[i]) == 0) {
            return i;
        }
    }
    snprintf(error, error_size, "option \"%s\": \"%.40s\" is none of %s", option, value, right);
    return -1;
}

static bool choose_words(struct settings *settings, const struct draft *draft, char *error,
                         size_t error_size)
{
    static const char *const presets[] = {"json", "body", "introspection"};
    static const char *const methods[] = {"GET", "POST"};
    static const char *const versions[] = {"1.1", "2", "2-prior-knowledge"};
    int preset = choose("preset", draft->preset ? draft->preset : "json", presets, 3,
                        "json, body, introspection", error, error_size);
    int method;
    int version;

    if (preset < 0) {
        return false;
    }
    settings->preset = (enum preset)preset;
    method = choose("method",
                    draft->method                                   ? draft->method
                    : preset == PRESET_INTROSPECTION || draft->body ? "POST"
                                                                    : "GET",
                    methods, 2, "GET, POST", error, error_size);
    version = method < 0 ? -1
                         : choose("http", draft->http ? draft->http : "2", versions, 3,
                                  "1.1, 2, 2-prior-knowledge", error, error_size);
    if (version < 0) {
        return false;
    }
    settings->is_post = method == 1;
    settings->http = versions[version];
    return true;
}

/* The key's parts come behind the host, or a key would choose whom to ask. */
static bool read_url(struct settings *settings, const char *url, char *error, size_t error_size)
{
    const char *host = strncmp(url, "https://", 8) == 0  ? url + 8
                       : strncmp(url, "http://", 7) == 0 ? url + 7
                                                         : "";
    size_t host_len = strcspn(host, "/?#");

    if (host_len == 0) {
        snprintf(error, error_size, "option \"url\": \"%.200s\" begins with no https://HOST/", url);
        return false;
    }
    settings->is_tls = strncmp(url, "https", 5) == 0;
    if (!template_parse(&settings->url, "url", url, TEMPLATE_URL, error, error_size)) {
        return false;
    }
    if (template_first_place(&settings->url) < (size_t)(host - url) + host_len ||
        (host[host_len] == '\0' && template_first_place(&settings->url) < strlen(url))) {
        snprintf(
            error, error_size,
            "option \"url\": a key's part may stand in the path or the query, not in the host");
        return false;
    }
    if (memchr(host, '@', host_len)) {
        snprintf(error, error_size,
                 "option \"url\" names a user; the options user and password are for that");
        return false;
    }
    return true;
}

static bool read_body(struct settings *settings, const char *body, char *error, size_t error_size)
{
    const char *type = settings->content_type;
    bool is_json = type && strncmp(type, "application/json", strlen("application/json")) == 0;

    if (!body && settings->preset == PRESET_INTROSPECTION) {
        body = "token={key}&token_type_hint=access_token";
    }
    if (!settings->is_post && (body || type)) {
        snprintf(error, error_size, "option \"%s\" is for method POST",
                 body ? "body" : "content_type");
        return false;
    }
    if (type && !is_json && strcmp(type, "application/x-www-form-urlencoded") != 0) {
        snprintf(error, error_size,
                 "option \"content_type\": \"%.60s\" is none of application/json, "
                 "application/x-www-form-urlencoded, in which a key can be written safely",
                 type);
        return false;
    }
    settings->has_body = body != NULL;
    return !body || template_parse(&settings->body, "body", body,
                                   is_json ? TEMPLATE_JSON : TEMPLATE_URL, error, error_size);
}

/* What RFC 7662 says where its answer has what. */
static bool fill_introspection(struct settings *settings, char *error, size_t error_size)
{
    const struct {
        char **to;
        const char *pointer;
    } usual[] = {{&settings->pointers.expires_at, "/exp"},
                 {&settings->pointers.user_id, "/sub"},
                 {&settings->pointers.scopes, "/scope"}};

    if (settings->pointers.allowed) {
        snprintf(error, error_size,
                 "option \"allowed\" is not for preset introspection, whose answer says it by "
                 "\"active\"");
        return false;
    }
    for (size_t i = 0; i < COUNT(usual); i++) {
        if (!*usual[i].to && !copy(usual[i].to, usual[i].pointer, error, error_size)) {
            return false;
        }
    }
    return true;
}

static bool check_together(const struct settings *settings, char *error, size_t error_size)
{
    const char *wrong = NULL;

    if (settings->password.len && !settings->user) {
        wrong = "option \"password\" needs \"user\"";
    } else if (settings->user && strchr(settings->user, ':')) {
        wrong = "option \"user\" must have no colon, at which Basic authentication cuts it";
    } else if (settings->user && settings->bearer.len) {
        wrong = "options \"user\" and \"bearer\" are two credentials; one is right";
    } else if (!settings->client_cert != !settings->client_key) {
        wrong = "options \"client_cert\" and \"client_key\" need each other";
    }
    if (wrong) {
        snprintf(error, error_size, "%s", wrong);
    }
    return wrong == NULL;
}

bool settings_read(struct settings *settings, const struct hg_loader_setting *given, size_t count,
                   char *error, size_t error_size)
{
    struct draft draft = {.url = ""};

    settings->connect_timeout_ms = 2000;
    settings->response_max_bytes = 65536;
    settings->connections_max = 32;
    for (size_t i = 0; i < count; i++) {
        if (!read_one(settings, &draft, given[i].name, given[i].value, error, error_size)) {
            return false;
        }
    }
    return choose_words(settings, &draft, error, error_size) &&
           read_url(settings, draft.url, error, error_size) &&
           read_body(settings, draft.body, error, error_size) &&
           (settings->preset != PRESET_INTROSPECTION ||
            fill_introspection(settings, error, error_size)) &&
           check_together(settings, error, error_size);
}

void settings_clear(struct settings *settings)
{
    template_clear(&settings->url);
    template_clear(&settings->body);
    for (size_t i = 0; i < settings->header_count; i++) {
        free(settings->headers[i].name);
        template_clear(&settings->headers[i].value);
    }
    for (size_t i = 0; i < settings->attribute_count; i++) {
        free(settings->attributes[i].name);
        free(settings->attributes[i].pointer);
    }
    for (size_t i = 0; i < COUNT(text_options); i++) {
        free(*(char **)((char *)settings + text_options[i].at));
    }
    text_clear(&settings->password);
    text_clear(&settings->bearer);
}
