/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/OPTIONS.md as it should be. */
#include "server/config.h"

int main(void)
{
    hgi_config_print_options(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
