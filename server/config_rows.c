/* SPDX-License-Identifier: Apache-2.0 */
#include "config_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "server/config_text.h"

#define ROWS_FIRST 256u

/* ---- adding ---- */

/* NULL: no memory. */
static const char *keep(struct hgi_config_rows *rows, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hgi_arena_alloc(&rows->arena, size);

    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

static bool add(struct hgi_config_rows *rows, const struct hgi_config_row *row)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity * 2 : ROWS_FIRST;
        struct hgi_config_row *more =
            hgi_resize(&hgi_heap, rows->rows, capacity * sizeof(*rows->rows));

        if (!more) {
            return false;
        }
        rows->rows = more;
        rows->capacity = capacity;
    }
    rows->rows[rows->count++] = *row;
    return true;
}

/* A section's struct, and where its rows go. */
struct place {
    struct hgi_config_rows *rows;
    const char *section;
    const char *title;
    const void *fields;
};

static bool add_setting(const struct place *place, const char *option, const char *name,
                        const char *value, const char *shown)
{
    const struct hgi_config_row row = {
        .section = place->section,
        .title = place->title,
        .option = option,
        .name = name,
        .value = value,
        .shown = shown ? shown : value,
        .is_live = hgi_option_is_live(hgi_option_find(place->section, option)),
    };

    return value && add(place->rows, &row);
}

/* Every option of the section that is one value. */
static bool add_fields(const struct place *place)
{
    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);
        bool is_here = strcmp(option->section, place->section) == 0;
        char text[HGI_OPTION_SHOWN_MAX];
        const char *value = is_here ? hgi_option_show(option, place->fields, text) : NULL;

        if (value && !add_setting(place, option->name, NULL, keep(place->rows, value), NULL)) {
            return false;
        }
    }
    return true;
}

static bool add_section(const struct place *place, bool is_live)
{
    const struct hgi_config_row row = {
        .section = place->section, .title = place->title, .is_live = is_live};

    return add(place->rows, &row) && add_fields(place);
}

/* ---- what is a list ---- */

static bool add_uids(const struct place *place, const char *option, const uint32_t *uids,
                     size_t count)
{
    const size_t size = count * sizeof("4294967295, ") + 1;
    char *text = count ? hgi_arena_alloc(&place->rows->arena, size) : NULL;
    size_t len = 0;

    for (size_t i = 0; text && i < count; i++) {
        len += (size_t)snprintf(text + len, size - len, "%s%u", i ? ", " : "", uids[i]);
    }
    return count == 0 || add_setting(place, option, NULL, text, NULL);
}

static bool add_loader(const struct place *place, const struct hgi_loader_config *loader)
{
    bool is_good = add_section(place, true);

    for (size_t i = 0; is_good && i < loader->setting_count; i++) {
        is_good = add_setting(place, "option", loader->settings[i].name, loader->settings[i].value,
                              loader->shown ? loader->shown[i] : NULL);
    }
    return is_good;
}

static bool add_principal(const struct place *place, const struct hgi_principal *principal)
{
    bool is_good = add_section(place, true);

    for (size_t i = 0; is_good && i < principal->grant_count; i++) {
        const struct hgi_grant *grant = &principal->grants[i];
        char verbs[HGI_VERBS_LIST_MAX] = "";
        size_t len = 0;

        for (int verb = 0; verb <= HGI_VERB_ADMIN; verb++) {
            if (grant->verbs & hgi_verb_bit((enum hgi_verb)verb)) {
                len += (size_t)snprintf(verbs + len, sizeof(verbs) - len, "%s%s", len ? ", " : "",
                                        hgi_verb_name((enum hgi_verb)verb));
            }
        }
        is_good = add_setting(place, "allow", grant->cache, keep(place->rows, verbs), NULL);
    }
    return is_good;
}

static bool add_authz(const struct place *place, const struct hgi_authz_config *authz)
{
    bool is_good = add_section(place, false);

    for (size_t i = 0; is_good && i < authz->header_count; i++) {
        is_good = add_setting(place, "header", authz->headers[i].name, authz->headers[i].of, NULL);
    }
    return is_good;
}

static bool add_global(struct hgi_config_rows *rows, const struct hgi_config *config)
{
    const struct place place = {rows, HGI_OPTION_SECTION_GLOBAL, NULL, config};
    const struct place limits = {rows, "limits", NULL, &config->limits};
    const struct place snapshot = {rows, "snapshot", NULL, config->snapshot};

    return add_fields(&place) && add_uids(&place, "peers", config->peers, config->peer_count) &&
           add_uids(&place, "plugin_owners", config->plugin_owners, config->plugin_owner_count) &&
           add_section(&limits, false) && (!config->snapshot || add_section(&snapshot, false));
}

static bool add_access(struct hgi_config_rows *rows, const struct hgi_config *config)
{
    bool is_good = true;

    for (size_t i = 0; is_good && i < config->listen_count; i++) {
        is_good = add_section(
            &(struct place){rows, "listen", config->listens[i].url, &config->listens[i]}, false);
    }
    for (size_t i = 0; is_good && i < config->http_count; i++) {
        is_good = add_section(
            &(struct place){rows, "http", config->https[i].url, &config->https[i]}, false);
    }
    for (size_t i = 0; is_good && i < config->principal_count; i++) {
        const struct hgi_principal *principal = &config->principals[i];

        is_good = add_principal(&(struct place){rows, "principal", principal->name, principal},
                                principal);
    }
    return is_good;
}

bool hgi_config_rows_init(struct hgi_config_rows *rows, const struct hgi_config *config)
{
    bool is_good;

    *rows = (struct hgi_config_rows){.rows = NULL};
    hgi_arena_init(&rows->arena, SIZE_MAX);
    is_good = add_global(rows, config) && add_access(rows, config);
    for (size_t i = 0; is_good && i < config->loader_count; i++) {
        const struct hgi_loader_config *loader = &config->loaders[i];

        is_good = add_loader(&(struct place){rows, "loader", loader->name, loader}, loader);
    }
    for (size_t i = 0; is_good && i < config->cache_count; i++) {
        const struct hgi_cache_config *cache = &config->caches[i];

        is_good = add_section(&(struct place){rows, "cache", cache->name, cache}, false);
    }
    for (size_t i = 0; is_good && i < config->authz_count; i++) {
        const struct hgi_authz_config *authz = &config->authzs[i];

        is_good = add_authz(&(struct place){rows, "authz", authz->cache, authz}, authz);
    }
    if (!is_good) {
        hgi_config_rows_deinit(rows);
    }
    return is_good;
}

void hgi_config_rows_deinit(struct hgi_config_rows *rows)
{
    hgi_arena_deinit(&rows->arena);
    hgi_free(&hgi_heap, rows->rows);
    *rows = (struct hgi_config_rows){.rows = NULL};
}

/* ---- comparing ---- */

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* By section, then what is in it, the section itself first. */
static int compare_rows(const void *first, const void *second)
{
    const struct hgi_config_row *a = first;
    const struct hgi_config_row *b = second;
    int order = compare_texts(a->section, b->section);

    order = order ? order : compare_texts(a->title, b->title);
    order = order ? order : compare_texts(a->option, b->option);
    return order ? order : compare_texts(a->name, b->name);
}

static bool is_in(const struct hgi_config_row *row, const struct hgi_config_row *section)
{
    return section && row->option && strcmp(row->section, section->section) == 0 &&
           compare_texts(row->title, section->title) == 0;
}

/* One that has no counterpart; *inout_section: the last section that had none. */
static void tell_alone(const struct hgi_config_row *row, enum hgi_config_change change,
                       const struct hgi_config_row **inout_section,
                       void (*differs)(void *context, const struct hgi_config_row *row,
                                       enum hgi_config_change change),
                       void *context)
{
    if (is_in(row, *inout_section)) {
        return;
    }
    if (!row->option) {
        *inout_section = row;
    }
    differs(context, row, change);
}

void hgi_config_rows_compare(struct hgi_config_rows *before, struct hgi_config_rows *after,
                             void (*differs)(void *context, const struct hgi_config_row *row,
                                             enum hgi_config_change change),
                             void *context)
{
    const struct hgi_config_row *added = NULL;
    const struct hgi_config_row *removed = NULL;
    size_t i = 0;
    size_t j = 0;

    qsort(before->rows, before->count, sizeof(*before->rows), compare_rows);
    qsort(after->rows, after->count, sizeof(*after->rows), compare_rows);
    while (i < before->count || j < after->count) {
        const struct hgi_config_row *old = i < before->count ? &before->rows[i] : NULL;
        const struct hgi_config_row *new = j < after->count ? &after->rows[j] : NULL;
        int order = !old ? 1 : !new ? -1 : compare_rows(old, new);

        if (order < 0) {
            tell_alone(old, HGI_CONFIG_REMOVED, &removed, differs, context);
        } else if (order > 0) {
            tell_alone(new, HGI_CONFIG_ADDED, &added, differs, context);
        } else if (compare_texts(old->value, new->value) != 0) {
            differs(context, new, HGI_CONFIG_CHANGED);
        }
        i += order <= 0;
        j += order >= 0;
    }
}

void hgi_config_row_name(const struct hgi_config_row *row, char *ret_text, size_t size)
{
    bool is_global = strcmp(row->section, HGI_OPTION_SECTION_GLOBAL) == 0;

    snprintf(ret_text, size, "%s%s%.80s%s%s%s%s%.80s", is_global ? "" : row->section,
             row->title ? " \"" : "", row->title ? row->title : "", row->title ? "\"" : "",
             row->option && !is_global ? ": " : "", row->option ? row->option : "",
             row->name ? " " : "", row->name ? row->name : "");
}

/* ---- printing ---- */

static void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || (text[0] == '$' && text[1] == '{')) {
            fputc('\\', out);
        }
        fputc(*text == HGI_CONFIG_VARIABLE ? '$' : *text, out);
    }
    fputc('"', out);
}

static void print_row(FILE *out, const struct hgi_config_row *row)
{
    const char *indent = strcmp(row->section, HGI_OPTION_SECTION_GLOBAL) == 0 ? "" : "    ";

    if (!row->option) {
        fprintf(out, "%s ", row->section);
        if (row->title) {
            print_text(out, row->title);
            fputc(' ', out);
        }
        fputs("{\n", out);
    } else if (row->name) {
        fprintf(out, "%s%s(", indent, row->option);
        print_text(out, row->name);
        fputs(", ", out);
        print_text(out, row->shown);
        fputs(")\n", out);
    } else {
        fprintf(out, "%s%s = ", indent, row->option);
        print_text(out, row->shown);
        fputc('\n', out);
    }
}

bool hgi_config_print(FILE *out, const struct hgi_config *config)
{
    struct hgi_config_rows rows;
    bool is_open = false;

    if (!hgi_config_rows_init(&rows, config)) {
        return false;
    }
    for (size_t i = 0; i < rows.count; i++) {
        if (!rows.rows[i].option) {
            fputs(is_open ? "}\n" : "", out);
            is_open = true;
        }
        print_row(out, &rows.rows[i]);
    }
    fputs(is_open ? "}\n" : "", out);
    hgi_config_rows_deinit(&rows);
    return true;
}
