/* SPDX-License-Identifier: Apache-2.0 */
/* trust: a file that only trusted users can have written, or put where it is.
 * Owns:     nothing; the descriptor it returns is the caller's.
 * Threads:  any.
 * Limits:   PATH_MAX bytes of path, HGI_TRUST_LINKS_MAX links on the way.
 * Errors:   FAILED_PRECONDITION and half a sentence about the file: which folder is at fault, whose
 *           it is, what would be right.
 * Not here: what the file holds.
 *
 * Trusted are root, the process's own user, and the owners that are handed in. Each folder on the
 * way must belong to one of them, and nobody else may write to it: who can write to a folder can
 * put another file in the place of this one. A folder all may write to is good if it is root's and
 * sticky (as /tmp), for then nobody can replace what belongs to others. */
#ifndef HGI_BASE_TRUST_H
#define HGI_BASE_TRUST_H

#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/status.h"

#define HGI_TRUST_LINKS_MAX    32u
#define HGI_TRUST_SENTENCE_MAX 384u

struct hgi_trust {
    const uint32_t *owners; /* user ids beside root and the own one */
    size_t owner_count;
};

/* Opens the regular file for reading (close on exec) and checks what it has opened; the last part
 * of `path`, which is absolute, may not be a link. ret_sentence: HGI_TRUST_SENTENCE_MAX bytes, to
 * be put behind the file's name. */
HG_NODISCARD enum hg_status hgi_trust_open(const char *path, const struct hgi_trust *trust,
                                           int *ret_fd, char *ret_sentence);

#endif
