/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "base/log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    hgi_log_set_level(HG_LOG_ERROR);
    HGI_BUG_ON(!hgi_hash_start());
    return 0;
}

struct hg_slice fuzz_slice(struct hg_slice *input, size_t len)
{
    const unsigned char *data = input->data;
    struct hg_slice taken;

    len = len < input->len ? len : input->len;
    taken = hg_slice_of(data, len);
    *input = len < input->len ? hg_slice_of(data + len, input->len - len) : hg_slice_of(NULL, 0);
    return taken;
}

uint64_t fuzz_number(struct hg_slice *input, size_t bytes)
{
    struct hg_slice taken = fuzz_slice(input, bytes);
    const unsigned char *data = taken.data;
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | (i < taken.len ? data[i] : 0u);
    }
    return number;
}

struct hg_slice fuzz_sized(struct hg_slice *input)
{
    return fuzz_slice(input, (size_t)fuzz_number(input, 2));
}

void fuzz_check_sentence(const char *sentence, size_t size)
{
    size_t len = strnlen(sentence, size);

    HGI_BUG_ON(len == 0 || len == size);
}
