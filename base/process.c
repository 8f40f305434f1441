/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

bool hgi_process_forbid_dumps(void)
{
    const struct rlimit none = {0, 0};

    /* The limit alone does not bind a kernel that pipes core files to a program. */
    return setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}
