/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

#define SOMEBODY 47123u /* nobody's user id */

static char folder[64];
static char sentence[HGI_TRUST_SENTENCE_MAX];

static void at(char *ret_path, const char *name)
{
    snprintf(ret_path, 128, "%s/%s", folder, name);
}

static void make_folder(const char *name, mode_t mode)
{
    char path[128];

    at(path, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static void make_file(const char *name, mode_t mode)
{
    char path[128];
    int fd;

    at(path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void give(const char *name, uid_t owner)
{
    char path[128];

    at(path, name);
    ck_assert_int_eq(lchown(path, owner, (gid_t)-1), 0);
}

static void link_to(const char *target, const char *name)
{
    char path[128];

    at(path, name);
    ck_assert_int_eq(symlink(target, path), 0);
}

static enum hg_status try_owner(const char *name, uint32_t owner, int *ret_fd)
{
    const struct hgi_trust trust = {&owner, 1};
    char path[128];

    at(path, name);
    sentence[0] = '\0';
    return hgi_trust_open(path, &trust, ret_fd, sentence);
}

static void assert_opens_for(const char *name, uint32_t owner)
{
    char byte;
    int fd = -1;

    ck_assert_msg(try_owner(name, owner, &fd) == HG_OK, "%s", sentence);
    ck_assert_int_eq(read(fd, &byte, 1), 1);
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    close(fd);
}

static void assert_opens(const char *name)
{
    assert_opens_for(name, 0);
}

static void assert_refused(const char *name, const char *wanted)
{
    int fd = -1;

    ck_assert_int_eq(try_owner(name, 0, &fd), HG_FAILED_PRECONDITION);
    ck_assert_int_eq(fd, -1);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
}

static void start(void)
{
    snprintf(folder, sizeof(folder), "/tmp/herdgate-trust-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    make_folder("good", 0755);
}

static void finish(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Only root can give files away, so only root can see what becomes of them. */
static bool is_root(void)
{
    return geteuid() == 0;
}

START_TEST(an_own_file_in_own_folders_below_a_sticky_one_opens)
{
    start();
    make_file("good/file", 0644);
    assert_opens("good/file");
    assert_opens("good//./../good/file");
    finish();
}
END_TEST

START_TEST(a_file_others_may_write_to_is_refused)
{
    start();
    make_file("good/group", 0664);
    make_file("good/all", 0646);
    assert_refused("good/group", "can be written by others than its owner (mode 0664)");
    assert_refused("good/all", "can be written by others than its owner (mode 0646)");
    finish();
}
END_TEST

START_TEST(a_folder_others_may_write_to_is_named)
{
    char wanted[256];

    start();
    make_folder("shared", 0775);
    make_folder("shared/inner", 0755);
    make_file("shared/inner/file", 0644);
    snprintf(wanted, sizeof(wanted),
             "lies in %s/shared, a folder of user %u to which others may write (mode 0775); "
             "chmod go-w %s/shared",
             folder, (unsigned)geteuid(), folder);
    assert_refused("shared/inner/file", wanted);
    make_folder("open", 0757);
    make_file("open/file", 0644);
    assert_refused("open/file", "(mode 0757)");
    finish();
}
END_TEST

START_TEST(a_sticky_folder_is_good_only_if_it_is_roots)
{
    start();
    make_folder("sticky", 01777);
    make_file("sticky/file", 0644);
    if (is_root()) {
        assert_opens("sticky/file");
        give("sticky", SOMEBODY);
        ck_assert_int_eq(try_owner("sticky/file", SOMEBODY, &(int){-1}), HG_FAILED_PRECONDITION);
        ck_assert_ptr_nonnull(strstr(sentence, "(mode 1777)"));
    } else {
        assert_refused("sticky/file", "(mode 1777)");
    }
    finish();
}
END_TEST

START_TEST(a_stranger_s_file_or_folder_is_refused_and_a_trusted_one_s_is_not)
{
    if (!is_root()) {
        return;
    }
    start();
    make_file("good/file", 0644);
    give("good/file", SOMEBODY);
    assert_refused("good/file", "belongs to user 47123; it must belong to root");
    assert_opens_for("good/file", SOMEBODY);
    make_folder("theirs", 0755);
    make_file("theirs/file", 0644);
    give("theirs", SOMEBODY);
    assert_refused("theirs/file", "theirs, a folder of user 47123, who could put another file");
    assert_opens_for("theirs/file", SOMEBODY);
    finish();
}
END_TEST

START_TEST(a_link_as_the_last_part_is_refused)
{
    start();
    make_file("good/file", 0644);
    link_to("file", "good/link");
    assert_refused("good/link", "is a symbolic link");
    finish();
}
END_TEST

START_TEST(links_on_the_way_are_followed_and_what_they_lead_through_is_checked)
{
    char target[128];

    start();
    make_file("good/file", 0644);
    link_to("good", "relative");
    at(target, "good");
    link_to(target, "absolute");
    assert_opens("relative/file");
    assert_opens("absolute/file");
    make_folder("shared", 0777);
    make_folder("shared/inner", 0755);
    make_file("shared/inner/file", 0644);
    link_to("shared/inner", "into");
    assert_refused("into/file", "shared, a folder of user");
    link_to("loop", "loop");
    assert_refused("loop/file", "through too many links");
    finish();
}
END_TEST

START_TEST(a_stranger_s_link_in_a_sticky_folder_is_refused)
{
    if (!is_root()) {
        return;
    }
    start();
    make_folder("sticky", 01777);
    make_file("good/file", 0644);
    link_to("../good", "sticky/link");
    assert_opens("sticky/link/file");
    give("sticky/link", SOMEBODY);
    assert_refused("sticky/link/file", "sticky/link of user 47123");
    finish();
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused)
{
    char path[128];

    start();
    assert_refused("good", "is not a regular file");
    at(path, "pipe");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_refused("pipe", "is not a regular file");
    make_file("good/file", 0644);
    assert_refused("good/file/more", "Not a directory");
    assert_refused("nothing/file", "No such file");
    finish();
}
END_TEST

START_TEST(odd_paths_are_refused)
{
    const struct hgi_trust trust = {NULL, 0};
    char path[8192];
    int fd = -1;

    ck_assert_int_eq(hgi_trust_open("good", &trust, &fd, sentence), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(sentence, "is not an absolute path");
    ck_assert_int_eq(hgi_trust_open("", &trust, &fd, sentence), HG_FAILED_PRECONDITION);
    ck_assert_int_eq(hgi_trust_open("/", &trust, &fd, sentence), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(sentence, "is not a regular file");
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(hgi_trust_open(path, &trust, &fd, sentence), HG_FAILED_PRECONDITION);
    path[300] = '\0';
    ck_assert_int_eq(hgi_trust_open(path, &trust, &fd, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "too long"));
    ck_assert_int_eq(fd, -1);
}
END_TEST

HGI_SUITE("base.trust", 20, an_own_file_in_own_folders_below_a_sticky_one_opens,
          a_file_others_may_write_to_is_refused, a_folder_others_may_write_to_is_named,
          a_sticky_folder_is_good_only_if_it_is_roots,
          a_stranger_s_file_or_folder_is_refused_and_a_trusted_one_s_is_not,
          a_link_as_the_last_part_is_refused,
          links_on_the_way_are_followed_and_what_they_lead_through_is_checked,
          a_stranger_s_link_in_a_sticky_folder_is_refused, what_is_no_regular_file_is_refused,
          odd_paths_are_refused)
