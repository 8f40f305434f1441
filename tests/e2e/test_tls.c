/* SPDX-License-Identifier: Apache-2.0 */
/* TLS from both ends: who is let in, who is not, and what herdgated does not start with. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "daemon.h"
#include "herdgate/access.h"
#include "tls_client.h"

#define OUTPUT_MAX 4096

static struct daemon d;
static struct certs certs;
static char files[4][128]; /* of a client: token, ca, cert, key */
static char output[OUTPUT_MAX];

/* A listen of TLS with these files of the certificates' folder. */
static void prepare(const char *cert, const char *key, const char *ca)
{
    char sections[1024];

    snprintf(sections, sizeof(sections),
             "key_file = \"@DIR@/key\"\ntokens_file = \"@DIR@/tokens\"\n"
             "listen \"tls+tcp://127.0.0.1:0\" {\n"
             "  cert = \"%s/%s\"\n  key = \"%s/%s\"\n  ca = \"%s/%s\"\n}\n"
             "principal \"gateway\" { allow(\"a\", \"read, write\") }\n"
             "cache \"a\" { key = \"bytes\" value = \"bytes\" ttl = \"60s\" }\n",
             certs.dir, cert, certs.dir, key, certs.dir, ca);
    daemon_prepare(&d, sections);
}

static void write_token(void)
{
    struct hg_new_token request = {.principal = "gateway"};
    struct hg_issued issued;
    FILE *file;

    ck_assert_int_eq(hg_client_new_token(d.client, &request, &issued, NULL), HG_OK);
    snprintf(files[0], sizeof(files[0]), "%s/token", d.dir);
    file = fopen(files[0], "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fchmod(fileno(file), 0600), 0);
    fprintf(file, "%.*s\n", (int)issued.token.len, (const char *)issued.token.data);
    ck_assert_int_eq(fclose(file), 0);
    hg_issued_deinit(&issued);
}

static struct hg_client_options options_of(const char *ca, const char *name)
{
    struct hg_client_options options = {
        .token_file = files[0], .server_name = "localhost", .timeout_ms = 10000};

    certs_path(&certs, ca, "pem", files[1]);
    certs_path(&certs, name, "pem", files[2]);
    certs_path(&certs, name, "key", files[3]);
    options.ca_file = files[1];
    options.cert_file = files[2];
    options.key_file = files[3];
    return options;
}

static void start(void)
{
    certs_make(&certs);
    prepare("server.pem", "server.key", "ca.pem");
    daemon_start(&d);
    write_token();
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
    certs_remove(&certs);
}

static enum hg_status ask(const char *url, const struct hg_client_options *options,
                          struct hg_error *error)
{
    struct hg_client *client;
    enum hg_health health;
    enum hg_status status = hg_client_open(url, options, &client, error);

    if (status == HG_OK) {
        status = hg_client_health(client, NULL, &health, error);
        hg_client_close(&client);
    }
    return status;
}

START_TEST(a_client_with_a_certificate_and_a_token_is_served)
{
    struct hg_put put = {.cache = "a", .key = daemon_key("k"), .value = {"v", 1}};
    struct hg_read read = {.cache = "a", .key = daemon_key("k")};
    struct hg_client_options options;
    struct hg_client *client;
    struct hg_stored stored;
    struct hg_answer answer;
    struct hg_error error;

    start();
    options = options_of("ca", "client");
    ck_assert_int_eq(hg_client_open(d.tls_url, &options, &client, NULL), HG_OK);
    ck_assert_msg(hg_client_put(client, &put, &stored, &error) == HG_OK, "%s", error.text);
    ck_assert_int_eq(hg_client_get(client, &read, &answer, NULL), HG_OK);
    ck_assert_slice_eq(answer.value, "v");
    hg_answer_deinit(&answer);
    hg_client_close(&client);
    stop();
}
END_TEST

START_TEST(a_certificate_is_not_enough)
{
    struct hg_client_options options;
    struct hg_error error;

    start();
    options = options_of("ca", "client");
    options.token_file = NULL;
    ck_assert_int_eq(ask(d.tls_url, &options, &error), HG_UNAUTHENTICATED);
    stop();
}
END_TEST

START_TEST(six_wrong_certificates_of_clients_are_refused_before_a_byte_is_answered)
{
    static const char *const wrong[] = {"client-self",  "client-other",   "client-expired",
                                        "client-early", "client-purpose", NULL};
    struct hgi_tls_client *client;

    start();
    for (size_t i = 0; i < HGI_COUNT_OF(wrong); i++) {
        client = hgi_tls_client_open(d.tls_url, &certs, wrong[i]);
        if (client) {
            ck_assert_msg(!hgi_tls_client_greet(client), "%s was let in",
                          wrong[i] ? wrong[i] : "no certificate");
            hgi_tls_client_close(&client);
        }
        client = hgi_tls_client_open(d.tls_url, &certs, "client");
        ck_assert_ptr_nonnull(client);
        ck_assert(hgi_tls_client_greet(client));
        hgi_tls_client_close(&client);
    }
    stop();
}
END_TEST

/* ---- servers that are not ours ---- */

extern char **environ;

/* openssl s_server with this certificate, which asks for the client's and takes any. */
static pid_t start_server(const char *name, char ret_url[64])
{
    char cert[128];
    char key[128];
    char *argv[] = {(char *)(uintptr_t) "openssl",
                    (char *)(uintptr_t) "s_server",
                    (char *)(uintptr_t) "-accept",
                    (char *)(uintptr_t) "127.0.0.1:0",
                    (char *)(uintptr_t) "-verify",
                    (char *)(uintptr_t) "1",
                    (char *)(uintptr_t) "-cert",
                    cert,
                    (char *)(uintptr_t) "-key",
                    key,
                    NULL};
    posix_spawn_file_actions_t actions;
    char line[256] = "";
    FILE *said;
    int pipes[2];
    pid_t pid;

    certs_path(&certs, name, "pem", cert);
    certs_path(&certs, name, "key", key);
    ck_assert_int_eq(pipe(pipes), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    ck_assert_int_eq(posix_spawnp(&pid, "openssl", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    said = fdopen(pipes[0], "r");
    while (!strstr(line, "ACCEPT ")) {
        ck_assert_ptr_nonnull(fgets(line, sizeof(line), said));
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(ret_url, 64, "tls+tcp://127.0.0.1:%s", strrchr(line, ':') + 1);
    (void)fclose(said);
    return pid;
}

static void expect_unwanted(const char *name, const char *ca)
{
    struct hg_client_options options = options_of(ca, "client");
    struct hg_error error;
    char url[64];
    pid_t pid = start_server(name, url);

    options.token_file = NULL;
    options.timeout_ms = 2000; /* a server that is taken is asked, and does not answer */
    ck_assert_int_eq(ask(url, &options, &error), HG_UNAVAILABLE);
    ck_assert_msg(strstr(error.text, "certificate") != NULL, "%s: %s", name, error.text);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(wrong_certificates_of_servers_are_refused_before_anything_is_asked)
{
    certs_make(&certs);
    expect_unwanted("server-self", "ca");
    expect_unwanted("server-other", "ca");
    expect_unwanted("server-expired", "ca");
    expect_unwanted("server-early", "ca");
    expect_unwanted("server-purpose", "ca");
    expect_unwanted("server-elsewhere", "ca");
    expect_unwanted("server", "other-ca");
    certs_remove(&certs);
}
END_TEST

/* ---- what does not start ---- */

static void expect_refused(const char *cert, const char *key, const char *ca, const char *words)
{
    const char *argv[] = {HGI_HERDGATED, "-c", NULL, "-t", NULL};

    prepare(cert, key, ca);
    argv[2] = d.config;
    for (size_t i = 0; i < 2; i++) {
        int code = daemon_run(argv, output, sizeof(output));

        ck_assert_msg(code == 78, "%s: exit code %d: %s", words, code, output);
        ck_assert_msg(strstr(output, words) != NULL, "\"%s\" does not say \"%s\"", output, words);
        argv[3] = NULL; /* and without -t */
    }
    daemon_remove(&d);
}

START_TEST(files_that_cannot_work_keep_the_server_from_starting)
{
    char path[128];

    certs_make(&certs);
    expect_refused("none.pem", "server.key", "ca.pem",
                   "none.pem cannot be opened: No such file or directory");
    expect_refused("server.pem", "none.key", "ca.pem",
                   "none.key cannot be opened: No such file or directory");
    expect_refused("server.pem", "server.key", "none.pem",
                   "none.pem cannot be opened: No such file or directory");
    expect_refused("server.pem", "client.key", "ca.pem", "client.key is not the key of the");
    expect_refused("server-expired.pem", "server-expired.key", "ca.pem",
                   "server-expired.pem has expired; get a new certificate");
    expect_refused("server-early.pem", "server-early.key", "ca.pem",
                   "server-early.pem is not valid yet; is this host's clock right?");
    expect_refused("client.pem", "client.key", "ca.pem",
                   "client.pem is not a server's certificate: its extended key usage lacks "
                   "serverAuth");
    expect_refused("server.key", "server.key", "ca.pem", "server.key holds no certificate in PEM");
    expect_refused("server.pem", "server.pem", "ca.pem", "server.pem holds no key in PEM");
    expect_refused("server.pem", "server.key", "ca.cnf", "ca.cnf holds no certificate in PEM");
    expect_refused("server.pem", "server.key", "client.pem",
                   "client.pem holds a certificate that may not sign others: it is no CA's");
    certs_path(&certs, "server", "key", path);
    ck_assert_int_eq(chmod(path, 0640), 0);
    expect_refused("server.pem", "server.key", "ca.pem",
                   "server.key is a key that others may read; chmod 0600 it");
    ck_assert_int_eq(chmod(path, 0600), 0);
    certs_path(&certs, "ca", "pem", path);
    ck_assert_int_eq(chmod(path, 0622), 0);
    expect_refused("server.pem", "server.key", "ca.pem",
                   "ca.pem can be written by others than its owner (mode 0622)");
    certs_remove(&certs);
}
END_TEST

START_TEST(a_client_says_what_is_wrong_with_its_own_files)
{
    struct hg_client_options options;
    struct hg_error error;

    certs_make(&certs);
    files[0][0] = '\0';
    options = options_of("ca", "client-expired");
    options.token_file = NULL;
    ck_assert_int_eq(ask("tls+tcp://localhost:1", &options, &error), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(error.text, "client-expired.pem has expired"));
    options = options_of("ca", "server");
    options.token_file = NULL;
    ck_assert_int_eq(ask("tls+tcp://localhost:1", &options, &error), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(error.text, "lacks clientAuth"));
    options.ca_file = NULL;
    ck_assert_int_eq(ask("tls+tcp://localhost:1", &options, &error), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "tls+tcp://localhost:1: TLS needs a ca_file, a cert_file and a "
                                 "key_file; there is no ca_file");
    certs_remove(&certs);
}
END_TEST

HGI_SUITE("e2e.tls", 120, a_client_with_a_certificate_and_a_token_is_served,
          a_certificate_is_not_enough,
          six_wrong_certificates_of_clients_are_refused_before_a_byte_is_answered,
          wrong_certificates_of_servers_are_refused_before_anything_is_asked,
          files_that_cannot_work_keep_the_server_from_starting,
          a_client_says_what_is_wrong_with_its_own_files)
