/* SPDX-License-Identifier: Apache-2.0 */
/* Showing a token, and the calls that give them out. */
#include "hg_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/kind.h"
#include "fake_server.h"
#include "herdgate/access.h"

static struct fake_server *server;
static struct hg_client *client;
static char token_path[64];

/* What the last request showed, and whether it had an op id. */
static char shown[256];
static size_t metadata_count;
static bool has_op_id;

static void answer(struct fake_server *at, void *context, const struct fake_caller *caller,
                   const struct hgi_request *request)
{
    struct hgi_msg_token_info infos[] = {{.id = hg_slice_text("0badcafe"),
                                          .principal = hg_slice_text("gateway"),
                                          .created_at_ms = 5,
                                          .expires_at_ms = 6},
                                         {.id = hg_slice_text("00000007")}};
    struct hgi_msg_token_infos list = {.tokens = infos, .token_count = 2};
    struct hgi_msg_issued issued = {.token = hg_slice_text("hg_new"),
                                    .id = hg_slice_text("0badcafe")};
    struct hgi_msg_revoked revoked = {.count = 3};
    struct hgi_msg_health health = {.status = HGI_HEALTH_SERVING};
    struct hg_bytes payload;
    bool is_encoded;

    (void)context;
    metadata_count = request->metadata_count;
    has_op_id = request->op_id.len > 0;
    shown[0] = '\0';
    if (metadata_count) {
        ck_assert_slice_eq(request->metadata[0].name, "authorization");
        snprintf(shown, sizeof(shown), "%.*s", (int)request->metadata[0].value.len,
                 (const char *)request->metadata[0].value.data);
    }
    hgi_bytes_init(&payload, &hgi_heap);
    is_encoded =
        request->method == HGI_METHOD_NEW_TOKEN ? hgi_new_token_reply_encode(&issued, &payload)
        : request->method == HGI_METHOD_REVOKE_TOKEN
            ? hgi_revoke_token_reply_encode(&revoked, &payload)
        : request->method == HGI_METHOD_LIST_TOKENS ? hgi_list_tokens_reply_encode(&list, &payload)
                                                    : hgi_health_reply_encode(&health, &payload);
    ck_assert(is_encoded);
    fake_reply_ok(at, caller, &payload);
    hgi_bytes_deinit(&payload);
}

static void write_token_file(const char *text, mode_t mode)
{
    int fd;

    snprintf(token_path, sizeof(token_path), "/tmp/herdgate-token-XXXXXX");
    fd = mkstemp(token_path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void begin(const struct hg_client_options *options)
{
    server = fake_server_start(&(struct fake_options){.handler = answer});
    ck_assert_int_eq(hg_client_open(fake_server_url(server), options, &client, NULL), HG_OK);
}

static void end(void)
{
    hg_client_close(&client);
    fake_server_stop(&server);
}

static void ask(void)
{
    enum hg_health health;

    ck_assert_int_eq(hg_client_health(client, NULL, &health, NULL), HG_OK);
}

START_TEST(each_call_shows_the_token_of_the_file)
{
    struct hg_client_options options = {.token_file = token_path};

    write_token_file(" hg_0badcafe_secret\n", 0600);
    begin(&options);
    ck_assert_int_eq(unlink(token_path), 0); /* read once, when the client was opened */
    for (size_t i = 0; i < 2; i++) {
        ask();
        ck_assert_uint_eq(metadata_count, 1);
        ck_assert_str_eq(shown, "Bearer hg_0badcafe_secret");
    }
    end();
}
END_TEST

START_TEST(without_a_file_nothing_is_shown)
{
    begin(NULL);
    ask();
    ck_assert_uint_eq(metadata_count, 0);
    end();
}
END_TEST

static void expect_refused(const char *text, mode_t mode, const char *why)
{
    struct hg_client_options options = {.token_file = token_path};
    struct hg_error error;
    char expected[256];

    write_token_file(text, mode);
    snprintf(expected, sizeof(expected), "%s: %s", token_path, why);
    ck_assert_int_eq(hg_client_open(NULL, &options, &client, &error), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(error.text, expected);
    ck_assert_int_eq(unlink(token_path), 0);
}

START_TEST(a_file_that_holds_no_token_or_is_everybodys_is_refused)
{
    static const char no_token[] =
        "holds no token; write what \"herdgate token new\" printed, hg_...";
    char longest[400];

    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "hg_", 3);
    longest[sizeof(longest) - 1] = '\0';
    expect_refused("", 0600, no_token);
    expect_refused("secret", 0600, no_token);
    expect_refused("hg_", 0600, no_token);
    expect_refused("hg_one two", 0600, no_token);
    expect_refused("hg_one\nhg_two\n", 0600, no_token);
    expect_refused("hg_\x80", 0600, no_token);
    expect_refused(longest, 0600, no_token);
    expect_refused("hg_good", 0604, "everybody may read or write it; give it mode 0600");
    expect_refused("hg_good", 0602, "everybody may read or write it; give it mode 0600");
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
    struct hg_client_options options = {.token_file = "/nonexistent/token"};
    struct hg_error error;

    ck_assert_int_eq(hg_client_open(NULL, &options, &client, &error), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(error.text, "/nonexistent/token: No such file or directory");
    options.token_file = "/tmp";
    ck_assert_int_eq(hg_client_open(NULL, &options, &client, &error), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(error.text, "/tmp: not a plain file");
}
END_TEST

START_TEST(tokens_are_given_out_revoked_and_listed)
{
    struct hg_new_token wanted = {.principal = "gateway"};
    struct hg_revoke_token gone = {.id = "0badcafe"};
    struct hg_token_infos infos;
    struct hg_revoked revoked;
    struct hg_issued issued;

    begin(NULL);
    ck_assert_int_eq(hg_client_new_token(client, &wanted, &issued, NULL), HG_OK);
    ck_assert_slice_eq(issued.token, "hg_new");
    ck_assert_slice_eq(issued.id, "0badcafe");
    ck_assert(!has_op_id); /* the server would keep the reply, and the token in it */
    hg_issued_deinit(&issued);
    hg_issued_deinit(&issued);
    ck_assert_int_eq(hg_client_revoke_token(client, &gone, &revoked, NULL), HG_OK);
    ck_assert_uint_eq(revoked.count, 3);
    ck_assert(has_op_id);
    ck_assert_int_eq(hg_client_list_tokens(client, NULL, &infos, NULL), HG_OK);
    ck_assert_uint_eq(infos.count, 2);
    ck_assert_slice_eq(infos.tokens[0].id, "0badcafe");
    ck_assert_slice_eq(infos.tokens[0].principal, "gateway");
    ck_assert_int_eq(infos.tokens[0].created_at_ms, 5);
    ck_assert_int_eq(infos.tokens[0].expires_at_ms, 6);
    ck_assert_slice_eq(infos.tokens[1].id, "00000007");
    hg_token_infos_deinit(&infos);
    end();
}
END_TEST

struct tally {
    _Atomic unsigned count;
};

static void on_issued(void *arg, const struct hg_error *error, const struct hg_issued *reply)
{
    ck_assert_int_eq(error->status, HG_OK);
    ck_assert_slice_eq(reply->token, "hg_new");
    ((struct tally *)arg)->count++;
}

static void on_revoked(void *arg, const struct hg_error *error, const struct hg_revoked *reply)
{
    ck_assert_int_eq(error->status, HG_OK);
    ck_assert_uint_eq(reply->count, 3);
    ((struct tally *)arg)->count++;
}

static void on_infos(void *arg, const struct hg_error *error, const struct hg_token_infos *reply)
{
    ck_assert_int_eq(error->status, HG_OK);
    ck_assert_uint_eq(reply->count, 2);
    ((struct tally *)arg)->count++;
}

START_TEST(each_can_be_called_back)
{
    struct hg_new_token wanted = {.principal = "gateway"};
    struct hg_revoke_token gone = {.principal = "gateway"};
    struct tally tally = {.count = 0};

    begin(NULL);
    ck_assert_int_eq(hg_client_new_token_async(client, &wanted, on_issued, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_revoke_token_async(client, &gone, on_revoked, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_list_tokens_async(client, NULL, on_infos, &tally, NULL), HG_OK);
    ask(); /* the fake answers in order */
    end();
    ck_assert_uint_eq(tally.count, 3);
}
END_TEST

START_TEST(what_cannot_be_right_is_not_sent)
{
    struct hg_new_token nobody = {.principal = ""};
    struct hg_revoke_token neither = {.id = NULL};
    struct hg_revoke_token both = {.id = "0badcafe", .principal = "gateway"};
    struct hg_revoked revoked;
    struct hg_issued issued;
    struct hg_error error;

    begin(NULL);
    ck_assert_int_eq(hg_client_new_token(client, &nobody, &issued, &error), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "the request names no principal");
    ck_assert_int_eq(hg_client_revoke_token(client, &neither, &revoked, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_revoke_token(client, &both, &revoked, &error), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "revoke either one token by its id or all of one principal");
    ck_assert_uint_eq(fake_requests(server), 0);
    end();
}
END_TEST

HGI_SUITE("client.access", 60, each_call_shows_the_token_of_the_file,
          without_a_file_nothing_is_shown, a_file_that_holds_no_token_or_is_everybodys_is_refused,
          a_file_that_is_not_there_is_named, tokens_are_given_out_revoked_and_listed,
          each_can_be_called_back, what_cannot_be_right_is_not_sent)
