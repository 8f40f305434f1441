/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "draw.h"
#include "record.h"
#include "socket.h"
#include "ticks.h"

#define READ_BYTES (256u << 10)
#define EVENTS_MAX 256
#define NEVER      UINT64_MAX

/* One request in flight. */
struct slot {
    uint64_t sent_ns;
    uint32_t answered;
    bool is_out;
};

struct peer {
    int fd;
    size_t greeting_seen;
    struct slot *slots;
    uint32_t *numbers; /* batch for each slot */
    uint32_t *free_slots;
    uint32_t free_count;
    uint32_t oldest; /* ordered protocols answer slots in turn */
    unsigned char *in;
    size_t in_len;
    size_t in_size;
    unsigned char *out;
    size_t out_from;
    size_t out_len;
    bool waits_to_write;
};

struct load {
    const struct load_plan *plan;
    struct load_result *result;
    struct wire wire;
    struct wire_reply reply;
    struct draw draw;
    uint32_t next_number;
    uint64_t sent; /* requests */
    uint64_t open; /* of them not answered */
    uint64_t now_ns;
    uint64_t heard_ns;
    uint64_t count_from_ns; /* when the counted time begins, and ends */
    uint64_t count_to_ns;
    bool is_counting;
    bool is_over; /* nothing more is asked */
    double server_cpu_s;
    struct rusage own;
    int epoll;
    struct peer *peers;
    uint32_t peer_count;
    char *sentence;
    size_t sentence_size;
};

static bool fail(struct load *l, const char *what)
{
    snprintf(l->sentence, l->sentence_size, "%s", what);
    return false;
}

/* ---- asking ---- */

static uint32_t next_number(struct load *l)
{
    if (l->plan->is_in_order) {
        return l->next_number++ % l->plan->numbers;
    }
    return draw_below(&l->draw, l->plan->numbers);
}

static bool may_ask(const struct load *l)
{
    return !l->is_over && (l->plan->count == 0 || l->sent < l->plan->count);
}

/* Every free slot asks. Replies of ordered protocols free slots in the order they were taken, which
 * is the order they are taken in again. */
static void fill(struct load *l, struct peer *p)
{
    uint32_t batch = l->plan->wire.batch;

    if (p->out_from == p->out_len) {
        p->out_from = p->out_len = 0;
    } else if (p->out_from > 0) {
        return; /* not while a write is cut; the buffer holds one fill */
    }
    while (p->free_count > 0 && may_ask(l)) {
        uint32_t slot = p->free_slots[--p->free_count];
        uint32_t *numbers = p->numbers + (size_t)slot * batch;

        if (l->wire.kind->is_ordered) {
            /* a ring: the next one after those that are out */
            slot = (p->oldest + (l->plan->in_flight - p->free_count - 1)) % l->plan->in_flight;
            numbers = p->numbers + (size_t)slot * batch;
        }
        for (uint32_t i = 0; i < batch; i++) {
            numbers[i] = next_number(l);
        }
        wire_ask(&l->wire, slot, numbers, p->out + p->out_len);
        p->out_len += l->wire.request.len;
        p->slots[slot] = (struct slot){l->now_ns, 0, true};
        l->sent++;
        l->open++;
        l->result->asked += batch;
    }
}

static bool watch(struct load *l, struct peer *p, bool waits_to_write)
{
    struct epoll_event event = {.events = EPOLLIN | (waits_to_write ? EPOLLOUT : 0u),
                                .data.ptr = p};

    if (p->waits_to_write == waits_to_write) {
        return true;
    }
    p->waits_to_write = waits_to_write;
    return epoll_ctl(l->epoll, EPOLL_CTL_MOD, p->fd, &event) == 0 || fail(l, "epoll_ctl failed");
}

static bool flush(struct load *l, struct peer *p)
{
    while (p->out_from < p->out_len) {
        ssize_t wrote = send(p->fd, p->out + p->out_from, p->out_len - p->out_from, MSG_NOSIGNAL);

        if (wrote < 0 && errno == EAGAIN) {
            return watch(l, p, true);
        }
        if (wrote < 0) {
            return fail(l, "the server closed a connection (write)");
        }
        p->out_from += (size_t)wrote;
    }
    return watch(l, p, false);
}

/* ---- answers ---- */

static void check(struct load *l, const struct wire_answer *answer, uint32_t number)
{
    if (!answer->is_there) {
        l->result->missing++;
    } else if (l->plan->wire.op != WIRE_PUT &&
               !record_value_is(number, l->plan->wire.value_len, answer->value)) {
        l->result->wrong++;
    }
}

static void end_slot(struct load *l, struct peer *p, uint32_t slot)
{
    if (l->is_counting) {
        histogram_record(&l->result->latency, l->now_ns - p->slots[slot].sent_ns);
        l->result->counted += l->plan->wire.batch;
    }
    p->slots[slot].is_out = false;
    p->free_slots[p->free_count++] = slot;
    p->oldest = (slot + 1) % l->plan->in_flight;
    l->open--;
}

/* An unordered reply ends its request, an ordered one is the next key's. */
static bool take_reply(struct load *l, struct peer *p)
{
    bool is_ordered = l->wire.kind->is_ordered;
    uint32_t batch = l->plan->wire.batch;
    uint32_t at = is_ordered ? p->oldest : l->reply.slot;
    struct slot *slot = &p->slots[at];

    if (at >= l->plan->in_flight || !slot->is_out) {
        return fail(l, "a reply to something not asked");
    }
    for (uint32_t i = 0; i < l->reply.count && slot->answered < batch; i++) {
        check(l, &l->reply.answers[i], p->numbers[(size_t)at * batch + slot->answered]);
        slot->answered++;
    }
    if (!is_ordered) {
        l->result->missing += batch - slot->answered;
        slot->answered = batch;
    }
    if (slot->answered == batch) {
        end_slot(l, p, at);
    }
    return true;
}

static bool take_greeting(struct load *l, struct peer *p, size_t *ret_used)
{
    size_t wanted = l->wire.hello_len - p->greeting_seen;
    size_t have = p->in_len < wanted ? p->in_len : wanted;

    if (memcmp(p->in, l->wire.greeting + p->greeting_seen, have) != 0) {
        return fail(l, "the server speaks another protocol");
    }
    p->greeting_seen += have;
    *ret_used = have;
    return true;
}

static bool take_replies(struct load *l, struct peer *p)
{
    size_t used = 0;
    size_t one;

    if (!take_greeting(l, p, &used)) {
        return false;
    }
    while (used < p->in_len) {
        struct hg_slice rest = hg_slice_of(p->in + used, p->in_len - used);
        enum wire_cut found = l->wire.kind->cut(&l->wire, rest, &l->reply, &one);

        if (found == WIRE_BAD) {
            return fail(l, "the server sent what is no reply");
        }
        if (found == WIRE_MORE) {
            break;
        }
        if (!take_reply(l, p)) {
            return false;
        }
        used += one;
    }
    memmove(p->in, p->in + used, p->in_len - used);
    p->in_len -= used;
    return true;
}

static bool receive(struct load *l, struct peer *p)
{
    ssize_t got;

    if (p->in_len == p->in_size) {
        size_t size = p->in_size * 2;
        unsigned char *more = size > 2 * WIRE_REPLY_MAX ? NULL : realloc(p->in, size);

        if (!more) {
            return fail(l, "a reply that has no end");
        }
        p->in = more;
        p->in_size = size;
    }
    got = recv(p->fd, p->in + p->in_len, p->in_size - p->in_len, 0);
    if (got < 0 && errno == EAGAIN) {
        return true;
    }
    if (got <= 0) {
        return fail(l, "the server closed a connection (read)");
    }
    p->in_len += (size_t)got;
    l->now_ns = l->heard_ns = ticks_now_ns();
    return take_replies(l, p);
}

/* ---- time ---- */

static double own_cpu_s(const struct rusage *from, const struct rusage *to)
{
    return (double)(to->ru_utime.tv_sec - from->ru_utime.tv_sec + to->ru_stime.tv_sec -
                    from->ru_stime.tv_sec) +
           (double)(to->ru_utime.tv_usec - from->ru_utime.tv_usec + to->ru_stime.tv_usec -
                    from->ru_stime.tv_usec) /
               1e6;
}

static void begin_counting(struct load *l)
{
    l->is_counting = true;
    l->count_from_ns = l->now_ns;
    l->count_to_ns = l->plan->count ? NEVER : l->now_ns + (uint64_t)(l->plan->seconds * 1e9);
    l->server_cpu_s = l->plan->pid ? ticks_cpu_s(l->plan->pid) : 0;
    (void)getrusage(RUSAGE_SELF, &l->own);
}

static void end_counting(struct load *l)
{
    struct rusage own;

    (void)getrusage(RUSAGE_SELF, &own);
    l->is_counting = false;
    l->is_over = true;
    l->result->seconds = (double)(l->now_ns - l->count_from_ns) / 1e9;
    l->result->own_cpu_s = own_cpu_s(&l->own, &own);
    if (l->plan->pid) {
        l->result->server_cpu_s = ticks_cpu_s(l->plan->pid) - l->server_cpu_s;
    }
}

/* True: go on. */
static bool keep_time(struct load *l)
{
    l->now_ns = ticks_now_ns();
    if (!l->is_counting && !l->is_over && l->now_ns >= l->count_from_ns) {
        begin_counting(l);
    }
    if (l->is_counting && (l->now_ns >= l->count_to_ns ||
                           (l->plan->count && l->sent == l->plan->count && l->open == 0))) {
        end_counting(l);
    }
    if (l->open > 0 && l->now_ns - l->heard_ns > LOAD_SILENCE_S * UINT64_C(1000000000)) {
        return fail(l, "the server does not answer");
    }
    return !l->is_over || l->open > 0;
}

static bool run(struct load *l)
{
    struct epoll_event events[EVENTS_MAX];

    l->now_ns = l->heard_ns = ticks_now_ns();
    l->count_from_ns = l->now_ns + (uint64_t)(l->plan->count ? 0 : l->plan->warm_s * 1e9);
    for (uint32_t i = 0; i < l->peer_count; i++) {
        fill(l, &l->peers[i]);
        if (!flush(l, &l->peers[i])) {
            return false;
        }
    }
    while (keep_time(l)) {
        int count = epoll_wait(l->epoll, events, EVENTS_MAX, 100);

        for (int i = 0; i < count; i++) {
            struct peer *p = events[i].data.ptr;

            if ((events[i].events & ~(uint32_t)EPOLLOUT) && !receive(l, p)) {
                return false;
            }
            fill(l, p);
            if (p->out_from < p->out_len && !flush(l, p)) {
                return false;
            }
        }
    }
    return l->open == 0;
}

/* ---- its life ---- */

static bool open_peer(struct load *l, struct peer *p)
{
    const struct load_plan *plan = l->plan;
    uint32_t in_flight = plan->in_flight;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};

    p->fd = socket_connect(plan->address, l->sentence, l->sentence_size);
    if (p->fd < 0) {
        return false;
    }
    p->slots = calloc(in_flight, sizeof(*p->slots));
    p->numbers = calloc((size_t)in_flight * plan->wire.batch, sizeof(*p->numbers));
    p->free_slots = calloc(in_flight, sizeof(*p->free_slots));
    p->in_size = READ_BYTES;
    p->in = malloc(p->in_size);
    p->out = malloc(WIRE_HELLO_MAX + (size_t)in_flight * l->wire.request.len);
    if (!p->slots || !p->numbers || !p->free_slots || !p->in || !p->out) {
        return fail(l, "no memory");
    }
    for (uint32_t i = 0; i < in_flight; i++) {
        p->free_slots[i] = in_flight - 1 - i;
    }
    p->free_count = in_flight;
    memcpy(p->out, l->wire.hello, l->wire.hello_len);
    p->out_len = l->wire.hello_len;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, p->fd, &event) != 0) {
        return fail(l, "epoll_ctl failed");
    }
    return flush(l, p);
}

static void close_peer(struct peer *p)
{
    if (p->fd >= 0) {
        close(p->fd);
    }
    free(p->slots);
    free(p->numbers);
    free(p->free_slots);
    free(p->in);
    free(p->out);
}

bool load_run(const struct load_plan *plan, struct load_result *ret_result, char *ret_sentence,
              size_t sentence_size)
{
    struct load l = {.plan = plan,
                     .result = ret_result,
                     .draw = draw_seeded(plan->seed),
                     .sentence = ret_sentence,
                     .sentence_size = sentence_size};
    bool is_good;

    memset(ret_result, 0, sizeof(*ret_result));
    snprintf(ret_sentence, sentence_size, "no memory");
    if (!wire_init(&l.wire, plan->kind, &plan->wire)) {
        return false;
    }
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    l.peers = calloc(plan->connections, sizeof(*l.peers));
    is_good = l.epoll >= 0 && l.peers != NULL;
    while (is_good && l.peer_count < plan->connections) {
        is_good = open_peer(&l, &l.peers[l.peer_count++]);
    }
    is_good = is_good && run(&l);
    for (uint32_t i = 0; i < l.peer_count; i++) {
        close_peer(&l.peers[i]);
    }
    free(l.peers);
    if (l.epoll >= 0) {
        close(l.epoll);
    }
    wire_deinit(&l.wire);
    return is_good;
}
