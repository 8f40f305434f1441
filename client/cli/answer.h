/* SPDX-License-Identifier: Apache-2.0 */
/* answer: how what a cache holds looks.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   none.
 * Errors:   an auth value that cannot be read is shown as bytes; in JSON also one with a scope
 *           or an attribute that is not UTF-8.
 * Not here: asking (the verbs), auth values on the command line (auth_arg). */
#ifndef HGI_CLI_ANSWER_H
#define HGI_CLI_ANSWER_H

#include "client/cli/output.h"
#include "herdgate/client.h"

/* Returns owned: {"outcome": ..., "value": ..., "source": ...}. */
json_t *hgi_answer_json(const struct hg_answer *answer);
/* The value and a newline; an auth value as lines of fields; to stderr what is there instead of a
 * value. is_raw: the value's bytes and nothing else. */
void hgi_answer_print(const struct hg_answer *answer, bool is_raw);
/* One line about where it came from, to stderr. */
void hgi_answer_print_more(const struct hg_answer *answer);
/* The value in a table's cell. */
void hgi_answer_add_value(struct hgi_table *table, const struct hg_answer *answer);
/* HGI_EXIT_DONE or HGI_EXIT_NO_VALUE. */
int hgi_answer_exit(const struct hg_answer *answer);

#endif
