/* SPDX-License-Identifier: Apache-2.0 */
/* An option's value, back as text; and which of them a running server can change. */
#include <stdio.h>
#include <string.h>

#include "server/config.h"
#include "server/option.h"

/* What a cache does with entries and loads; not what it is. */
static bool is_policy(const struct hgi_option *option)
{
    return option->offset >= offsetof(struct hgi_cache_config, policy) ||
           option->offset == offsetof(struct hgi_cache_config, loader);
}

bool hgi_option_is_live(const struct hgi_option *option)
{
    if (strcmp(option->section, "cache") == 0) {
        return is_policy(option);
    }
    if (strcmp(option->section, HGI_OPTION_SECTION_GLOBAL) == 0) {
        return option->kind == HGI_OPTION_LOG_LEVEL || option->kind == HGI_OPTION_LOG_FORMAT;
    }
    return strcmp(option->section, "loader") == 0 || strcmp(option->section, "principal") == 0;
}

static const char *show_number(int64_t number, const char *unit, char *ret_text)
{
    snprintf(ret_text, HGI_OPTION_SHOWN_MAX, "%lld%s", (long long)number, unit);
    return ret_text;
}

static const char *show_refresh_ahead(const struct hgi_cache_config *cache, char *ret_text)
{
    if (cache->policy.refresh_ahead_is_random) {
        return "xfetch";
    }
    return cache->policy.refresh_ahead_percent
               ? show_number(cache->policy.refresh_ahead_percent, "%", ret_text)
               : "off";
}

const char *hgi_option_show(const struct hgi_option *option, const void *section_struct,
                            char *ret_text)
{
    const unsigned char *field = (const unsigned char *)section_struct + option->offset;
    const char *text;
    int64_t wide;
    size_t size;
    uint32_t narrow;
    bool is_on;

    switch (option->kind) {
    case HGI_OPTION_UIDS:
    case HGI_OPTION_SETTING:
        return NULL;
    case HGI_OPTION_TEXT:
    case HGI_OPTION_PATH:
    case HGI_OPTION_PLUGIN:
    case HGI_OPTION_PATHS:
    case HGI_OPTION_DIGEST:
        memcpy((void *)&text, field, sizeof(text));
        return text;
    case HGI_OPTION_DURATION:
    case HGI_OPTION_DURATION_OR_OFF:
        memcpy(&wide, field, sizeof(wide));
        return wide == 0 && option->kind == HGI_OPTION_DURATION_OR_OFF
                   ? "off"
                   : show_number(wide, "ms", ret_text);
    case HGI_OPTION_SIZE:
    case HGI_OPTION_BIG_COUNT:
        memcpy(&size, field, sizeof(size));
        return show_number((int64_t)size, "", ret_text);
    case HGI_OPTION_REFRESH_AHEAD:
        return show_refresh_ahead(section_struct, ret_text);
    case HGI_OPTION_SWITCH:
        memcpy(&is_on, field, sizeof(is_on));
        return hgi_option_word(option->kind, is_on);
    default:
        memcpy(&narrow, field, sizeof(narrow));
        break;
    }
    if (option->kind == HGI_OPTION_COUNT) {
        return show_number(narrow, "", ret_text);
    }
    return option->kind == HGI_OPTION_PERCENT ? show_number(narrow, "%", ret_text)
                                              : hgi_option_word(option->kind, (int)narrow);
}
