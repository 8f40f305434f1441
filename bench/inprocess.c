/* SPDX-License-Identifier: Apache-2.0 */
/* bench-inprocess: what is measured without a wire. Prints a line of JSON for each figure. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "effort.h"

static const struct work {
    const char *name;
    bool (*run)(const struct effort *effort);
} works[] = {
    {"hits", work_hits},     {"mixed", work_mixed},       {"growth", work_growth},
    {"rss", work_rss},       {"clear", work_clear},       {"tags", work_tags},
    {"policy", work_policy}, {"snapshot", work_snapshot}, {"get_or_load", work_get_or_load},
};

static int usage(void)
{
    fprintf(stderr, "usage: bench-inprocess WORK [--quick] [--folder DIR]; WORK is one of");
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        fprintf(stderr, " %s", works[i].name);
    }
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct effort effort = {.repeats = 5, .seconds = 0.5, .folder = "/tmp"};

    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            effort = (struct effort){true, 3, 0.2, effort.folder};
        } else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc) {
            effort.folder = argv[++i];
        } else {
            return usage();
        }
    }
    if (!hgi_hash_start()) {
        return 1;
    }
    for (size_t i = 0; argc > 1 && i < sizeof(works) / sizeof(works[0]); i++) {
        if (strcmp(works[i].name, argv[1]) == 0) {
            return works[i].run(&effort) ? 0 : 1;
        }
    }
    return usage();
}
