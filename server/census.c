/* SPDX-License-Identifier: Apache-2.0 */
#include "census.h"

#include <dirent.h>

size_t hgi_census_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count > 3 ? count - 3 : 0; /* ".", ".." and the folder itself */
}

static size_t unaccounted(size_t open_count, size_t accounted)
{
    return open_count > accounted ? open_count - accounted : 0;
}

void hgi_census_init(struct hgi_census *census, size_t open_count, size_t accounted, size_t growth)
{
    census->allowed = unaccounted(open_count, accounted) + growth + HGI_CENSUS_MARGIN;
    census->over_since_ms = -1;
}

bool hgi_census_is_over(struct hgi_census *census, const struct hgi_census_look *look,
                        int64_t now_ms)
{
    if (!look->is_clogged && unaccounted(look->open_count, look->accounted) <= census->allowed) {
        census->over_since_ms = -1;
        return false;
    }
    if (census->over_since_ms < 0) {
        census->over_since_ms = now_ms;
    }
    return now_ms - census->over_since_ms >= HGI_CENSUS_MS;
}
