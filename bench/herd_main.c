/* SPDX-License-Identifier: Apache-2.0 */
/* bench-herd: many connections ask for one key that is not there. How often was it loaded, and how
 * long after the load's end did the last one have its answer? The cache's loader is loader_slow. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "effort.h"
#include "record.h"
#include "socket.h"
#include "ticks.h"
#include "wire.h"

#define ROUND_MS   10000
#define VALUE_MAX  64u
#define BUFFER_LEN 1024u

struct waiter {
    bool has_greeting;
    bool is_answered;
    unsigned char in[BUFFER_LEN];
    size_t in_len;
};

struct herd {
    struct wire wire;
    struct waiter *waiters;
    struct pollfd *polls;
    uint32_t count;
    uint32_t answered;
    char value[VALUE_MAX]; /* of the round: all get the same */
    uint64_t last_ns;
};

static bool fault(const char *what)
{
    fprintf(stderr, "bench-herd: %s\n", what);
    return false;
}

static bool take(struct herd *h, struct waiter *w, const struct wire_answer *answer)
{
    if (!answer->is_there || answer->value.len >= VALUE_MAX) {
        return fault("a waiter got no value");
    }
    if (h->answered == 0) {
        memcpy(h->value, answer->value.data, answer->value.len);
        h->value[answer->value.len] = 0;
    } else if (strlen(h->value) != answer->value.len ||
               memcmp(h->value, answer->value.data, answer->value.len) != 0) {
        return fault("two waiters got different values: it was loaded twice");
    }
    w->is_answered = true;
    h->answered++;
    h->last_ns = ticks_now_ns();
    return true;
}

static bool receive(struct herd *h, uint32_t index)
{
    struct waiter *w = &h->waiters[index];
    static struct wire_reply reply;
    size_t used = w->has_greeting ? 0 : h->wire.hello_len;
    size_t one;
    ssize_t got = recv(h->polls[index].fd, w->in + w->in_len, sizeof(w->in) - w->in_len, 0);

    if (got <= 0) {
        return (got < 0 && errno == EAGAIN) || fault("the server closed a connection");
    }
    w->in_len += (size_t)got;
    if (w->in_len < used) {
        return true;
    }
    w->has_greeting = true;
    switch (
        h->wire.kind->cut(&h->wire, hg_slice_of(w->in + used, w->in_len - used), &reply, &one)) {
    case WIRE_REPLY:
        w->in_len = 0; /* one is in flight: nothing follows */
        return take(h, w, &reply.answers[0]);
    case WIRE_MORE:
        memmove(w->in, w->in + used, w->in_len - used);
        w->in_len -= used;
        return true;
    default:
        return fault("the server sent what is no reply");
    }
}

static bool run_round(struct herd *h, uint32_t number)
{
    unsigned char request[BUFFER_LEN];
    uint64_t end_ns = ticks_now_ns() + ROUND_MS * UINT64_C(1000000);

    h->answered = 0;
    wire_ask(&h->wire, 0, &number, request);
    for (uint32_t i = 0; i < h->count; i++) {
        h->waiters[i].is_answered = false;
        if (send(h->polls[i].fd, request, h->wire.request.len, MSG_NOSIGNAL) !=
            (ssize_t)h->wire.request.len) {
            return fault("a request could not be sent");
        }
    }
    while (h->answered < h->count) {
        if (ticks_now_ns() > end_ns) {
            return fault("not all were answered");
        }
        (void)poll(h->polls, h->count, 100);
        for (uint32_t i = 0; i < h->count; i++) {
            if (h->polls[i].revents && !receive(h, i)) {
                return false;
            }
        }
    }
    return true;
}

static bool open_herd(struct herd *h, const char *address, uint32_t count)
{
    struct wire_plan plan = {.op = WIRE_GET_OR_LOAD,
                             .batch = 1,
                             .key_len = RECORD_KEY_LEN,
                             .cache = "herd",
                             .is_ipc = socket_is_unix(address)};
    char sentence[200];

    h->waiters = calloc(count, sizeof(*h->waiters));
    h->polls = calloc(count, sizeof(*h->polls));
    if (!h->waiters || !h->polls || !wire_init(&h->wire, &wire_sp, &plan)) {
        return fault("no memory");
    }
    while (h->count < count) {
        int fd = socket_connect(address, sentence, sizeof(sentence));

        if (fd < 0) {
            return fault(sentence);
        }
        h->polls[h->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
        if (send(fd, h->wire.hello, h->wire.hello_len, MSG_NOSIGNAL) < 0) {
            return fault("a greeting could not be sent");
        }
    }
    return true;
}

static void close_herd(struct herd *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        close(h->polls[i].fd);
    }
    wire_deinit(&h->wire);
    free(h->waiters);
    free(h->polls);
}

int main(int argc, char **argv)
{
    struct samples loads = {.work = "herd_loads", .side = "ours", .unit = "loads"};
    struct samples times = {.work = "herd_last_reply", .side = "ours", .unit = "ms"};
    uint32_t rounds = argc > 3 ? (uint32_t)atoi(argv[3]) : 5;
    unsigned long long before = 0;
    static struct herd h;
    bool is_good;

    if (argc < 3) {
        fprintf(stderr, "usage: bench-herd ADDRESS WAITERS [ROUNDS]\n");
        return 2;
    }
    is_good = open_herd(&h, argv[1], (uint32_t)atoi(argv[2]));
    for (uint32_t round = 0; is_good && round < rounds; round++) {
        unsigned long long count = 0;
        unsigned long long loaded_ns = 0;

        is_good = run_round(&h, round) && sscanf(h.value, "%llu %llu", &count, &loaded_ns) == 2;
        samples_add(&loads, (double)(count - before));
        samples_add(&times, ((double)h.last_ns - (double)loaded_ns) / 1e6);
        before = count;
    }
    close_herd(&h);
    samples_say(&loads);
    samples_say(&times);
    return is_good ? 0 : 1;
}
