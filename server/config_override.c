/* SPDX-License-Identifier: Apache-2.0 */
#include "config_override.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/nearest.h"

#define NAME_MAX_BYTES 128u

struct override {
    struct hgi_arena *arena;
    struct hgi_section *sections;
    struct hgi_config_lines *lines;
    char *sentence;
    const char *origin; /* who says it */
    int line;           /* theirs */
};

static bool fault(const struct override *override, const char *format, ...) HG_PRINTF(2, 3);

static bool fault(const struct override *override, const char *format, ...)
{
    va_list args;
    int len = snprintf(override->sentence, HGI_CONFIG_SENTENCE_MAX, "%.300s: ", override->origin);

    va_start(args, format);
    vsnprintf(override->sentence + len, HGI_CONFIG_SENTENCE_MAX - (size_t)len, format, args);
    va_end(args);
    return false;
}

static char *keep(struct hgi_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hgi_arena_alloc(arena, size);

    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

static bool begin(struct override *override, const char *origin)
{
    override->origin = origin;
    return hgi_config_lines_add(override->lines, origin, &override->line) ||
           fault(override, "out of memory");
}

/* ---- one value ---- */

static struct hgi_section *find_section(const struct override *override, const char *name,
                                        const char *title)
{
    struct hgi_section *section = override->sections;

    while (section && (strcmp(section->name, name) != 0 ||
                       (title && strcmp(section->title ? section->title : "", title) != 0))) {
        section = section->next;
    }
    return section;
}

/* One without a title that the file does not have. NULL: no memory. */
static struct hgi_section *add_section(const struct override *override, const char *name)
{
    struct hgi_section *section = hgi_arena_alloc(override->arena, sizeof(*section));
    struct hgi_section *last = override->sections;

    while (last->next) {
        last = last->next;
    }
    if (section) {
        section->name = name;
        section->line = override->line;
        last->next = section;
    }
    return section;
}

/* In place of what the file says, or beside it. */
static bool assign(const struct override *override, struct hgi_section *section,
                   const struct hgi_option *option, const char *text)
{
    struct hgi_assignment **at = &section->assignments;
    struct hgi_assignment *assignment = hgi_arena_alloc(override->arena, sizeof(*assignment));
    char sentence[HGI_SENTENCE_MAX];
    char *copy = keep(override->arena, text);

    if (!assignment || !copy) {
        return fault(override, "out of memory");
    }
    if (option->kind == HGI_OPTION_SETTING) {
        return fault(override, "%s is a list, which only the file can say", option->name);
    }
    assignment->option = option;
    assignment->line = override->line;
    if (!hgi_option_parse(option, copy, &assignment->value, sentence)) {
        return fault(override, "%s", sentence);
    }
    while (*at && (*at)->option != option) {
        at = &(*at)->next;
    }
    assignment->next = *at ? (*at)->next : NULL;
    *at = assignment;
    return true;
}

/* ---- the environment ---- */

/* HERDGATED_LOG_LEVEL, HERDGATED_SNAPSHOT_INTERVAL. False: its section has a title. */
static bool variable_of(const struct hgi_option *option, char ret_name[NAME_MAX_BYTES])
{
    bool is_global = strcmp(option->section, HGI_OPTION_SECTION_GLOBAL) == 0;

    if (!is_global && strcmp(option->section, "limits") != 0 &&
        strcmp(option->section, "snapshot") != 0) {
        return false;
    }
    snprintf(ret_name, NAME_MAX_BYTES, HGI_CONFIG_ENVIRONMENT "%s%s%s",
             is_global ? "" : option->section, is_global ? "" : "_", option->name);
    for (char *c = ret_name; *c; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    return true;
}

static bool take_environment(struct override *override)
{
    bool is_good = true;

    for (size_t i = 0; is_good && i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);
        char name[NAME_MAX_BYTES];
        const char *value = variable_of(option, name) ? getenv(name) : NULL;
        struct hgi_section *section;

        if (!value) {
            continue;
        }
        if (!begin(override, name)) {
            return false;
        }
        section = find_section(override, option->section, NULL);
        section = section ? section : add_section(override, option->section);
        is_good =
            section ? assign(override, section, option, value) : fault(override, "out of memory");
    }
    return is_good;
}

/* ---- the command line ---- */

static bool refuse_option(const struct override *override, const char *section, const char *name)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        if (strcmp(option->section, section) == 0) {
            (void)hgi_nearer(name, option->name, &nearest);
        }
    }
    if (nearest) {
        return fault(override, "there is no option \"%.60s\"; did you mean \"%s\"?", name, nearest);
    }
    return fault(override,
                 "there is no option \"%.60s\" in %s; herdgated --help-options lists them", name,
                 section);
}

static bool has_title(const char *section)
{
    return strcmp(section, HGI_OPTION_SECTION_GLOBAL) != 0 && strcmp(section, "limits") != 0 &&
           strcmp(section, "snapshot") != 0;
}

/* `path` is "option", "section.option" or "section.title.option", and the title may have dots. */
static bool set(const struct override *override, char *path, const char *value)
{
    char *first = strchr(path, '.');
    char *last = strrchr(path, '.');
    const char *section_name = first ? path : HGI_OPTION_SECTION_GLOBAL;
    const char *name = last ? last + 1 : path;
    const char *title = NULL;
    const struct hgi_option *option;
    struct hgi_section *section;

    if (first) {
        *first = '\0';
        *last = '\0';
        title = first < last ? first + 1 : NULL;
    }
    option = hgi_option_find(section_name, name);
    if (!option) {
        return refuse_option(override, section_name, name);
    }
    if (has_title(section_name) != (title != NULL)) {
        return fault(override,
                     title ? "a %s section has no name; write --set %s.%s=..."
                           : "which %s? write --set %s.NAME.%s=...",
                     section_name, section_name, name);
    }
    section = find_section(override, section_name, title);
    if (!section && title) {
        return fault(override, "there is no %s \"%.80s\"", section_name, title);
    }
    section = section ? section : add_section(override, option->section);
    return section ? assign(override, section, option, value) : fault(override, "out of memory");
}

static bool take_set(struct override *override, const char *text)
{
    const char *equals = strchr(text, '=');
    char origin[320];
    char *path = keep(override->arena, text);

    snprintf(origin, sizeof(origin), "--set %.280s", text);
    if (!begin(override, origin)) {
        return false;
    }
    if (!equals || equals == text) {
        return fault(override, "write --set SECTION.NAME.OPTION=VALUE, such as "
                               "--set cache.auth.ttl=5s or --set log_level=debug");
    }
    if (!path) {
        return fault(override, "out of memory");
    }
    path[equals - text] = '\0';
    return set(override, path, equals + 1);
}

bool hgi_config_override(struct hgi_arena *arena, const struct hgi_config_source *source,
                         struct hgi_config_lines *lines, struct hgi_section *sections,
                         char *ret_sentence)
{
    struct override override = {
        .arena = arena, .sections = sections, .lines = lines, .sentence = ret_sentence};
    bool is_good = !source->has_environment || take_environment(&override);

    for (size_t i = 0; is_good && i < source->set_count; i++) {
        is_good = take_set(&override, source->sets[i]);
    }
    return is_good;
}
