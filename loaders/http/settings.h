/* SPDX-License-Identifier: Apache-2.0 */
/* settings: what the options of the http plugin say.
 * Owns:     copies of all texts, secrets among them, until clear.
 * Threads:  unchanged once read, so any.
 * Limits:   SETTINGS_HEADERS_MAX headers, SETTINGS_ATTRIBUTES_MAX attributes.
 * Errors:   one sentence that names the option and what would be right.
 * Not here: the requests (request), what an answer means (answer). */
#ifndef HG_LOADERS_HTTP_SETTINGS_H
#define HG_LOADERS_HTTP_SETTINGS_H

#include "template.h"

#define SETTINGS_HEADERS_MAX    16
#define SETTINGS_ATTRIBUTES_MAX 32
#define SETTINGS_POINTER_MAX    256

enum preset { PRESET_JSON, PRESET_BODY, PRESET_INTROSPECTION };

/* Where in the JSON of an answer something is found: RFC 6901 pointers. NULL: not asked for. */
struct pointers {
    char *value;
    char *ttl;
    char *expires_at;
    char *tags;
    char *allowed; /* or SETTINGS_ALLOWED_BY_STATUS */
    char *user_id;
    char *api_key_id;
    char *scopes;
};

#define SETTINGS_ALLOWED_BY_STATUS "status"

struct named_header {
    char *name;
    struct template value;
};

struct named_attribute {
    char *name;
    char *pointer;
};

struct settings {
    enum preset preset;
    bool is_tls;
    bool is_post;
    bool has_body;
    struct template url;
    struct template body;
    char *content_type;
    struct named_header headers[SETTINGS_HEADERS_MAX];
    size_t header_count;
    struct named_attribute attributes[SETTINGS_ATTRIBUTES_MAX];
    size_t attribute_count;
    struct pointers pointers;
    char *user;
    struct text password;
    struct text bearer;
    char *ca_file;
    char *client_cert;
    char *client_key;
    char *unix_socket;
    char *proxy;
    char *health_url;
    const char *http; /* "1.1", "2" or "2-prior-knowledge" */
    long redirects_max;
    long timeout_ms; /* 0: only the load's own */
    long connect_timeout_ms;
    long response_max_bytes;
    long connections_max;
};

extern const struct hg_loader_option settings_options[];

HG_NODISCARD bool settings_read(struct settings *settings, const struct hg_loader_setting *given,
                                size_t count, char *error, size_t error_size);
/* As good after a read that failed. */
void settings_clear(struct settings *settings);

#endif
