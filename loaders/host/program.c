/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/trust.h"
#include "confine.h"
#include "proto/frame.h"

#define PAUSE_NS   1000000 /* between two looks at a Hello that has not come whole */
#define LOOKS_MAX  10000
#define ARENA_SIZE (16 * (size_t)HGI_FRAME_SERVER_MAX)

extern char **environ;

HG_PRINTF(3, 4)
static bool refuse(char *ret_sentence, const char *path, const char *format, ...)
{
    va_list args;
    size_t len;

    snprintf(ret_sentence, HGI_PROGRAM_SENTENCE_MAX, "program %.255s ", path);
    len = strlen(ret_sentence);
    va_start(args, format);
    vsnprintf(ret_sentence + len, HGI_PROGRAM_SENTENCE_MAX - len, format, args);
    va_end(args);
    return false;
}

/* The whole first frame, still in the socket. PARTIAL: the server is gone. */
static enum hgi_frame_cut peek_hello(int server_fd, struct hg_bytes *bytes,
                                     struct hg_slice *ret_body)
{
    struct pollfd server = {.fd = server_fd, .events = POLLIN};
    const struct timespec pause = {0, PAUSE_NS};
    size_t used;

    for (int look = 0; look < LOOKS_MAX; look++) {
        enum hgi_frame_cut cut;
        ssize_t got;

        (void)poll(&server, 1, -1);
        if (!hgi_bytes_reserve(bytes, HGI_FRAME_SERVER_MAX + HGI_FRAME_HEAD_BYTES)) {
            return HGI_FRAME_BAD;
        }
        got = recv(server_fd, bytes->data, HGI_FRAME_SERVER_MAX + HGI_FRAME_HEAD_BYTES, MSG_PEEK);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            return HGI_FRAME_PARTIAL;
        }
        bytes->len = got > 0 ? (size_t)got : 0;
        cut = hgi_frame_cut(hgi_bytes_slice(bytes), HGI_FRAME_SERVER_MAX, ret_body, &used);
        if (cut != HGI_FRAME_PARTIAL) {
            return cut;
        }
        nanosleep(&pause, NULL);
    }
    return HGI_FRAME_BAD; /* longer than what the socket holds */
}

/* Opened once: what is checked is what is run, whatever happens to the name meanwhile. */
static bool open_program(const struct hgi_frame_hello *hello, const char *path, int *ret_fd,
                         char *ret_sentence)
{
    const struct hgi_trust trust = {hello->owners, hello->owner_count};
    char why[HGI_TRUST_SENTENCE_MAX];
    char found[HGI_HASH_HEX_LEN + 1];
    struct stat about;

    if (hgi_trust_open(path, &trust, ret_fd, why) != HG_OK) {
        return refuse(ret_sentence, path, "%s", why);
    }
    if (fstat(*ret_fd, &about) != 0 || !(about.st_mode & S_IXUSR)) {
        return refuse(ret_sentence, path, "is not executable; chmod +x makes it so");
    }
    if (hello->pin.len) {
        if (!hgi_hash_file(*ret_fd, found)) {
            return refuse(ret_sentence, path, "cannot be read: %s", strerror(errno));
        }
        if (hello->pin.len != HGI_HASH_HEX_LEN ||
            strncasecmp(found, hello->pin.data, HGI_HASH_HEX_LEN) != 0) {
            return refuse(ret_sentence, path, "has BLAKE2b-256 %s, but is pinned to %.*s", found,
                          (int)hello->pin.len, (const char *)hello->pin.data);
        }
    }
    return true;
}

/* Returns only if it fails. A script's interpreter opens the script through its descriptor, so that
 * one stays open; of the server there is the socket. */
static void become(const struct hgi_frame_hello *hello, const char *path, int server_fd,
                   char *ret_sentence)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    char *argv[] = {(char *)(uintptr_t)path, NULL}; /* exec only reads it */
    int fd;

    if (!open_program(hello, path, &fd, ret_sentence)) {
        return;
    }
    if (hgi_confine(hello, ret_sentence) != HG_OK) {
        return;
    }
    /* Which the system forgets of who becomes another user. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGPIPE, &usual, NULL);
    if (fcntl(server_fd, F_SETFD, 0) == 0 && fcntl(server_fd, F_SETFL, 0) == 0 &&
        fcntl(fd, F_SETFD, 0) == 0) {
        fexecve(fd, argv, environ);
    }
    refuse(ret_sentence, path, "cannot be run: %s%s", strerror(errno),
           errno == ENOENT    ? "; is the interpreter in its first line there?"
           : errno == ENOEXEC ? "; it is no program of this machine, and has no #! line"
                              : "");
}

static enum hgi_program run_hello(int server_fd, struct hg_slice body, char *ret_sentence)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_frame frame;
    struct hgi_arena arena;
    char path[PATH_MAX];
    enum hgi_program result = HGI_PROGRAM_NONE;

    hgi_arena_init(&arena, ARENA_SIZE);
    if (hgi_frame_decode(body, &arena, &frame, sentence) == HG_OK &&
        frame.kind == HGI_FRAME_HELLO && frame.u.hello.is_program) {
        result = HGI_PROGRAM_FAILED;
        if (snprintf(path, sizeof(path), "%.*s", (int)frame.u.hello.plugin.len,
                     frame.u.hello.plugin.len ? (const char *)frame.u.hello.plugin.data : "") >=
            (int)sizeof(path)) {
            refuse(ret_sentence, path, "has too long a name");
        } else {
            become(&frame.u.hello, path, server_fd, ret_sentence);
        }
    }
    hgi_arena_deinit(&arena);
    return result;
}

enum hgi_program hgi_program_run(int server_fd, char *ret_sentence)
{
    enum hgi_program result = HGI_PROGRAM_NONE;
    struct hg_slice body;
    struct hg_bytes bytes;
    enum hgi_frame_cut cut;

    snprintf(ret_sentence, HGI_PROGRAM_SENTENCE_MAX,
             "its options are longer than a program can be handed");
    hgi_bytes_init(&bytes, &hgi_heap);
    cut = peek_hello(server_fd, &bytes, &body);
    if (cut == HGI_FRAME_PARTIAL) {
        result = HGI_PROGRAM_GONE;
    } else if (cut == HGI_FRAME_WHOLE) {
        result = run_hello(server_fd, body, ret_sentence);
    }
    hgi_bytes_deinit(&bytes);
    return result;
}
