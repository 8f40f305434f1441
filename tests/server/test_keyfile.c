/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "server/access/keyfile.h"

static char folder[64];
static char path[96];
static char sentence[HGI_SENTENCE_MAX];

static void set_up(void)
{
    ck_assert(hgi_hash_start());
    snprintf(folder, sizeof(folder), "/tmp/herdgate-key-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/key", folder);
    sentence[0] = '\0';
}

static void tear_down(void)
{
    char lock[128];

    snprintf(lock, sizeof(lock), "%s.lock", path);
    (void)unlink(lock);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_file(size_t len, mode_t mode)
{
    static const char bytes[64];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void expect_refused(const char *why)
{
    struct hgi_digest_key key;
    char expected[HGI_SENTENCE_MAX];

    snprintf(expected, sizeof(expected), "%s%s", path, why);
    ck_assert_int_eq(hgi_keyfile_read(path, true, &key, sentence), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(sentence, expected);
}

START_TEST(a_key_is_made_once_for_its_user_only_and_read_from_then_on)
{
    struct hgi_digest_key made;
    struct hgi_digest_key read;
    struct stat info;

    set_up();
    ck_assert_int_eq(hgi_keyfile_read(path, true, &made, sentence), HG_OK);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777u, 0600);
    ck_assert_int_eq(info.st_size, HGI_DIGEST_BYTES);
    ck_assert_int_eq(hgi_keyfile_read(path, true, &read, sentence), HG_OK);
    ck_assert_int_eq(memcmp(&made, &read, sizeof(made)), 0);
    ck_assert_int_eq(hgi_keyfile_read(path, false, &read, sentence), HG_OK);
    tear_down();
}
END_TEST

START_TEST(a_key_that_is_gone_is_not_made_anew_behind_what_it_keyed)
{
    struct hgi_digest_key key;
    struct stat info;

    set_up();
    ck_assert_int_eq(hgi_keyfile_read(path, false, &key, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "bring it back"));
    ck_assert_int_ne(stat(path, &info), 0);
    tear_down();
}
END_TEST

START_TEST(a_key_that_others_may_see_or_change_is_refused)
{
    static const struct {
        mode_t mode;
        const char *why;
    } wrong[] = {
        {0644, ": others may read it; chmod 0600 it"},
        {0640, ": others may read it; chmod 0600 it"},
        {0604, ": others may read it; chmod 0600 it"},
        {0610, ": others may read it; chmod 0600 it"},
        {0620, " can be written by others than its owner (mode 0620); chmod go-w it"},
        {0602, " can be written by others than its owner (mode 0602); chmod go-w it"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        set_up();
        write_file(HGI_DIGEST_BYTES, wrong[i].mode);
        expect_refused(wrong[i].why);
        tear_down();
    }
}
END_TEST

START_TEST(a_key_of_another_user_is_refused)
{
    if (geteuid() != 0) {
        return; /* only root can give a file away */
    }
    set_up();
    write_file(HGI_DIGEST_BYTES, 0600);
    ck_assert_int_eq(chown(path, 12345, 12345), 0);
    expect_refused(" belongs to user 12345; it must belong to root, to user 0 or to a trusted "
                   "owner");
    tear_down();
}
END_TEST

START_TEST(a_key_in_a_folder_that_others_write_to_is_refused)
{
    struct hgi_digest_key key;

    set_up();
    write_file(HGI_DIGEST_BYTES, 0600);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(hgi_keyfile_read(path, true, &key, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "to which others may write (mode 0777)"));
    tear_down();
}
END_TEST

START_TEST(a_file_of_another_length_is_no_key)
{
    static const size_t lengths[] = {0, HGI_DIGEST_BYTES - 1, HGI_DIGEST_BYTES + 1, 64};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        set_up();
        write_file(lengths[i], 0600);
        expect_refused(": not a key, which has 32 random bytes; remove it and one is made");
        tear_down();
    }
}
END_TEST

START_TEST(a_link_and_a_folder_are_no_keys)
{
    set_up();
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    expect_refused(" is a symbolic link; name the file itself");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_refused(" is not a regular file");
    ck_assert_int_eq(rmdir(path), 0);
    tear_down();
}
END_TEST

START_TEST(a_key_that_cannot_be_made_says_where)
{
    struct hgi_digest_key key;

    set_up();
    ck_assert_int_eq(hgi_keyfile_read("/nonexistent/key", true, &key, sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_str_eq(sentence,
                     "/nonexistent/key: the key cannot be made: No such file or directory");
    tear_down();
}
END_TEST

START_TEST(one_server_holds_a_file)
{
    int first = -1;
    int second = -1;

    set_up();
    ck_assert_int_eq(hgi_private_lock(path, &first, sentence), HG_OK);
    ck_assert_int_eq(hgi_private_lock(path, &second, sentence), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(sentence, "another server is using this file"));
    ck_assert_int_eq(second, -1);
    close(first);
    ck_assert_int_eq(hgi_private_lock(path, &second, sentence), HG_OK);
    close(second);
    tear_down();
}
END_TEST

HGI_SUITE("server.keyfile", 20, a_key_is_made_once_for_its_user_only_and_read_from_then_on,
          a_key_that_is_gone_is_not_made_anew_behind_what_it_keyed,
          a_key_that_others_may_see_or_change_is_refused, a_key_of_another_user_is_refused,
          a_key_in_a_folder_that_others_write_to_is_refused, a_file_of_another_length_is_no_key,
          a_link_and_a_folder_are_no_keys, a_key_that_cannot_be_made_says_where,
          one_server_holds_a_file)
