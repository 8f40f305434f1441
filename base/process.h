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
#include <stdint.h>

#include "herdgate/attr.h"

/* From here on it leaves no core file, and only root can look into it by a debugger or /proc: its
 * memory holds credentials. */
HG_NODISCARD bool hgi_process_forbid_dumps(void);

/* What it takes of the machine. */
struct hgi_process_use {
    int64_t cpu_ms;
    uint64_t resident_bytes;
    uint64_t max_fds;
    bool has_open_fds; /* false: who may not be looked into cannot look into itself, either */
    uint64_t open_fds;
};
HG_NODISCARD bool hgi_process_use(struct hgi_process_use *ret_use);

#endif
