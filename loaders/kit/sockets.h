/* SPDX-License-Identifier: Apache-2.0 */
/* sockets: whether a plugin that needs sockets may have any.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   none.
 * Errors:   false and one sentence; else what forbids sockets shows as a server that is away.
 * Not here: connecting. */
#ifndef HG_LOADERS_KIT_SOCKETS_H
#define HG_LOADERS_KIT_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>

#include "herdgate/attr.h"

HG_NODISCARD bool sockets_check(const char *plugin, char *error, size_t error_size);

#endif
