/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens from the outside: given out, shown, revoked, over restarts and kills. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asker.h"
#include "base/bytes.h"
#include "base/kind.h"
#include "daemon.h"
#include "herdgate/access.h"

#define OUTPUT_MAX 4096

static const char sections[] =
    "key_file = \"@DIR@/key\"\n"
    "tokens_file = \"@DIR@/tokens\"\n"
    "listen \"ipc://@DIR@/run/token.sock\" { access = \"token\" }\n"
    "principal \"gateway\" { allow(\"a\", \"read, load\") }\n"
    "principal \"other\" { allow(\"*\", \"read, load, write, clear, admin\") }\n"
    "cache \"a\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"b\" { key = \"bytes\" value = \"bytes\" ttl = \"60s\" }\n";

static struct daemon d;
static char token_url[128];
static char output[OUTPUT_MAX];

static void start(void)
{
    daemon_prepare(&d, sections);
    snprintf(token_url, sizeof(token_url), "ipc://%s/run/token.sock", d.dir);
    daemon_start(&d);
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

static void new_token(const char *principal, char ret_token[64])
{
    struct hg_new_token request = {.principal = principal};
    struct hg_issued issued;
    struct hg_error error;

    ck_assert_msg(hg_client_new_token(d.client, &request, &issued, &error) == HG_OK, "%s",
                  error.text);
    snprintf(ret_token, 64, "%.*s", (int)issued.token.len, (const char *)issued.token.data);
    hg_issued_deinit(&issued);
}

static void end_token(const char *token)
{
    struct hg_revoke_token request = {.id = NULL};
    struct hg_revoked revoked;
    char id[16];

    snprintf(id, sizeof(id), "%.8s", token + 3);
    request.id = id;
    ck_assert_int_eq(hg_client_revoke_token(d.client, &request, &revoked, NULL), HG_OK);
    ck_assert_uint_eq(revoked.count, 1);
}

static enum hg_status ask(struct asker *asker, enum hgi_method method, const char *cache)
{
    struct hg_bytes payload;
    enum hg_status status;

    hgi_bytes_init(&payload, &hgi_heap);
    asker_payload(method, cache, false, &payload);
    status = asker_ask(asker, method, hgi_bytes_slice(&payload));
    hgi_bytes_deinit(&payload);
    return status;
}

static enum hg_status ask_once(const char *token)
{
    struct asker asker;
    enum hg_status status;

    asker_open(&asker, token_url, token);
    status = ask(&asker, HGI_METHOD_GET, "a");
    asker_close(&asker);
    return status;
}

START_TEST(a_revoked_token_ends_on_open_connections)
{
    struct asker ends;
    struct asker stays;
    char one[64];
    char two[64];

    start();
    new_token("gateway", one);
    new_token("gateway", two);
    asker_open(&ends, token_url, one);
    asker_open(&stays, token_url, two);
    ck_assert_int_eq(ask(&ends, HGI_METHOD_GET, "a"), HG_OK);
    ck_assert_int_eq(ask(&stays, HGI_METHOD_GET, "a"), HG_OK);
    end_token(one);
    ck_assert_int_eq(ask(&ends, HGI_METHOD_GET, "a"), HG_UNAUTHENTICATED);
    ck_assert_int_eq(ask(&ends, HGI_METHOD_HEALTH_CHECK, ""), HG_UNAUTHENTICATED);
    ck_assert_int_eq(ask(&stays, HGI_METHOD_GET, "a"), HG_OK);
    /* Whoever has another token may show it on the same connection. */
    asker_show(&ends, two);
    ck_assert_int_eq(ask(&ends, HGI_METHOD_GET, "a"), HG_OK);
    asker_close(&ends);
    asker_close(&stays);
    stop();
}
END_TEST

START_TEST(a_call_that_waits_when_its_token_is_revoked_is_told_nothing)
{
    struct hg_bytes payload;
    struct asker parked;
    struct asker stays;
    char one[64];
    char two[64];

    start();
    hgi_script_set(&d.script, "k gate %/go\nk value secret\n");
    new_token("gateway", one);
    new_token("gateway", two);
    hgi_bytes_init(&payload, &hgi_heap);
    asker_payload(HGI_METHOD_GET_OR_LOAD, "a", false, &payload);
    asker_open(&parked, token_url, one);
    asker_open(&stays, token_url, two);
    asker_send(&parked, HGI_METHOD_GET_OR_LOAD, hgi_bytes_slice(&payload));
    daemon_wait_metric(&d, "a", "load", 1);
    asker_send(&stays, HGI_METHOD_GET_OR_LOAD, hgi_bytes_slice(&payload));
    daemon_wait_metric(&d, "a", "waiting", 2);
    end_token(one);
    hgi_script_touch(&d.script, "go");
    ck_assert_int_eq(asker_receive(&parked), HG_UNAUTHENTICATED);
    ck_assert_uint_eq(parked.reply.payload.len, 0);
    ck_assert_int_eq(asker_receive(&stays), HG_OK);
    ck_assert_ptr_nonnull(
        memmem(stays.reply.payload.data, stays.reply.payload.len, "secret", strlen("secret")));
    hgi_bytes_deinit(&payload);
    asker_close(&parked);
    asker_close(&stays);
    stop();
}
END_TEST

START_TEST(tokens_and_their_end_survive_kill_9)
{
    char stays[64];
    char ends[64];

    start();
    new_token("gateway", stays);
    new_token("gateway", ends);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_int_eq(ask_once(stays), HG_OK);
    ck_assert_int_eq(ask_once(ends), HG_OK);
    end_token(ends);
    daemon_kill(&d);
    daemon_start(&d);
    ck_assert_int_eq(ask_once(stays), HG_OK);
    ck_assert_int_eq(ask_once(ends), HG_UNAUTHENTICATED);
    stop();
}
END_TEST

START_TEST(a_watcher_hears_of_what_it_may_read_and_keys_of_what_it_may_write)
{
    struct hgi_msg_watch watch = {.after = 0};
    struct hgi_msg_events events;
    char sentence[HGI_SENTENCE_MAX];
    struct hg_bytes payload;
    struct asker asker;
    char gateway[64];
    char other[64];

    start();
    new_token("gateway", gateway);
    new_token("other", other);
    hgi_bytes_init(&payload, &hgi_heap);
    asker_open(&asker, token_url, gateway);
    ck_assert_int_eq(ask(&asker, HGI_METHOD_WATCH, ""), HG_OK);
    ck_assert_int_eq(hgi_watch_reply_decode(asker.reply.payload, &asker.arena, &events, sentence),
                     HG_OK);
    watch.epoch = events.epoch;
    ck_assert_int_eq(daemon_put(&d, "b", "hidden", "v"), HG_OK);
    ck_assert_int_eq(daemon_put(&d, "a", "seen", "v"), HG_OK);
    ck_assert(hgi_watch_request_encode(&watch, &payload));
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_WATCH, hgi_bytes_slice(&payload)), HG_OK);
    ck_assert_int_eq(hgi_watch_reply_decode(asker.reply.payload, &asker.arena, &events, sentence),
                     HG_OK);
    ck_assert_uint_eq(events.event_count, 1);
    ck_assert_slice_eq(events.events[0].name, "a");
    ck_assert_uint_eq(events.events[0].number, 2);
    ck_assert_int_eq(events.events[0].key.kind, 0);
    ck_assert_uint_eq(events.last, 2);
    asker_show(&asker, other);
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_WATCH, hgi_bytes_slice(&payload)), HG_OK);
    ck_assert_int_eq(hgi_watch_reply_decode(asker.reply.payload, &asker.arena, &events, sentence),
                     HG_OK);
    ck_assert_uint_eq(events.event_count, 2);
    ck_assert_slice_eq(events.events[0].key.bytes, "hidden");
    ck_assert_slice_eq(events.events[1].key.bytes, "seen");
    hgi_bytes_deinit(&payload);
    asker_close(&asker);
    stop();
}
END_TEST

START_TEST(two_tokens_in_one_request_are_none)
{
    struct hgi_request request = {.method = HGI_METHOD_HEALTH_CHECK, .metadata_count = 2};
    struct asker asker;
    struct hg_bytes bytes;
    char token[64];
    char bearer[80];

    start();
    new_token("gateway", token);
    snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    for (size_t i = 0; i < 2; i++) {
        request.metadata[i].name = hg_slice_text("authorization");
        request.metadata[i].value = hg_slice_text(bearer);
    }
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_request_encode(&request, &bytes));
    asker_open(&asker, token_url, NULL);
    ck_assert(hgi_sp_client_send(&asker.client, 1, hgi_bytes_slice(&bytes)));
    ck_assert_int_eq(asker_receive(&asker), HG_INVALID_ARGUMENT);
    ck_assert_slice_eq(asker.reply.message, "more than one \"authorization\" in one request");
    hgi_bytes_deinit(&bytes);
    asker_close(&asker);
    stop();
}
END_TEST

/* What nobody may ask, nobody may say either. */
START_TEST(local_hits_of_who_may_not_ask_are_not_counted)
{
    struct hgi_request request = {.method = HGI_METHOD_HEALTH_CHECK, .metadata_count = 1};
    struct asker asker;
    struct hg_bytes bytes;
    char token[64];
    char bearer[80];

    start();
    new_token("gateway", token);
    snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    asker_open(&asker, token_url, NULL);
    for (uint32_t i = 0; i < 3; i++) { /* without the token, and with it, of what it may read */
        request.metadata[0].name = hg_slice_text(HGI_METADATA_LOCAL_HITS);
        request.metadata[0].value = hg_slice_text(i < 2 ? "7 a" : "7 b");
        request.metadata[1].name = hg_slice_text("authorization");
        request.metadata[1].value = hg_slice_text(bearer);
        request.metadata_count = i ? 2 : 1;
        hgi_bytes_init(&bytes, &hgi_heap);
        ck_assert(hgi_request_encode(&request, &bytes));
        ck_assert(hgi_sp_client_send(&asker.client, 1 + i, hgi_bytes_slice(&bytes)));
        ck_assert_int_eq(asker_receive(&asker), i ? HG_OK : HG_UNAUTHENTICATED);
        ck_assert_uint_eq(daemon_metric(&d, "a", "local_hit"), i ? 7 : 0);
        ck_assert_uint_eq(daemon_metric(&d, "b", "local_hit"), 0);
        hgi_bytes_deinit(&bytes);
    }
    asker_close(&asker);
    stop();
}
END_TEST

/* ---- the command ---- */

/* herdgate -e URL [--token-file FILE] WORDS... */
static int command(const char *url, const char *token_file, const char *a, const char *b,
                   const char *c)
{
    const char *argv[9] = {HGI_BUILD_DIR "/bin/herdgate", "-e", url};
    size_t count = 3;
    const char *const words[] = {token_file ? "--token-file" : NULL, token_file, a, b, c};

    for (size_t i = 0; i < 5; i++) {
        if (words[i]) {
            argv[count++] = words[i];
        }
    }
    return daemon_run(argv, output, sizeof(output));
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

START_TEST(the_command_gives_out_shows_lists_and_revokes)
{
    char path[128];
    const char *at;
    char token[64];
    char id[16];

    start();
    snprintf(path, sizeof(path), "%s/gateway.token", d.dir);
    ck_assert_int_eq(command(d.ipc_url, NULL, "token", "new", "gateway"), 0);
    at = strstr(output, "hg_"); /* beside what went to standard error */
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, "hg_%8[0-9a-f]", id), 1);
    ck_assert_ptr_nonnull(strstr(output, " of gateway; it is shown this once and kept nowhere\n"));
    snprintf(token, sizeof(token), "%.*s", (int)strcspn(at, "\n"), at);
    write_file(path, token, 0600);
    ck_assert_int_eq(command(token_url, path, "get", "a", "k"), 3);
    ck_assert_str_eq(output, "herdgate: not cached\n");
    ck_assert_int_eq(command(token_url, path, "put", "a", "k"), 2);
    ck_assert_int_eq(command(token_url, path, "del", "a", "k"), 6);
    ck_assert_int_eq(command(token_url, NULL, "get", "a", "k"), 6);
    ck_assert_int_eq(command(d.ipc_url, NULL, "token", "list", NULL), 0);
    ck_assert_ptr_nonnull(strstr(output, id));
    ck_assert_ptr_nonnull(strstr(output, "gateway    "));
    ck_assert_ptr_null(strstr(output, token));
    ck_assert_int_eq(command(d.ipc_url, NULL, "token", "revoke", id), 0);
    ck_assert_str_eq(output, "revoked 1 token\n");
    ck_assert_int_eq(command(d.ipc_url, NULL, "token", "revoke", id), 1);
    ck_assert_int_eq(command(token_url, path, "get", "a", "k"), 6);
    ck_assert_ptr_nonnull(strstr(output, "has been revoked (UNAUTHENTICATED)"));
    stop();
}
END_TEST

START_TEST(a_token_file_in_the_environment_is_shown)
{
    char path[128];
    char token[64];

    start();
    new_token("gateway", token);
    snprintf(path, sizeof(path), "%s/gateway.token", d.dir);
    write_file(path, token, 0600);
    ck_assert_int_eq(setenv("HERDGATE_TOKEN_FILE", path, 1), 0);
    ck_assert_int_eq(command(token_url, NULL, "get", "a", "k"), 3);
    ck_assert_int_eq(unsetenv("HERDGATE_TOKEN_FILE"), 0);
    ck_assert_int_eq(command(token_url, NULL, "get", "a", "k"), 6);
    stop();
}
END_TEST

/* ---- what herdgated refuses to start with ---- */

static void expect_start_refused(int code, const char *words)
{
    const char *const argv[] = {HGI_HERDGATED, "-c", d.config, NULL};
    int got = daemon_run(argv, output, sizeof(output));

    ck_assert_msg(got == code, "exit code %d: %s", got, output);
    ck_assert_msg(strstr(output, words) != NULL, "\"%s\" does not say \"%s\"", output, words);
    ck_assert_ptr_null(strstr(output, "ready"));
}

START_TEST(files_that_cannot_be_trusted_keep_the_server_from_starting)
{
    char key[128];
    char tokens[128];
    char token[64];

    start();
    new_token("gateway", token);
    daemon_stop(&d);
    snprintf(key, sizeof(key), "%s/key", d.dir);
    snprintf(tokens, sizeof(tokens), "%s/tokens", d.dir);
    ck_assert_int_eq(chmod(key, 0640), 0);
    expect_start_refused(78, "key: others may read it; chmod 0600 it");
    ck_assert_int_eq(chmod(key, 0600), 0);
    ck_assert_int_eq(chmod(tokens, 0604), 0);
    expect_start_refused(78, "tokens: others may read it; chmod 0600 it");
    ck_assert_int_eq(chmod(tokens, 0600), 0);
    ck_assert_int_eq(truncate(tokens, 30), 0);
    expect_start_refused(78, "tokens:1: damaged, or not made with this key_file");
    ck_assert_int_eq(unlink(key), 0);
    expect_start_refused(78, "key: there is no such file, but there are tokens");
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.tokens", 120, a_revoked_token_ends_on_open_connections,
          a_call_that_waits_when_its_token_is_revoked_is_told_nothing,
          tokens_and_their_end_survive_kill_9,
          a_watcher_hears_of_what_it_may_read_and_keys_of_what_it_may_write,
          two_tokens_in_one_request_are_none, local_hits_of_who_may_not_ask_are_not_counted,
          the_command_gives_out_shows_lists_and_revokes, a_token_file_in_the_environment_is_shown,
          files_that_cannot_be_trusted_keep_the_server_from_starting)
