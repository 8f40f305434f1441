/* SPDX-License-Identifier: Apache-2.0 */
/* A program instead of a plugin, started by the real child: what it finds, and what it may do. */
#include "child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"

/* Each load's key is what it is to find out; the value is what it found. */
static const char program[] =
    "#!/usr/bin/python3\n"
    "import os, resource, socket, sys\n"
    "sys.path.insert(0, '" HGI_SOURCE_DIR "/examples/exec')\n"
    "import herdgate_loader as herdgate\n"
    "def attempt(action):\n"
    "    try:\n"
    "        action()\n"
    "        return 'done'\n"
    "    except OSError as error:\n"
    "        return os.strerror(error.errno)\n"
    "def descriptors():\n"
    "    found = []\n"
    "    for fd in range(64):\n"
    "        try:\n"
    "            os.fstat(fd)\n"
    "            link = os.readlink('/proc/self/fd/%d' % fd)\n"
    "            found.append(str(fd) if fd < 4 else os.path.basename(link))\n"
    "        except OSError:\n"
    "            pass\n"
    "    return ' '.join(found)\n"
    "class Facts:\n"
    "    def open(self, settings):\n"
    "        if 'refuse' in settings:\n"
    "            raise herdgate.Refused(settings['refuse'])\n"
    "    def load(self, request):\n"
    "        key = request.key.decode()\n"
    "        if key == 'absent':\n"
    "            return herdgate.ABSENT\n"
    "        if key == 'fail':\n"
    "            raise herdgate.Failed(herdgate.UNAVAILABLE, 'no backend')\n"
    "        if key == 'tell':\n"
    "            self.server.invalidate_key('k', cache='c')\n"
    "        facts = {\n"
    "            'descriptors': descriptors,\n"
    "            'limit': lambda: str(resource.getrlimit(resource.RLIMIT_NOFILE)[1]),\n"
    "            'cores': lambda: str(resource.getrlimit(resource.RLIMIT_CORE)[1]),\n"
    "            'socket': lambda: attempt(socket.socket),\n"
    "            'signal': lambda: attempt(lambda: os.kill(os.getppid(), 0)),\n"
    "            'leave': lambda: attempt(os.setsid),\n"
    "            'read': lambda: attempt(lambda: os.listdir('/var')),\n"
    "            'write': lambda: attempt(lambda: open('/tmp/herdgate-not-there', 'w')),\n"
    "            'tell': lambda: 'told',\n"
    "        }\n"
    "        return herdgate.Value(facts[key]().encode(), ttl_ms=7, tags=['t'], etag=b'e')\n"
    "    def health(self):\n"
    "        return 'a cold'\n"
    "herdgate.serve(Facts(), 'facts', '2.0')\n";

static struct backend place;
static struct child child;
static char path[96];
static char sentence[HGI_FRAME_MESSAGE_MAX + 1];
static struct hgi_frame_hello hello;

static void begin(const char *text, mode_t mode)
{
    backend_prepare(&place, "program");
    backend_write(&place, "facts.py", text);
    snprintf(path, sizeof(path), "%s/facts.py", place.folder);
    ck_assert_int_eq(chmod(path, mode), 0);
    hello = (struct hgi_frame_hello){.plugin = hg_slice_text(path),
                                     .is_program = true,
                                     .workers = 2,
                                     .value_max_bytes = CHILD_VALUE_MAX};
}

static void copy_message(struct hg_slice message)
{
    snprintf(sentence, sizeof(sentence), "%.*s", (int)message.len,
             message.len ? (const char *)message.data : "");
}

static const struct hgi_frame_ready *open_program(void)
{
    const struct hgi_frame_ready *ready = child_open_as(&child, &hello);

    copy_message(ready->message);
    ck_assert_msg(ready->status == HG_OK, "%s", sentence);
    return ready;
}

static void finish(void)
{
    child_end(&child); /* it exits with 0 by itself */
    backend_remove(&place);
}

static void assert_fact(uint64_t id, const char *key, const char *value)
{
    const struct hgi_frame_done *done;

    child_load_bytes(&child, id, key, HG_TYPE_BYTES);
    done = child_done(&child, id);
    copy_message(done->message);
    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_msg(done->value.len == strlen(value) &&
                      memcmp(done->value.data, value, done->value.len) == 0,
                  "%s: \"%.*s\" is not \"%s\"", key, (int)done->value.len,
                  (const char *)done->value.data, value);
}

static void assert_refused(const char *wanted)
{
    const struct hgi_frame_ready *ready = child_open_as(&child, &hello);

    copy_message(ready->message);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
    child_wait(&child);
    child_drop(&child);
}

START_TEST(a_program_speaks_for_itself)
{
    const struct hgi_frame_ready *ready;
    const struct hgi_frame_done *done;
    struct hgi_frame question = {.kind = HGI_FRAME_HEALTH};

    begin(program, 0700);
    ready = open_program();
    ck_assert_slice_eq(ready->name, "facts");
    ck_assert_slice_eq(ready->version, "2.0");
    ck_assert_uint_eq(ready->abi, HG_LOADER_ABI);
    ck_assert_uint_eq(ready->max_inflight, 2);
    ck_assert(ready->has_health);
    child_load_bytes(&child, 1, "limit", HG_TYPE_BYTES);
    done = child_done(&child, 1);
    ck_assert_int_eq(done->ttl_ms, 7);
    ck_assert_uint_eq(done->tag_count, 1);
    ck_assert_slice_eq(done->tags[0], "t");
    ck_assert_slice_eq(done->etag, "e");
    child_load_bytes(&child, 2, "absent", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 2)->outcome, HG_ABSENT);
    child_load_bytes(&child, 3, "fail", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 3)->status, HG_UNAVAILABLE);
    ck_assert_slice_eq(child.frame.u.done.message, "no backend");
    child_send(&child, &question);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_HEALTH_REPLY);
    ck_assert_slice_eq(child.frame.u.health.message, "a cold");
    child_load_bytes(&child, 4, "tell", HG_TYPE_BYTES);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_INVALIDATE);
    ck_assert_int_eq(child.frame.u.invalidate.what, HG_INVALIDATED_KEY);
    ck_assert_slice_eq(child.frame.u.invalidate.cache, "c");
    child_done(&child, 4);
    finish();
}
END_TEST

/* The socket, what its standard streams are, and its own file. */
START_TEST(a_program_finds_nothing_of_the_servers)
{
    begin(program, 0700);
    open_program();
    assert_fact(1, "descriptors", "0 1 2 3 facts.py");
    finish();
}
END_TEST

START_TEST(a_program_is_bounded_like_a_plugin)
{
    char files[96];

    begin(program, 0700);
    snprintf(files, sizeof(files), "%s:%s", place.folder, HGI_SOURCE_DIR "/examples/exec");
    hello.confine = (struct hgi_frame_confine){.descriptors_max = 77,
                                               .is_offline = true,
                                               .memory_max_bytes = UINT64_C(1) << 30,
                                               .files_read = hg_slice_text(files)};
    open_program();
    assert_fact(1, "limit", "77");
    assert_fact(2, "cores", "0");
    assert_fact(3, "socket", "Operation not permitted");
    assert_fact(4, "signal", "Operation not permitted");
    assert_fact(5, "leave", "Operation not permitted");
    assert_fact(6, "read", "Permission denied");
    assert_fact(7, "write", "Permission denied");
    finish();
}
END_TEST

START_TEST(a_program_may_refuse_its_options)
{
    const struct hgi_frame_setting setting = {hg_slice_text("refuse"), hg_slice_text("not today")};

    begin(program, 0700);
    hello.settings = &setting;
    hello.setting_count = 1;
    assert_refused("not today");
    backend_remove(&place);
}
END_TEST

START_TEST(a_file_that_must_not_run_does_not)
{
    begin("#!/bin/sh\n", 0600);
    assert_refused("is not executable; chmod +x");
    ck_assert_int_eq(chmod(path, 0702), 0);
    assert_refused("can be written by others");
    ck_assert_int_eq(chmod(path, 0700), 0);
    hello.pin = hg_slice_text("0000000000000000000000000000000000000000000000000000000000000000");
    assert_refused("is pinned to 0000");
    hello.pin = hg_slice_of(NULL, 0);
    backend_write(&place, "facts.py", "#!/nowhere/python\n");
    ck_assert_int_eq(chmod(path, 0700), 0);
    assert_refused("is the interpreter in its first line there?");
    backend_write(&place, "facts.py", "just words\n");
    ck_assert_int_eq(chmod(path, 0700), 0);
    assert_refused("has no #! line");
    hello.plugin = hg_slice_text("/nowhere/at/all");
    assert_refused("cannot be opened: No such file");
    hello.plugin = hg_slice_text("relative.py");
    assert_refused("relative.py");
    backend_remove(&place);
}
END_TEST

START_TEST(a_program_ends_when_the_server_is_gone)
{
    begin(program, 0700);
    open_program();
    ck_assert_int_eq(shutdown(child.fd, SHUT_RDWR), 0);
    ck_assert_int_eq(child_wait(&child), 0);
    child_drop(&child);
    backend_remove(&place);
}
END_TEST

HGI_SUITE("loaders.program", 60, a_program_speaks_for_itself,
          a_program_finds_nothing_of_the_servers, a_program_is_bounded_like_a_plugin,
          a_program_may_refuse_its_options, a_file_that_must_not_run_does_not,
          a_program_ends_when_the_server_is_gone)
