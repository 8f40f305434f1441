/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are mapped, and what a hostile one can do. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/mapped.h"
#include "hg_test.h"
#include "storage/local/publication.h"

enum { KEYS = 300, CHANGES = 20000 };

struct fixture {
    char folder[32];
    char path[64];
    char heat_path[64];
    struct hgi_metrics metrics;
    struct hgi_publication *publication;
    struct hgi_table *table;
    struct hgi_now now;
};

static void setup(struct fixture *f)
{
    static const struct hgi_table_bounds bounds = {1000, 1 << 20};
    struct hgi_publication_options options = {.folder = f->folder,
                                              .name = "near",
                                              .memory_size = hgi_table_memory_size(&bounds),
                                              .gid = -1,
                                              .epoch = 7,
                                              .key_type = HGI_KEYS_BYTES,
                                              .value_type = HG_TYPE_JSON,
                                              .refresh_part = 20};
    char sentence[HGI_PUBLICATION_SENTENCE_MAX];
    bool must_wait = false;

    memset(f, 0, sizeof(*f));
    strcpy(f->folder, "/tmp/hg-mapped-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/near.cache", f->folder);
    snprintf(f->heat_path, sizeof(f->heat_path), "%s/near.heat", f->folder);
    ck_assert_int_eq(hgi_publication_open(&options, &f->publication, &must_wait, sentence), HG_OK);
    f->table = hgi_table_create_in(&hgi_heap, &bounds, &f->metrics,
                                   hgi_publication_backing(f->publication));
    ck_assert_ptr_nonnull(f->table);
    f->now = hgi_clock_now();
    hgi_publication_begin(f->publication, f->table, &f->now);
}

static void teardown(struct fixture *f)
{
    hgi_publication_retire(f->publication);
    hgi_table_destroy(&f->table);
    hgi_publication_close(&f->publication);
    ck_assert_int_eq(unlink(f->path), 0);
    ck_assert_int_eq(rmdir(f->folder), 0);
}

static struct hg_slice key_of(unsigned number, char *ret_text)
{
    return hg_slice_of(ret_text, (size_t)snprintf(ret_text, 16, "key %u", number));
}

static void put(struct fixture *f, struct hg_slice key, struct hg_slice value)
{
    const struct hgi_entry entry = {.key = key,
                                    .value = value,
                                    .outcome = HG_VALUE,
                                    .born = 5,
                                    .published_ms = f->now.boot_ms,
                                    .ttl_ms = 3600000,
                                    .stale_ttl_ms = 3600000};

    ck_assert_int_eq(hgi_table_insert(f->table, &entry, true), HGI_STORED);
}

static enum hgi_found look(const struct fixture *f, const struct hgi_mapped *mapped,
                           struct hg_slice key, struct hg_bytes *ret_value)
{
    struct hgi_found_entry entry;
    const struct hgi_lookup lookup = {.key = key,
                                      .hash = hgi_reader_hash(&mapped->reader, key),
                                      .max_age_ms = -1,
                                      .value_max = 1 << 16,
                                      .now = &f->now,
                                      .ret_value = ret_value,
                                      .ret_entry = &entry};
    enum hgi_found found;

    (void)hgi_reader_look(&mapped->reader, &lookup, &found);
    return found;
}

START_TEST(a_live_file_is_mapped_and_told_from_its_successor)
{
    struct hgi_mapped *mapped;
    struct hg_bytes value;
    char other[80];
    struct fixture f;

    setup(&f);
    hgi_bytes_init(&value, &hgi_heap);
    put(&f, hg_slice_text("k"), hg_slice_text("v"));
    ck_assert_ptr_null(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert_uint_eq(mapped->epoch, 7);
    ck_assert_int_eq(mapped->key_type, HGI_KEYS_BYTES);
    ck_assert_int_eq(mapped->value_type, HG_TYPE_JSON);
    ck_assert_uint_eq(mapped->refresh_part, 20);
    ck_assert(!mapped->has_own_heat);
    ck_assert_int_eq(look(&f, mapped, hg_slice_text("k"), &value), HGI_FRESH);
    ck_assert_slice_eq(hgi_bytes_slice(&value), "v");
    ck_assert(hgi_mapped_is_current(mapped, f.folder, "near"));
    snprintf(other, sizeof(other), "%s/moved", f.folder);
    ck_assert_int_eq(rename(f.path, other), 0);
    ck_assert(!hgi_mapped_is_current(mapped, f.folder, "near"));
    ck_assert_int_eq(rename(other, f.path), 0);
    hgi_mapped_close(&mapped);
    hgi_bytes_deinit(&value);
    teardown(&f);
}
END_TEST

START_TEST(a_file_that_others_can_write_or_that_is_not_live_is_refused)
{
    struct hgi_mapped *mapped = NULL;
    struct fixture f;

    setup(&f);
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "far", &mapped));
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "../near", &mapped));
    ck_assert_ptr_nonnull(hgi_mapped_open("/nonexistent", "near", &mapped));
    ck_assert_int_eq(chmod(f.path, 0620), 0);
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert_int_eq(chmod(f.path, 0602), 0);
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert_int_eq(chmod(f.path, 0600), 0);
    hgi_publication_retire(f.publication);
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert_ptr_null(mapped);
    teardown(&f);
}
END_TEST

START_TEST(a_link_in_its_place_is_not_followed)
{
    struct hgi_mapped *mapped = NULL;
    char other[80];
    struct fixture f;

    setup(&f);
    snprintf(other, sizeof(other), "%s/moved", f.folder);
    ck_assert_int_eq(rename(f.path, other), 0);
    ck_assert_int_eq(symlink(other, f.path), 0);
    ck_assert_ptr_nonnull(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert_int_eq(unlink(f.path), 0);
    ck_assert_int_eq(rename(other, f.path), 0);
    teardown(&f);
}
END_TEST

START_TEST(without_the_shared_counts_a_reader_has_its_own)
{
    struct hgi_mapped *mapped;
    struct hg_bytes value;
    struct fixture f;

    setup(&f);
    hgi_bytes_init(&value, &hgi_heap);
    put(&f, hg_slice_text("k"), hg_slice_text("v"));
    ck_assert_int_eq(truncate(f.heat_path, 1), 0);
    ck_assert_ptr_null(hgi_mapped_open(f.folder, "near", &mapped));
    ck_assert(mapped->has_own_heat);
    ck_assert_int_eq(look(&f, mapped, hg_slice_text("k"), &value), HGI_FRESH);
    hgi_mapped_close(&mapped);
    hgi_bytes_deinit(&value);
    teardown(&f);
}
END_TEST

/* A copy of the file as it is, in a folder of its own. */
static int copy_file(const struct fixture *f, char *ret_folder, char *ret_path)
{
    static unsigned char bytes[4 << 20];
    int from = open(f->path, O_RDONLY);
    ssize_t size;
    int to;

    strcpy(ret_folder, "/tmp/hg-copied-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(ret_folder));
    sprintf(ret_path, "%s/near.cache", ret_folder);
    to = open(ret_path, O_RDWR | O_CREAT, 0600);
    ck_assert(from >= 0 && to >= 0);
    size = read(from, bytes, sizeof(bytes));
    ck_assert(size > 0 && size < (ssize_t)sizeof(bytes));
    ck_assert_int_eq(write(to, bytes, (size_t)size), size);
    close(from);
    return to;
}

/* Anything may stand in the file, from the label on; it is read, and answers what it answers. */
START_TEST(nonsense_in_the_file_harms_no_reader)
{
    uint64_t random = 88172645463325252u;
    struct hg_bytes value;
    struct fixture f;
    size_t opened = 0;
    size_t found = 0;
    char folder[32];
    char path[64];
    char text[16];
    int fd;

    setup(&f);
    hgi_bytes_init(&value, &hgi_heap);
    for (unsigned i = 0; i < KEYS; i++) {
        put(&f, key_of(i, text), key_of(i, text));
    }
    fd = copy_file(&f, folder, path);
    for (unsigned i = 0; i < CHANGES; i++) {
        size_t at = i % 50 == 0 ? random % HGI_LABEL_BYTES : HGI_LABEL_BYTES + random % (200 << 10);
        struct hgi_mapped *mapped;
        uint32_t before;
        uint32_t word;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        word = random % 3 ? (uint32_t)(random >> 33) % (1 << 20) : (uint32_t)(random >> 33);
        at -= at % sizeof(word);
        ck_assert_int_eq(pread(fd, &before, sizeof(before), (off_t)at), sizeof(before));
        ck_assert_int_eq(pwrite(fd, &word, sizeof(word), (off_t)at), sizeof(word));
        if (!hgi_mapped_open(folder, "near", &mapped)) {
            opened++;
            for (unsigned k = 0; k < 4; k++) {
                found += look(&f, mapped, key_of((unsigned)(random >> k) % KEYS, text), &value) ==
                         HGI_FRESH;
            }
            hgi_mapped_close(&mapped);
        }
        if (i % 8 == 0) { /* else all of it would soon be nonsense */
            continue;
        }
        ck_assert_int_eq(pwrite(fd, &before, sizeof(before), (off_t)at), sizeof(before));
    }
    close(fd);
    ck_assert_uint_gt(opened, 0);
    ck_assert_uint_gt(found, 0);
    hgi_bytes_deinit(&value);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    teardown(&f);
}
END_TEST

HGI_SUITE("client.mapped", 60, a_live_file_is_mapped_and_told_from_its_successor,
          a_file_that_others_can_write_or_that_is_not_live_is_refused,
          a_link_in_its_place_is_not_followed, without_the_shared_counts_a_reader_has_its_own,
          nonsense_in_the_file_harms_no_reader)
