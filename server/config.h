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

struct hgi_snapshot_config {
    const char *path;
    int64_t interval_ms;
    bool is_encrypted; /* then there is a key_file */
};

struct hgi_loader_config {
    const char *name;
    const char *plugin; /* absolute path of the .so, resolved through plugin_dir */
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
    size_t setting_count;
    const char *file; /* where its section begins, for messages */
    int line;
};

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
    struct hgi_snapshot_config *snapshot; /* NULL: none */
    struct hgi_loader_config *loaders;
    size_t loader_count;
    struct hgi_cache_config *caches;
    size_t cache_count;
};

#define HGI_CONFIG_SENTENCE_MAX 1024u

/* `default_plugin_dir`: where plugins are looked up if the file names no plugin_dir. NULL and one
 * sentence (file:line: ..., HGI_CONFIG_SENTENCE_MAX bytes) on failure. */
HG_NODISCARD struct hgi_config *hgi_config_read(const char *path, const char *default_plugin_dir,
                                                char *ret_sentence);
void hgi_config_destroy(struct hgi_config **config);
/* All options as a page: docs/OPTIONS.md. */
void hgi_config_print_options(FILE *out);

#endif
