/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as a fuzzer, or a replay, has it: there is always some. */
#include "fuzz.h"

void fuzz_memory_may_fail(bool may_fail)
{
    (void)may_fail;
}

bool fuzz_has_failed(void)
{
    return false;
}
