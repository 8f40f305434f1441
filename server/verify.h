/* SPDX-License-Identifier: Apache-2.0 */
/* verify: a snapshot at rest, read and described (herdgated --verify).
 * Owns:     nothing.
 * Threads:  main.
 * Limits:   none of its own.
 * Errors:   the exit code it deserves, and a sentence.
 * Not here: what is checked (storage/snapshot/verify), a server's own file (server/snapshotter). */
#ifndef HGI_SERVER_VERIFY_H
#define HGI_SERVER_VERIFY_H

#include "server/lifecycle.h"

/* `key_path`: the server's key_file, or NULL. ret_sentence (HGI_LIFECYCLE_SENTENCE_MAX bytes) says
 * on OK what is in the file, else what is wrong. FAILED: the file; RUNNING: it is in use; CONFIG:
 * the key. */
HG_NODISCARD enum hgi_exit hgi_verify(const char *path, const char *key_path, char *ret_sentence);

#endif
