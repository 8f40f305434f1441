/* SPDX-License-Identifier: Apache-2.0 */
/* settings: what the options of the postgres plugin say.
 * Owns:     copies of all texts, the password among them, until clear.
 * Threads:  unchanged once read, so any.
 * Limits:   SETTINGS_CHANNELS_MAX channels.
 * Errors:   one sentence that names the option and what would be right.
 * Not here: connections (link), what columns mean (kit/columns). */
#ifndef HG_LOADERS_POSTGRES_SETTINGS_H
#define HG_LOADERS_POSTGRES_SETTINGS_H

#include "herdgate/loader.h"
#include "loaders/kit/text.h"

#define SETTINGS_CHANNELS_MAX    8
#define SETTINGS_CONNECTIONS_MAX 64

/* One query option for each kind of key. The parts of its keys are the lists $1, $2, $3. */
enum query { QUERY_ANY, QUERY_KEY_HASH, QUERY_USER_API_KEY, QUERY_API_KEY_FEATURE, QUERY_COUNT };

struct settings {
    struct text connection;
    struct text password;
    char *sql[QUERY_COUNT]; /* NULL: no such option */
    char *channels[SETTINGS_CHANNELS_MAX];
    size_t channel_count;
    long connections;
    long statement_timeout_ms;
    long connect_timeout_ms;
};

extern const struct hg_loader_option settings_options[];

HG_NODISCARD bool settings_read(struct settings *settings, const struct hg_loader_setting *given,
                                size_t count, char *error, size_t error_size);
/* As good after a read that failed. */
void settings_clear(struct settings *settings);

const char *settings_query_name(enum query query);
/* How many parts, and so lists, its keys have. */
int settings_query_parts(enum query query);
/* Which query serves keys of this kind; false: none does. */
HG_NODISCARD bool settings_query_of(const struct settings *settings, enum hg_key_kind kind,
                                    enum query *ret_query);

#endif
