/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a published cache: made, taken over, given up. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hg_test.h"
#include "storage/local/publication.h"

struct fixture {
    char folder[32];
    char path[64];
    struct hgi_publication_options options;
    struct hgi_publication *publication;
    bool must_wait;
    char sentence[HGI_PUBLICATION_SENTENCE_MAX];
};

static const struct hgi_table_bounds bounds = {1000, 1 << 20};
static const struct hgi_now now = {.boot_ms = 5000, .wall_ms = 1700000000000};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    strcpy(f->folder, "/tmp/hg-publish-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/near.cache", f->folder);
    f->options = (struct hgi_publication_options){.folder = f->folder,
                                                  .name = "near",
                                                  .memory_size = hgi_table_memory_size(&bounds),
                                                  .gid = -1,
                                                  .epoch = 7,
                                                  .key_type = HGI_KEYS_BYTES,
                                                  .value_type = HG_TYPE_BYTES};
}

static void teardown(struct fixture *f)
{
    char heat[64];

    snprintf(heat, sizeof(heat), "%s/near.heat", f->folder);
    ck_assert_int_ne(access(heat, F_OK), 0); /* gone with its publication */
    (void)unlink(f->path);
    ck_assert_int_eq(rmdir(f->folder), 0); /* nothing else was left */
}

static enum hg_status open_it(struct fixture *f)
{
    f->must_wait = false;
    return hgi_publication_open(&f->options, &f->publication, &f->must_wait, f->sentence);
}

static uint32_t state_of(const struct fixture *f)
{
    struct hgi_label label = {.state = UINT32_MAX};
    int fd = open(f->path, O_RDONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &label, sizeof(label), 0), sizeof(label));
    close(fd);
    return label.state;
}

START_TEST(it_is_live_from_begin_to_retire_and_a_label_stays)
{
    struct hgi_metrics metrics = {0};
    struct hgi_table *table;
    struct stat file;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(open_it(&f), HG_OK);
    ck_assert(f.must_wait); /* nobody knows who was here before */
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_UNDER_WAY);
    ck_assert_int_eq(stat(f.path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0600);
    ck_assert_uint_eq((size_t)file.st_size, HGI_LABEL_BYTES + f.options.memory_size);
    table =
        hgi_table_create_in(&hgi_heap, &bounds, &metrics, hgi_publication_backing(f.publication));
    ck_assert_ptr_nonnull(table);
    hgi_publication_begin(f.publication, table, &now);
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_LIVE);
    hgi_publication_retire(f.publication);
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_RETIRED);
    hgi_table_destroy(&table);
    hgi_publication_close(&f.publication);
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_RETIRED);
    ck_assert_int_eq(open_it(&f), HG_OK);
    ck_assert(!f.must_wait);
    hgi_publication_close(&f.publication);
    teardown(&f);
}
END_TEST

START_TEST(a_group_may_read_the_memory_and_write_the_heat)
{
    struct stat file;
    char heat[64];
    struct fixture f;

    setup(&f);
    f.options.gid = (int64_t)getegid();
    ck_assert_int_eq(open_it(&f), HG_OK);
    ck_assert_int_eq(stat(f.path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0640);
    ck_assert_uint_eq(file.st_gid, getegid());
    snprintf(heat, sizeof(heat), "%s/near.heat", f.folder);
    ck_assert_int_eq(stat(heat, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0660);
    hgi_publication_close(&f.publication);
    teardown(&f);
}
END_TEST

START_TEST(a_living_servers_file_is_left_to_it)
{
    struct hgi_publication *first;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(open_it(&f), HG_OK);
    first = f.publication;
    ck_assert_int_eq(open_it(&f), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(f.sentence, "another herdgated"));
    hgi_publication_retire_others(f.folder, NULL, 0); /* nor is it retired by the way */
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_UNDER_WAY);
    hgi_publication_close(&first);
    teardown(&f);
}
END_TEST

static void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

START_TEST(a_dead_servers_file_is_retired_for_those_who_still_have_it)
{
    struct hgi_label label = {.magic = HGI_LABEL_MAGIC, .state = HGI_LABEL_LIVE};
    struct fixture f;
    int old;

    setup(&f);
    write_file(f.path, &label, sizeof(label));
    old = open(f.path, O_RDONLY);
    ck_assert_int_eq(open_it(&f), HG_OK);
    ck_assert(!f.must_wait);
    ck_assert_int_eq(pread(old, &label, sizeof(label), 0), sizeof(label));
    ck_assert_uint_eq(label.state, HGI_LABEL_RETIRED);
    close(old);
    hgi_publication_close(&f.publication);
    /* And of a cache that is none of this server's. */
    label.state = HGI_LABEL_LIVE;
    write_file(f.path, &label, sizeof(label));
    old = open(f.path, O_RDONLY);
    hgi_publication_retire_others(f.folder, (const char *const[]){"near"}, 1);
    ck_assert_uint_eq(state_of(&f), HGI_LABEL_LIVE);
    hgi_publication_retire_others(f.folder, (const char *const[]){"far"}, 1);
    ck_assert_int_eq(pread(old, &label, sizeof(label), 0), sizeof(label));
    ck_assert_uint_eq(label.state, HGI_LABEL_RETIRED);
    close(old);
    ck_assert_int_ne(access(f.path, F_OK), 0);
    teardown(&f);
}
END_TEST

START_TEST(somebodys_file_of_that_name_is_not_touched)
{
    char text[] = "my notes, which happen to be called so";
    char found[sizeof(text)];
    struct fixture f;
    int fd;

    setup(&f);
    write_file(f.path, text, sizeof(text));
    ck_assert_int_eq(open_it(&f), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(f.sentence, "move it away"));
    hgi_publication_retire_others(f.folder, NULL, 0);
    fd = open(f.path, O_RDONLY);
    ck_assert_int_eq(read(fd, found, sizeof(found)), sizeof(text));
    ck_assert_mem_eq(found, text, sizeof(text));
    close(fd);
    teardown(&f);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_said)
{
    struct fixture f;

    setup(&f);
    f.options.folder = "/nonexistent";
    ck_assert_int_eq(open_it(&f), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(f.sentence, "No such file"));
    teardown(&f);
}
END_TEST

static void put(struct hgi_table *table, unsigned number)
{
    char key[16];
    const struct hgi_entry entry = {
        .key = hg_slice_of(key, (size_t)snprintf(key, sizeof(key), "%u", number)),
        .outcome = HG_VALUE,
        .born = 1,
        .published_ms = now.boot_ms,
        .ttl_ms = 1000,
        .stale_ttl_ms = 1000};

    ck_assert_int_eq(hgi_table_insert(table, &entry, true), HGI_STORED);
}

/* Whether the first of many more entries than fit is there still. */
static bool survives(struct hgi_publication *publication, struct hgi_table *table)
{
    struct hgi_found_entry found;

    for (int i = 0; i < 10; i++) {
        hgi_publication_tick(publication, &now);
    }
    for (unsigned i = 1; i < 1500; i++) {
        put(table, i);
    }
    return hgi_table_lookup(table, hg_slice_text("0"), -1, &now, NULL, &found) == HGI_FRESH;
}

/* What other processes have read stays, as if it had been read here. */
START_TEST(an_entry_that_others_have_read_is_not_the_first_to_go)
{
    static unsigned char counts[1 << 16];

    for (int are_counted = 0; are_counted < 2; are_counted++) {
        struct hgi_metrics metrics = {0};
        struct hgi_table *table;
        char heat[64];
        struct fixture f;
        int fd;

        setup(&f);
        ck_assert_int_eq(open_it(&f), HG_OK);
        table = hgi_table_create_in(&hgi_heap, &bounds, &metrics,
                                    hgi_publication_backing(f.publication));
        ck_assert_ptr_nonnull(table);
        hgi_publication_begin(f.publication, table, &now);
        put(table, 0);
        snprintf(heat, sizeof(heat), "%s/near.heat", f.folder);
        memset(counts, are_counted ? 0xff : 0, sizeof(counts));
        fd = open(heat, O_RDWR);
        ck_assert_int_gt(pwrite(fd, counts, hgi_heat_size(f.options.memory_size), 0), 0);
        close(fd);
        ck_assert(survives(f.publication, table) == (are_counted == 1));
        hgi_publication_retire(f.publication);
        hgi_table_destroy(&table);
        hgi_publication_close(&f.publication);
        teardown(&f);
    }
}
END_TEST

/* And the file may be cut short meanwhile. */
START_TEST(readers_counts_are_taken_once)
{
    struct hgi_metrics metrics = {0};
    struct hgi_table *table;
    unsigned char counts[64] = {[63] = 0xe4}; /* 3, 2, 1, 0 */
    char heat[64];
    struct fixture f;
    int fd;

    setup(&f);
    ck_assert_int_eq(open_it(&f), HG_OK);
    table =
        hgi_table_create_in(&hgi_heap, &bounds, &metrics, hgi_publication_backing(f.publication));
    ck_assert_ptr_nonnull(table);
    hgi_publication_begin(f.publication, table, &now);
    snprintf(heat, sizeof(heat), "%s/near.heat", f.folder);
    fd = open(heat, O_RDWR);
    ck_assert_int_eq(pwrite(fd, counts, sizeof(counts), 0), sizeof(counts));
    hgi_publication_tick(f.publication, &now);
    ck_assert_int_eq(pread(fd, counts, sizeof(counts), 0), sizeof(counts));
    ck_assert_uint_eq(counts[63], 0);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    for (int i = 0; i < 10; i++) {
        hgi_publication_tick(f.publication, &now);
    }
    close(fd);
    hgi_publication_retire(f.publication);
    hgi_table_destroy(&table);
    hgi_publication_close(&f.publication);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.publication", 30, it_is_live_from_begin_to_retire_and_a_label_stays,
          a_group_may_read_the_memory_and_write_the_heat, a_living_servers_file_is_left_to_it,
          a_dead_servers_file_is_retired_for_those_who_still_have_it,
          somebodys_file_of_that_name_is_not_touched, a_folder_that_is_not_there_is_said,
          an_entry_that_others_have_read_is_not_the_first_to_go, readers_counts_are_taken_once)
