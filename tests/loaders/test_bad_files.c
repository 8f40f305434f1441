/* SPDX-License-Identifier: Apache-2.0 */
/* Files that must not be loaded, and libraries that must not get anywhere when they are: each is
 * put before a real child, which refuses it with a sentence that says why, or contains it. */
#include "child.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"

#define BAD(name) HGI_BUILD_DIR "/tests/base/plugins/bad_" name ".so"
#define PROBE     HGI_BUILD_DIR "/tests/loaders/plugins/probe.so"
#define SOMEBODY  47123u /* nobody's user id */
#define SWAPS     60

static struct child child;
static char folder[64];
static char path[128]; /* of the file under test */

static void start(void)
{
    snprintf(folder, sizeof(folder), "/tmp/herdgate-bad-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/plugin.so", folder);
}

static void finish(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void copy_file(const char *from, const char *to, size_t len_max)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t got;

    ck_assert_int_ge(in, 0);
    ck_assert_int_ge(out, 0);
    while (len_max > 0 &&
           (got = read(in, bytes, len_max < sizeof(bytes) ? len_max : sizeof(bytes))) > 0) {
        ck_assert_int_eq(write(out, bytes, (size_t)got), got);
        len_max -= (size_t)got;
    }
    close(in);
    close(out);
}

/* A sound plugin in a folder of its own. */
static void start_sound(void)
{
    start();
    copy_file(PROBE, path, SIZE_MAX);
}

static void overwrite(size_t at, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, len, (off_t)at), (ssize_t)len);
    close(fd);
}

static struct hgi_frame_hello hello_of(const char *plugin)
{
    return (struct hgi_frame_hello){
        .plugin = hg_slice_text(plugin), .workers = 1, .value_max_bytes = CHILD_VALUE_MAX};
}

static void assert_hello_refused(const struct hgi_frame_hello *hello, const char *wanted)
{
    const struct hgi_frame_ready *ready = child_open_as(&child, hello);
    char text[1024];
    int status;

    snprintf(text, sizeof(text), "%.*s", (int)ready->message.len,
             (const char *)ready->message.data);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" does not say \"%s\"", text, wanted);
    status = child_wait(&child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child_drop(&child);
}

static void assert_refused(const char *plugin, const char *wanted)
{
    const struct hgi_frame_hello hello = hello_of(plugin);

    assert_hello_refused(&hello, wanted);
}

static void assert_opened(const struct hgi_frame_hello *hello)
{
    const struct hgi_frame_ready *ready = child_open_as(&child, hello);

    ck_assert_msg(ready->status == HG_OK, "%.*s", (int)ready->message.len,
                  (const char *)ready->message.data);
    child_end(&child);
}

static bool is_root(void)
{
    return geteuid() == 0;
}

START_TEST(a_sound_file_opens)
{
    struct hgi_frame_hello hello;

    start_sound();
    hello = hello_of(path);
    assert_opened(&hello);
    finish();
}
END_TEST

START_TEST(modes_that_let_others_write)
{
    start_sound();
    ck_assert_int_eq(chmod(path, 0664), 0);
    assert_refused(path, "can be written by others than its owner (mode 0664)");
    ck_assert_int_eq(chmod(path, 0646), 0);
    assert_refused(path, "can be written by others than its owner (mode 0646)");
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(chmod(folder, 0775), 0);
    assert_refused(path, "a folder of user");
    ck_assert_int_eq(chmod(folder, 0757), 0);
    assert_refused(path, "to which others may write (mode 0757); chmod go-w /tmp/herdgate-bad-");
    finish();
}
END_TEST

START_TEST(an_upper_folder_that_lets_others_write)
{
    char inner[128];

    start();
    snprintf(inner, sizeof(inner), "%s/inner", folder);
    ck_assert_int_eq(mkdir(inner, 0755), 0);
    snprintf(path, sizeof(path), "%s/inner/plugin.so", folder);
    copy_file(PROBE, path, SIZE_MAX);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    assert_refused(path, "to which others may write (mode 0777)");
    finish();
}
END_TEST

START_TEST(owners_nobody_named)
{
    const uint32_t somebody = SOMEBODY;
    struct hgi_frame_hello hello;

    if (!is_root()) {
        return;
    }
    start_sound();
    hello = hello_of(path);
    ck_assert_int_eq(chown(path, SOMEBODY, (gid_t)-1), 0);
    assert_refused(path, "belongs to user 47123; it must belong to root");
    ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
    ck_assert_int_eq(chown(folder, SOMEBODY, (gid_t)-1), 0);
    assert_refused(path, "a folder of user 47123, who could put another file there");
    ck_assert_int_eq(chmod(folder, 01777), 0);
    assert_refused(path, "a folder of user 47123");
    ck_assert_int_eq(chmod(folder, 0755), 0);
    hello.owners = &somebody;
    hello.owner_count = 1;
    assert_opened(&hello);
    finish();
}
END_TEST

START_TEST(links)
{
    char real[128];
    char inner[128];

    start();
    snprintf(real, sizeof(real), "%s/real.so", folder);
    copy_file(PROBE, real, SIZE_MAX);
    ck_assert_int_eq(symlink("real.so", path), 0);
    assert_refused(path, "is a symbolic link");
    if (is_root()) {
        snprintf(inner, sizeof(inner), "%s/link", folder);
        ck_assert_int_eq(symlink(".", inner), 0);
        ck_assert_int_eq(lchown(inner, SOMEBODY, (gid_t)-1), 0);
        snprintf(path, sizeof(path), "%s/link/real.so", folder);
        assert_refused(path, "is reached through the link");
    }
    finish();
}
END_TEST

START_TEST(no_regular_files)
{
    start();
    assert_refused(path, "cannot be opened: No such file");
    assert_refused("plugin.so", "is not an absolute path");
    assert_refused(folder, "is not a regular file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_refused(path, "is not a regular file");
    assert_refused("/dev/zero", "is not a regular file");
    finish();
}
END_TEST

START_TEST(no_libraries)
{
    start();
    copy_file("/dev/null", path, 0);
    assert_refused(path, "is not an ELF shared object");
    copy_file(PROBE, path, 20);
    assert_refused(path, "is not an ELF shared object");
    copy_file(HGI_SOURCE_DIR "/CMakeLists.txt", path, SIZE_MAX);
    assert_refused(path, "is not an ELF shared object");
    copy_file(PROBE, path, 512); /* the headers, and nothing they speak of */
    assert_refused(path, "is cut short");
    copy_file(HGI_BUILD_DIR "/bin/herdgate-loader", path, SIZE_MAX);
    assert_refused(path, "cannot be loaded: ");
    finish();
}
END_TEST

START_TEST(libraries_of_another_machine)
{
    const uint16_t machine = EM_S390;
    const uint16_t type = ET_REL;
    const unsigned char class32 = ELFCLASS32;

    start_sound();
    overwrite(offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
    assert_refused(path, "is built for another kind of machine");
    copy_file(PROBE, path, SIZE_MAX);
    overwrite(EI_CLASS, &class32, 1);
    assert_refused(path, "is built for another kind of machine");
    copy_file(PROBE, path, SIZE_MAX);
    overwrite(offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
    assert_refused(path, "is an ELF file, but not a shared object");
    finish();
}
END_TEST

START_TEST(libraries_that_are_no_loader)
{
    assert_refused(BAD("symbol"), "exports no hg_loader_query");
    assert_refused(BAD("null"), "returned no descriptor");
    assert_refused(BAD("magic"), "has magic 0x12345678");
    assert_refused(BAD("abi"), "speaks ABI 2, this host speaks 1");
    assert_refused(BAD("size"), "has a descriptor of 12 bytes");
    assert_refused(BAD("load"), "has no `load`");
}
END_TEST

static void read_digest(const char *of, char *ret_hex)
{
    int fd = open(of, O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert(hgi_hash_file(fd, ret_hex));
    close(fd);
}

START_TEST(another_content_than_was_pinned)
{
    char pin[HGI_HASH_HEX_LEN + 1];
    struct hgi_frame_hello hello;

    start_sound();
    hello = hello_of(path);
    read_digest(path, pin);
    hello.pin = hg_slice_text(pin);
    assert_opened(&hello);
    copy_file(BAD("nothing"), path, SIZE_MAX);
    assert_hello_refused(&hello, "but is pinned to ");
    pin[0] = pin[0] == '0' ? '1' : '0';
    copy_file(PROBE, path, SIZE_MAX);
    assert_hello_refused(&hello, "has BLAKE2b-256 ");
    finish();
}
END_TEST

static atomic_bool is_swapping;

/* Puts one, then the other in the place, until told to stop. */
static void *swap(void *arg)
{
    char one[128];
    char other[128];

    (void)arg;
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    while (atomic_load(&is_swapping)) {
        if (link(one, other) != 0 || rename(other, path) != 0) {
            abort();
        }
        snprintf(one, sizeof(one), "%s/%s", folder, strstr(one, "/one") ? "two" : "one");
    }
    return NULL;
}

/* Whatever is in the place at which moment, only the pinned one is loaded. */
START_TEST(a_file_swapped_while_it_is_loaded)
{
    char one[128];
    char pin[HGI_HASH_HEX_LEN + 1];
    struct hgi_frame_hello hello;
    pthread_t thread;

    start_sound();
    hello = hello_of(path);
    snprintf(one, sizeof(one), "%s/one", folder);
    copy_file(PROBE, one, SIZE_MAX);
    snprintf(one, sizeof(one), "%s/two", folder);
    copy_file(BAD("nothing"), one, SIZE_MAX);
    read_digest(path, pin);
    hello.pin = hg_slice_text(pin);
    atomic_store(&is_swapping, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, swap, NULL), 0);
    for (int i = 0; i < SWAPS; i++) {
        const struct hgi_frame_ready *ready = child_open_as(&child, &hello);

        if (ready->status == HG_OK) {
            ck_assert_slice_eq(ready->name, "probe");
            child_end(&child);
        } else {
            ck_assert(memmem(ready->message.data, ready->message.len, "pinned to", 9) != NULL);
            child_wait(&child);
            child_drop(&child);
        }
    }
    atomic_store(&is_swapping, false);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    finish();
}
END_TEST

START_TEST(a_constructor_that_opens_a_socket)
{
    struct hgi_frame_hello hello;

    start_sound();
    hello = hello_of(path);
    hello.confine.is_offline = true;
    ck_assert_int_eq(child_open_as(&child, &hello)->status, HG_OK);
    ck_assert_slice_eq(child.frame.u.ready.version, "socket EPERM, file not named");
    child_end(&child);
    finish();
}
END_TEST

START_TEST(a_constructor_that_reads_the_snapshot)
{
    struct hgi_frame_hello hello;
    char snapshot[128];

    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
        return;
    }
    start_sound();
    hello = hello_of(path);
    snprintf(snapshot, sizeof(snapshot), "%s/cache.db", folder);
    copy_file(HGI_SOURCE_DIR "/CMakeLists.txt", snapshot, SIZE_MAX);
    ck_assert_int_eq(setenv("PROBE_FILE", snapshot, 1), 0);
    hello.confine.files_read = hg_slice_text("/usr/share");
    ck_assert_int_eq(child_open_as(&child, &hello)->status, HG_OK);
    ck_assert_slice_eq(child.frame.u.ready.version, "socket ok, file EACCES");
    child_end(&child);
    ck_assert_int_eq(unsetenv("PROBE_FILE"), 0);
    finish();
}
END_TEST

START_TEST(a_constructor_that_crashes)
{
    struct hgi_frame hello = {.kind = HGI_FRAME_HELLO, .u.hello = hello_of(BAD("constructor"))};
    int status;

    child_start(&child);
    child_send(&child, &hello);
    status = child_wait(&child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    child_drop(&child);
}
END_TEST

HGI_SUITE("loaders.bad_files", 60, a_sound_file_opens, modes_that_let_others_write,
          an_upper_folder_that_lets_others_write, owners_nobody_named, links, no_regular_files,
          no_libraries, libraries_of_another_machine, libraries_that_are_no_loader,
          another_content_than_was_pinned, a_file_swapped_while_it_is_loaded,
          a_constructor_that_opens_a_socket, a_constructor_that_reads_the_snapshot,
          a_constructor_that_crashes)
