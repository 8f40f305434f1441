/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "server/access/keyfile.h"

#define HEAD           "herdgate tokens 1\n"
#define SEAL           "seal "
#define HEX_LEN        (2 * HGI_DIGEST_BYTES)
#define LINE_MAX_BYTES 256u
#define FILE_MAX_BYTES (HGI_TOKENS_MAX * LINE_MAX_BYTES)

static void hex_of(const struct hgi_digest *digest, char ret_hex[HEX_LEN + 1])
{
    sodium_bin2hex(ret_hex, HEX_LEN + 1, digest->bytes, sizeof(digest->bytes));
}

/* ---- reading ---- */

static enum hg_status damaged(const char *path, int line, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX,
             "%.140s:%d: damaged, or not made with this key_file; bring back the right one, or "
             "remove both and give out new tokens",
             path, line);
    return HG_FAILED_PRECONDITION;
}

static enum hg_status read_whole(const char *path, struct hg_bytes *ret_bytes, char *ret_sentence)
{
    ssize_t len;
    int fd;
    enum hg_status status = hgi_private_open(path, &fd, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    if (!hgi_bytes_reserve(ret_bytes, FILE_MAX_BYTES)) {
        close(fd);
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: no memory to read it", path);
        return HG_FAILED_PRECONDITION;
    }
    do {
        len = read(fd, ret_bytes->data + ret_bytes->len, FILE_MAX_BYTES - ret_bytes->len);
        ret_bytes->len += len > 0 ? (size_t)len : 0;
    } while (len > 0);
    if (len < 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: %s", path, strerror(errno));
        status = HG_FAILED_PRECONDITION;
    }
    close(fd);
    return status;
}

/* The line that begins at *at, without its end; false: no whole line is left. */
static bool next_line(struct hg_slice *at, struct hg_slice *ret_line)
{
    const char *end = at->len ? memchr(at->data, '\n', at->len) : NULL;
    size_t len = end ? (size_t)(end - (const char *)at->data) : 0;

    if (!end) {
        return false;
    }
    *ret_line = hg_slice_of(at->data, len);
    *at = hg_slice_of(end + 1, at->len - len - 1);
    return true;
}

static bool digest_of_hex(const char *hex, struct hgi_digest *ret_digest)
{
    size_t len = 0;

    return sodium_hex2bin(ret_digest->bytes, sizeof(ret_digest->bytes), hex, HEX_LEN, NULL, &len,
                          NULL) == 0 &&
           len == sizeof(ret_digest->bytes);
}

/* The seal has been checked: what it holds is what was written. */
static bool parse_record(struct hg_slice line, struct hgi_token_record *ret_record)
{
    char text[LINE_MAX_BYTES];
    char hex[HEX_LEN + 1];

    if (line.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, line.data, line.len);
    text[line.len] = '\0';
    return sscanf(text, "%8" SCNx32 " %" SCNd64 " %" SCNd64 " %64[0-9a-f] %64s", &ret_record->id,
                  &ret_record->created_at_ms, &ret_record->expires_at_ms, hex,
                  ret_record->principal) == 5 &&
           strlen(hex) == HEX_LEN && digest_of_hex(hex, &ret_record->digest);
}

/* Whether the last line is the seal of those before it, which are then *ret_lines. */
static bool is_sealed(struct hg_slice text, const struct hgi_digest_key *seal,
                      struct hg_slice *ret_lines)
{
    const size_t tail = strlen(SEAL) + HEX_LEN + 1;
    struct hgi_digest said;
    struct hgi_digest is;
    const char *at;

    if (text.len < strlen(HEAD) + tail || memcmp(text.data, HEAD, strlen(HEAD)) != 0) {
        return false;
    }
    at = (const char *)text.data + text.len - tail;
    if (memcmp(at, SEAL, strlen(SEAL)) != 0 || at[tail - 1] != '\n' ||
        !digest_of_hex(at + strlen(SEAL), &said)) {
        return false;
    }
    is = hgi_digest(seal, hg_slice_of(text.data, text.len - tail));
    *ret_lines =
        hg_slice_of((const char *)text.data + strlen(HEAD), text.len - tail - strlen(HEAD));
    return hgi_digest_equal(&said, &is);
}

enum hg_status hgi_tokens_file_read(const char *path, const struct hgi_digest_key *seal,
                                    struct hgi_token_record *ret_records, size_t *ret_count,
                                    char *ret_sentence)
{
    struct hg_slice lines;
    struct hg_slice line;
    struct hg_bytes bytes;
    enum hg_status status;
    size_t count = 0;

    hgi_bytes_init(&bytes, &hgi_heap);
    status = read_whole(path, &bytes, ret_sentence);
    if (status != HG_OK) {
        goto out;
    }
    if (!is_sealed(hgi_bytes_slice(&bytes), seal, &lines)) {
        status = damaged(path, 1, ret_sentence);
        goto out;
    }
    while (next_line(&lines, &line)) {
        if (count == HGI_TOKENS_MAX || !parse_record(line, &ret_records[count])) {
            status = damaged(path, (int)count + 2, ret_sentence);
            goto out;
        }
        count++;
    }
    *ret_count = count;
out:
    hgi_bytes_deinit(&bytes);
    return status;
}

/* ---- writing ---- */

static bool append_record(const struct hgi_token_record *record, struct hg_bytes *bytes)
{
    char line[LINE_MAX_BYTES];
    char hex[HEX_LEN + 1];

    hex_of(&record->digest, hex);
    snprintf(line, sizeof(line), "%08" PRIx32 " %" PRId64 " %" PRId64 " %s %s\n", record->id,
             record->created_at_ms, record->expires_at_ms, hex, record->principal);
    return hgi_bytes_append(bytes, hg_slice_text(line));
}

static bool compose(const struct hgi_digest_key *seal, const struct hgi_token_record *records,
                    size_t count, struct hg_bytes *bytes)
{
    char line[sizeof(SEAL) + HEX_LEN + 1];
    char hex[HEX_LEN + 1];
    struct hgi_digest digest;

    if (!hgi_bytes_append(bytes, hg_slice_text(HEAD))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!append_record(&records[i], bytes)) {
            return false;
        }
    }
    digest = hgi_digest(seal, hgi_bytes_slice(bytes));
    hex_of(&digest, hex);
    snprintf(line, sizeof(line), SEAL "%s\n", hex);
    return hgi_bytes_append(bytes, hg_slice_text(line));
}

static bool write_all(int fd, struct hg_slice bytes)
{
    const char *at = bytes.data;
    size_t left = bytes.len;

    while (left > 0) {
        ssize_t len = write(fd, at, left);

        if (len < 0 && errno != EINTR) {
            return false;
        }
        at += len > 0 ? len : 0;
        left -= len > 0 ? (size_t)len : 0;
    }
    return true;
}

/* False: errno says why. */
static bool replace(const char *path, struct hg_slice bytes)
{
    char next[PATH_MAX];
    bool is_written;
    int fd;

    snprintf(next, sizeof(next), "%s.next", path);
    (void)unlink(next); /* of a writer that was killed */
    fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    is_written = write_all(fd, bytes) && fsync(fd) == 0;
    close(fd);
    return is_written && rename(next, path) == 0 && hgi_sync_folder_of(path);
}

enum hg_status hgi_tokens_file_write(const char *path, const struct hgi_digest_key *seal,
                                     const struct hgi_token_record *records, size_t count,
                                     char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hg_bytes bytes;

    hgi_bytes_init(&bytes, &hgi_heap);
    if (!compose(seal, records, count, &bytes)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: no memory to write it", path);
        status = HG_UNAVAILABLE;
    } else if (!replace(path, hgi_bytes_slice(&bytes))) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: %s", path, strerror(errno));
        status = HG_UNAVAILABLE;
    }
    hgi_bytes_deinit(&bytes);
    return status;
}
