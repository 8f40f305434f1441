/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader's process says, to the real section and the real engine. First byte: what the
 * process is in; the rest is what it writes. The process itself is none: its signals go nowhere
 * (kill is wrapped at link time). Every call is answered once, and nothing is left at the end. */
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fuzz.h"
#include "server/loader/section.h"

#define NO_PID         INT32_MAX
#define CALLS_COUNT    4
#define VALUE_MAX      1024u
#define HGI_FUZZ_ROOM  (1u << 20)
#define PUBLISHED_AGO  1000
#define OLD_VALUE_TEXT "old"

int __wrap_kill(pid_t pid, int sig);
int __real_kill(pid_t pid, int sig);

int __wrap_kill(pid_t pid, int sig)
{
    return pid == NO_PID || pid == -NO_PID ? 0 : __real_kill(pid, sig);
}

struct asked {
    struct hgi_call call;
    char key[16];
    unsigned answers;
};

struct world {
    struct hgi_inbox inbox;
    struct hgi_supervisor_options options;
    struct hgi_loader_config config;
    struct hgi_pool pool;
    struct hgi_section section;
    struct hgi_cache *cache;
    struct hg_bytes scratch;
    int far_fd; /* the process's end */
    struct asked calls[CALLS_COUNT];
};

static void start_load(void *context, const struct hgi_load_order *order)
{
    struct world *w = context;

    hgi_inbox_start(&w->inbox, 0, HG_TYPE_BYTES, order);
}

static void cancel_load(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct world *w = context;

    hgi_inbox_cancel(&w->inbox, cache, load_id);
}

static void take_answer(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct asked *asked = HGI_CONTAINER(call, struct asked, call);

    HGI_BUG_ON(++asked->answers > 1);
    HGI_BUG_ON(answer->value.len > VALUE_MAX);
}

static bool hear(void *context, const char *loader, const struct hgi_frame_invalidate *what,
                 const struct hgi_now *now)
{
    struct world *w = context;
    struct hgi_report report;
    struct hgi_cover cover = {.keys = &what->key,
                              .key_count = what->what == HG_INVALIDATED_KEY,
                              .tags = &what->name,
                              .tag_count = what->what == HG_INVALIDATED_TAG};

    (void)loader;
    if (what->what == HG_INVALIDATED_ALL) {
        hgi_cache_clear(w->cache, now, &report);
    } else {
        cover.first_part = what->what == HG_INVALIDATED_USER ? what->name : hg_slice_of(NULL, 0);
        hgi_cache_invalidate_cover(w->cache, &cover, now, &report);
    }
    return what->cache.len == 0;
}

/* Loads and cancels go where the supervisor takes them. */
static void move_mail(struct world *w, const struct hgi_now *now)
{
    struct hgi_mail mail;
    struct hgi_node *node;

    if (!hgi_inbox_take(&w->inbox, &mail)) {
        return;
    }
    for (size_t i = 0; i < mail.refused_count; i++) { /* as the supervisor ends them */
        const struct hgi_result result = {.status = HG_RESOURCE_EXHAUSTED,
                                          .message = hg_slice_text("no memory")};

        hgi_cache_load_done(mail.refused[i].cache, mail.refused[i].load_id, &result, now);
    }
    while ((node = hgi_list_pop_front(&mail.loads))) {
        hgi_section_enqueue(&w->section, HGI_CONTAINER(node, struct hgi_load, node), now);
    }
    while ((node = hgi_list_pop_front(&mail.cancels))) {
        hgi_section_cancel(&w->section, HGI_CONTAINER(node, struct hgi_load, cancel_node), now);
    }
    while (hgi_section_is_ready(&w->section, hgi_clock_boot_us()) &&
           hgi_admission_take(&w->pool.admission, &w->section.seat)) {
        hgi_section_send(&w->section, now);
    }
}

static struct hgi_child *add_child(struct world *w, enum hgi_child_state state)
{
    struct hgi_child *child = hgi_alloc(&hgi_heap, sizeof(*child));
    struct epoll_event event = {.events = EPOLLIN};
    int pair[2];
    int room = HGI_FUZZ_ROOM;

    HGI_BUG_ON(!child ||
               socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0);
    HGI_BUG_ON(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) != 0);
    child->fd = pair[0];
    w->far_fd = pair[1];
    child->pid = NO_PID;
    child->pid_fd = -1;
    child->epoll_fd = w->pool.epoll_fd;
    child->section = &w->section;
    child->config = &w->config;
    child->state = state;
    child->frame_max = hgi_frame_child_max(w->options.value_max_bytes);
    child->capacity = CALLS_COUNT;
    child->batch_max = 2;
    child->is_async = true;
    child->wants_old = true;
    child->has_health = true;
    child->health_asked_ms = 1;
    hgi_bytes_init(&child->in, &hgi_heap);
    hgi_bytes_init(&child->out, &hgi_heap);
    hgi_list_init(&child->loads);
    hgi_list_push_back(&w->pool.children, &child->node);
    HGI_BUG_ON(epoll_ctl(w->pool.epoll_fd, EPOLL_CTL_ADD, child->fd, &event) != 0);
    return child;
}

static void begin(struct world *w)
{
    static const struct hgi_policy policy = {.mode = HG_MODE_REVALIDATE,
                                             .ttl_ms = PUBLISHED_AGO / 2,
                                             .stale_ttl_ms = 60000,
                                             .negative_ttl_ms = 5000,
                                             .load_timeout_ms = 60000,
                                             .wait_budget_ms = 60000,
                                             .max_entries = 16,
                                             .max_bytes = 65536,
                                             .max_loads = CALLS_COUNT,
                                             .queue_max = 16,
                                             .waiters_max = 16};
    const struct hgi_executor executor = {.start = start_load, .cancel = cancel_load, .context = w};
    const struct hgi_cache_options options = {
        .name = "c", .policy = &policy, .executor = &executor, .start_generation = 1, .seed = 1};

    *w = (struct world){.options = {.loader_count = 1, .loads_max = 16},
                        .config = {.name = "l", .plugin = "/p.so", .workers = CALLS_COUNT}};
    w->options.value_max_bytes = VALUE_MAX;
    w->options.loaders = &w->config;
    HGI_BUG_ON(!hgi_inbox_init(&w->inbox));
    w->pool.options = &w->options;
    w->pool.inbox = &w->inbox;
    w->pool.hearer = (struct hgi_hearer){hear, w};
    w->pool.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    hgi_list_init(&w->pool.children);
    hgi_admission_init(&w->pool.admission, w->options.loads_max, 1);
    w->section.pool = &w->pool;
    w->section.config = &w->config;
    hgi_list_init(&w->section.queue);
    hgi_bytes_init(&w->scratch, &hgi_heap);
    w->cache = hgi_cache_create(&hgi_heap, &options);
    HGI_BUG_ON(!w->cache || w->pool.epoll_fd < 0);
}

/* Four reads, the last of a value that has grown old, so that its load may be told "unchanged". */
static void ask(struct world *w, const struct hgi_now *now)
{
    const struct hgi_now before = {now->boot_ms - PUBLISHED_AGO, now->wall_ms - PUBLISHED_AGO};
    struct hgi_put put = {.outcome = HG_VALUE, .value = hg_slice_text(OLD_VALUE_TEXT)};
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    for (size_t i = 0; i < CALLS_COUNT; i++) {
        struct asked *asked = &w->calls[i];
        int len = snprintf(asked->key, sizeof(asked->key), "key %zu", i);

        asked->call = (struct hgi_call){
            .key = hg_slice_of(asked->key, (size_t)len), .max_age_ms = -1, .done = take_answer};
        if (i == CALLS_COUNT - 1) {
            put.key = asked->call.key;
            HGI_BUG_ON(hgi_cache_put(w->cache, &put, &before, &entry, sentence) != HG_OK &&
                       !fuzz_has_failed());
        }
        hgi_cache_read(w->cache, &asked->call, &w->scratch, now);
    }
    move_mail(w, now);
}

static void lose_loads(struct world *w, struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_node *node;

    while ((node = child->loads.next) != &child->loads) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);
        uint64_t load_id = load->load_id;

        hgi_section_judge_lost(&w->section, load, now);
        hgi_section_forget(&w->pool, &w->section, load);
        hgi_cache_load_lost(w->cache, load_id, now);
    }
}

static void finish(struct world *w, struct hgi_child *child)
{
    struct hgi_now now = hgi_clock_now();

    hgi_cache_stop(w->cache, &now);
    w->pool.is_stopping = true;
    hgi_section_stop(&w->section, &now);
    lose_loads(w, child, &now);
    move_mail(w, &now); /* what was started since ends at once */
    for (size_t i = 0; i < CALLS_COUNT; i++) {
        HGI_BUG_ON(w->calls[i].answers != 1);
    }
    HGI_BUG_ON(child->load_count != 0 || w->pool.admission.taken != 0);
    child->state = HGI_CHILD_GONE;
    hgi_child_destroy(&child);
    hgi_cache_destroy(&w->cache);
    hgi_bytes_deinit(&w->scratch);
    hgi_inbox_deinit(&w->inbox);
    close(w->pool.epoll_fd);
    close(w->far_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum hgi_child_state states[] = {HGI_CHILD_READY, HGI_CHILD_STARTING,
                                                  HGI_CHILD_TESTING, HGI_CHILD_DRAINING};
    static struct world w;
    struct hgi_now now = hgi_clock_now();
    struct hg_slice input = hg_slice_of(data, size);
    enum hgi_child_state state = states[fuzz_number(&input, 1) % HGI_COUNT_OF(states)];
    struct hgi_child *child;

    begin(&w);
    child = add_child(&w, state == HGI_CHILD_DRAINING ? HGI_CHILD_READY : state);
    if (child->state == HGI_CHILD_READY) {
        w.section.current = child;
    } else {
        w.section.next = child;
    }
    fuzz_memory_may_fail(true);
    ask(&w, &now);
    if (state == HGI_CHILD_DRAINING) {
        hgi_section_retire(&w.section, &now);
    }
    HGI_BUG_ON(input.len && write(w.far_fd, input.data, input.len) != (ssize_t)input.len);
    hgi_section_read(child);
    move_mail(&w, &now);
    finish(&w, child);
    fuzz_memory_may_fail(false);
    return 0;
}
