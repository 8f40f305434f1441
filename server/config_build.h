/* SPDX-License-Identifier: Apache-2.0 */
/* config_build: from sections as they were written to a configuration that holds together.
 * Owns:     the rules over more than one option, and the defaults that follow from others.
 * Threads:  one.
 * Limits:   HGI_CACHES_MAX caches, HGI_LOADERS_MAX loaders, HGI_LISTENS_MAX listens.
 * Errors:   one sentence with file and line.
 * Not here: reading the file (config), the form of one value (option). */
#ifndef HGI_SERVER_CONFIG_BUILD_H
#define HGI_SERVER_CONFIG_BUILD_H

#include "server/config.h"
#include "server/config_lines.h"
#include "server/option.h"

#define HGI_LISTENS_MAX           16u
#define HGI_CONFIG_PRINCIPALS_MAX 64u
#define HGI_HTTPS_MAX             8u

/* One `name = value`, or one `option("name", "value")` (then text = value, name set). */
struct hgi_assignment {
    struct hgi_assignment *next; /* in the order of the file */
    const struct hgi_option *option;
    struct hgi_option_value value;
    const char *setting_name;
    const char *shown; /* of a setting: as the file says it, without what that stands for */
    int line;          /* of the whole text; below 0: of who else says it (config_lines) */
};

struct hgi_section {
    struct hgi_section *next; /* in the order of the file */
    const char *name;         /* "global" for what stands outside */
    const char *title;        /* NULL for those without */
    int line;
    struct hgi_assignment *assignments;
};

/* Fills ret_config; all it points to comes from `arena` or from `sections`. `lines` say where
 * things stand, in the sentence (HGI_CONFIG_SENTENCE_MAX bytes). */
HG_NODISCARD bool hgi_config_build(struct hgi_arena *arena, const struct hgi_config_lines *lines,
                                   const char *default_plugin_dir,
                                   const struct hgi_section *sections,
                                   struct hgi_config *ret_config, char *ret_sentence);

#endif
