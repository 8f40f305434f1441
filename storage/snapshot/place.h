/* SPDX-License-Identifier: Apache-2.0 */
/* place: where the snapshot lies: its folder, its lock file, moving it aside.
 * Owns:     the lock on <path>.lock until deinit.
 * Threads:  one at a time.
 * Limits:   paths of PATH_MAX bytes less the longest suffix; 2 quarantined files are kept.
 * Errors:   FAILED_PRECONDITION when another process holds the lock, else UNAVAILABLE; a sentence.
 * Not here: what is in the file (schema, sqlite). */
#ifndef HGI_STORAGE_SNAPSHOT_PLACE_H
#define HGI_STORAGE_SNAPSHOT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/status.h"

#define HGI_PLACE_QUARANTINED_MAX 2u

struct hgi_place {
    char path[PATH_MAX]; /* absolute, folder resolved: sqlite refuses links on the way (NOFOLLOW) */
    char folder[PATH_MAX]; /* without the slash at its end */
    int lock_fd;
};

/* Makes the folder (0700) if it is missing and takes the lock. */
HG_NODISCARD enum hg_status hgi_place_init(struct hgi_place *place, const char *path,
                                           char *ret_sentence);
/* Finds a file that is there, makes nothing, and takes the lock if there is one. NOT_FOUND: no such
 * file. *ret_has_log: there is something in its log. */
HG_NODISCARD enum hg_status hgi_place_find(struct hgi_place *place, const char *path,
                                           bool *ret_has_log, char *ret_sentence);
void hgi_place_deinit(struct hgi_place *place);

/* Makes the file 0600, so that sqlite finds it and gives its -wal the same mode. *ret_is_new: there
 * was nothing in it; sqlite itself then removes a log that lies beside it. */
HG_NODISCARD enum hg_status hgi_place_make_file(struct hgi_place *place, bool *ret_is_new,
                                                char *ret_sentence);
/* What the file and its log take; 0 of one that is not there. */
void hgi_place_sizes(const struct hgi_place *place, uint64_t *ret_file_bytes,
                     uint64_t *ret_log_bytes);
/* A place beside it: <path>.new, where nothing is any more. It has no lock of its own. */
HG_NODISCARD enum hg_status hgi_place_beside(struct hgi_place *place, struct hgi_place *ret_beside,
                                             char *ret_sentence);
/* The file beside it is the file. Neither has a log or is open. */
HG_NODISCARD enum hg_status hgi_place_replace(struct hgi_place *place, struct hgi_place *beside,
                                              char *ret_sentence);
/* Renames the file and its companions to <path>.corrupt-<unix time>, which is written to
 * ret_moved_to (PATH_MAX bytes), and removes the oldest beyond HGI_PLACE_QUARANTINED_MAX. */
HG_NODISCARD enum hg_status hgi_place_quarantine(struct hgi_place *place, int64_t unix_s,
                                                 char *ret_moved_to, char *ret_sentence);
/* Removes the file, then its companions: in this order a crash between leaves no old file that has
 * lost the tail of its log. */
enum hg_status hgi_place_remove(struct hgi_place *place, char *ret_sentence);

#endif
