/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite: a loader that answers from a sqlite3 database, opened read-only. README.md beside this
 * file says what its options and columns mean.
 *
 * A connection serves one load at a time and then waits in a pool for the next. There come to be as
 * many as loads run at once, which is the host's `workers`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "row.h"

#define PATH_MAX_LEN   4096
#define CANCEL_OPS     1000 /* virtual machine steps between two looks at is_cancelled */
#define SENTENCE_MAX   256
#define PARAMETERS_MAX 3
#define BATCH_MAX      16

/* One query option. `parts` of its key are ?1, ?2, ?3. */
enum query { QUERY_ANY, QUERY_KEY_HASH, QUERY_USER_API_KEY, QUERY_API_KEY_FEATURE, QUERY_COUNT };

static const struct {
    const char *option;
    int parts;
} queries[QUERY_COUNT] = {
    [QUERY_ANY] = {"query", 3},
    [QUERY_KEY_HASH] = {"query_key_hash", 1},
    [QUERY_USER_API_KEY] = {"query_user_api_key", 2},
    [QUERY_API_KEY_FEATURE] = {"query_api_key_feature", 3},
};

struct connection {
    struct connection *next; /* in the pool */
    sqlite3 *database;
    sqlite3_stmt *statements[QUERY_COUNT]; /* NULL: no such option */
    /* of the load it runs */
    const struct hg_host_services *services;
    const struct hg_load *load;
};

struct self {
    const struct hg_host_services *services;
    char path[PATH_MAX_LEN];
    char *sql[QUERY_COUNT];
    pthread_mutex_t lock;
    struct connection *idle; /* guarded by the lock */
};

/* sqlite asks now and then, during long queries; not 0 interrupts. */
static int look_at_cancel(void *context)
{
    const struct connection *connection = context;

    return connection->load && connection->services->is_cancelled(connection->load);
}

static void close_connection(struct connection *connection)
{
    for (size_t i = 0; i < QUERY_COUNT; i++) {
        sqlite3_finalize(connection->statements[i]);
    }
    sqlite3_close(connection->database);
    free(connection);
}

/* The checks that need the statement; false and a sentence. */
static bool check_statement(sqlite3_stmt *statement, const char *tail, enum query query,
                            char *error, size_t error_size)
{
    const char *option = queries[query].option;
    int count = sqlite3_bind_parameter_count(statement);

    if (!statement || tail[strspn(tail, " \t\r\n;")] != '\0') {
        snprintf(error, error_size, "option \"%s\" must be one SQL statement", option);
        return false;
    }
    if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0) {
        snprintf(error, error_size, "option \"%s\" must be a SELECT", option);
        return false;
    }
    if (sqlite3_column_count(statement) > ROW_COLUMNS_MAX) {
        snprintf(error, error_size, "option \"%s\" has more than %d columns", option,
                 ROW_COLUMNS_MAX);
        return false;
    }
    if (count > queries[query].parts) {
        snprintf(error, error_size, "option \"%s\" uses ?%d, but its key has %d part%s", option,
                 count, queries[query].parts, queries[query].parts == 1 ? "" : "s");
        return false;
    }
    for (int i = 1; i <= count; i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i);

        if (name && name[0] != '?') {
            snprintf(error, error_size, "option \"%s\" uses %.40s; a key's parts are ?1, ?2, ?3",
                     option, name);
            return false;
        }
    }
    return true;
}

static bool prepare(const struct self *self, struct connection *connection, char *error,
                    size_t error_size)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const char *tail = "";

        if (!self->sql[i]) {
            continue;
        }
        if (sqlite3_prepare_v3(connection->database, self->sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &connection->statements[i], &tail) != SQLITE_OK) {
            snprintf(error, error_size, "option \"%s\": %.300s", queries[i].option,
                     sqlite3_errmsg(connection->database));
            return false;
        }
        if (!check_statement(connection->statements[i], tail, (enum query)i, error, error_size)) {
            return false;
        }
    }
    return true;
}

/* NULL and a sentence. */
static struct connection *open_connection(const struct self *self, char *error, size_t error_size)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    connection->services = self->services;
    /* Opening looks at nothing, so the first statement is the test: is it there, is it a database?
     * The schema may come from elsewhere, so nothing in it is trusted to run functions. */
    if (sqlite3_open_v2(self->path, &connection->database, flags, NULL) != SQLITE_OK ||
        sqlite3_db_config(connection->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(connection->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) !=
            SQLITE_OK ||
        sqlite3_busy_timeout(connection->database, 1000) != SQLITE_OK ||
        sqlite3_exec(connection->database, "SELECT count(*) FROM sqlite_schema", NULL, NULL,
                     NULL) != SQLITE_OK) {
        snprintf(error, error_size, "option \"database\": %.200s: %.200s", self->path,
                 connection->database ? sqlite3_errmsg(connection->database) : "out of memory");
        close_connection(connection);
        return NULL;
    }
    sqlite3_progress_handler(connection->database, CANCEL_OPS, look_at_cancel, connection);
    if (!prepare(self, connection, error, error_size)) {
        close_connection(connection);
        return NULL;
    }
    return connection;
}

static void give_back(struct self *self, struct connection *connection)
{
    pthread_mutex_lock(&self->lock);
    connection->next = self->idle;
    self->idle = connection;
    pthread_mutex_unlock(&self->lock);
}

static struct connection *take_idle(struct self *self)
{
    struct connection *connection;

    pthread_mutex_lock(&self->lock);
    connection = self->idle;
    if (connection) {
        self->idle = connection->next;
    }
    pthread_mutex_unlock(&self->lock);
    return connection;
}

static void plugin_close(void *context)
{
    struct self *self = context;
    struct connection *connection;

    while ((connection = take_idle(self))) {
        close_connection(connection);
    }
    pthread_mutex_destroy(&self->lock);
    for (size_t i = 0; i < QUERY_COUNT; i++) {
        free(self->sql[i]);
    }
    free(self);
}

static bool read_settings(struct self *self, const struct hg_loader_setting *settings,
                          size_t setting_count, char *error, size_t error_size)
{
    bool has_query = false;

    for (size_t i = 0; i < setting_count; i++) {
        const char *value = settings[i].value;

        if (strcmp(settings[i].name, "database") == 0) {
            /* sqlite would read "file:..." as a URI, and a relative path from who knows where. */
            if (value[0] != '/' || strlen(value) >= sizeof(self->path)) {
                snprintf(error, error_size,
                         "option \"database\": \"%.200s\" is not an absolute path", value);
                return false;
            }
            snprintf(self->path, sizeof(self->path), "%s", value);
        }
        for (size_t q = 0; q < QUERY_COUNT; q++) {
            if (strcmp(settings[i].name, queries[q].option) == 0) {
                has_query = true;
                self->sql[q] = strdup(value);
                if (!self->sql[q]) {
                    snprintf(error, error_size, "out of memory");
                    return false;
                }
            }
        }
    }
    if (!has_query) {
        snprintf(error, error_size,
                 "plugin sqlite needs a query: \"query\", or \"query_key_hash\", "
                 "\"query_user_api_key\", \"query_api_key_feature\" for the keys of its caches");
    }
    return has_query;
}

static enum hg_status plugin_open(struct hg_host *host, const struct hg_host_services *services,
                                  const struct hg_loader_setting *settings, size_t setting_count,
                                  void **ret_self, char *error, size_t error_size)
{
    struct self *self = calloc(1, sizeof(*self));
    struct connection *first = NULL;

    (void)host;
    if (!self) {
        snprintf(error, error_size, "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->services = services;
    if (read_settings(self, settings, setting_count, error, error_size)) {
        first = open_connection(self, error, error_size);
    }
    if (!first) {
        plugin_close(self);
        return HG_FAILED_PRECONDITION;
    }
    give_back(self, first);
    *ret_self = self;
    return HG_OK;
}

static int bind_text(sqlite3_stmt *statement, int index, struct hg_slice text)
{
    if (index > sqlite3_bind_parameter_count(statement)) {
        return SQLITE_OK;
    }
    return sqlite3_bind_text64(statement, index, text.len ? text.data : "", text.len, SQLITE_STATIC,
                               SQLITE_UTF8);
}

static int bind_key(sqlite3_stmt *statement, const struct hg_key *key)
{
    int result;

    if (key->kind == HG_KEY_BYTES || key->kind == HG_KEY_KEY_HASH) {
        return bind_text(statement, 1, key->bytes);
    }
    result = bind_text(statement, 1, key->user_id);
    if (result == SQLITE_OK) {
        result = bind_text(statement, 2, key->api_key_id);
    }
    if (result == SQLITE_OK && sqlite3_bind_parameter_count(statement) >= PARAMETERS_MAX &&
        key->kind == HG_KEY_API_KEY_FEATURE) {
        result = sqlite3_bind_int(statement, PARAMETERS_MAX, key->is_standalone);
    }
    return result;
}

static void fail(const struct self *self, struct hg_load *load, sqlite3 *database, int result)
{
    enum hg_status status = HG_INTERNAL;
    char sentence[SENTENCE_MAX];

    switch (result & 0xff) {
    case SQLITE_INTERRUPT:
        self->services->done_error(load, HG_CANCELLED, "cancelled");
        return;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        status = HG_UNAVAILABLE;
        break;
    case SQLITE_NOMEM:
        status = HG_RESOURCE_EXHAUSTED;
        break;
    default:
        break;
    }
    snprintf(sentence, sizeof(sentence), "the database says: %.200s", sqlite3_errmsg(database));
    self->services->done_error(load, status, sentence);
}

static void run_query(const struct self *self, struct connection *connection,
                      sqlite3_stmt *statement, const char *option, struct hg_load *load,
                      const struct hg_load_request *request)
{
    struct row row;
    int result = bind_key(statement, &request->key);

    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
    }
    if (result == SQLITE_DONE) {
        self->services->done_absent(load, NULL);
        return;
    }
    if (result != SQLITE_ROW) {
        fail(self, load, connection->database, result);
        return;
    }
    if (!row_take(&row, statement, option)) {
        self->services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    /* Two rows for one key are two answers; to pick one would be to guess who somebody is. */
    result = sqlite3_step(statement);
    if (result == SQLITE_DONE) {
        row_answer(&row, self->services, load, request);
    } else if (result == SQLITE_ROW) {
        self->services->done_error(load, HG_FAILED_PRECONDITION,
                                   "the query gave more than one row for one key");
    } else {
        fail(self, load, connection->database, result);
    }
    row_release(&row);
}

static enum query query_of(const struct self *self, enum hg_key_kind kind)
{
    static const enum query own[] = {
        [HG_KEY_BYTES] = QUERY_ANY,
        [HG_KEY_KEY_HASH] = QUERY_KEY_HASH,
        [HG_KEY_USER_API_KEY] = QUERY_USER_API_KEY,
        [HG_KEY_API_KEY_FEATURE] = QUERY_API_KEY_FEATURE,
    };

    return self->sql[own[kind]] ? own[kind] : QUERY_ANY;
}

/* One load on a connection that is this call's. */
static void answer_one(struct self *self, struct connection *connection, struct hg_load *load,
                       const struct hg_load_request *request)
{
    static const char *const kinds[] = {
        [HG_KEY_BYTES] = "bytes",
        [HG_KEY_KEY_HASH] = "key_hash",
        [HG_KEY_USER_API_KEY] = "user_api_key",
        [HG_KEY_API_KEY_FEATURE] = "api_key_feature",
    };
    enum query query = query_of(self, request->key.kind);
    char sentence[SENTENCE_MAX];

    if (!self->sql[query]) {
        snprintf(sentence, sizeof(sentence), "this loader has no query for a key of kind %s",
                 kinds[request->key.kind]);
        self->services->done_error(load, HG_INVALID_ARGUMENT, sentence);
        return;
    }
    connection->load = load;
    sqlite3_busy_timeout(connection->database, (int)(request->remaining_ms & 0xfffffff));
    run_query(self, connection, connection->statements[query], queries[query].option, load,
              request);
    /* Gives up the borrowed key and, outside a transaction, the read lock, whatever came of it. */
    sqlite3_reset(connection->statements[query]);
    sqlite3_clear_bindings(connection->statements[query]);
    connection->load = NULL;
}

/* NULL and a sentence. */
static struct connection *take_connection(struct self *self, char *sentence)
{
    struct connection *connection = take_idle(self);

    return connection ? connection : open_connection(self, sentence, SENTENCE_MAX);
}

static void plugin_load(void *context, struct hg_load *load, const struct hg_load_request *request)
{
    struct self *self = context;
    char sentence[SENTENCE_MAX];
    struct connection *connection = take_connection(self, sentence);

    if (!connection) {
        self->services->done_error(load, HG_UNAVAILABLE, sentence);
        return;
    }
    answer_one(self, connection, load, request);
    give_back(self, connection);
}

/* One after the other in one read transaction: one state of the database for all, one read lock.
 * Without the transaction (BEGIN failed) each has its own, which is as right and a little slower.
 */
static void plugin_load_batch(void *context, struct hg_load *const *loads,
                              const struct hg_load_request *const *requests, size_t count)
{
    struct self *self = context;
    char sentence[SENTENCE_MAX];
    struct connection *connection = take_connection(self, sentence);

    if (connection) {
        sqlite3_exec(connection->database, "BEGIN", NULL, NULL, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        if (!connection) {
            self->services->done_error(loads[i], HG_UNAVAILABLE, sentence);
        } else if (self->services->is_cancelled(loads[i])) {
            self->services->done_error(loads[i], HG_CANCELLED, "cancelled");
        } else {
            answer_one(self, connection, loads[i], requests[i]);
        }
    }
    if (connection) {
        if (!sqlite3_get_autocommit(connection->database)) {
            sqlite3_exec(connection->database, "COMMIT", NULL, NULL, NULL);
        }
        give_back(self, connection);
    }
}

static const struct hg_loader_option options[] = {
    {.name = "database", .help = "absolute path of the database", .required = true},
    {.name = "query", .help = "SELECT for a bytes key, or for a kind without its own"},
    {.name = "query_key_hash", .help = "SELECT for a key hash, ?1"},
    {.name = "query_user_api_key", .help = "SELECT for a user id ?1 and an API key id ?2"},
    {.name = "query_api_key_feature",
     .help = "SELECT for user id ?1, API key id ?2, standalone ?3"},
    {.name = NULL},
};

static const struct hg_loader loader = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(loader),
    .caps = HG_LOADER_REVALIDATE,
    .name = "sqlite",
    .version = HERDGATE_VERSION,
    .options = options,
    .open = plugin_open,
    .load = plugin_load,
    .max_batch = BATCH_MAX,
    .load_batch = plugin_load_batch,
    .close = plugin_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &loader;
}
