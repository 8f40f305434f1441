/* SPDX-License-Identifier: Apache-2.0 */
#include "digests.h"

#include <string.h>

#define PLACES_MIN 16u

static size_t places_for(size_t count)
{
    size_t places = PLACES_MIN;

    while (places / 3 * 2 <= count) {
        places *= 2;
    }
    return places;
}

bool hgi_digests_init(struct hgi_digests *digests, size_t count)
{
    size_t places = places_for(count);

    memset(digests, 0, sizeof(*digests));
    digests->places = hgi_alloc(&hgi_heap, places * sizeof(*digests->places));
    digests->mask = digests->places ? places - 1 : 0;
    return digests->places != NULL;
}

void hgi_digests_deinit(struct hgi_digests *digests)
{
    hgi_free(&hgi_heap, digests->places);
    memset(digests, 0, sizeof(*digests));
}

/* Digests are hashes under a secret key: their low bits are as good as any. */
static struct hgi_digest_place *place_of(const struct hgi_digests *digests, uint64_t digest)
{
    size_t at = digest & digests->mask;

    while (digests->places[at].number != 0 && digests->places[at].digest != digest) {
        at = (at + 1) & digests->mask;
    }
    return &digests->places[at];
}

static bool grow(struct hgi_digests *digests)
{
    struct hgi_digests grown;

    if (!hgi_digests_init(&grown, 2 * digests->count)) {
        return false;
    }
    for (size_t i = 0; i <= digests->mask; i++) {
        if (digests->places[i].number != 0) {
            *place_of(&grown, digests->places[i].digest) = digests->places[i];
        }
    }
    grown.count = digests->count;
    hgi_digests_deinit(digests);
    *digests = grown;
    return true;
}

bool hgi_digests_raise(struct hgi_digests *digests, uint64_t digest, uint64_t number)
{
    struct hgi_digest_place *place = place_of(digests, digest);

    if (place->number == 0) {
        if (digests->count + 1 > (digests->mask + 1) / 3 * 2) {
            if (!grow(digests)) {
                return false;
            }
            place = place_of(digests, digest);
        }
        digests->count++;
        *place = (struct hgi_digest_place){.digest = digest};
    }
    if (number > place->number) {
        place->number = number;
    }
    return true;
}

uint64_t hgi_digests_find(const struct hgi_digests *digests, uint64_t digest)
{
    return digests->places ? place_of(digests, digest)->number : 0;
}
