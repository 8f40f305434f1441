/* SPDX-License-Identifier: Apache-2.0 */
#include "shelf.h"

bool shelf_fill(struct shelf *shelf, const struct shelf_kind *kind, uint32_t records)
{
    shelf->kind = kind;
    shelf->self = kind->open(records);
    for (uint32_t i = 0; shelf->self && i < records; i++) {
        if (!kind->put(shelf->self, i)) {
            shelf_close(shelf);
        }
    }
    return shelf->self != NULL;
}

void shelf_close(struct shelf *shelf)
{
    if (shelf->self) {
        shelf->kind->close(shelf->self);
    }
    shelf->self = NULL;
}
