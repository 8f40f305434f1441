/* SPDX-License-Identifier: Apache-2.0 */
/* parse: words of the command line that stand for numbers.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   a duration is at most 10 years.
 * Errors:   end the process through argp_error, naming the option and what would be right.
 * Not here: keys (key). */
#ifndef HGI_CLI_PARSE_H
#define HGI_CLI_PARSE_H

#include <argp.h>

#include "herdgate/client.h"

/* "250ms", "10s", "5m", "2h", "1d". */
uint64_t hgi_parse_duration(struct argp_state *state, const char *option, const char *text);
/* Unix milliseconds of "2030-01-31T12:00:00Z", of unix seconds, or of "+10m" from now. */
int64_t hgi_parse_moment(struct argp_state *state, const char *option, const char *text);
/* GENERATION:EPOCH as the verb `generation` prints it. */
struct hg_token hgi_parse_token(struct argp_state *state, const char *option, const char *text);
/* Decimal digits only. False: something else, or more than max. */
bool hgi_parse_digits(const char *text, size_t len, uint64_t max, uint64_t *ret_number);

#endif
