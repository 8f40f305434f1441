/* SPDX-License-Identifier: Apache-2.0 */
/* answer: what the rows of a result say of the loads of a job.
 * Owns:     nothing.
 * Threads:  the pump's.
 * Limits:   COLUMNS_MAX columns.
 * Errors:   a result that is no answer ends the loads with one sentence that names no key.
 * Not here: when a connection is to be given up (link). */
#ifndef HG_LOADERS_POSTGRES_ANSWER_H
#define HG_LOADERS_POSTGRES_ANSWER_H

#include <libpq-fe.h>

#include "job.h"

/* The columns by which a row says which key it is of: one of these must be there. */
#define ANSWER_KEY "key" /* the key itself, of keys with one part */
#define ANSWER_NR  "nr"  /* its place in the lists, from 1 */

/* Completes every load of the job that is not done; the result is one of rows. */
void answer_rows(struct job *job, const PGresult *result);
/* Why a query failed; the sentence is `size` bytes. */
enum hg_status answer_fault(const PGresult *result, char *ret_sentence, size_t size);

#endif
