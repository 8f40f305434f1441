/* SPDX-License-Identifier: Apache-2.0 */
/* config_scene: a text as a configuration, and what was said of it.
 * Owns:     the file, until a call returns (config_read_bytes leaves it to the test).
 * Threads:  one.
 * Limits:   none.
 * Errors:   asserts.
 * Not here: tests. */
#ifndef CONFIG_SCENE_H
#define CONFIG_SCENE_H

#include "hg_test.h"
#include "server/config.h"

#define PLUGINS "/opt/herdgate/plugins"

/* The smallest configuration that holds, on lines 1 and 2; what a test adds begins on line 3. */
#define LISTEN "listen \"ipc:///run/hg/a.sock\" { }\n"
#define CACHE  "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n"
#define SMALL  LISTEN CACHE

extern char config_path[64]; /* of the last file */
extern char config_sentence[HGI_CONFIG_SENTENCE_MAX];

/* NULL: refused, and config_sentence says why. */
struct hgi_config *config_read_bytes(const char *text, size_t len);
struct hgi_config *config_read_text(const char *text);
struct hgi_config *config_read_good(const char *text);
/* `expected` follows the file's name: ":3: what" or ": what". */
void config_refused(const char *text, const char *expected);

#endif
