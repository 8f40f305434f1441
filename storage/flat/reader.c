/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t left_until(int64_t limit_ms, int64_t age_ms, const struct hgi_view *view,
                          const struct hgi_now *now)
{
    int64_t left = limit_ms - age_ms;

    if (view->expires_wall_ms) {
        left = lesser(left, view->expires_wall_ms - now->wall_ms);
        left = lesser(left, view->expires_boot_ms - now->boot_ms);
    }
    return left > 0 ? left : 0;
}

static void describe(const struct hgi_view *view, bool is_softened, int64_t age_ms,
                     const struct hgi_now *now, struct hgi_found_entry *ret_entry)
{
    ret_entry->outcome = view->outcome;
    ret_entry->born = view->born;
    ret_entry->is_softened = is_softened;
    ret_entry->age_ms = age_ms;
    ret_entry->ttl_ms = view->ttl_ms;
    ret_entry->load_ms = view->load_ms;
    ret_entry->ttl_left_ms = is_softened ? 0 : left_until(view->ttl_ms, age_ms, view, now);
    ret_entry->stale_left_ms = left_until(view->stale_ttl_ms, age_ms, view, now);
    ret_entry->refresh_after_ms = view->refresh_after_ms;
    ret_entry->refresh_backoff_ms = view->refresh_backoff_ms;
    ret_entry->is_refused = view->is_refused;
}

static enum hgi_found judge(const struct hgi_view *view, bool is_softened, int64_t age_ms,
                            int64_t max_age_ms)
{
    if (!is_softened && age_ms <= view->ttl_ms && (max_age_ms < 0 || age_ms <= max_age_ms)) {
        return HGI_FRESH;
    }
    if (view->outcome != HG_VALUE) {
        return HGI_MISS;
    }
    return age_ms <= view->stale_ttl_ms ? HGI_STALE : HGI_KEPT;
}

struct hgi_standing hgi_reader_judge(const struct hgi_memory *memory, const struct hgi_front *front,
                                     const struct hgi_front_shard *shard,
                                     const struct hgi_view *view)
{
    struct hgi_standing standing = {.is_dead = view->born < hgi_front_cleared(shard),
                                    .is_softened = view->is_softened};

    if (!view->tag_count || view->born >= hgi_front_tags_last(front)) {
        return standing;
    }
    for (size_t i = 0; i < view->tag_count; i++) {
        uint32_t place;
        uint64_t hard;
        uint64_t soft;

        hgi_racy_load(&place, (const unsigned char *)view->tag_places + i * sizeof(place),
                      sizeof(place));
        /* A reader that has a place that is none will find that its version has moved. */
        if (hgi_tag_numbers_read(memory, place, &hard, &soft)) {
            standing.is_dead = standing.is_dead || view->born < hard;
            standing.is_softened = standing.is_softened || view->born < soft;
        }
    }
    return standing;
}

/* Copies what may be changing; false: no memory. */
static bool copy_value(struct hg_bytes *ret_value, struct hg_slice value)
{
    hgi_bytes_clear(ret_value);
    if (!hgi_bytes_reserve(ret_value, value.len)) {
        return false;
    }
    if (value.len) {
        hgi_racy_load(ret_value->data, value.data, value.len);
        ret_value->len = value.len;
    }
    return true;
}

/* What the view is for this lookup. `reading` (NULL: the shard is locked): the outputs are given
 * only if the item was whole all the time. */
static enum hgi_reader_verdict look_at(const struct hgi_reader *reader,
                                       const struct hgi_lookup *lookup, const struct hgi_view *view,
                                       const struct hgi_reading *reading, enum hgi_found *ret_found)
{
    const struct hgi_now *now = lookup->now;
    struct hgi_standing standing = hgi_reader_judge(&reader->memory, reader->front,
                                                    hgi_reader_shard(reader, lookup->hash), view);
    int64_t age_ms = now->boot_ms > view->published_ms ? now->boot_ms - view->published_ms : 0;
    bool is_over = !standing.is_dead && hgi_view_is_over(view, now);
    enum hgi_found found = HGI_MISS;

    if (!standing.is_dead && !is_over) {
        found = judge(view, standing.is_softened, age_ms, lookup->max_age_ms);
    }
    if (found != HGI_MISS && lookup->ret_value) {
        /* Before its length is believed. */
        if (reading && !hgi_reading_holds(reading)) {
            return HGI_READER_TORN;
        }
        if (view->value.len > lookup->value_max || !copy_value(lookup->ret_value, view->value)) {
            found = HGI_MISS;
        }
    }
    if (reading && !hgi_reading_holds(reading)) {
        return HGI_READER_TORN;
    }
    if (found != HGI_MISS) {
        describe(view, standing.is_softened, age_ms, now, lookup->ret_entry);
    }
    *ret_found = found;
    return is_over ? HGI_READER_OVER : HGI_READER_ANSWERED;
}

/* Who does not want the value looks, and reads nothing. */
static void count_read(const struct hgi_reader *reader, const struct hgi_lookup *lookup,
                       uint32_t place, enum hgi_found found)
{
    if (found != HGI_MISS && lookup->ret_value) {
        hgi_heat_touch(&reader->heat, place);
    }
}

enum hgi_reader_verdict hgi_reader_look_at(const struct hgi_reader *reader,
                                           const struct hgi_lookup *lookup, uint32_t place,
                                           const struct hgi_view *view, enum hgi_found *ret_found)
{
    enum hgi_reader_verdict verdict = look_at(reader, lookup, view, NULL, ret_found);

    if (verdict == HGI_READER_ANSWERED) {
        count_read(reader, lookup, place, *ret_found);
    }
    return verdict;
}

enum hgi_reader_verdict hgi_reader_look(const struct hgi_reader *reader,
                                        const struct hgi_lookup *lookup, enum hgi_found *ret_found)
{
    const struct hgi_front_shard *shard = hgi_reader_shard(reader, lookup->hash);
    struct hgi_reading reading;

    *ret_found = HGI_MISS;
    for (unsigned tries = 0; tries < HGI_READER_TRIES; tries++) {
        enum hgi_read read =
            hgi_reading_begin(&reader->memory, shard, lookup->hash, lookup->key, &reading);
        enum hgi_reader_verdict verdict = HGI_READER_TORN;

        if (read == HGI_READ_NONE) {
            return HGI_READER_ANSWERED;
        }
        if (read == HGI_READ_ITEM) {
            hgi_heat_fetch(&reader->heat, reading.place);
            verdict = look_at(reader, lookup, &reading.view, &reading, ret_found);
        }
        if (verdict == HGI_READER_ANSWERED) {
            count_read(reader, lookup, reading.place, *ret_found);
        }
        if (verdict != HGI_READER_TORN) {
            return verdict;
        }
    }
    return HGI_READER_TORN;
}

void hgi_reader_fetch(const struct hgi_reader *reader, const struct hg_slice *keys, size_t count,
                      uint64_t *ret_hashes)
{
    for (size_t i = 0; i < count; i++) {
        ret_hashes[i] = hgi_reader_hash(reader, keys[i]);
        hgi_reading_fetch_bucket(&reader->memory, hgi_reader_shard(reader, ret_hashes[i]),
                                 ret_hashes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t place = hgi_reading_fetch_item(
            &reader->memory, hgi_reader_shard(reader, ret_hashes[i]), ret_hashes[i]);

        if (hgi_memory_holds(&reader->memory, place, 1)) { /* it may be torn */
            hgi_heat_fetch(&reader->heat, place);
        }
    }
}
