/* SPDX-License-Identifier: Apache-2.0 */
#include "leaky.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "herdgate/attr.h"

struct nng_stream;

HG_EXPORT int close(int fd);
HG_EXPORT int clock_gettime(clockid_t id, struct timespec *ret_time);
HG_EXPORT void nng_stream_close(struct nng_stream *stream);

/* Before the constructor has run there is nothing to do. */
static struct leaky *leaky;

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv(LEAKY_FILE);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *file =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*leaky), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (file == MAP_FAILED) {
        abort();
    }
    (void)syscall(SYS_close, fd);
    leaky = file;
}

/* One end of a connection of ours that somebody else began: it has the address that is listened at.
 */
static bool is_accepted(int fd)
{
    struct sockaddr_un own = {.sun_family = AF_UNSPEC};
    socklen_t len = sizeof(own);
    int is_listening = 0;
    socklen_t flag_len = sizeof(is_listening);

    return getsockname(fd, (struct sockaddr *)&own, &len) == 0 && own.sun_family == AF_UNIX &&
           len > offsetof(struct sockaddr_un, sun_path) && own.sun_path[0] != '\0' &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &flag_len) == 0 &&
           !is_listening;
}

int close(int fd)
{
    if (leaky && atomic_load(&leaky->keeps_descriptors) && is_accepted(fd) &&
        fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0) {
        atomic_fetch_add(&leaky->kept_count, 1);
    }
    return (int)syscall(SYS_close, fd);
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = (int)syscall(SYS_clock_gettime, id, ret_time);

    if (result == 0 && leaky && id == CLOCK_BOOTTIME) {
        ret_time->tv_sec += atomic_load(&leaky->ahead_s);
    }
    return result;
}

void nng_stream_close(struct nng_stream *stream)
{
    void (*real)(struct nng_stream *);

    if (leaky && atomic_load(&leaky->keeps_streams)) {
        atomic_fetch_add(&leaky->kept_count, 1);
        return;
    }
    *(void **)(&real) = dlsym(RTLD_NEXT, "nng_stream_close");
    real(stream);
}
