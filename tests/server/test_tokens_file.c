/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "server/access/tokens_file.h"

static char folder[64];
static char path[96];
static char sentence[HGI_SENTENCE_MAX];
static struct hgi_digest_key seal;
static struct hgi_token_record read_back[HGI_TOKENS_MAX];
static size_t read_count;

static void set_up(void)
{
    ck_assert(hgi_hash_start());
    snprintf(folder, sizeof(folder), "/tmp/herdgate-tokens-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/tokens", folder);
    seal = hgi_digest_key_new();
    read_count = 12345;
}

static void tear_down(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static enum hg_status read_file(void)
{
    return hgi_tokens_file_read(path, &seal, read_back, &read_count, sentence);
}

static struct hgi_token_record record_of(uint32_t id, const char *principal)
{
    struct hgi_token_record record = {
        .id = id, .created_at_ms = INT64_C(1796083871499), .expires_at_ms = id};

    memset(record.digest.bytes, (int)id, sizeof(record.digest.bytes));
    snprintf(record.principal, sizeof(record.principal), "%s", principal);
    return record;
}

static void write_two(void)
{
    struct hgi_token_record records[] = {
        record_of(0xfedcba98, "gateway"),
        record_of(7, "a-name.that_is-as-long-as-a-name-may-be-so-64-letters-and-digits"),
    };

    ck_assert_uint_eq(strlen(records[1].principal), HGI_PRINCIPAL_NAME_MAX);
    ck_assert_int_eq(hgi_tokens_file_write(path, &seal, records, 2, sentence), HG_OK);
}

START_TEST(what_was_written_comes_back)
{
    struct stat info;

    set_up();
    write_two();
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777u, 0600);
    ck_assert_int_eq(read_file(), HG_OK);
    ck_assert_uint_eq(read_count, 2);
    ck_assert_uint_eq(read_back[0].id, 0xfedcba98);
    ck_assert_str_eq(read_back[0].principal, "gateway");
    ck_assert_int_eq(read_back[0].created_at_ms, INT64_C(1796083871499));
    ck_assert_int_eq(read_back[0].expires_at_ms, 0xfedcba98);
    ck_assert_int_eq(read_back[0].digest.bytes[31], 0x98);
    ck_assert_uint_eq(read_back[1].id, 7);
    ck_assert_uint_eq(strlen(read_back[1].principal), HGI_PRINCIPAL_NAME_MAX);
    tear_down();
}
END_TEST

START_TEST(none_are_written_and_come_back_too)
{
    set_up();
    ck_assert_int_eq(read_file(), HG_NOT_FOUND);
    ck_assert_int_eq(hgi_tokens_file_write(path, &seal, NULL, 0, sentence), HG_OK);
    ck_assert_int_eq(read_file(), HG_OK);
    ck_assert_uint_eq(read_count, 0);
    tear_down();
}
END_TEST

START_TEST(as_many_as_there_may_be_come_back)
{
    static struct hgi_token_record records[HGI_TOKENS_MAX];

    set_up();
    for (uint32_t i = 0; i < HGI_TOKENS_MAX; i++) {
        records[i] = record_of(UINT32_MAX - i,
                               "a-name.that_is-as-long-as-a-name-may-be-so-64-letters-and-digits");
        records[i].expires_at_ms = INT64_MAX;
        records[i].created_at_ms = INT64_MAX;
    }
    ck_assert_int_eq(hgi_tokens_file_write(path, &seal, records, HGI_TOKENS_MAX, sentence), HG_OK);
    ck_assert_int_eq(read_file(), HG_OK);
    ck_assert_uint_eq(read_count, HGI_TOKENS_MAX);
    ck_assert_uint_eq(read_back[HGI_TOKENS_MAX - 1].id, UINT32_MAX - (HGI_TOKENS_MAX - 1));
    tear_down();
}
END_TEST

START_TEST(any_changed_byte_and_any_missing_end_is_refused)
{
    struct stat info;
    char bytes[1024];
    int fd;

    set_up();
    write_two();
    ck_assert_int_eq(stat(path, &info), 0);
    fd = open(path, O_RDWR);
    ck_assert_int_eq(read(fd, bytes, sizeof(bytes)), info.st_size);
    for (off_t i = 0; i < info.st_size; i++) {
        char changed = (char)(bytes[i] ^ 1);

        ck_assert_int_eq(pwrite(fd, &changed, 1, i), 1);
        ck_assert_int_eq(read_file(), HG_FAILED_PRECONDITION);
        ck_assert_int_eq(pwrite(fd, &bytes[i], 1, i), 1);
    }
    ck_assert_int_eq(read_file(), HG_OK);
    for (off_t len = info.st_size - 1; len >= 0; len--) {
        ck_assert_int_eq(ftruncate(fd, len), 0);
        ck_assert_int_eq(read_file(), HG_FAILED_PRECONDITION);
    }
    ck_assert_ptr_nonnull(strstr(sentence, ":1: damaged, or not made with this key_file"));
    close(fd);
    tear_down();
}
END_TEST

START_TEST(a_file_sealed_with_another_key_is_refused)
{
    set_up();
    write_two();
    seal = hgi_digest_key_new();
    ck_assert_int_eq(read_file(), HG_FAILED_PRECONDITION);
    ck_assert_uint_eq(read_count, 12345);
    tear_down();
}
END_TEST

START_TEST(a_file_that_others_may_read_is_refused)
{
    set_up();
    write_two();
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(read_file(), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "others may read it; chmod 0600 it"));
    tear_down();
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_file)
{
    char next[128];

    set_up();
    write_two();
    snprintf(next, sizeof(next), "%s.next", path);
    ck_assert_int_eq(mkdir(next, 0700), 0); /* so that the new file cannot be made */
    ck_assert_int_eq(hgi_tokens_file_write(path, &seal, NULL, 0, sentence), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(sentence, path));
    ck_assert_int_eq(read_file(), HG_OK);
    ck_assert_uint_eq(read_count, 2);
    ck_assert_int_eq(rmdir(next), 0);
    tear_down();
}
END_TEST

HGI_SUITE("server.tokens_file", 60, what_was_written_comes_back, none_are_written_and_come_back_too,
          as_many_as_there_may_be_come_back, any_changed_byte_and_any_missing_end_is_refused,
          a_file_sealed_with_another_key_is_refused, a_file_that_others_may_read_is_refused,
          a_write_that_fails_leaves_the_old_file)
