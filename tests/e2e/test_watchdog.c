/* SPDX-License-Identifier: Apache-2.0 */
/* What was accepted and is not closed ends the server, for the service manager to begin anew (I15).
 * The server is the real one, and what stays is real: libraries that do not close what they are
 * told to are preloaded (leaky). Half a minute passes by the boot clock only. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "leaky.h"
#include "manager.h"

#define WAIT_MS        20000
#define STEP_S         31  /* a little more than what is too many may stay (HGI_CENSUS_MS) */
#define FEW            700 /* more than at the start: the server's margin is 768 */
#define MANY           900
#define PLACES         "64"
#define AT_A_TIME      32
#define MUTE_COUNT     40 /* more than half of the places */
#define FILES_NEEDED   2048
#define WATCHDOG_US    "8000000"
#define HERDGATE_LEAKY HGI_BUILD_DIR "/tests/lib/leaky.so"

struct scene {
    struct daemon d;
    struct manager manager;
    struct leaky *leaky;
    char leaky_file[96];
};

static void map_leaky(struct scene *scene)
{
    int fd;

    snprintf(scene->leaky_file, sizeof(scene->leaky_file), "%s/leaky", scene->d.dir);
    fd = open(scene->leaky_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, sizeof(*scene->leaky)), 0);
    scene->leaky = mmap(NULL, sizeof(*scene->leaky), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert(scene->leaky != MAP_FAILED);
    close(fd);
}

/* As many descriptors as stay must be allowed, or they would be noticed for another reason. */
static void allow_files(void)
{
    struct rlimit files;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    ck_assert_uint_ge(files.rlim_max, FILES_NEEDED);
    files.rlim_cur = FILES_NEEDED;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static void begin(struct scene *scene)
{
    allow_files();
    manager_open(&scene->manager);
    daemon_prepare(&scene->d, "limits { connections_max = " PLACES " handshake = \"200ms\" }\n"
                              "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    map_leaky(scene);
    ck_assert_int_eq(setenv(LEAKY_FILE, scene->leaky_file, 1), 0);
    ck_assert_int_eq(setenv("LD_PRELOAD", HERDGATE_LEAKY, 1), 0);
    manager_start(&scene->manager, &scene->d, WATCHDOG_US);
    ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0);
    ck_assert_int_eq(unsetenv(LEAKY_FILE), 0);
    manager_hear_beats(&scene->manager);
}

static void finish(struct scene *scene)
{
    ck_assert_int_eq(munmap(scene->leaky, sizeof(*scene->leaky)), 0);
    manager_close(&scene->manager);
    daemon_remove(&scene->d);
}

/* A connection that says nothing. */
static int dial(const struct scene *scene)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", scene->d.ipc_url + strlen("ipc://"));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void await_counter(struct scene *scene, const char *name, uint64_t least, uint64_t most)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    uint64_t value;

    while ((value = daemon_server_metric(&scene->d, name)) < least || value > most) {
        ck_assert_msg(hgi_clock_now().boot_ms < end_ms, "%s is %llu", name,
                      (unsigned long long)value);
        hgi_thread_pause(2);
    }
}

static void await_kept(struct scene *scene, unsigned count)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;

    while (atomic_load(&scene->leaky->kept_count) < count) {
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
        hgi_thread_pause(1);
    }
}

/* So many connections come and go, half as many at a time as there are places, and leave a
 * descriptor each. */
static void leave_descriptors(struct scene *scene, unsigned count)
{
    unsigned kept = atomic_load(&scene->leaky->kept_count);

    atomic_store(&scene->leaky->keeps_descriptors, 1);
    for (unsigned i = 1; i <= count; i++) {
        close(dial(scene));
        await_kept(scene, i < AT_A_TIME ? kept : kept + i - AT_A_TIME);
    }
    await_kept(scene, kept + count);
    /* This one, and at most the heartbeat's. */
    await_counter(scene, "connections_open", 0, 2);
    atomic_store(&scene->leaky->keeps_descriptors, 0);
    ck_assert_uint_ge(daemon_count_descriptors(&scene->d), kept + count);
}

START_TEST(descriptors_that_outlive_their_connections_end_the_server)
{
    struct scene scene;

    begin(&scene);
    leave_descriptors(&scene, FEW);
    manager_hear_beats(&scene.manager);
    atomic_fetch_add(&scene.leaky->ahead_s, STEP_S);
    manager_hear_beats(&scene.manager); /* not so few that they are not noticed, nor too many */
    leave_descriptors(&scene, MANY - FEW);
    manager_hear_beats(&scene.manager); /* not before their time */
    atomic_fetch_add(&scene.leaky->ahead_s, STEP_S);
    manager_await_abort(&scene.d);
    ck_assert(daemon_log_says(&scene.d, "descriptors are open, for "));
    ck_assert(daemon_log_says(&scene.d,
                              "does not close what it has accepted; ending, for the service "
                              "manager to begin anew"));
    finish(&scene);
}
END_TEST

static void dial_many(struct scene *scene, int *ret_fds)
{
    uint64_t timeouts = daemon_server_metric(&scene->d, "timeouts");

    for (size_t i = 0; i < MUTE_COUNT; i++) {
        ret_fds[i] = dial(scene);
    }
    /* The server ends them, for they do not say what they want. */
    await_counter(scene, "timeouts", timeouts + MUTE_COUNT, UINT64_MAX);
}

static void hang_up(const int *fds)
{
    for (size_t i = 0; i < MUTE_COUNT; i++) {
        close(fds[i]);
    }
}

/* Each holds a place. In the end nobody would get in, and the heartbeat, turned away at the door,
 * would call that life. */
START_TEST(connections_that_end_and_do_not_go_away_end_the_server)
{
    struct scene scene;
    int fds[MUTE_COUNT];

    begin(&scene);
    dial_many(&scene, fds);
    await_counter(&scene, "connections_open", 0, 2);
    hang_up(fds);
    atomic_store(&scene.leaky->keeps_streams, 1);
    dial_many(&scene, fds);
    ck_assert_uint_ge(daemon_server_metric(&scene.d, "connections_open"), MUTE_COUNT);
    manager_hear_beats(&scene.manager); /* not before their time */
    atomic_fetch_add(&scene.leaky->ahead_s, STEP_S);
    manager_await_abort(&scene.d);
    ck_assert(daemon_log_says(&scene.d, "too many of which have ended and do not go away"));
    hang_up(fds);
    finish(&scene);
}
END_TEST

HGI_SUITE("e2e.watchdog", 60, descriptors_that_outlive_their_connections_end_the_server,
          connections_that_end_and_do_not_go_away_end_the_server)
