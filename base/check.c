/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

void hgi_bug(const char *file, int line, const char *condition)
{
    fprintf(stderr, "herdgate: bug at %s:%d: %s\n", file, line, condition);
    abort();
}
