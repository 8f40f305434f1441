/* SPDX-License-Identifier: Apache-2.0 */
#include "label.h"

#include <sys/stat.h>

#include "storage/flat/front.h"

const char *hgi_label_problem(const struct hgi_label *label, const char *name, size_t file_size)
{
    if (label->magic != HGI_LABEL_MAGIC) {
        return "is no cache's memory, or of another version of herdgate";
    }
    if (strnlen(label->name, sizeof(label->name)) >= sizeof(label->name) ||
        strcmp(label->name, name) != 0) {
        return "is another cache's";
    }
    if (label->memory_size < HGI_FRONT_BYTES || label->memory_size > HGI_MEMORY_MAX_BYTES ||
        label->memory_size > file_size - HGI_LABEL_BYTES) {
        return "is shorter than it says";
    }
    if (!hgi_key_type_name((enum hgi_key_type)label->key_type) ||
        !hgi_value_type_name((enum hg_value_type)label->value_type)) {
        return "has a type of keys or values that is unknown here";
    }
    if (label->time_space != hgi_label_time_space() || !label->time_space) {
        return "counts time from another boot clock than this process";
    }
    return NULL;
}

uint64_t hgi_label_time_space(void)
{
    struct stat found;

    return stat("/proc/self/ns/time", &found) == 0 ? (uint64_t)found.st_ino : 0;
}
