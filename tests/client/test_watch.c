/* SPDX-License-Identifier: Apache-2.0 */
/* The call and the verb `watch` against a server that plays a script. */
#include "hg_test.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asking.h"
#include "base/check.h"
#include "base/kind.h"
#include "runner.h"

#define COMMAND HGI_BUILD_DIR "/bin/herdgate"

extern char **environ;

/* What the server expects next, and answers. */
struct step {
    uint64_t after; /* and */
    uint64_t epoch; /* of the request */
    const char *cache;
    struct hgi_msg_events reply;
    bool is_drop;          /* no reply: the connection ends */
    enum hg_status status; /* not OK: an error */
};

struct script {
    const struct step *steps;
    size_t count;
    _Atomic size_t next; /* the last step is played again and again */
    uint32_t timeout_ms; /* of the last request */
    long late_ms;        /* how long the server takes for a reply */
};

static struct fake_server *server;
static struct script script;
static struct run ran;

static void play(struct fake_server *fake, void *context, const struct fake_caller *caller,
                 const struct hgi_request *request)
{
    struct script *played = context;
    size_t at = played->next < played->count ? played->next : played->count - 1;
    const struct step *step = &played->steps[at];
    struct hgi_msg_watch message;
    char sentence[HGI_SENTENCE_MAX];
    struct hg_bytes payload;
    struct hgi_arena arena;

    played->next++;
    played->timeout_ms = request->timeout_ms;
    if (played->late_ms) {
        const struct timespec time = {.tv_nsec = played->late_ms * 1000000};

        (void)nanosleep(&time, NULL);
    }
    ck_assert_int_eq(request->method, HGI_METHOD_WATCH);
    hgi_arena_init(&arena, 1 << 20);
    ck_assert_int_eq(hgi_watch_request_decode(request->payload, &arena, &message, sentence), HG_OK);
    ck_assert_uint_eq(message.after, step->after);
    ck_assert_uint_eq(message.epoch, step->epoch);
    ck_assert_slice_eq(message.cache, step->cache ? step->cache : "");
    hgi_arena_deinit(&arena);
    hgi_bytes_init(&payload, &hgi_heap);
    if (step->is_drop) {
        fake_drop(fake, caller);
    } else if (step->status != HG_OK) {
        fake_reply_error(fake, caller, step->status, "no");
    } else {
        ck_assert(hgi_watch_reply_encode(&step->reply, &payload));
        fake_reply_ok(fake, caller, &payload);
    }
    hgi_bytes_deinit(&payload);
}

static void begin(const struct step *steps, size_t count)
{
    script.steps = steps;
    script.count = count;
    script.next = 0;
    script.late_ms = 0;
    server = fake_server_start(&(struct fake_options){.handler = play, .context = &script});
    setenv("HERDGATE_URL", fake_server_url(server), 1);
}

static void end(void)
{
    fake_server_stop(&server);
}

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static struct hgi_msg_event first_events[] = {
    {.number = 11,
     .at_ms = 1792000000123,
     .kind = HG_EVENT_CLEAR,
     .name = TEXT("a"),
     .generation = 5},
    {.number = 12,
     .at_ms = 1792000001004,
     .kind = HG_EVENT_INVALIDATE,
     .name = TEXT("b"),
     .generation = 6,
     .key = {.kind = HG_KEY_USER_API_KEY, .user_id = TEXT("u"), .api_key_id = TEXT("k\033")}},
    {.number = 13, .at_ms = 1792000002000, .kind = HG_EVENT_LOADER, .name = TEXT("keys")},
};

static struct hgi_msg_event later_events[] = {
    {.number = 4, .at_ms = 1792000003000, .kind = HG_EVENT_PUT, .name = TEXT("a"), .generation = 8},
    {.number = 5,
     .at_ms = 1792000003000,
     .kind = HG_EVENT_PUT,
     .name = TEXT("a"),
     .generation = 9,
     .key = {.kind = HG_KEY_BYTES, .bytes = TEXT("x")}},
};

#define POSITION                                                                                   \
    {                                                                                              \
        .reply = {.epoch = 7, .last = 10 }                                                         \
    }
#define FIRST                                                                                      \
    {                                                                                              \
        .after = 10, .epoch = 7, .reply = {                                                        \
            .epoch = 7,                                                                            \
            .events = first_events,                                                                \
            .event_count = 3,                                                                      \
            .last = 13                                                                             \
        }                                                                                          \
    }

/* Where it is, events, nothing, a lost connection, an ending server, another server, events. */
static const struct step story[] = {
    POSITION,
    FIRST,
    {.after = 13, .epoch = 7, .reply = {.epoch = 7, .last = 13}},
    {.after = 13, .epoch = 7, .is_drop = true},
    {.after = 13, .epoch = 7, .status = HG_UNAVAILABLE},
    {.after = 13, .epoch = 7, .reply = {.epoch = 8, .last = 3, .is_gap = true}},
    {.after = 3,
     .epoch = 8,
     .reply = {.epoch = 8, .events = later_events, .event_count = 2, .last = 5}},
};

START_TEST(the_call_brings_events_and_tells_a_gap_from_nothing)
{
    struct hg_client *client;
    struct hg_watch at = {.after = 10, .epoch = 7};
    struct hg_events events;
    struct hg_error error;

    begin(story, HGI_COUNT_OF(story));
    script.next = 1;
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_watch(client, &at, &events, &error), HG_OK);
    ck_assert_uint_eq(events.count, 3);
    ck_assert_uint_eq(events.epoch, 7);
    ck_assert_uint_eq(events.last, 13);
    ck_assert(!events.is_gap);
    ck_assert_uint_eq(events.events[1].number, 12);
    ck_assert_int_eq(events.events[1].at_ms, 1792000001004);
    ck_assert_int_eq(events.events[1].kind, HG_EVENT_INVALIDATE);
    ck_assert_slice_eq(events.events[1].name, "b");
    ck_assert_uint_eq(events.events[1].generation, 6);
    ck_assert_slice_eq(events.events[1].key.user_id, "u");
    hg_events_deinit(&events);
    hg_events_deinit(&events);
    at.after = 13;
    ck_assert_int_eq(hg_client_watch(client, &at, &events, &error), HG_OK);
    ck_assert_uint_eq(events.count, 0);
    ck_assert(!events.is_gap);
    hg_events_deinit(&events);
    ck_assert_int_eq(hg_client_watch(client, &at, &events, &error), HG_UNAVAILABLE);
    ck_assert(!error.is_done_unknown);
    ck_assert_int_eq(hg_client_watch(client, &at, &events, &error), HG_UNAVAILABLE);
    ck_assert_int_eq(hg_client_watch(client, &at, &events, &error), HG_OK);
    ck_assert(events.is_gap);
    hg_events_deinit(&events);
    hg_client_close(&client);
    end();
}
END_TEST

static void on_events(void *arg, const struct hg_error *error, const struct hg_events *events)
{
    tally_add(arg, events && events->count == 3 ? error->status : HG_UNKNOWN);
}

START_TEST(the_call_can_be_called_back)
{
    struct hg_client *client;
    struct hg_watch at = {.after = 10, .epoch = 7};
    struct tally tally;

    begin(story, HGI_COUNT_OF(story));
    script.next = 1;
    tally_init(&tally);
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_watch_async(client, &at, on_events, &tally, NULL), HG_OK);
    tally_wait(&tally, 1);
    ck_assert_uint_eq(tally.by_status[HG_OK], 1);
    hg_client_close(&client);
    tally_deinit(&tally);
    end();
}
END_TEST

START_TEST(a_server_that_says_a_little_late_that_nothing_happened_is_heard)
{
    struct hg_client *client;
    struct hg_watch at = {.after = 13, .epoch = 7, .timeout_ms = 100};
    struct hg_events events;

    begin(story, HGI_COUNT_OF(story));
    script.next = 2;
    script.late_ms = 300;
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_watch(client, &at, &events, NULL), HG_OK);
    ck_assert_uint_eq(script.timeout_ms, 100);
    ck_assert_uint_eq(events.count, 0);
    hg_events_deinit(&events);
    hg_client_close(&client);
    end();
}
END_TEST

START_TEST(events_are_lines_and_a_lost_server_is_waited_for)
{
    begin(story, HGI_COUNT_OF(story));
    run_program(COMMAND, "", "watch --count 5", &ran);
    ck_assert_msg(ran.rc == 0, "exit %d: %s", ran.rc, ran.err);
    ck_assert_str_eq(ran.out, "2026-10-14T17:46:40.123Z 11 clear a generation 5\n"
                              "2026-10-14T17:46:41.004Z 12 invalidate b u/k\\x1b generation 6\n"
                              "2026-10-14T17:46:42.000Z 13 loader keys\n"
                              "gap: events up to 3 were missed; anything may have changed\n"
                              "2026-10-14T17:46:43.000Z 4 put a * generation 8\n"
                              "2026-10-14T17:46:43.000Z 5 put a x generation 9\n");
    ck_assert_ptr_nonnull(strstr(ran.err, "(UNAVAILABLE)\n"));
    ck_assert_ptr_eq(strstr(ran.err, "\n") + 1, ran.err + ran.err_len); /* said once */
    end();
}
END_TEST

START_TEST(json_has_an_object_a_line_and_the_position_to_go_on_from)
{
    begin(story, HGI_COUNT_OF(story));
    run_program(COMMAND, "", "watch -o json --count 4", &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_str_eq(
        ran.out,
        "{\"number\":11,\"at_ms\":1792000000123,\"kind\":\"clear\",\"cache\":\"a\","
        "\"generation\":5,\"key\":null,\"position\":\"11:7\"}\n"
        "{\"number\":12,\"at_ms\":1792000001004,\"kind\":\"invalidate\",\"cache\":\"b\","
        "\"generation\":6,\"key\":{\"kind\":\"user_api_key\",\"user_id\":\"u\",\"api_key_id\":"
        "\"k\\u001B\"},\"position\":\"12:7\"}\n"
        "{\"number\":13,\"at_ms\":1792000002000,\"kind\":\"loader\",\"loader\":\"keys\","
        "\"position\":\"13:7\"}\n"
        "{\"gap\":true,\"position\":\"3:8\"}\n"
        "{\"number\":4,\"at_ms\":1792000003000,\"kind\":\"put\",\"cache\":\"a\",\"generation\":8,"
        "\"key\":null,\"position\":\"4:8\"}\n");
    end();
}
END_TEST

START_TEST(one_cache_is_asked_for_and_one_that_is_not_there_is_said_so)
{
    static const struct step one[] = {
        {.cache = "b", .reply = {.epoch = 7, .last = 10}},
        {.cache = "b",
         .after = 10,
         .epoch = 7,
         .reply = {.epoch = 7, .events = &first_events[1], .event_count = 1, .last = 13}}};
    static const struct step none[] = {{.cache = "nil", .status = HG_NOT_FOUND}};

    begin(one, HGI_COUNT_OF(one));
    run_program(COMMAND, "", "watch --cache b --count 1", &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_str_eq(ran.out, "2026-10-14T17:46:41.004Z 12 invalidate b u/k\\x1b generation 6\n");
    ck_assert_str_eq(ran.err, "");
    end();
    begin(none, HGI_COUNT_OF(none));
    run_program(COMMAND, "", "watch --cache nil", &ran);
    ck_assert_int_eq(ran.rc, 1);
    ck_assert_str_eq(ran.err, "herdgate: no (NOT_FOUND)\n");
    end();
}
END_TEST

START_TEST(types_and_a_key_are_picked_out)
{
    static struct hgi_msg_event events[] = {
        {.number = 1,
         .kind = HG_EVENT_PUT,
         .name = TEXT("a"),
         .generation = 1,
         .key = {.kind = HG_KEY_BYTES, .bytes = TEXT("k")}},
        {.number = 2,
         .kind = HG_EVENT_PUT,
         .name = TEXT("a"),
         .generation = 2,
         .key = {.kind = HG_KEY_BYTES, .bytes = TEXT("other")}},
        {.number = 3, .kind = HG_EVENT_CLEAR, .name = TEXT("a"), .generation = 3},
        {.number = 4, .kind = HG_EVENT_LOADER, .name = TEXT("l")},
        {.number = 5,
         .kind = HG_EVENT_INVALIDATE,
         .name = TEXT("a"),
         .generation = 5,
         .key = {.kind = HG_KEY_USER_API_KEY, .user_id = TEXT("u"), .api_key_id = TEXT("k")}},
        {.number = 6, .kind = HG_EVENT_INVALIDATE, .name = TEXT("a"), .generation = 6},
    };
    static const struct step steps[] = {
        {.reply = {.epoch = 7, .last = 0}},
        {.epoch = 7, .reply = {.epoch = 7, .events = events, .event_count = 6, .last = 6}}};
    static const struct {
        const char *line;
        const char *numbers;
    } cases[] = {
        {"watch -c 1 --type loader", "4"},
        {"watch -c 3 --type clear --type invalidate", "356"},
        {"watch -c 3 --key k", "136"},
        {"watch -c 3 --kind user_api_key --key u/k", "356"},
        {"watch -c 3 --user u --api-key k", "356"},
        {"watch -c 2 --type put --type clear --key k", "13"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(cases); i++) {
        char numbers[16] = "";
        const char *at;

        begin(steps, HGI_COUNT_OF(steps));
        run_program(COMMAND, "", cases[i].line, &ran);
        ck_assert_int_eq(ran.rc, 0);
        for (at = ran.out; (at = strstr(at, "Z ")) != NULL; at++) {
            strncat(numbers, at + 2, 1);
        }
        ck_assert_msg(strcmp(numbers, cases[i].numbers) == 0, "%s: %s", cases[i].line, ran.out);
        end();
    }
}
END_TEST

START_TEST(after_a_number_asks_which_server_it_is_and_after_a_position_does_not)
{
    static const struct step by_number[] = {
        {.after = 9, .reply = {.epoch = 7, .last = 90}},
        {.after = 9,
         .epoch = 7,
         .reply = {.epoch = 7, .events = first_events, .event_count = 3, .last = 13}}};
    static const struct step by_position[] = {FIRST};

    begin(by_number, HGI_COUNT_OF(by_number));
    run_program(COMMAND, "", "watch --after 9 -c 1", &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, " 11 clear a "));
    end();
    begin(by_position, HGI_COUNT_OF(by_position));
    run_program(COMMAND, "", "watch --after 10:7 -c 1", &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_ptr_nonnull(strstr(ran.out, " 11 clear a "));
    end();
}
END_TEST

START_TEST(a_server_that_was_never_there_or_refuses_ends_it)
{
    static const struct step refuses[] = {
        POSITION, {.after = 10, .epoch = 7, .status = HG_RESOURCE_EXHAUSTED}};

    run_program(COMMAND, "", "watch -e ipc:///tmp/there-is-no-such-socket", &ran);
    ck_assert_int_eq(ran.rc, 5);
    begin(refuses, HGI_COUNT_OF(refuses));
    run_program(COMMAND, "", "watch", &ran);
    ck_assert_int_eq(ran.rc, 1);
    ck_assert_str_eq(ran.err, "herdgate: no (RESOURCE_EXHAUSTED)\n");
    end();
}
END_TEST

START_TEST(bad_usage_is_exit_2)
{
    static const char *const lines[][2] = {
        {"watch --count 0", "--count 0 is not a number from 1 on"},
        {"watch --after x", "--after x is no place among the events"},
        {"watch --after 1:0", "--after 1:0 is no place among the events"},
        {"watch auth", "\"auth\" is one argument too many; a cache goes by --cache"},
        {"watch --type del",
         "\"del\" is no type of event; there are clear, invalidate, put and loader"},
        {"watch --key k --user u", "either --key, or --user and --api-key"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(lines); i++) {
        run_program(COMMAND, "", lines[i][0], &ran);
        ck_assert_int_eq(ran.rc, 2);
        ck_assert_msg(strstr(ran.err, lines[i][1]) != NULL, "%s", ran.err);
    }
}
END_TEST

/* Events, and then silence until the end of the test. */
static void play_then_wait(struct fake_server *fake, void *context,
                           const struct fake_caller *caller, const struct hgi_request *request)
{
    if (script.next < script.count) {
        play(fake, context, caller, request);
    }
}

START_TEST(an_interrupt_ends_it_well_with_everything_printed)
{
    static const struct step steps[] = {POSITION, FIRST};
    static const int numbers[] = {SIGINT, SIGTERM};
    char *argv[] = {(char *)(uintptr_t) "herdgate", (char *)(uintptr_t) "watch", NULL};

    for (size_t i = 0; i < HGI_COUNT_OF(numbers); i++) {
        posix_spawn_file_actions_t actions;
        char line[256] = "";
        FILE *out;
        int ends[2];
        int status;
        pid_t pid;

        script = (struct script){.steps = steps, .count = HGI_COUNT_OF(steps)};
        server = fake_server_start(
            &(struct fake_options){.handler = play_then_wait, .context = &script});
        setenv("HERDGATE_URL", fake_server_url(server), 1);
        ck_assert_int_eq(pipe(ends), 0);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        ck_assert_int_eq(posix_spawn(&pid, COMMAND, &actions, NULL, argv, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        out = fdopen(ends[0], "r");
        for (int n = 0; n < 3; n++) { /* the lines come while it waits for more */
            ck_assert_ptr_nonnull(fgets(line, sizeof(line), out));
        }
        ck_assert_str_eq(line, "2026-10-14T17:46:42.000Z 13 loader keys\n");
        ck_assert_int_eq(kill(pid, numbers[i]), 0);
        ck_assert_ptr_null(fgets(line, sizeof(line), out));
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
        (void)fclose(out);
        end();
    }
}
END_TEST

HGI_SUITE("client.watch", 60, the_call_brings_events_and_tells_a_gap_from_nothing,
          the_call_can_be_called_back,
          a_server_that_says_a_little_late_that_nothing_happened_is_heard,
          events_are_lines_and_a_lost_server_is_waited_for,
          json_has_an_object_a_line_and_the_position_to_go_on_from,
          one_cache_is_asked_for_and_one_that_is_not_there_is_said_so,
          types_and_a_key_are_picked_out,
          after_a_number_asks_which_server_it_is_and_after_a_position_does_not,
          a_server_that_was_never_there_or_refuses_ends_it, bad_usage_is_exit_2,
          an_interrupt_ends_it_well_with_everything_printed)
