/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what the verbs of the `herdgate` command share.
 * Owns:     the options every verb takes, the client, the exit codes.
 * Threads:  one.
 * Limits:   none of its own.
 * Errors:   bad usage ends the process with HGI_EXIT_USAGE (argp); a failed call is printed by
 *           hgi_cli_fail.
 * Not here: how answers look (answer), tables and JSON (output). */
#ifndef HGI_CLI_CLI_H
#define HGI_CLI_CLI_H

#include <argp.h>

#include "herdgate/client.h"

/* Promised by the manual: scripts look at them. */
enum hgi_exit {
    HGI_EXIT_DONE = 0,
    HGI_EXIT_FAILED = 1,
    HGI_EXIT_USAGE = 2,
    HGI_EXIT_NO_VALUE = 3,    /* absent, denied or not cached */
    HGI_EXIT_CONFLICT = 4,    /* put --if-generation came too late */
    HGI_EXIT_UNREACHABLE = 5, /* no server, or no answer in time */
    HGI_EXIT_REFUSED = 6,     /* not allowed to */
};

struct hgi_cli {
    const char *url;
    uint32_t timeout_ms; /* 0: the library's */
    bool is_json;
    struct hg_client_options options;
    struct hg_client *client; /* after hgi_cli_connect */
};

/* The options -e, -o, --timeout, --token-file and those of TLS, for a verb's `struct argp_child`;
 * the input is the cli. */
extern const struct argp hgi_cli_argp;

/* Opens the client; a bad url is bad usage. HGI_EXIT_DONE, or what to end with. */
int hgi_cli_connect(struct hgi_cli *cli);
/* Prints the error to stderr, as text or JSON. Returns the exit code of its status. */
int hgi_cli_fail(const struct hgi_cli *cli, const struct hg_error *error);
int hgi_cli_exit_of(enum hg_status status);
/* NULL ends the process: there is nothing a command could do without memory. */
void *hgi_cli_must(void *memory);

/* argv[0] is "herdgate VERB". Returns the exit code. */
#define HGI_VERB_ROW(name, what) int hgi_verb_##name(struct hgi_cli *cli, int argc, char **argv);
#include "client/cli/verbs.def"
#undef HGI_VERB_ROW

#endif
