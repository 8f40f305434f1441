/* SPDX-License-Identifier: Apache-2.0 */
#include "publication.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MODE_OWN         0600
#define MODE_GROUP       0640
#define HEAT_MODE_GROUP  0660
#define UNDER_WAY_SUFFIX ".new"

struct hgi_publication {
    struct hgi_publication_options options;
    char path[PATH_MAX];
    char heat_path[PATH_MAX];
    int fd; /* locked as long as this server lives */
    int heat_fd;
    struct hgi_label *label; /* the mapping begins with it */
    size_t size;
    struct hgi_backing backing;
    struct hgi_table *table;
    size_t gather_at;
};

static enum hg_status fail(enum hg_status status, const char *path, const char *what,
                           char *ret_sentence)
{
    snprintf(ret_sentence, HGI_PUBLICATION_SENTENCE_MAX, "%.300s %s", path, what);
    return status;
}

static enum hg_status fail_errno(const char *path, const char *what, int error, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_PUBLICATION_SENTENCE_MAX, "%.300s %s: %s", path, what,
             strerror(error));
    return HG_FAILED_PRECONDITION;
}

/* ---- what was there before ---- */

/* By write, not through a mapping: whoever made the file shorter kills nobody. False: it is no
 * cache's memory. */
static bool mark_retired(int fd)
{
    const uint32_t retired = HGI_LABEL_RETIRED;
    struct hgi_label label;

    return pread(fd, &label, sizeof(label), 0) == (ssize_t)sizeof(label) &&
           label.magic == HGI_LABEL_MAGIC &&
           pwrite(fd, &retired, sizeof(retired), (off_t)offsetof(struct hgi_label, state)) ==
               (ssize_t)sizeof(retired);
}

/* The file as the server before left it, locked and retired; -1: there is none. */
static enum hg_status take_over(const char *path, int *ret_fd, char *ret_sentence)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno != ENOENT) {
        return fail_errno(path, "cannot be opened", errno, ret_sentence);
    }
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return fail(HG_UNAVAILABLE, path,
                    "is published by another herdgated that is running; each needs a runtime_dir "
                    "of its own",
                    ret_sentence);
    }
    if (fd >= 0 && !mark_retired(fd)) {
        close(fd);
        return fail(HG_FAILED_PRECONDITION, path,
                    "is no cache's memory, and stands where one would be; move it away",
                    ret_sentence);
    }
    *ret_fd = fd;
    return HG_OK;
}

/* ---- making the files ---- */

/* A new file of that size, with all its readers' rights. -1 and errno. */
static int make_file(const char *path, size_t size, int64_t gid, mode_t group_mode)
{
    int fd;
    int error;

    (void)unlink(path); /* of a server that died while it made it */
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE_OWN);
    if (fd < 0) {
        return -1;
    }
    if (ftruncate(fd, (off_t)size) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        (gid < 0 || (fchown(fd, (uid_t)-1, (gid_t)gid) == 0 && fchmod(fd, group_mode) == 0))) {
        return fd;
    }
    error = errno;
    close(fd);
    (void)unlink(path);
    errno = error;
    return -1;
}

static bool allocate(int fd, size_t from, size_t to)
{
    int error;

    do {
        error = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    } while (error == EINTR);
    errno = error;
    return error == 0;
}

static bool reserve(void *context, size_t from, size_t to)
{
    struct hgi_publication *publication = context;

    return allocate(publication->fd, HGI_LABEL_BYTES + from, HGI_LABEL_BYTES + to);
}

static void write_label(const struct hgi_publication *publication)
{
    const struct hgi_publication_options *options = &publication->options;
    struct hgi_label *label = publication->label;

    label->magic = HGI_LABEL_MAGIC;
    label->memory_size = options->memory_size;
    label->epoch = options->epoch;
    label->time_space = hgi_label_time_space();
    label->key_type = options->key_type;
    label->value_type = options->value_type;
    label->refresh_part = options->refresh_part;
    label->refresh_reach = options->refresh_reach;
    snprintf(label->name, sizeof(label->name), "%s", options->name);
}

static bool map_file(struct hgi_publication *publication)
{
    void *base;

    if (!allocate(publication->fd, 0, HGI_LABEL_BYTES)) {
        return false;
    }
    base = mmap(NULL, publication->size, PROT_READ | PROT_WRITE, MAP_SHARED, publication->fd, 0);
    if (base == MAP_FAILED) {
        return false;
    }
    publication->label = base;
    publication->backing = (struct hgi_backing){
        .memory = {(unsigned char *)base + HGI_LABEL_BYTES, publication->options.memory_size},
        .reserve = reserve,
        .context = publication,
    };
    write_label(publication);
    return true;
}

/* Both files, under their names; the heat first, for who finds the cache looks for it. */
static enum hg_status make_files(struct hgi_publication *publication, char *ret_sentence)
{
    const struct hgi_publication_options *options = &publication->options;
    size_t heat_size = hgi_heat_size(options->memory_size);
    char path[PATH_MAX + sizeof(UNDER_WAY_SUFFIX)];

    publication->heat_fd =
        make_file(publication->heat_path, heat_size, options->gid, HEAT_MODE_GROUP);
    if (publication->heat_fd < 0 || !allocate(publication->heat_fd, 0, heat_size)) {
        return fail_errno(publication->heat_path, "cannot be made", errno, ret_sentence);
    }
    snprintf(path, sizeof(path), "%s" UNDER_WAY_SUFFIX, publication->path);
    publication->fd = make_file(path, publication->size, options->gid, MODE_GROUP);
    if (publication->fd < 0 || !map_file(publication) || rename(path, publication->path) != 0) {
        return fail_errno(publication->path, "cannot be made", errno, ret_sentence);
    }
    return HG_OK;
}

static struct hgi_publication *create(const struct hgi_publication_options *options)
{
    struct hgi_publication *publication = hgi_alloc(&hgi_heap, sizeof(*publication));

    if (publication) {
        publication->options = *options;
        publication->fd = -1;
        publication->heat_fd = -1;
        publication->size = HGI_LABEL_BYTES + options->memory_size;
        snprintf(publication->path, sizeof(publication->path), "%s/%s" HGI_LABEL_SUFFIX,
                 options->folder, options->name);
        snprintf(publication->heat_path, sizeof(publication->heat_path), "%s/%s" HGI_HEAT_SUFFIX,
                 options->folder, options->name);
    }
    return publication;
}

enum hg_status hgi_publication_open(const struct hgi_publication_options *options,
                                    struct hgi_publication **ret_publication, bool *ret_must_wait,
                                    char *ret_sentence)
{
    struct hgi_publication *publication = create(options);
    enum hg_status status;
    int old_fd = -1;

    if (!publication) {
        return fail(HG_RESOURCE_EXHAUSTED, options->name, "cannot be published: no memory",
                    ret_sentence);
    }
    status = take_over(publication->path, &old_fd, ret_sentence);
    if (status == HG_OK) {
        status = make_files(publication, ret_sentence);
    }
    if (old_fd >= 0) {
        close(old_fd);
    }
    if (status != HG_OK) {
        hgi_publication_close(&publication);
        return status;
    }
    *ret_must_wait = *ret_must_wait || old_fd < 0;
    *ret_publication = publication;
    return HG_OK;
}

const struct hgi_backing *hgi_publication_backing(const struct hgi_publication *publication)
{
    return &publication->backing;
}

/* ---- living ---- */

static void stay_alive(struct hgi_publication *publication, const struct hgi_now *now)
{
    atomic_store_explicit(&publication->label->alive_until_ms, now->boot_ms + HGI_LABEL_ALIVE_MS,
                          memory_order_relaxed);
}

void hgi_publication_begin(struct hgi_publication *publication, struct hgi_table *table,
                           const struct hgi_now *now)
{
    publication->table = table;
    stay_alive(publication, now);
    atomic_store_explicit(&publication->label->state, HGI_LABEL_LIVE, memory_order_release);
}

/* Takes the counts of a part of the readers' file: they become the table's, and the file's 0. */
static void gather(struct hgi_publication *publication)
{
    static const unsigned char zeroes[HGI_PUBLICATION_GATHER_BYTES];
    unsigned char counts[HGI_PUBLICATION_GATHER_BYTES];
    size_t at = publication->gather_at;
    ssize_t got = pread(publication->heat_fd, counts, sizeof(counts), (off_t)at);

    if (got > 0 && memcmp(counts, zeroes, (size_t)got) != 0) {
        ssize_t written = pwrite(publication->heat_fd, zeroes, (size_t)got, (off_t)at);

        (void)written; /* else they are counted once more */
        hgi_table_warm(publication->table, at, counts, (size_t)got);
    }
    at += sizeof(counts);
    publication->gather_at = at < hgi_heat_size(publication->options.memory_size) ? at : 0;
}

void hgi_publication_tick(struct hgi_publication *publication, const struct hgi_now *now)
{
    stay_alive(publication, now);
    gather(publication);
}

/* ---- ending ---- */

void hgi_publication_retire(struct hgi_publication *publication)
{
    atomic_store_explicit(&publication->label->state, HGI_LABEL_RETIRED, memory_order_release);
}

/* A label and no memory, in the file's place. */
static void leave_label(const struct hgi_publication *publication)
{
    char path[PATH_MAX + sizeof(UNDER_WAY_SUFFIX)];
    int fd;

    snprintf(path, sizeof(path), "%s" UNDER_WAY_SUFFIX, publication->path);
    fd = make_file(path, HGI_LABEL_BYTES, publication->options.gid, MODE_GROUP);
    if (fd < 0) {
        return; /* the next server finds the whole file, which is retired too */
    }
    if (pwrite(fd, publication->label, sizeof(*publication->label), 0) !=
            (ssize_t)sizeof(*publication->label) ||
        rename(path, publication->path) != 0) {
        (void)unlink(path);
    }
    close(fd);
}

void hgi_publication_close(struct hgi_publication **publication)
{
    struct hgi_publication *old = *publication;

    if (!old) {
        return;
    }
    if (old->label) {
        hgi_publication_retire(old);
        leave_label(old);
        munmap(old->label, old->size);
    }
    if (old->heat_fd >= 0) {
        (void)unlink(old->heat_path);
        close(old->heat_fd);
    }
    if (old->fd >= 0) {
        close(old->fd);
    }
    hgi_free(&hgi_heap, old);
    *publication = NULL;
}

/* ---- others ---- */

/* The cache's name if the file's is one of ours: without its suffix. */
static bool cache_of(const char *file, char *ret_name)
{
    size_t len = strlen(file);
    size_t suffix = sizeof(HGI_LABEL_SUFFIX) - 1;

    if (len <= suffix || len - suffix > HGI_LABEL_NAME_MAX ||
        strcmp(file + len - suffix, HGI_LABEL_SUFFIX) != 0) {
        return false;
    }
    memcpy(ret_name, file, len - suffix);
    ret_name[len - suffix] = '\0';
    return true;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Only of one that is no living server's. */
static void retire_file(const char *folder, const char *file)
{
    char sentence[HGI_PUBLICATION_SENTENCE_MAX];
    char path[PATH_MAX];
    int fd = -1;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (take_over(path, &fd, sentence) == HG_OK && fd >= 0) {
        (void)unlink(path);
        close(fd);
    }
}

void hgi_publication_retire_others(const char *folder, const char *const *names, size_t count)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char name[HGI_LABEL_NAME_MAX + 1];

    if (!dir) {
        return; /* nothing is published in it */
    }
    while ((entry = readdir(dir))) {
        if (cache_of(entry->d_name, name) && !is_among(name, names, count)) {
            retire_file(folder, entry->d_name);
        }
    }
    closedir(dir);
}
