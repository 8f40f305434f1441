/* SPDX-License-Identifier: Apache-2.0 */
/* confine: what this process forbids itself before a plugin's code runs in it.
 * Owns:     nothing; nothing of it can be taken back.
 * Threads:  the main one, before it has started others: some of it holds for the calling thread and
 *           those it starts.
 * Limits:   those of the Hello.
 * Errors:   one sentence; the plugin must not be opened then.
 * Not here: descriptors and the parent's death (main), whose the plugin's file is (base/trust). */
#ifndef HGI_LOADERS_HOST_CONFINE_H
#define HGI_LOADERS_HOST_CONFINE_H

#include "proto/frame.h"

/* Another user if asked; limits on memory, descriptors, processes, processor time and core files;
 * no new privileges; files and system calls. ret_sentence: HGI_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_confine(const struct hgi_frame_hello *hello, char *ret_sentence);

/* The parts of it that have files of their own: files.c (Landlock), calls.c (seccomp). */
HG_NODISCARD enum hg_status hgi_confine_files(const struct hgi_frame_hello *hello,
                                              char *ret_sentence);
HG_NODISCARD enum hg_status hgi_confine_calls(bool is_offline, char *ret_sentence);

#endif
