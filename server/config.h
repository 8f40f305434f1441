/* SPDX-License-Identifier: Apache-2.0 */
/* config: the configuration file, read and checked as a whole.
 * Owns:     everything below struct hgi_config until destroy.
 * Threads:  read once at start; constant after.
 * Limits:   those in options.def.
 * Errors:   one sentence with file, line and what would be right; nothing half read.
 * Not here: what the options do. Loader options are kept raw and checked by the plugin. */
#ifndef HGI_SERVER_CONFIG_H
#define HGI_SERVER_CONFIG_H

#include <stdio.h>

#include "base/kind.h"
#include "base/log.h"
#include "herdgate/loader.h"
#include "server/access/right.h"
#include "server/cache/cache.h"

/* How the peers of a listener are told apart: by their user, not at all, by the token each request
 * shows. */
enum hgi_access { HGI_ACCESS_OWNER, HGI_ACCESS_DATA, HGI_ACCESS_TOKEN };

/* What may be asked there: every method, or those that administer. */
enum hgi_serves { HGI_SERVES_ALL, HGI_SERVES_ADMIN };

struct hgi_listen_config {
    const char *url; /* ipc:///abs/path, tcp://host:port or tls+tcp://host:port */
    enum hgi_access access;
    enum hgi_serves serves;
    const char *cert; /* tls only: PEM files; NULL elsewhere */
    const char *key;
    const char *ca; /* of clients */
};

/* What a listener of HTTP serves: decisions for gateways, or what operators look at and do. */
enum hgi_http_services { HGI_HTTP_AUTHZ, HGI_HTTP_OPERATOR };

struct hgi_http_config {
    const char *url;  /* http://host:port, https://host:port or unix:///abs/path */
    const char *path; /* of the socket; NULL: it is a host and a port */
    const char *host; /* without an IPv6 address's brackets */
    uint16_t port;
    bool is_tls;
    enum hgi_http_services services;
    enum hgi_access access; /* of an operator's listener */
    const char *cert;       /* https only: PEM files */
    const char *key;
    uint32_t connections_max;
    uint32_t in_flight_max; /* requests that wait for an answer */
    uint32_t threads;
    int64_t idle_ms;
};

/* Where a gateway's request shows its credential. */
enum hgi_credential_source {
    HGI_CREDENTIAL_BEARER,
    HGI_CREDENTIAL_HEADER,
    HGI_CREDENTIAL_COOKIE,
    HGI_CREDENTIAL_QUERY,
};
enum hgi_credential_hash { HGI_CREDENTIAL_PLAIN, HGI_CREDENTIAL_SHA256 };
/* Facts of the original request that join the key, as bits. */
enum hgi_fact { HGI_FACT_METHOD = 1, HGI_FACT_HOST = 2, HGI_FACT_PATH = 4 };
/* Who tells them; ANY: X-Forwarded-*, else X-Original-*, else the request itself. */
enum hgi_facts_from {
    HGI_FACTS_FROM_ANY,
    HGI_FACTS_FROM_FORWARDED,
    HGI_FACTS_FROM_ORIGINAL,
    HGI_FACTS_FROM_REQUEST,
};
/* What a gateway is told when nobody knows. */
enum hgi_authz_fail { HGI_FAIL_CLOSED, HGI_FAIL_OPEN, HGI_FAIL_STALE };

/* One header of the answer: what it is called, and what of the value it says. */
struct hgi_identity_header {
    const char *name;
    const char *of; /* user_id, attribute:NAME, /pointer, ... */
};

struct hgi_authz_config {
    const char *cache;
    enum hg_value_type value_type; /* this and the next: the cache's */
    enum hgi_key_type key_type;
    const char *credential; /* as it stands in the file */
    enum hgi_credential_source source;
    const char *source_name; /* of the header, cookie or parameter; NULL: bearer */
    enum hgi_credential_hash hash;
    const char *facts_text; /* as it stands in the file; NULL: none */
    unsigned facts;         /* enum hgi_fact */
    enum hgi_facts_from facts_from;
    enum hgi_authz_fail fail;
    const char *realm;
    int64_t timeout_ms;
    const struct hgi_identity_header *headers;
    size_t header_count;
};

struct hgi_snapshot_config {
    const char *path;
    int64_t interval_ms;
    bool is_encrypted; /* then there is a key_file */
};

struct hgi_loader_config {
    const char *name;
    const char *plugin;  /* absolute path of the .so, resolved through plugin_dir */
    const char *program; /* or this, absolute: one of the two is NULL */
    uint32_t workers;
    uint32_t batch_window_us; /* how long a load waits for others to share its call */
    const char *pin;          /* BLAKE2b-256 of the file; NULL: any content */
    size_t memory_max_bytes;  /* this and the next three: 0 = no limit of ours */
    uint32_t descriptors_max;
    uint32_t processes_max;
    int64_t cpu_max_ms;
    const char *files_read; /* paths, with ':' between them; both NULL: any file */
    const char *files_write;
    bool has_network;
    const char *user; /* NULL: the server's own; else these two are its numbers */
    uint32_t uid;
    uint32_t gid;
    const struct hg_loader_setting *settings;
    const char *const *shown; /* their values with secrets as they are named in the file */
    size_t setting_count;
    const char *file; /* where its section begins, for messages */
    int line;
};

/* What its process runs. */
static inline const char *hgi_loader_file(const struct hgi_loader_config *loader)
{
    return loader->program ? loader->program : loader->plugin;
}

struct hgi_cache_config {
    const char *name;
    enum hgi_key_type key_type;
    enum hg_value_type value_type;
    const char *loader; /* NULL: none */
    bool local_reads;
    bool secret_keys; /* then no local_reads, and with a snapshot a key_file */
    struct hgi_policy policy;
};

/* Semantics section 7. */
struct hgi_limits {
    size_t value_max_bytes;         /* 64 KiB */
    size_t message_max_bytes;       /* 1 MiB */
    uint32_t connections_max;       /* 1,024 */
    uint32_t admin_connections_max; /* 16, beside those, on listens that serve administration */
    uint32_t in_flight_max;         /* 256 a connection */
    int64_t handshake_ms;           /* 2 s */
    int64_t body_ms;                /* 2 s */
    int64_t write_ms;               /* 2 s */
    int64_t idle_ms;                /* 5 min */
    uint32_t loads_max;             /* 64 in all */
};

struct hgi_config {
    const char *runtime_dir;
    const char *plugin_dir;
    const char *loader_program; /* NULL: beside herdgated, else libexec */
    const char *local_group;    /* as it stands in the file; NULL: none */
    int64_t local_gid;          /* < 0: none */
    enum hg_log_level log_level;
    enum hgi_log_format log_format;
    const uint32_t *peers; /* uids admitted on owner sockets; default: the server's own and root */
    size_t peer_count;
    const uint32_t *plugin_owners; /* uids that plugins may belong to, too */
    size_t plugin_owner_count;
    bool core_dumps;
    const char *key_file;    /* NULL: none */
    const char *tokens_file; /* NULL: no tokens */
    struct hgi_principal *principals;
    size_t principal_count;
    struct hgi_limits limits;
    struct hgi_listen_config *listens;
    size_t listen_count;
    struct hgi_http_config *https; /* listeners of HTTP */
    size_t http_count;
    struct hgi_authz_config *authzs;
    size_t authz_count;
    struct hgi_snapshot_config *snapshot; /* NULL: none */
    struct hgi_loader_config *loaders;
    size_t loader_count;
    struct hgi_cache_config *caches;
    size_t cache_count;
};

#define HGI_CONFIG_SENTENCE_MAX 1024u
#define HGI_LOADERS_MAX         64u

/* Where a configuration comes from: the command line, before the environment, before the file,
 * before what follows if nobody says anything. */
struct hgi_config_source {
    const char *path;
    const char *default_plugin_dir; /* where plugins are looked up if nothing names a plugin_dir */
    const char *const *sets;        /* "section.title.option=value" */
    size_t set_count;
    bool has_environment; /* HERDGATED_LOG_LEVEL, HERDGATED_LIMITS_IDLE, ... count */
    bool is_closed;       /* no other file is looked into: no include, no file: */
};

/* NULL and one sentence (file:line: ..., HGI_CONFIG_SENTENCE_MAX bytes) on failure. */
HG_NODISCARD struct hgi_config *hgi_config_read(const struct hgi_config_source *source,
                                                char *ret_sentence);
void hgi_config_destroy(struct hgi_config **config);
/* All options as a page: docs/OPTIONS.md. */
void hgi_config_print_options(FILE *out);

#endif
