/* SPDX-License-Identifier: Apache-2.0 */
/* A loader that writes to its process's socket itself, whatever the key says:
 *   stranger   an answer to a load it was not sent, then the right one
 *   twice      the right answer twice
 *   ready      a second Ready        load       a frame that only the server sends
 *   value      a value a byte longer than it may       frame      a longer frame than there may be
 *   empty      a frame of no bytes   status     an answer with a status there is not
 *   negative   a time below 0        two        two messages in one frame
 *   half       half a frame, and dies
 * Any other key is its own value. If the file of the option "control" begins with "early", it logs
 * before its process has said that it is ready. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "herdgate/loader.h"
#include "proto/frame.h"

#define SERVER_FD 3
#define VALUE_MAX 65536u /* of the notebook's supervisor */

static const struct hg_host_services *services;

static void write_all(const unsigned char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = write(SERVER_FD, bytes, len);

        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        } else {
            pause(); /* the server reads no more of it, and ends it */
        }
    }
}

static void say(const struct hgi_frame *frame, size_t cut)
{
    struct hg_bytes out;

    hgi_bytes_init(&out, &hgi_heap);
    if (hgi_frame_encode(frame, 2 * VALUE_MAX, &out)) {
        write_all(out.data, out.len - cut);
    }
    hgi_bytes_deinit(&out);
}

static void say_done(struct hgi_frame_done done)
{
    const struct hgi_frame frame = {.kind = HGI_FRAME_DONE, .u.done = done};

    say(&frame, 0);
}

static void lie(const char *key)
{
    static const unsigned char long_frame[] = {0x7f, 0xff, 0xff, 0xff};
    static const unsigned char empty[] = {0, 0, 0, 0};
    /* Two Drains. */
    static const unsigned char two[] = {0, 0, 0, 4, 0x3a, 0, 0x3a, 0};
    static unsigned char value[VALUE_MAX + 1];
    const struct hgi_frame ready = {.kind = HGI_FRAME_READY};
    const struct hgi_frame load = {.kind = HGI_FRAME_LOAD, .u.load = {.value_type = HG_TYPE_BYTES}};

    if (strcmp(key, "stranger") == 0) {
        say_done((struct hgi_frame_done){.id = 424242, .outcome = HG_VALUE});
    } else if (strcmp(key, "ready") == 0) {
        say(&ready, 0);
    } else if (strcmp(key, "load") == 0) {
        say(&load, 0);
    } else if (strcmp(key, "value") == 0) {
        say_done((struct hgi_frame_done){
            .id = 1, .outcome = HG_VALUE, .value = hg_slice_of(value, sizeof(value))});
    } else if (strcmp(key, "frame") == 0) {
        write_all(long_frame, sizeof(long_frame));
    } else if (strcmp(key, "empty") == 0) {
        write_all(empty, sizeof(empty));
    } else if (strcmp(key, "status") == 0) {
        say_done((struct hgi_frame_done){.id = 1, .status = (enum hg_status)99});
    } else if (strcmp(key, "negative") == 0) {
        say_done((struct hgi_frame_done){.id = 1, .outcome = HG_VALUE, .ttl_ms = -1});
    } else if (strcmp(key, "two") == 0) {
        write_all(two, sizeof(two));
    } else if (strcmp(key, "half") == 0) {
        say(&load, 2);
        _exit(0);
    } else {
        return;
    }
    if (strcmp(key, "stranger") != 0) {
        pause();
    }
}

static void liar_load(void *self, struct hg_load *load, const struct hg_load_request *request)
{
    char key[64];

    (void)self;
    snprintf(key, sizeof(key), "%.*s", (int)request->key.bytes.len,
             (const char *)request->key.bytes.data);
    lie(key);
    if (strcmp(key, "twice") == 0) {
        services->done_bytes(load, request->key.bytes, NULL);
    }
    services->done_bytes(load, request->key.bytes, NULL);
}

static enum hg_status liar_open(struct hg_host *host, const struct hg_host_services *given,
                                const struct hg_loader_setting *settings, size_t setting_count,
                                void **ret_self, char *error, size_t error_size)
{
    const struct hgi_frame log = {.kind = HGI_FRAME_LOG,
                                  .u.log = {HG_LOG_INFO, hg_slice_text("early")}};
    char word[6] = "";
    int fd = setting_count ? open(settings[0].value, O_RDONLY | O_CLOEXEC) : -1;

    (void)host;
    (void)error;
    (void)error_size;
    services = given;
    if (fd >= 0 && read(fd, word, sizeof(word) - 1) > 0 && strcmp(word, "early") == 0) {
        say(&log, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    *ret_self = NULL;
    return HG_OK;
}

static void liar_close(void *self)
{
    (void)self;
}

static const struct hg_loader_option options[] = {
    {.name = "control", .help = "file that may say \"early\""},
    {.name = "journal", .help = "not used"},
    {.name = NULL},
};

static const struct hg_loader liar = {
    .magic = HG_LOADER_MAGIC,
    .abi = HG_LOADER_ABI,
    .size = sizeof(liar),
    .name = "liar",
    .version = "1",
    .options = options,
    .open = liar_open,
    .load = liar_load,
    .close = liar_close,
};

const struct hg_loader *hg_loader_query(void)
{
    return &liar;
}
