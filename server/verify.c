/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/access/keyfile.h"
#include "storage/snapshot/snapshot.h"

static void describe(const char *path, const struct hgi_snapshot_report *report, char *ret_sentence)
{
    time_t saved_s = (time_t)(report->saved_wall_ms / 1000);
    char saved[64] = "never";
    struct tm parts;

    if (report->saved_wall_ms > 0 && gmtime_r(&saved_s, &parts)) {
        (void)strftime(saved, sizeof(saved), "%Y-%m-%d %H:%M:%S UTC", &parts);
    }
    snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX,
             "%.300s is whole: %" PRIu64 " rows in %" PRIu64 " pages, %" PRIu64 " caches, %" PRIu64
             " invalidations to be carried out; %s; last written %s",
             path, report->rows, report->pages, report->caches, report->invalidations,
             report->is_encrypted ? "encrypted"
             : report->is_keyed   ? "checksums under a key_file"
                                  : "checksums under a key of its own",
             saved);
}

enum hgi_exit hgi_verify(const char *path, const char *key_path, char *ret_sentence)
{
    struct hgi_snapshot_options options = {.path = path};
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX] = "";
    struct hgi_snapshot_report report;
    struct hgi_digest_key key;
    enum hg_status status;

    if (key_path) {
        struct hgi_digest_key master;

        if (hgi_keyfile_read(key_path, false, &master, ret_sentence) != HG_OK) {
            return HGI_EXIT_CONFIG;
        }
        key = hgi_digest_key_derive(&master, HGI_KEY_USE_SNAPSHOT);
        explicit_bzero(&master, sizeof(master));
        options.key = &key;
    }
    status = hgi_snapshot_verify(&options, &report, sentence);
    explicit_bzero(&key, sizeof(key));
    if (status != HG_OK) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
        return status == HG_FAILED_PRECONDITION ? HGI_EXIT_RUNNING : HGI_EXIT_FAILED;
    }
    if (report.wrong > 0) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX,
                 "%.300s is not whole: %.400s; %" PRIu64 " faults, %" PRIu64 " rows can be read",
                 path, report.fault, report.wrong, report.rows);
        return HGI_EXIT_FAILED;
    }
    describe(path, &report, ret_sentence);
    return HGI_EXIT_OK;
}
