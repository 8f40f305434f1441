/* SPDX-License-Identifier: Apache-2.0 */
/* log: one line to stderr, level first.
 * Owns:     the level threshold.
 * Threads:  any.
 * Limits:   1,024 bytes a line, longer ones are cut; control bytes are shown as '?'.
 * Errors:   none; what cannot be written is lost.
 * Not here: keys and values, which never go into a log line. Only server/, loaders/host and
 * client/cli log. */
#ifndef HGI_BASE_LOG_H
#define HGI_BASE_LOG_H

#include "herdgate/attr.h"
#include "herdgate/loader.h"

/* Lines above this level are dropped; HG_LOG_INFO at start. */
void hgi_log_set_level(enum hg_log_level level);
void hgi_log(enum hg_log_level level, const char *format, ...) HG_PRINTF(2, 3);

#endif
