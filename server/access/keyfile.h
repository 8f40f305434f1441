/* SPDX-License-Identifier: Apache-2.0 */
/* keyfile: files that only the server's own user may see.
 * Owns:     nothing; what was read is the caller's to wipe.
 * Threads:  at start.
 * Limits:   the server's key is HGI_DIGEST_BYTES bytes.
 * Errors:   one sentence: what is wrong with the file and what would be right.
 * Not here: what is done with the key (base/digest), the file of tokens (tokens_file). */
#ifndef HGI_SERVER_ACCESS_KEYFILE_H
#define HGI_SERVER_ACCESS_KEYFILE_H

#include "base/digest.h"
#include "base/kind.h"

/* Opens a file that only this user and root can read, write or have put there (base/trust).
 * *ret_fd is the caller's to close. NOT_FOUND: there is none, and no sentence. ret_sentence:
 * HGI_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_private_open(const char *path, int *ret_fd, char *ret_sentence);
/* The server's key. If there is no such file and `makes`, it is made, with mode 0600, and is on
 * disk before this returns. */
HG_NODISCARD enum hg_status hgi_keyfile_read(const char *path, bool makes,
                                             struct hgi_digest_key *ret_key, char *ret_sentence);
/* Keeps other servers off the file for as long as *ret_fd is open. UNAVAILABLE: one has it. The
 * lock is <path>.lock, which stays for ever. */
HG_NODISCARD enum hg_status hgi_private_lock(const char *path, int *ret_fd, char *ret_sentence);
/* Waits until a new or renamed name in the folder of `path` is on disk. */
HG_NODISCARD bool hgi_sync_folder_of(const char *path);

#endif
