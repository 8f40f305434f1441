/* SPDX-License-Identifier: Apache-2.0 */
/* hg_script: a folder with the files of one scripted loader (loader_script.c).
 * Owns:     the folder, until close removes it.
 * Threads:  one.
 * Limits:   none.
 * Errors:   a failed step fails the test.
 * Not here: what the directives mean (loader_script.c). */
#ifndef HG_SCRIPT_H
#define HG_SCRIPT_H

#include <stddef.h>

#define HGI_SCRIPT_PLUGIN HGI_BUILD_DIR "/tests/lib/loader_script.so"
/* Takes HGI_SCRIPT_BATCH_MAX loads in a call. */
#define HGI_SCRIPT_BATCH_PLUGIN HGI_BUILD_DIR "/tests/lib/loader_script_batch.so"
#define HGI_SCRIPT_PLAIN_PLUGIN HGI_BUILD_DIR "/tests/lib/loader_script_plain.so"
#define HGI_SCRIPT_BATCH_MAX    32u

struct hgi_script {
    char folder[64];
    char control[96];
    char journal[96];
};

void hgi_script_open(struct hgi_script *script);
void hgi_script_close(struct hgi_script *script);
/* Replaces the control file in one step. '%' stands for the folder, so "k gate %/go". */
void hgi_script_set(const struct hgi_script *script, const char *text);
/* Creates the file `name` in the folder: opens the gate of that name. */
void hgi_script_touch(const struct hgi_script *script, const char *name);
/* Loads begun so far: of one key, or of all (NULL). Key "@health": questions how it is;
 * "@batch": calls with several loads, "@batch 5": with five. */
size_t hgi_script_loads(const struct hgi_script *script, const char *key);
/* Waits until at least `count` loads of `key` have begun; fails the test after 10 s. */
void hgi_script_await(const struct hgi_script *script, const char *key, size_t count);

#endif
