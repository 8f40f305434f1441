/* SPDX-License-Identifier: Apache-2.0 */
/* codec_samples: one filled structure for every row of messages.def.
 * Owns:     static data; every field of a sample has a value of its own.
 * Threads:  any.
 * Limits:   none.
 * Errors:   none.
 * Not here: the bytes they must become (golden.def). */
#ifndef HGI_TEST_CODEC_SAMPLES_H
#define HGI_TEST_CODEC_SAMPLES_H

#include "proto/codec.h"
#include "proto/envelope.h"

#define HGI_CODEC_ROW(name, type) extern const struct type hgi_sample_##name;
#include "proto/messages.def"
#undef HGI_CODEC_ROW
extern const struct hg_auth hgi_sample_auth_value;
extern const struct hgi_request hgi_sample_request;
extern const struct hgi_reply hgi_sample_reply;

#define HGI_GOLDEN_ROW(name, hex) extern const char *const hgi_golden_##name;
#include "golden.def"
#undef HGI_GOLDEN_ROW

/* Appends what the hex digits say. */
void hgi_hex(const char *digits, struct hg_bytes *ret_bytes);

#endif
