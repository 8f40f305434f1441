/* SPDX-License-Identifier: Apache-2.0 */
/* config_override: what the environment and the command line say instead of the file.
 * Owns:     nothing; what is new comes from the arena.
 * Threads:  one.
 * Limits:   options of sections without a title have a variable: HERDGATED_LOG_LEVEL,
 *           HERDGATED_LIMITS_IDLE; every option but lists can be set.
 * Errors:   one sentence that begins with who said it, "--set ..." or the variable; so do later
 *           ones about it, for `lines` learn of it.
 * Not here: the form of a value (option), rules over more than one option (config_build). */
#ifndef HGI_SERVER_CONFIG_OVERRIDE_H
#define HGI_SERVER_CONFIG_OVERRIDE_H

#include "server/config_build.h"

#define HGI_CONFIG_ENVIRONMENT "HERDGATED_"

/* `sections`: as the file has them, the global one first. An unknown variable is passed over (where
 * there are services, somebody sets HERDGATED_PORT); an unknown name in a set is an error. */
HG_NODISCARD bool hgi_config_override(struct hgi_arena *arena,
                                      const struct hgi_config_source *source,
                                      struct hgi_config_lines *lines, struct hgi_section *sections,
                                      char *ret_sentence);

#endif
