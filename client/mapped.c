/* SPDX-License-Identifier: Apache-2.0 */
#include "mapped.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static int open_file(const char *folder, const char *name, const char *suffix, int flags)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);

    if (len < 0 || (size_t)len >= sizeof(path) || strchr(name, '/')) {
        return -1;
    }
    return open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* Made by whom the folder belongs to, or root; written by nobody else. */
static bool is_trusted(const char *folder, const struct stat *file)
{
    struct stat parent;

    return stat(folder, &parent) == 0 && S_ISREG(file->st_mode) &&
           (file->st_uid == 0 || file->st_uid == parent.st_uid) && !(file->st_mode & 022);
}

/* What is said of itself, in a copy. */
static const char *check(const char *folder, const char *name, int fd, struct hgi_label *ret_label,
                         struct stat *ret_file)
{
    if (fstat(fd, ret_file) != 0 || !is_trusted(folder, ret_file)) {
        return "is not the server's alone";
    }
    if ((size_t)ret_file->st_size < HGI_LABEL_BYTES ||
        pread(fd, ret_label, sizeof(*ret_label), 0) != (ssize_t)sizeof(*ret_label)) {
        return "is shorter than a label";
    }
    if (ret_label->state != HGI_LABEL_LIVE) {
        return "is of a server that has stopped, or is about to start";
    }
    return hgi_label_problem(ret_label, name, (size_t)ret_file->st_size);
}

static bool map_heat(const char *folder, const char *name, struct hgi_mapped *mapped)
{
    struct hgi_heat *heat = &mapped->reader.heat;
    int fd = open_file(folder, name, HGI_HEAT_SUFFIX, O_RDWR);
    size_t size = hgi_heat_size(mapped->reader.memory.size);
    struct stat file;
    void *counts = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (size_t)file.st_size >= size) {
        counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (counts != MAP_FAILED) {
        *heat = (struct hgi_heat){counts, size};
        return true;
    }
    mapped->has_own_heat = true;
    return hgi_heat_init(heat, mapped->reader.memory.size);
}

static const char *map_memory(const struct hgi_label *label, int fd, struct hgi_mapped *mapped)
{
    unsigned char *base;
    uint32_t shards;

    mapped->size = HGI_LABEL_BYTES + label->memory_size;
    base = mmap(NULL, mapped->size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return "cannot be mapped";
    }
    mapped->label = (const struct hgi_label *)(const void *)base;
    mapped->reader.memory = (struct hgi_memory){base + HGI_LABEL_BYTES, (size_t)label->memory_size};
    mapped->reader.front = hgi_front_of(&mapped->reader.memory);
    mapped->reader.hash_key = mapped->reader.front->hash_key;
    shards = mapped->reader.front->shard_count;
    if (shards == 0 || shards > HGI_SHARDS_MAX || (shards & (shards - 1)) != 0) {
        return "has no such number of shards";
    }
    mapped->reader.shard_count = shards;
    return NULL;
}

static const char *map(const char *folder, const char *name, int fd, struct hgi_mapped *mapped)
{
    struct hgi_label label;
    struct stat file;
    const char *problem = check(folder, name, fd, &label, &file);

    if (problem) {
        return problem;
    }
    mapped->device = (uint64_t)file.st_dev;
    mapped->inode = (uint64_t)file.st_ino;
    mapped->epoch = label.epoch;
    mapped->key_type = (enum hgi_key_type)label.key_type;
    mapped->value_type = (enum hg_value_type)label.value_type;
    mapped->refresh_part = label.refresh_part;
    mapped->refresh_reach = label.refresh_reach;
    problem = map_memory(&label, fd, mapped);
    return problem                          ? problem
           : map_heat(folder, name, mapped) ? NULL
                                            : "has no counts, and there is no memory for them";
}

const char *hgi_mapped_open(const char *folder, const char *name, struct hgi_mapped **ret_mapped)
{
    int fd = open_file(folder, name, HGI_LABEL_SUFFIX, O_RDONLY);
    struct hgi_mapped *mapped;
    const char *problem = "no memory left";

    if (fd < 0) {
        return "is not there, or not for this process to read";
    }
    mapped = hgi_alloc(&hgi_heap, sizeof(*mapped));
    if (mapped) {
        problem = map(folder, name, fd, mapped);
    }
    close(fd);
    if (problem) {
        hgi_mapped_close(&mapped);
    } else {
        *ret_mapped = mapped;
    }
    return problem;
}

void hgi_mapped_close(struct hgi_mapped **mapped)
{
    struct hgi_mapped *old = *mapped;

    if (!old) {
        return;
    }
    if (old->reader.heat.counts) {
        hgi_heat_deinit(&old->reader.heat);
    }
    if (old->label) {
        munmap((void *)(uintptr_t)old->label, old->size);
    }
    hgi_free(&hgi_heap, old);
    *mapped = NULL;
}

bool hgi_mapped_is_current(const struct hgi_mapped *mapped, const char *folder, const char *name)
{
    int fd = open_file(folder, name, HGI_LABEL_SUFFIX, O_RDONLY);
    struct stat file;
    bool is_current = fd >= 0 && fstat(fd, &file) == 0 && (uint64_t)file.st_dev == mapped->device &&
                      (uint64_t)file.st_ino == mapped->inode;

    if (fd >= 0) {
        close(fd);
    }
    return is_current;
}
