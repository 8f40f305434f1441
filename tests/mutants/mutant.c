/* SPDX-License-Identifier: Apache-2.0 */
/* Which fault the engine has in this run: its place in mutants.txt, from HGI_MUTANT; 0 is none. */
#include <stdlib.h>

extern int hgi_mutant;
int hgi_mutant;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("HGI_MUTANT");

    hgi_mutant = number ? atoi(number) : 0;
}
