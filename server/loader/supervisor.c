/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor_inside.h"

#define EVENTS_MAX    64
#define SECTION_BYTES (1u << 20) /* its lists of loads, and two reads */

static void executor_start(void *context, const struct hgi_load_order *order)
{
    struct hgi_entrance *entrance = context;

    hgi_inbox_start(&entrance->supervisor->inbox, entrance->section, entrance->value_type, order);
}

static void executor_cancel(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct hgi_entrance *entrance = context;

    hgi_inbox_cancel(&entrance->supervisor->inbox, cache, load_id);
}

static void executor_hold(void *context)
{
    struct hgi_entrance *entrance = context;

    hgi_inbox_hold(&entrance->supervisor->inbox);
}

static void executor_release(void *context)
{
    (void)context;
    hgi_inbox_release();
}

/* Everybody who looks from outside sees this copy. */
static void publish(struct hgi_supervisor *s)
{
    size_t settled = 0;

    for (size_t i = 0; i < hgi_supervisor_sections(s); i++) {
        struct hgi_section *section = &s->sections[i];
        struct hgi_loader_state state;

        hgi_section_state(section, &state);
        hgi_lock_loader(&s->inbox.lock);
        s->states[i] = state;
        if (section->has_failed && !s->has_failed && s->settled < s->options->loader_count) {
            const struct hgi_loader_config *config = section->config;

            s->has_failed = true;
            snprintf(s->failure, sizeof(s->failure), "%.200s%s%.0d%sloader \"%.63s\": %.200s",
                     config->file ? config->file : "", config->file ? ":" : "",
                     config->file ? config->line : 0, config->file ? ": " : "", config->name,
                     section->message);
        }
        hgi_unlock_loader(&s->inbox.lock);
        settled += section->current || section->has_failed || section->deaths > 0;
    }
    hgi_lock_loader(&s->inbox.lock);
    if (s->settled < settled) {
        s->settled = settled;
    }
    if (s->has_failed || s->settled >= s->options->loader_count) {
        hgi_cond_wake_all(&s->changed);
    }
    hgi_unlock_loader(&s->inbox.lock);
}

static void take_mail(struct hgi_supervisor *s, const struct hgi_now *now)
{
    static const char no_memory[] = "the server has no memory for another load";
    struct hgi_result result = {.status = HG_RESOURCE_EXHAUSTED,
                                .message = hg_slice_of(no_memory, sizeof(no_memory) - 1)};
    struct hgi_mail mail;
    struct hgi_node *node;

    if (!hgi_inbox_take(&s->inbox, &mail)) {
        return;
    }
    while ((node = hgi_list_pop_front(&mail.loads))) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);

        hgi_section_enqueue(&s->sections[load->section], load, now);
    }
    /* A load that ended just now has left this list. */
    while ((node = hgi_list_pop_front(&mail.cancels))) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, cancel_node);

        hgi_section_cancel(&s->sections[load->section], load, now);
    }
    while ((node = hgi_list_pop_front(&mail.reloads))) {
        hgi_supervisor_take_reload(s, HGI_CONTAINER(node, struct hgi_reload, node), now);
    }
    for (size_t i = 0; i < mail.refused_count; i++) {
        hgi_cache_load_done(mail.refused[i].cache, mail.refused[i].load_id, &result, now);
    }
}

/* One call a section and turn, so that a long queue of one does not hold up the others. */
static void send_loads(struct hgi_supervisor *s, const struct hgi_now *now)
{
    int64_t now_us = hgi_clock_boot_us();
    size_t without = 0;

    while (without < hgi_supervisor_sections(s)) {
        struct hgi_section *section = &s->sections[s->next_section];

        s->next_section = (s->next_section + 1) % hgi_supervisor_sections(s);
        if (hgi_section_is_ready(section, now_us) &&
            hgi_admission_take(&s->pool.admission, &section->seat)) {
            hgi_section_send(section, now);
            without = 0;
        } else {
            without++;
        }
    }
}

static void begin_hearing(struct hgi_supervisor *s, const struct hgi_now *now)
{
    if (s->pool.hearer.hear) {
        return;
    }
    hgi_lock_loader(&s->inbox.lock);
    s->pool.hearer = s->hearer;
    hgi_unlock_loader(&s->inbox.lock);
    if (!s->pool.hearer.hear) {
        return;
    }
    for (size_t i = 0; i < s->place_count; i++) {
        hgi_section_begin_hearing(&s->sections[i], now);
    }
    hgi_lock_loader(&s->inbox.lock);
    s->is_hearing = true;
    hgi_cond_wake_all(&s->changed);
    hgi_unlock_loader(&s->inbox.lock);
}

static void begin_stop(struct hgi_supervisor *s, const struct hgi_now *now)
{
    bool is_stopping;
    int64_t drain_ms;

    hgi_lock_loader(&s->inbox.lock);
    is_stopping = s->is_stopping;
    drain_ms = s->drain_ms;
    hgi_unlock_loader(&s->inbox.lock);
    if (!is_stopping || s->pool.is_stopping) {
        return;
    }
    s->pool.is_stopping = true;
    s->kill_ms = now->boot_ms + drain_ms;
    for (size_t i = 0; i < s->place_count; i++) {
        hgi_section_stop(&s->sections[i], now);
    }
}

/* What is due, for sections and children; children that are gone are buried here, because an event
 * of the same round may still point at them. */
static void tick(struct hgi_supervisor *s, const struct hgi_now *now)
{
    struct hgi_node *node = s->pool.children.next;

    while (node != &s->pool.children) {
        struct hgi_child *child = HGI_CONTAINER(node, struct hgi_child, node);

        node = node->next;
        if (s->pool.is_stopping && now->boot_ms >= s->kill_ms) {
            hgi_child_kill(child, "the server is stopping");
        }
        if (child->state != HGI_CHILD_GONE) {
            hgi_section_tick_child(child, now);
        }
        if (child->state == HGI_CHILD_GONE) {
            hgi_child_destroy(&child);
        }
    }
    for (size_t i = 0; i < s->place_count; i++) {
        hgi_section_tick(&s->sections[i], now);
    }
}

static int64_t due_ms_of(const struct hgi_supervisor *s, int64_t now_ms)
{
    int64_t due_ms = s->pool.is_stopping ? s->kill_ms : INT64_MAX;

    for (size_t i = 0; i < s->place_count; i++) {
        int64_t section_ms = hgi_section_due_ms(&s->sections[i]);

        due_ms = section_ms < due_ms ? section_ms : due_ms;
    }
    for (struct hgi_node *n = s->pool.children.next; n != &s->pool.children; n = n->next) {
        int64_t child_ms =
            hgi_section_child_due_ms(HGI_CONTAINER(n, struct hgi_child, node), now_ms);

        due_ms = child_ms < due_ms ? child_ms : due_ms;
    }
    return due_ms;
}

/* Microseconds until something is due, for batch windows are that short; negative: nothing is. */
static int64_t wait_us(const struct hgi_supervisor *s)
{
    int64_t now_us = hgi_clock_boot_us();
    int64_t due_ms = due_ms_of(s, now_us / 1000);
    int64_t left_us = -1;

    if (due_ms != INT64_MAX) {
        /* After the kill only deaths are waited for, and they wake epoll. */
        left_us = due_ms * 1000 > now_us ? due_ms * 1000 - now_us
                  : s->pool.is_stopping  ? 100000
                                         : 0;
    }
    for (size_t i = 0; i < s->place_count; i++) {
        int64_t window_us = hgi_section_window_us(&s->sections[i]);

        /* One that is over waits for a place, and whoever gives that back wakes epoll. */
        if (window_us > now_us && (left_us < 0 || window_us - now_us < left_us)) {
            left_us = window_us - now_us;
        }
    }
    return left_us;
}

static int wait_events(const struct hgi_supervisor *s, struct epoll_event *ret_events)
{
    int64_t left_us = wait_us(s);
    struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
    int count =
        epoll_pwait2(s->pool.epoll_fd, ret_events, EVENTS_MAX, left_us < 0 ? NULL : &left, NULL);

    HGI_BUG_ON(count < 0 && errno != EINTR);
    return count;
}

static void take_events(struct hgi_supervisor *s, const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        struct hgi_source *source = events[i].data.ptr;
        struct hgi_now now = hgi_clock_now();
        uint64_t drained;

        if (!source->child) {
            if (read(s->inbox.wake_fd, &drained, sizeof(drained)) < 0) {
                continue;
            }
        } else if (source->child->state == HGI_CHILD_GONE) {
            continue;
        } else if (source->is_socket) {
            hgi_section_read(source->child);
        } else {
            hgi_section_reap(source->child, &now);
        }
    }
}

static void flush_children(struct hgi_supervisor *s)
{
    for (struct hgi_node *n = s->pool.children.next; n != &s->pool.children; n = n->next) {
        hgi_child_flush(HGI_CONTAINER(n, struct hgi_child, node));
    }
}

/* Every child has ended, or was killed and does not. */
static bool is_over(const struct hgi_supervisor *s)
{
    const struct hgi_node *children = &s->pool.children;

    for (const struct hgi_node *n = children->next; n != children; n = n->next) {
        if (HGI_CONTAINER(n, struct hgi_child, node)->state != HGI_CHILD_STUCK) {
            return false;
        }
    }
    return s->pool.is_stopping;
}

static void disown_children(struct hgi_supervisor *s)
{
    while (!hgi_list_is_empty(&s->pool.children)) {
        struct hgi_child *child = HGI_CONTAINER(s->pool.children.next, struct hgi_child, node);

        hgi_log(HG_LOG_WARN,
                "loader %s: process %d still does not end; the system is left to reap it",
                hgi_section_name(child->section), (int)child->pid);
        hgi_child_disown(child);
        hgi_child_destroy(&child);
    }
}

static void run(void *arg)
{
    struct hgi_supervisor *s = arg;
    struct epoll_event events[EVENTS_MAX];
    struct hgi_now now = hgi_clock_now();

    for (size_t i = 0; i < s->place_count; i++) {
        hgi_section_start(&s->sections[i], &now);
    }
    for (;;) {
        int count;

        flush_children(s);
        publish(s);
        if (is_over(s)) {
            break;
        }
        now = hgi_clock_now();
        count = wait_events(s, events);
        take_events(s, events, count);
        now = hgi_clock_now();
        begin_stop(s, &now);
        begin_hearing(s, &now);
        take_mail(s, &now);
        hgi_supervisor_take_verdict(s, &now);
        tick(s, &now);
        send_loads(s, &now);
    }
    disown_children(s);
}

static bool create_parts(struct hgi_supervisor *s)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &s->inbox_source};

    s->entrances =
        hgi_alloc(&hgi_heap, HGI_LOADERS_MAX * HGI_VALUE_TYPE_COUNT * sizeof(*s->entrances));
    s->sections = hgi_alloc(&hgi_heap, HGI_LOADERS_MAX * sizeof(*s->sections));
    s->names = hgi_alloc(&hgi_heap, HGI_LOADERS_MAX * sizeof(*s->names));
    hgi_lock_loader(&s->inbox.lock);
    s->states = hgi_alloc(&hgi_heap, HGI_LOADERS_MAX * sizeof(*s->states));
    hgi_unlock_loader(&s->inbox.lock);
    s->pool.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return s->entrances && s->sections && s->names && s->pool.epoll_fd >= 0 &&
           epoll_ctl(s->pool.epoll_fd, EPOLL_CTL_ADD, s->inbox.wake_fd, &event) == 0;
}

/* Of a section's child and of the one it replaces: what is to be written, in a buffer of twice its
 * length, what is read, and what that says. */
size_t hgi_supervisor_bytes_max(size_t value_max)
{
    size_t frame = value_max + HGI_FRAME_CHILD_EXTRA;

    return 2 * (2 * HGI_CHILD_OUT_MAX_BYTES + 4 * frame + SECTION_BYTES);
}

void hgi_supervisor_name_section(struct hgi_supervisor *s, size_t section, const char *name)
{
    s->names[section] = name;
    for (size_t t = 0; t < HGI_VALUE_TYPE_COUNT; t++) {
        s->entrances[section * HGI_VALUE_TYPE_COUNT + t] =
            (struct hgi_entrance){s, section, (enum hg_value_type)(HG_TYPE_BYTES + t)};
    }
}

static void create_sections(struct hgi_supervisor *s)
{
    for (size_t i = 0; i < s->options->loader_count; i++) {
        hgi_supervisor_name_section(s, i, s->options->loaders[i].name);
        hgi_section_init(&s->sections[i], &s->pool, &s->options->loaders[i]);
        hgi_lock_loader(&s->inbox.lock);
        hgi_section_state(&s->sections[i], &s->states[i]);
        hgi_unlock_loader(&s->inbox.lock);
    }
    s->place_count = s->options->loader_count;
    atomic_store_explicit(&s->section_count, s->place_count, memory_order_release);
}

struct hgi_supervisor *hgi_supervisor_create(const struct hgi_supervisor_options *options)
{
    struct hgi_supervisor *s = hgi_alloc(&hgi_heap, sizeof(*s));
    bool is_done;

    if (!s) {
        return NULL;
    }
    s->options = options;
    s->pool.epoll_fd = -1;
    if (!hgi_inbox_init(&s->inbox)) {
        hgi_free(&hgi_heap, s);
        return NULL;
    }
    hgi_cond_init(&s->changed);
    hgi_list_init(&s->pool.children);
    is_done = create_parts(s);
    hgi_lock_loader(&s->inbox.lock);
    is_done = is_done && s->states;
    hgi_unlock_loader(&s->inbox.lock);
    if (!is_done) {
        hgi_supervisor_destroy(&s);
        return NULL;
    }
    s->pool.options = options;
    s->pool.inbox = &s->inbox;
    s->pool.hash_key = hgi_hash_key_new();
    hgi_admission_init(&s->pool.admission, options->loads_max, (uint32_t)options->loader_count);
    create_sections(s);
    return s;
}

void hgi_supervisor_destroy(struct hgi_supervisor **supervisor)
{
    struct hgi_supervisor *s = *supervisor;

    if (!s) {
        return;
    }
    HGI_BUG_ON(s->thread.is_started);
    if (s->pool.epoll_fd >= 0) {
        close(s->pool.epoll_fd);
    }
    hgi_lock_loader(&s->inbox.lock);
    hgi_free(&hgi_heap, s->states);
    hgi_unlock_loader(&s->inbox.lock);
    hgi_cond_deinit(&s->changed);
    hgi_inbox_deinit(&s->inbox);
    hgi_free(&hgi_heap, s->entrances);
    hgi_free(&hgi_heap, (void *)s->names);
    hgi_free(&hgi_heap, s->sections);
    hgi_free(&hgi_heap, s);
    *supervisor = NULL;
}

enum hg_status hgi_supervisor_start(struct hgi_supervisor *supervisor, char *ret_sentence)
{
    enum hg_status status = HG_OK;

    if (!hgi_thread_start(&supervisor->thread, "loader-io", run, supervisor)) {
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "cannot start the thread loader-io");
        return HG_RESOURCE_EXHAUSTED;
    }
    hgi_lock_loader(&supervisor->inbox.lock);
    while (!supervisor->has_failed && supervisor->settled < supervisor->options->loader_count) {
        (void)hgi_cond_wait(&supervisor->changed, &supervisor->inbox.lock, -1);
    }
    if (supervisor->has_failed) {
        status = HG_FAILED_PRECONDITION;
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "%s", supervisor->failure);
    }
    hgi_unlock_loader(&supervisor->inbox.lock);
    if (status != HG_OK) {
        hgi_supervisor_stop(supervisor, 0);
    }
    return status;
}

void hgi_supervisor_hear(struct hgi_supervisor *supervisor, const struct hgi_hearer *hearer)
{
    HGI_BUG_ON(!supervisor->thread.is_started);
    hgi_lock_loader(&supervisor->inbox.lock);
    supervisor->hearer = *hearer;
    hgi_unlock_loader(&supervisor->inbox.lock);
    hgi_inbox_wake(&supervisor->inbox);
    hgi_lock_loader(&supervisor->inbox.lock);
    while (!supervisor->is_hearing) {
        (void)hgi_cond_wait(&supervisor->changed, &supervisor->inbox.lock, -1);
    }
    hgi_unlock_loader(&supervisor->inbox.lock);
}

void hgi_supervisor_stop(struct hgi_supervisor *supervisor, int64_t drain_ms)
{
    struct hgi_now now;

    if (supervisor->thread.is_started) {
        hgi_lock_loader(&supervisor->inbox.lock);
        supervisor->is_stopping = true;
        supervisor->drain_ms = drain_ms;
        hgi_unlock_loader(&supervisor->inbox.lock);
        hgi_inbox_wake(&supervisor->inbox);
        hgi_thread_join(&supervisor->thread);
        hgi_inbox_close(&supervisor->inbox);
    }
    /* What came while loader-io was ending. Nobody else looks any more, so this is its work. */
    now = hgi_clock_now();
    take_mail(supervisor, &now);
}

struct hgi_executor hgi_supervisor_executor(struct hgi_supervisor *supervisor, const char *loader,
                                            enum hg_value_type value_type)
{
    size_t count = hgi_supervisor_sections(supervisor) + supervisor->newcomer_count;
    size_t section = hgi_supervisor_find(supervisor, count, hg_slice_text(loader));
    size_t entrance = section * HGI_VALUE_TYPE_COUNT + (value_type - HG_TYPE_BYTES);

    HGI_BUG_ON(section == count);
    return (struct hgi_executor){.start = executor_start,
                                 .cancel = executor_cancel,
                                 .hold = executor_hold,
                                 .release = executor_release,
                                 .context = &supervisor->entrances[entrance]};
}

size_t hgi_supervisor_count(const struct hgi_supervisor *supervisor)
{
    return hgi_supervisor_sections(supervisor);
}

void hgi_supervisor_state(struct hgi_supervisor *supervisor, size_t index,
                          struct hgi_loader_state *ret_state)
{
    HGI_BUG_ON(index >= hgi_supervisor_sections(supervisor));
    hgi_lock_loader(&supervisor->inbox.lock);
    *ret_state = supervisor->states[index];
    hgi_unlock_loader(&supervisor->inbox.lock);
}
