/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_scene.h"

struct hg_bytes bytes;
struct hgi_arena arena;
char sentence[HGI_SENTENCE_MAX];

void set_up(void)
{
    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_arena_init(&arena, HGI_ARENA_BUDGET_MIN);
}

void tear_down(void)
{
    hgi_bytes_deinit(&bytes);
    hgi_arena_deinit(&arena);
}

struct hg_slice hex(const char *digits)
{
    bytes.len = 0;
    hgi_hex(digits, &bytes);
    return hgi_bytes_slice(&bytes);
}
