/* SPDX-License-Identifier: Apache-2.0 */
/* program: when the server names a program instead of a plugin, this process becomes it.
 * Owns:     nothing.
 * Threads:  one, before there are others.
 * Limits:   a Hello that fits into the socket, for it is left there for the program.
 * Errors:   one sentence, to be told by Ready.
 * Not here: what the program must say (docs/LOADERS.md), the bounds it is put under (confine). */
#ifndef HGI_LOADERS_HOST_PROGRAM_H
#define HGI_LOADERS_HOST_PROGRAM_H

#include "herdgate/attr.h"

#define HGI_PROGRAM_SENTENCE_MAX 512u

enum hgi_program {
    HGI_PROGRAM_NONE,   /* the server wants a plugin, or talks nonsense: see its frames */
    HGI_PROGRAM_FAILED, /* and ret_sentence says why */
    HGI_PROGRAM_GONE,   /* the server is */
};

/* Looks at Hello without taking it. Does not return if it names a program that can be run: that
 * finds Hello in the socket, which stays on its descriptor, and nothing else. */
HG_NODISCARD enum hgi_program hgi_program_run(int server_fd, char *ret_sentence);

#endif
