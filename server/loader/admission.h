/* SPDX-License-Identifier: Apache-2.0 */
/* admission: how many loads run at once, over all loaders.
 * Owns:     the count.
 * Threads:  loader-io.
 * Limits:   loads_max in all. The last free places are kept for loaders that run nothing, so that
 *           a loader whose loads all hang leaves every other one a place.
 * Errors:   none; no place is an answer.
 * Not here: a child's own limit (child), the order of the queue (section). */
#ifndef HGI_SERVER_LOADER_ADMISSION_H
#define HGI_SERVER_LOADER_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

/* What one loader has taken. */
struct hgi_seat {
    uint32_t taken;
};

struct hgi_admission {
    uint32_t loads_max;
    uint32_t taken;
    uint32_t idle_seats; /* loaders that have taken none */
};

void hgi_admission_init(struct hgi_admission *admission, uint32_t loads_max, uint32_t seat_count);
/* One more loader. */
void hgi_admission_add_seat(struct hgi_admission *admission);
/* Whether a load of this loader may be sent now; if so it is counted. */
bool hgi_admission_take(struct hgi_admission *admission, struct hgi_seat *seat);
void hgi_admission_give(struct hgi_admission *admission, struct hgi_seat *seat);

#endif
