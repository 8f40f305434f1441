/* SPDX-License-Identifier: Apache-2.0 */
/* process: what this process shows of itself.
 * Owns:     nothing; what is forbidden stays so.
 * Threads:  any.
 * Limits:   none.
 * Errors:   false, and errno.
 * Not here: what a loader's child forbids itself besides (loaders/host/confine). */
#ifndef HGI_BASE_PROCESS_H
#define HGI_BASE_PROCESS_H

#include <stdbool.h>

#include "herdgate/attr.h"

/* From here on it leaves no core file, and only root can look into it by a debugger or /proc: its
 * memory holds credentials. */
HG_NODISCARD bool hgi_process_forbid_dumps(void);

#endif
