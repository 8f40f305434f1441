/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files to a target, one after the other. Usage: replay_TARGET FILE... */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

/* Into memory of exactly its size, so that a byte read past it is seen. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    unsigned char *exact = NULL;
    size_t size = 0;
    static unsigned char bytes[HGI_FUZZ_INPUT_MAX];

    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    exact = malloc(size ? size : 1);
    if (!exact) {
        return 1;
    }
    for (size_t i = 0; i < size; i++) {
        exact[i] = bytes[i];
    }
    printf("%s\n", path);
    fflush(stdout); /* a crash shows whose it was */
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    return failed;
}
