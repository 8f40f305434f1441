/* SPDX-License-Identifier: Apache-2.0 */
#include "admission.h"

#include "base/check.h"

void hgi_admission_init(struct hgi_admission *admission, uint32_t loads_max, uint32_t seat_count)
{
    admission->loads_max = loads_max;
    admission->taken = 0;
    admission->idle_seats = seat_count;
}

void hgi_admission_add_seat(struct hgi_admission *admission)
{
    admission->idle_seats++;
}

bool hgi_admission_take(struct hgi_admission *admission, struct hgi_seat *seat)
{
    uint32_t left = admission->loads_max - admission->taken;

    if (left == 0 || (seat->taken > 0 && left <= admission->idle_seats)) {
        return false;
    }
    if (seat->taken == 0) {
        admission->idle_seats--;
    }
    seat->taken++;
    admission->taken++;
    return true;
}

void hgi_admission_give(struct hgi_admission *admission, struct hgi_seat *seat)
{
    HGI_BUG_ON(seat->taken == 0 || admission->taken == 0);
    seat->taken--;
    admission->taken--;
    if (seat->taken == 0) {
        admission->idle_seats++;
    }
}
