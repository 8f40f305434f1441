/* SPDX-License-Identifier: Apache-2.0 */
/* Which caches are published, and what becomes of those of the server before. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hg_test.h"
#include "server/publisher.h"

struct fixture {
    char folder[32];
    struct hgi_cache_config caches[2];
    struct hgi_config config;
    char sentence[HGI_PUBLICATION_SENTENCE_MAX];
};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    strcpy(f->folder, "/tmp/hg-publisher-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    for (size_t i = 0; i < 2; i++) {
        f->caches[i] = (struct hgi_cache_config){.name = i ? "far" : "near",
                                                 .key_type = HGI_KEYS_BYTES,
                                                 .value_type = HG_TYPE_BYTES,
                                                 .local_reads = i == 0};
        f->caches[i].policy.max_entries = 100;
        f->caches[i].policy.max_bytes = 1 << 20;
    }
    f->config = (struct hgi_config){
        .runtime_dir = f->folder, .local_gid = -1, .caches = f->caches, .cache_count = 2};
}

/* Removes what may be left in it, too. */
static void teardown(struct fixture *f)
{
    char path[80];

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s.cache", f->folder, f->caches[i].name);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(f->folder), 0);
}

static bool is_there(const struct fixture *f, const char *file)
{
    char path[80];

    snprintf(path, sizeof(path), "%s/%s", f->folder, file);
    return access(path, F_OK) == 0;
}

START_TEST(only_caches_that_say_so_are_published)
{
    struct hgi_publisher *publisher;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(hgi_publisher_open(&f.config, 7, &publisher, f.sentence), HG_OK);
    ck_assert_ptr_nonnull(hgi_publisher_backing(publisher, "near"));
    ck_assert_ptr_null(hgi_publisher_backing(publisher, "far"));
    ck_assert(is_there(&f, "near.cache") && !is_there(&f, "far.cache"));
    hgi_publisher_retire(publisher);
    hgi_publisher_close(&publisher);
    hgi_publisher_retire(NULL);
    teardown(&f);
}
END_TEST

START_TEST(what_is_not_published_any_more_is_taken_away)
{
    struct hgi_publisher *publisher;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(hgi_publisher_open(&f.config, 7, &publisher, f.sentence), HG_OK);
    hgi_publisher_close(&publisher);
    ck_assert(is_there(&f, "near.cache"));
    f.caches[0].local_reads = false;
    ck_assert_int_eq(hgi_publisher_open(&f.config, 8, &publisher, f.sentence), HG_OK);
    ck_assert(!is_there(&f, "near.cache"));
    hgi_publisher_close(&publisher);
    teardown(&f);
}
END_TEST

START_TEST(two_servers_do_not_share_a_folder)
{
    struct hgi_publisher *first;
    struct hgi_publisher *second = NULL;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(hgi_publisher_open(&f.config, 7, &first, f.sentence), HG_OK);
    ck_assert_int_eq(hgi_publisher_open(&f.config, 8, &second, f.sentence), HG_UNAVAILABLE);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(f.sentence, "near.cache"));
    hgi_publisher_close(&first);
    teardown(&f);
}
END_TEST

HGI_SUITE("server.publisher", 30, only_caches_that_say_so_are_published,
          what_is_not_published_any_more_is_taken_away, two_servers_do_not_share_a_folder)
