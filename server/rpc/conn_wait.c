/* SPDX-License-Identifier: Apache-2.0 */
#include "conn_wait.h"

static int64_t limit_of(const struct hgi_limits *limits, enum hgi_wait what)
{
    switch (what) {
    case HGI_WAIT_HANDSHAKE:
        return limits->handshake_ms;
    case HGI_WAIT_BODY:
        return limits->body_ms;
    case HGI_WAIT_IDLE:
        return limits->idle_ms;
    case HGI_WAIT_WRITE:
        return limits->write_ms;
    case HGI_WAIT_NOTHING:
        break;
    }
    return INT64_MAX;
}

bool hgi_conn_wait_is_over(struct hgi_conn_wait *wait, enum hgi_wait what, uint64_t mark,
                           const struct hgi_limits *limits, int64_t now_ms)
{
    if (wait->what != what || wait->mark != mark) {
        *wait = (struct hgi_conn_wait){.what = what, .mark = mark, .since_ms = now_ms};
        return false;
    }
    return now_ms - wait->since_ms > limit_of(limits, what);
}
