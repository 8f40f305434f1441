/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/cli/output.h"
#include "client/cli/parse.h"

enum {
    OPTION_TIMEOUT = 0x100,
    OPTION_TOKEN_FILE,
    OPTION_CA,
    OPTION_CERT,
    OPTION_KEY,
    OPTION_SERVER_NAME
};

static const struct argp_option options[] = {
    {"endpoint", 'e', "URL", 0,
     "Ask the server at URL (else HERDGATE_URL, else " HG_URL_DEFAULT ")", -2},
    {"output", 'o', "FORMAT", 0, "text (if not said) or json", -2},
    {"timeout", OPTION_TIMEOUT, "TIME", 0, "Wait at most TIME, 1ms to 120s (15s)", -2},
    {"token-file", OPTION_TOKEN_FILE, "FILE", 0,
     "Show the access token that FILE holds (else the file in HERDGATE_TOKEN_FILE, else none)", -2},
    {"ca-file", OPTION_CA, "FILE", 0,
     "tls+tcp: who may have signed the server's certificate (else HERDGATE_CA_FILE)", -2},
    {"cert-file", OPTION_CERT, "FILE", 0,
     "tls+tcp: this client's certificate (else HERDGATE_CERT_FILE)", -2},
    {"key-file", OPTION_KEY, "FILE", 0, "tls+tcp: its key (else HERDGATE_KEY_FILE)", -2},
    {"server-name", OPTION_SERVER_NAME, "NAME", 0,
     "tls+tcp: what the server's certificate must be of; the URL's host if not said", -2},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct hgi_cli *cli = state->input;
    uint64_t timeout_ms;

    switch (key) {
    case 'e':
        cli->url = arg;
        return 0;
    case 'o':
        if (strcmp(arg, "text") != 0 && strcmp(arg, "json") != 0) {
            argp_error(state, "\"%s\" is no output format; there are text and json", arg);
        }
        cli->is_json = strcmp(arg, "json") == 0;
        return 0;
    case OPTION_TOKEN_FILE:
        cli->options.token_file = arg;
        return 0;
    case OPTION_CA:
        cli->options.ca_file = arg;
        return 0;
    case OPTION_CERT:
        cli->options.cert_file = arg;
        return 0;
    case OPTION_KEY:
        cli->options.key_file = arg;
        return 0;
    case OPTION_SERVER_NAME:
        cli->options.server_name = arg;
        return 0;
    case OPTION_TIMEOUT:
        timeout_ms = hgi_parse_duration(state, "--timeout", arg);
        if (timeout_ms == 0 || timeout_ms > HG_TIMEOUT_MAX_MS) {
            argp_error(state, "--timeout %s is out of range; 1ms to 120s are possible", arg);
        }
        cli->timeout_ms = (uint32_t)timeout_ms;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp hgi_cli_argp = {.options = options, .parser = parse};

int hgi_cli_connect(struct hgi_cli *cli)
{
    struct hg_error error;

    if (hg_client_open(cli->url, &cli->options, &cli->client, &error) != HG_OK) {
        (void)hgi_cli_fail(cli, &error);
        return error.status == HG_INVALID_ARGUMENT ? HGI_EXIT_USAGE : HGI_EXIT_FAILED;
    }
    return HGI_EXIT_DONE;
}

int hgi_cli_exit_of(enum hg_status status)
{
    switch (status) {
    case HG_OK:
        return HGI_EXIT_DONE;
    case HG_ABORTED:
        return HGI_EXIT_CONFLICT;
    case HG_UNAVAILABLE:
    case HG_DEADLINE_EXCEEDED:
        return HGI_EXIT_UNREACHABLE;
    case HG_PERMISSION_DENIED:
    case HG_UNAUTHENTICATED:
        return HGI_EXIT_REFUSED;
    case HG_CANCELLED:
    case HG_UNKNOWN:
    case HG_INVALID_ARGUMENT:
    case HG_NOT_FOUND:
    case HG_RESOURCE_EXHAUSTED:
    case HG_FAILED_PRECONDITION:
    case HG_UNIMPLEMENTED:
    case HG_INTERNAL:
        return HGI_EXIT_FAILED;
    }
    return HGI_EXIT_FAILED;
}

int hgi_cli_fail(const struct hgi_cli *cli, const struct hg_error *error)
{
    if (cli->is_json) {
        json_t *object = json_pack("{s:s}", "code", hg_status_name(error->status));

        hgi_json_set_bytes(object, "message", hg_slice_text(error->text));
        if (error->retry_after_ms) {
            hgi_json_set_number(object, "retry_after_ms", error->retry_after_ms);
        }
        if (error->is_done_unknown) {
            (void)json_object_set_new(object, "done_unknown", json_true());
        }
        hgi_json_print(stderr, json_pack("{s:o}", "error", object));
    } else {
        fprintf(stderr, "herdgate: ");
        hgi_print_escaped(stderr, hg_slice_text(error->text));
        fprintf(stderr, " (%s)\n", hg_status_name(error->status));
    }
    return hgi_cli_exit_of(error->status);
}

void *hgi_cli_must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "herdgate: no memory left\n");
        exit(HGI_EXIT_FAILED);
    }
    return memory;
}
