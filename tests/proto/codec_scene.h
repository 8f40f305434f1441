/* SPDX-License-Identifier: Apache-2.0 */
/* codec_scene: what decoding one message needs.
 * Owns:     `bytes` and `arena`, from set_up to tear_down.
 * Threads:  one.
 * Limits:   none.
 * Errors:   none.
 * Not here: messages (codec_samples). */
#ifndef HGI_TEST_CODEC_SCENE_H
#define HGI_TEST_CODEC_SCENE_H

#include "base/bytes.h"
#include "base/kind.h"
#include "codec_samples.h"

extern struct hg_bytes bytes;
extern struct hgi_arena arena;
extern char sentence[HGI_SENTENCE_MAX];

void set_up(void);
void tear_down(void);
/* What the digits say, in `bytes` in place of what was there. */
struct hg_slice hex(const char *digits);

#endif
