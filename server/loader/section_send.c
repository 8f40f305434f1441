/* SPDX-License-Identifier: Apache-2.0 */
/* How queued loads go to the child: one by one, or several of one cache in a call. */
#include "section.h"

#include "base/check.h"

/* How many more loads one frame may carry to the child now; 0: it is full. */
static uint32_t room_of(const struct hgi_child *child)
{
    uint32_t used = child->is_async ? child->load_count : child->call_count;

    if (used >= child->capacity) {
        return 0;
    }
    return child->is_async && child->capacity - used < child->batch_max ? child->capacity - used
                                                                        : child->batch_max;
}

static bool can_send(const struct hgi_section *section)
{
    return section->current && section->current->fd >= 0 && !section->current->ending_ms &&
           room_of(section->current) > 0 && !hgi_list_is_empty(&section->queue);
}

static struct hgi_load *first_of(const struct hgi_section *section)
{
    return HGI_CONTAINER(section->queue.next, struct hgi_load, node);
}

static bool is_mate(const struct hgi_load *load, const struct hgi_load *first)
{
    return load->cache == first->cache && load->value_type == first->value_type;
}

/* As many of the first one's cache are queued as a call takes: there is nothing to wait for. */
static bool is_full_call(const struct hgi_section *section)
{
    const struct hgi_load *first = first_of(section);
    uint32_t count = 0;

    for (struct hgi_node *n = section->queue.next; n != &section->queue; n = n->next) {
        count += is_mate(HGI_CONTAINER(n, struct hgi_load, node), first);
        if (count == room_of(section->current)) {
            return true;
        }
    }
    return false;
}

int64_t hgi_section_window_us(const struct hgi_section *section)
{
    if (!section->config->batch_window_us || !can_send(section) ||
        section->current->batch_max == 1 || is_full_call(section)) {
        return 0;
    }
    return first_of(section)->queued_us + section->config->batch_window_us;
}

bool hgi_section_is_ready(const struct hgi_section *section, int64_t now_us)
{
    return can_send(section) && hgi_section_window_us(section) <= now_us;
}

/* Old values are a help, not a need: beside what must be sent, they get what room there is, in the
 * frame and in what the child has not read yet. */
static bool takes_old(const struct hgi_child *child, const struct hgi_load *load,
                      size_t *inout_bytes)
{
    size_t bytes = *inout_bytes + load->old_value.len + load->etag.len;

    if (bytes > HGI_CHILD_OLD_MAX_BYTES || child->out.len + bytes > HGI_CHILD_OUT_MAX_BYTES / 2) {
        return false;
    }
    *inout_bytes = bytes;
    return true;
}

/* From the queue to the child, as one of the call that `first` begins. */
static void move(struct hgi_section *section, struct hgi_load *load, struct hgi_load *first,
                 const struct hgi_now *now, size_t *inout_old_bytes,
                 struct hgi_frame_load *ret_load)
{
    struct hgi_child *child = section->current;

    hgi_list_remove(&load->node);
    section->queued--;
    load->child = child;
    load->wire_id = ++section->pool->wire_id_last;
    load->sent_ms = now->boot_ms;
    load->is_counted = true;
    hgi_list_push_back(&child->loads, &load->node);
    child->load_count++;
    if (load != first) {
        hgi_list_push_back(&first->mates, &load->mates);
    }
    *ret_load = (struct hgi_frame_load){
        .id = load->wire_id,
        .cache = hg_slice_text(hgi_cache_name(load->cache)),
        .key = load->key,
        .value_type = load->value_type,
        .attempt = load->attempt,
        .remaining_ms = (uint32_t)load->timeout_ms,
        .traceparent = hgi_trace_parent(&load->trace),
    };
    if (load->has_old && child->wants_old && takes_old(child, load, inout_old_bytes)) {
        ret_load->has_old = true;
        ret_load->old_value = load->old_value;
        ret_load->etag = load->etag;
    }
    hgi_cache_load_sent(load->cache, load->load_id, child->pid, now);
}

void hgi_section_send(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_child *child = section->current;
    struct hgi_frame_load loads[HGI_CHILD_BATCH_MAX];
    struct hgi_load *first = first_of(section);
    struct hgi_node *node = first->node.next;
    struct hgi_frame frame = {.kind = HGI_FRAME_LOAD};
    uint32_t room = room_of(child);
    size_t old_bytes = 0;
    uint32_t count = 0;

    move(section, first, first, now, &old_bytes, &loads[count++]);
    while (node != &section->queue && count < room) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);

        node = node->next;
        if (!is_mate(load, first)) {
            continue;
        }
        if (!hgi_admission_take(&section->pool->admission, &section->seat)) {
            break;
        }
        move(section, load, first, now, &old_bytes, &loads[count++]);
    }
    child->call_count++;
    if (count == 1) {
        frame.u.load = loads[0];
    } else {
        frame.kind = HGI_FRAME_LOADS;
        frame.u.loads = (struct hgi_frame_loads){loads, count};
    }
    hgi_child_put(child, &frame);
}
