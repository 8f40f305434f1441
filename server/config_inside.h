/* SPDX-License-Identifier: Apache-2.0 */
/* config_inside: what the files that build a configuration share.
 * Owns:     nothing; what it makes comes from the arena.
 * Threads:  one.
 * Limits:   the arena's.
 * Errors:   false, and the sentence is written: the first fault ends the reading.
 * Not here: which rules there are. A door of config_build and config_access only. */
#ifndef HGI_SERVER_CONFIG_INSIDE_H
#define HGI_SERVER_CONFIG_INSIDE_H

#include "server/config_build.h"

struct hgi_build {
    struct hgi_arena *arena;
    const struct hgi_config_lines *lines;
    char *sentence;
    const struct hgi_section *sections;
    struct hgi_config *config;
};

/* False. line 0: of the file as a whole. */
bool hgi_build_fault(const struct hgi_build *build, int line, const char *format, ...)
    HG_PRINTF(3, 4);
/* Zeroed memory; NULL sets *is_good to false. */
void *hgi_build_take(const struct hgi_build *build, size_t size, bool *is_good);
/* The option as it was written; NULL: it was not. */
const struct hgi_assignment *hgi_build_find(const struct hgi_section *section, const char *name);
/* This section or the next one of that name; NULL: none. */
const struct hgi_section *hgi_build_next(const struct hgi_section *section, const char *name);
size_t hgi_build_count(const struct hgi_build *build, const char *name);
/* Stores every option of the section: as written, else its fallback. */
HG_NODISCARD bool hgi_build_fill(const struct hgi_build *build, const char *name,
                                 const struct hgi_section *section, bool is_auth, void *ret_struct);
/* Whether its title may be a name. */
HG_NODISCARD bool hgi_build_check_name(const struct hgi_build *build,
                                       const struct hgi_section *section);

/* config_access's: the listens; who may do what, once the caches are known. */
HG_NODISCARD bool hgi_build_listens(const struct hgi_build *build);
HG_NODISCARD bool hgi_build_principals(const struct hgi_build *build);

/* config_http's: the listeners of HTTP; which caches they decide by, once those are known. */
HG_NODISCARD bool hgi_build_http(const struct hgi_build *build);

#endif
