/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's process may not do, tried by a plugin in a real child. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE HGI_BUILD_DIR "/tests/loaders/plugins/probe.so"

/* The address sanitizer looks for leaks by ptrace, so its build allows that. */
#if defined(__has_feature)
#define IS_LEAK_CHECKED __has_feature(address_sanitizer)
#else
#define IS_LEAK_CHECKED 0
#endif

static struct child child;
static uint64_t last_id;
static char folder[64];

static void start(const struct hgi_frame_confine *confine)
{
    struct hgi_frame_hello hello = {.plugin = hg_slice_text(PROBE),
                                    .workers = 1,
                                    .value_max_bytes = CHILD_VALUE_MAX,
                                    .confine = *confine};
    const struct hgi_frame_ready *ready = child_open_as(&child, &hello);

    ck_assert_msg(ready->status == HG_OK, "%.*s", (int)ready->message.len,
                  (const char *)ready->message.data);
    last_id = 0;
}

static void assert_answers(const char *key, const char *wanted)
{
    child_load_bytes(&child, ++last_id, key, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, last_id)->value, wanted);
}

static void assert_answers_of(const char *verb, const char *argument, const char *wanted)
{
    char key[256];

    snprintf(key, sizeof(key), "%s %s", verb, argument);
    assert_answers(key, wanted);
}

static void assert_not_opened(const struct hgi_frame_confine *confine, const char *wanted)
{
    struct hgi_frame_hello hello = {.plugin = hg_slice_text(PROBE), .confine = *confine};
    const struct hgi_frame_ready *ready = child_open_as(&child, &hello);
    char text[1024];

    snprintf(text, sizeof(text), "%.*s", (int)ready->message.len,
             (const char *)ready->message.data);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" does not say \"%s\"", text, wanted);
    child_wait(&child);
    child_drop(&child);
}

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/herdgate-confine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void path_in_folder(char *ret_path, const char *name)
{
    snprintf(ret_path, 128, "%s/%s", folder, name);
}

static void make_file(char *ret_path, const char *name)
{
    int fd;

    path_in_folder(ret_path, name);
    fd = open(ret_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* What it says of itself begins so: no-new-privs, dumpable, core files, the parent's death. */
static void assert_flags_begin(const char *wanted)
{
    child_load_bytes(&child, ++last_id, "flags", HG_TYPE_BYTES);
    ck_assert_msg(strncmp(child_done(&child, last_id)->value.data, wanted, strlen(wanted)) == 0,
                  "\"%.*s\" does not begin with \"%s\"", (int)child.frame.u.done.value.len,
                  (const char *)child.frame.u.done.value.data, wanted);
}

START_TEST(it_leaves_no_core_file_and_gains_no_rights)
{
    start(&(struct hgi_frame_confine){.may_dump = false});
    assert_flags_begin("1 0 0 9, ");
    child_end(&child);
}
END_TEST

START_TEST(for_debugging_it_may_be_looked_into)
{
    start(&(struct hgi_frame_confine){.may_dump = true});
    assert_flags_begin("1 1 ");
    child_end(&child);
}
END_TEST

/* Only root can become somebody else; who is somebody already need not. */
START_TEST(it_becomes_the_user_that_is_named)
{
    struct hgi_frame_hello hello = {.plugin = hg_slice_text(PROBE),
                                    .workers = 1,
                                    .value_max_bytes = CHILD_VALUE_MAX,
                                    .confine = {.has_user = true, .uid = 47123, .gid = 47124}};
    char plugin[128];
    char command[512];

    if (geteuid() != 0) {
        assert_not_opened(&hello.confine, "its process cannot become user 47123: ");
        hello.confine.uid = geteuid();
        hello.confine.gid = getegid();
        start(&hello.confine);
        child_end(&child);
        return;
    }
    /* Where that user can reach it, whoever may enter the folder of this build. */
    make_folder();
    ck_assert_int_eq(chmod(folder, 0755), 0);
    path_in_folder(plugin, "probe.so");
    snprintf(command, sizeof(command), "cp %s %s && chmod 0644 %s", PROBE, plugin, plugin);
    ck_assert_int_eq(system(command), 0);
    hello.plugin = hg_slice_text(plugin);
    ck_assert_int_eq(child_open_as(&child, &hello)->status, HG_OK);
    last_id = 0;
    assert_answers("flags", "1 0 0 9, 47123 47124 0");
    assert_answers("read /etc/shadow", "EACCES");
    child_end(&child);
    remove_folder();
}
END_TEST

START_TEST(memory_has_its_limit)
{
    start(&(struct hgi_frame_confine){.memory_max_bytes = 16u << 20});
    /* What is set aside for its nine threads comes on top. */
    assert_answers("memory 4096", "ENOMEM");
    assert_answers("memory 16", "ok");
    child_end(&child);
    start(&(struct hgi_frame_confine){.memory_max_bytes = 0});
    assert_answers("memory 4096", "ok");
    child_end(&child);
}
END_TEST

START_TEST(descriptors_have_their_limit)
{
    start(&(struct hgi_frame_confine){.descriptors_max = 32});
    assert_answers("files 40", "EMFILE");
    assert_answers("files 20", "ok");
    child_end(&child);
}
END_TEST

/* All of the user's count. The plugin becomes a user who has no others if it can; an ordinary user
 * may have any number, so there even the first thread is one too many. */
START_TEST(processes_have_their_limit)
{
    struct hgi_frame_hello hello = {
        .plugin = hg_slice_text(PROBE), .workers = 1, .confine = {.processes_max = 1}};

    if (geteuid() == 0) {
        start(&(struct hgi_frame_confine){.processes_max = 24});
        assert_answers("start 200", "EAGAIN");
    } else {
        ck_assert_int_eq(child_open_as(&child, &hello)->status, HG_RESOURCE_EXHAUSTED);
        ck_assert_slice_eq(child.frame.u.ready.message, "cannot start 1 threads");
    }
    child_drop(&child);
}
END_TEST

START_TEST(processor_time_has_its_limit)
{
    struct hgi_frame_hello hello = {
        .plugin = hg_slice_text(HGI_BUILD_DIR "/tests/loaders/plugins/crash.so"),
        .workers = 1,
        .value_max_bytes = CHILD_VALUE_MAX,
        .confine = {.cpu_max_s = 1}};
    int status;

    ck_assert_int_eq(child_open_as(&child, &hello)->status, HG_OK);
    child_load_bytes(&child, 1, "spin", HG_TYPE_BYTES);
    status = child_wait(&child);
    ck_assert(WIFSIGNALED(status));
    ck_assert(WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
    child_drop(&child);
}
END_TEST

START_TEST(it_reaches_into_no_other_process)
{
    char pid[32];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    start(&(struct hgi_frame_confine){.may_dump = true});
    assert_answers_of("kill", pid, "EPERM");
    assert_answers("kill -1", "EPERM");
    assert_answers_of("limit", pid, "EPERM");
    assert_answers_of("peek", pid, "EPERM");
    if (!IS_LEAK_CHECKED) {
        assert_answers_of("trace", pid, "EPERM");
    }
    snprintf(pid, sizeof(pid), "%d", (int)child.pid);
    assert_answers_of("kill", pid, "ok");
    assert_answers("limit 0", "ok");
    assert_answers("leave", "EPERM");
    child_end(&child);
}
END_TEST

START_TEST(offline_it_has_no_sockets)
{
    start(&(struct hgi_frame_confine){.is_offline = true});
    ck_assert_slice_eq(child.frame.u.ready.version, "socket EPERM, file not named");
    assert_answers("socket", "EPERM");
    assert_answers("ring", "EPERM");
    assert_answers("pair", "ok");
    child_end(&child);
    start(&(struct hgi_frame_confine){.is_offline = false});
    ck_assert_slice_eq(child.frame.u.ready.version, "socket ok, file not named");
    assert_answers("socket", "ok");
    child_end(&child);
}
END_TEST

START_TEST(only_the_files_that_are_named_can_be_touched)
{
    struct hgi_frame_confine confine = {.is_offline = false};
    char inside[128];
    char outside[128];
    char paths[160];

    if (!has_landlock()) {
        return;
    }
    make_folder();
    path_in_folder(inside, "in");
    ck_assert_int_eq(mkdir(inside, 0700), 0);
    snprintf(paths, sizeof(paths), "/usr/share:%s", inside);
    confine.files_read = hg_slice_text(paths);
    make_file(outside, "secret");
    make_file(inside, "in/data");
    ck_assert_int_eq(setenv("PROBE_FILE", outside, 1), 0);
    start(&confine);
    /* Before it was asked anything. */
    ck_assert_slice_eq(child.frame.u.ready.version, "socket ok, file EACCES");
    assert_answers_of("read", inside, "ok");
    assert_answers_of("write", inside, "EACCES");
    assert_answers_of("read", outside, "EACCES");
    assert_answers_of("write", outside, "EACCES");
    assert_answers("list /tmp", "EACCES");
    assert_answers("list /usr", "ok");
    assert_answers("read /etc/shadow", "EACCES");
    assert_answers("read /etc/hosts", "ok");
    assert_answers("write /dev/null", "ok");
    child_end(&child);
    confine.files_write = hg_slice_text(folder);
    start(&confine);
    ck_assert_slice_eq(child.frame.u.ready.version, "socket ok, file ok");
    path_in_folder(outside, "new");
    assert_answers_of("write", outside, "ok");
    child_end(&child);
    ck_assert_int_eq(unsetenv("PROBE_FILE"), 0);
    remove_folder();
}
END_TEST

START_TEST(a_named_file_that_is_not_there_is_told)
{
    struct hgi_frame_confine confine = {.files_read = hg_slice_text("/usr:/nonexistent/a")};

    if (!has_landlock()) {
        return;
    }
    assert_not_opened(&confine, "files_read names /nonexistent/a, which cannot be opened: No such");
    confine.files_write = hg_slice_text("/nonexistent/b");
    confine.files_read = hg_slice_of(NULL, 0);
    assert_not_opened(&confine, "files_write names /nonexistent/b, which cannot be opened");
}
END_TEST

/* As a kernel without Landlock answers, in a process of its own: it cannot be taken back. */
static int open_without_landlock(void)
{
    static const char wanted[] = "files_read and files_write need Landlock, which this kernel does "
                                 "not have or has not switched on (Function not implemented)";
    struct hgi_frame_hello hello = {.plugin = hg_slice_text(PROBE),
                                    .confine = {.files_read = hg_slice_text("/usr")}};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const struct hgi_frame_ready *ready;

    ck_assert_int_eq(
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0), 0);
    ck_assert_int_eq(seccomp_load(filter), 0);
    seccomp_release(filter);
    ready = child_open_as(&child, &hello);
    return ready->status == HG_FAILED_PRECONDITION && ready->message.len >= strlen(wanted) &&
                   memcmp(ready->message.data, wanted, strlen(wanted)) == 0
               ? 0
               : 1;
}

START_TEST(without_landlock_files_cannot_be_bounded_and_it_does_not_open)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(open_without_landlock());
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

HGI_SUITE("loaders.confine", 60, it_leaves_no_core_file_and_gains_no_rights,
          for_debugging_it_may_be_looked_into, it_becomes_the_user_that_is_named,
          memory_has_its_limit, descriptors_have_their_limit, processes_have_their_limit,
          processor_time_has_its_limit, it_reaches_into_no_other_process, offline_it_has_no_sockets,
          only_the_files_that_are_named_can_be_touched, a_named_file_that_is_not_there_is_told,
          without_landlock_files_cannot_be_bounded_and_it_does_not_open)
