/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

const struct hg_loader_option settings_options[] = {
    {.name = "connection", .help = "how to reach the database, as libpq has it", .required = true},
    {.name = "password", .help = "password, or file:PATH"},
    {.name = "query", .help = "SELECT for bytes keys $1, or for a kind without its own"},
    {.name = "query_key_hash", .help = "SELECT for key hashes $1"},
    {.name = "query_user_api_key", .help = "SELECT for user ids $1 with API key ids $2"},
    {.name = "query_api_key_feature",
     .help = "SELECT for user ids $1, API key ids $2, standalone $3"},
    {.name = "listen", .help = "channels whose notifications invalidate"},
    {.name = "connections", .help = "connections for queries"},
    {.name = "statement_timeout_ms", .help = "longest time of one query in the database"},
    {.name = "connect_timeout_ms", .help = "longest time until a connection stands"},
    {.name = NULL},
};

static const struct {
    const char *option;
    int parts;
} queries[QUERY_COUNT] = {
    [QUERY_ANY] = {"query", 3},
    [QUERY_KEY_HASH] = {"query_key_hash", 1},
    [QUERY_USER_API_KEY] = {"query_user_api_key", 2},
    [QUERY_API_KEY_FEATURE] = {"query_api_key_feature", 3},
};

const char *settings_query_name(enum query query)
{
    return queries[query].option;
}

int settings_query_parts(enum query query)
{
    return queries[query].parts;
}

bool settings_query_of(const struct settings *settings, enum hg_key_kind kind,
                       enum query *ret_query)
{
    static const enum query own[] = {
        [HG_KEY_BYTES] = QUERY_ANY,
        [HG_KEY_KEY_HASH] = QUERY_KEY_HASH,
        [HG_KEY_USER_API_KEY] = QUERY_USER_API_KEY,
        [HG_KEY_API_KEY_FEATURE] = QUERY_API_KEY_FEATURE,
    };

    *ret_query = settings->sql[own[kind]] ? own[kind] : QUERY_ANY;
    return settings->sql[*ret_query] != NULL;
}

static bool copy(char **ret_copy, const char *text, size_t len, char *error, size_t error_size)
{
    *ret_copy = strndup(text, len);
    if (!*ret_copy) {
        snprintf(error, error_size, "out of memory");
    }
    return *ret_copy != NULL;
}

static bool read_number(const char *option, const char *value, long min, long max, long *ret_number,
                        char *error, size_t error_size)
{
    char *end;

    errno = 0;
    *ret_number = strtol(value, &end, 10);
    if (errno || end == value || *end || *ret_number < min || *ret_number > max) {
        snprintf(error, error_size,
                 "option \"%s\": \"%.40s\" is not a whole number from %ld to %ld", option, value,
                 min, max);
        return false;
    }
    return true;
}

/* What can be known without the server. The words of libpq quote the text, so a password in there
 * would be told. */
static bool read_connection(struct settings *settings, const char *value, char *error,
                            size_t error_size)
{
    char *wrong = NULL;
    PQconninfoOption *parsed = PQconninfoParse(value, &wrong);
    bool has_password = false;

    for (const PQconninfoOption *option = parsed; option && option->keyword; option++) {
        bool is_password =
            strcmp(option->keyword, "password") == 0 || strcmp(option->keyword, "sslpassword") == 0;

        has_password = has_password || (is_password && option->val);
    }
    PQconninfoFree(parsed);
    PQfreemem(wrong);
    if (!parsed) {
        snprintf(error, error_size,
                 "option \"connection\" cannot be read; \"host=/run/postgresql dbname=keys\" or "
                 "\"postgresql://host/keys\" are right");
        return false;
    }
    if (has_password) {
        snprintf(error, error_size,
                 "option \"connection\" holds a password; the option password, "
                 "as file:PATH, is for that");
        return false;
    }
    if (!text_append_word(&settings->connection, value)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    return true;
}

static bool read_channels(struct settings *settings, const char *value, char *error,
                          size_t error_size)
{
    size_t count = 0;
    struct hg_slice *words = text_words(hg_slice_text(value), &count);
    bool is_done = words != NULL;

    if (!words) {
        snprintf(error, error_size, "out of memory");
    } else if (count == 0 || count > SETTINGS_CHANNELS_MAX) {
        snprintf(error, error_size, "option \"listen\": 1 to %d names of channels are right",
                 SETTINGS_CHANNELS_MAX);
        is_done = false;
    }
    for (size_t i = 0; i < count && is_done; i++) {
        is_done = copy(&settings->channels[settings->channel_count], words[i].data, words[i].len,
                       error, error_size);
        settings->channel_count += is_done;
    }
    free(words);
    return is_done;
}

static bool read_one(struct settings *settings, const char *name, const char *value, char *error,
                     size_t error_size)
{
    if (strcmp(name, "connection") == 0) {
        return read_connection(settings, value, error, error_size);
    }
    if (strcmp(name, "password") == 0) {
        return text_secret(&settings->password, name, value, error, error_size);
    }
    if (strcmp(name, "listen") == 0) {
        return read_channels(settings, value, error, error_size);
    }
    if (strcmp(name, "connections") == 0) {
        return read_number(name, value, 1, SETTINGS_CONNECTIONS_MAX, &settings->connections, error,
                           error_size);
    }
    if (strcmp(name, "statement_timeout_ms") == 0) {
        return read_number(name, value, 1, 3600000, &settings->statement_timeout_ms, error,
                           error_size);
    }
    if (strcmp(name, "connect_timeout_ms") == 0) {
        return read_number(name, value, 1, 8000, &settings->connect_timeout_ms, error, error_size);
    }
    for (size_t q = 0; q < QUERY_COUNT; q++) {
        if (strcmp(name, queries[q].option) == 0) {
            return copy(&settings->sql[q], value, strlen(value), error, error_size);
        }
    }
    return true;
}

bool settings_read(struct settings *settings, const struct hg_loader_setting *given, size_t count,
                   char *error, size_t error_size)
{
    bool has_query = false;

    settings->connections = 2;
    settings->statement_timeout_ms = 5000;
    settings->connect_timeout_ms = 3000;
    for (size_t i = 0; i < count; i++) {
        if (!read_one(settings, given[i].name, given[i].value, error, error_size)) {
            return false;
        }
    }
    for (size_t q = 0; q < QUERY_COUNT; q++) {
        has_query = has_query || settings->sql[q];
    }
    if (!has_query) {
        snprintf(error, error_size,
                 "plugin postgres needs a query: \"query\", or \"query_key_hash\", "
                 "\"query_user_api_key\", \"query_api_key_feature\" for the keys of its caches");
    }
    return has_query;
}

void settings_clear(struct settings *settings)
{
    text_clear(&settings->connection);
    text_clear(&settings->password);
    for (size_t q = 0; q < QUERY_COUNT; q++) {
        free(settings->sql[q]);
    }
    for (size_t i = 0; i < settings->channel_count; i++) {
        free(settings->channels[i]);
    }
}
