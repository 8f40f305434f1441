/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdlib.h>

struct job *job_create(const struct hg_host_services *services, enum hg_key_kind kind,
                       enum query query)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job) {
        job->services = services;
        job->kind = kind;
        job->query = query;
    }
    return job;
}

void job_destroy(struct job **job)
{
    if (*job) {
        for (size_t i = 0; i < JOB_PARTS_MAX; i++) {
            text_clear(&(*job)->lists[i]);
        }
        free(*job);
        *job = NULL;
    }
}

/* What a text of PostgreSQL can be: well-formed UTF-8 (RFC 3629) without a NUL. */
static bool is_text(struct hg_slice part)
{
    const unsigned char *at = part.data;
    const unsigned char *end = part.len ? at + part.len : at;

    while (at < end) {
        unsigned char first = *at++;
        size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        uint32_t code = more == 0 ? first : first & (0x3fu >> more);

        if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4 ||
            (size_t)(end - at) < more) {
            return false;
        }
        for (size_t i = 0; i < more; i++) {
            if ((at[i] & 0xc0) != 0x80) {
                return false;
            }
            code = code << 6 | (at[i] & 0x3fu);
        }
        at += more;
        if ((more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
            (more == 3 && (code < 0x10000 || code > 0x10ffff))) {
            return false;
        }
    }
    return true;
}

/* One element of an array's text, quoted. */
static bool append_element(struct text *list, struct hg_slice part)
{
    const char *data = part.data;
    bool is_done = text_append_word(list, list->len ? ",\"" : "{\"");

    for (size_t i = 0; i < part.len && is_done; i++) {
        if (data[i] == '"' || data[i] == '\\') {
            is_done = text_append_word(list, "\\");
        }
        is_done = is_done && text_append(list, data + i, 1);
    }
    return is_done && text_append_word(list, "\"");
}

static size_t parts_of(const struct hg_key *key, struct hg_slice ret_parts[JOB_PARTS_MAX])
{
    if (key->kind == HG_KEY_BYTES || key->kind == HG_KEY_KEY_HASH) {
        ret_parts[0] = key->bytes;
        return 1;
    }
    ret_parts[0] = key->user_id;
    ret_parts[1] = key->api_key_id;
    ret_parts[2] = hg_slice_text(key->is_standalone ? "t" : "f");
    return key->kind == HG_KEY_API_KEY_FEATURE ? 3 : 2;
}

bool job_add(struct job *job, struct hg_load *load, const struct hg_load_request *request,
             int64_t now_ms)
{
    struct hg_slice parts[JOB_PARTS_MAX];
    size_t count = parts_of(&request->key, parts);
    struct job_load *place = &job->loads[job->count];

    for (size_t i = 0; i < count; i++) {
        if (!is_text(parts[i])) {
            job->services->done_error(load, HG_INVALID_ARGUMENT,
                                      "the key is no UTF-8, or has a NUL, which no text of "
                                      "PostgreSQL can be");
            return false;
        }
    }
    if (job->is_broken) {
        job->services->done_error(load, HG_RESOURCE_EXHAUSTED, "out of memory");
        return false;
    }
    *place = (struct job_load){
        .load = load, .request = request, .until_ms = now_ms + request->remaining_ms};
    job->count++;
    for (size_t i = 0; i < count; i++) {
        if (!append_element(&job->lists[i], parts[i])) {
            job->is_broken = true;
            job_fail(job, HG_RESOURCE_EXHAUSTED, "out of memory");
            return false;
        }
    }
    return true;
}

bool job_close(struct job *job)
{
    for (size_t i = 0; i < JOB_PARTS_MAX; i++) {
        if (job->lists[i].len && !text_append_word(&job->lists[i], "}")) {
            return false;
        }
    }
    return !job->is_broken;
}

void job_fail(struct job *job, enum hg_status status, const char *text)
{
    for (size_t i = 0; i < job->count; i++) {
        if (!job->loads[i].is_done) {
            job->loads[i].is_done = true;
            job->services->done_error(job->loads[i].load, status, text);
        }
    }
}

bool job_expire(struct job *job, bool look, int64_t now_ms)
{
    bool is_over = true;

    for (size_t i = 0; i < job->count; i++) {
        struct job_load *load = &job->loads[i];

        if (load->is_done) {
            continue;
        }
        if (now_ms >= load->until_ms) {
            load->is_done = true;
            job->services->done_error(load->load, HG_DEADLINE_EXCEEDED,
                                      "the database did not answer in time");
        } else if (look && job->services->is_cancelled(load->load)) {
            load->is_done = true;
            job->services->done_error(load->load, HG_CANCELLED, "cancelled");
        } else {
            is_over = false;
        }
    }
    return is_over;
}

int64_t job_due_ms(const struct job *job)
{
    int64_t due_ms = INT64_MAX;

    for (size_t i = 0; i < job->count; i++) {
        if (!job->loads[i].is_done && job->loads[i].until_ms < due_ms) {
            due_ms = job->loads[i].until_ms;
        }
    }
    return due_ms;
}
