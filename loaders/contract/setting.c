/* SPDX-License-Identifier: Apache-2.0 */
#include "setting.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

static bool is_option(const struct hg_loader_option *option, const char *name)
{
    size_t len = strlen(option->name);

    if (len && option->name[len - 1] == '*') {
        return strncmp(option->name, name, len - 1) == 0 && name[len - 1] != '\0';
    }
    return strcmp(option->name, name) == 0;
}

static bool is_known(const struct hg_loader *loader, const char *name)
{
    for (const struct hg_loader_option *o = loader->options; o && o->name; o++) {
        if (is_option(o, name)) {
            return true;
        }
    }
    return false;
}

static const char *nearest(const struct hg_loader *loader, const char *name)
{
    const char *best = NULL;

    for (const struct hg_loader_option *o = loader->options; o && o->name; o++) {
        (void)hgi_nearer(name, o->name, &best);
    }
    return best;
}

static bool is_given(const struct hg_loader_option *option,
                     const struct hg_loader_setting *settings, size_t setting_count)
{
    for (size_t i = 0; i < setting_count; i++) {
        if (is_option(option, settings[i].name)) {
            return true;
        }
    }
    return false;
}

enum hg_status hgi_setting_check(const struct hg_loader *loader,
                                 const struct hg_loader_setting *settings, size_t setting_count,
                                 char *ret_sentence, size_t sentence_size)
{
    for (size_t i = 0; i < setting_count; i++) {
        const char *name = settings[i].name;

        if (!is_known(loader, name)) {
            const char *near = nearest(loader, name);

            snprintf(ret_sentence, sentence_size, "plugin %.60s has no option \"%.60s\"%s%.60s%s",
                     loader->name, name, near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
            return HG_INVALID_ARGUMENT;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(settings[j].name, name) == 0) {
                snprintf(ret_sentence, sentence_size, "option \"%.60s\" is given twice", name);
                return HG_INVALID_ARGUMENT;
            }
        }
    }
    for (const struct hg_loader_option *o = loader->options; o && o->name; o++) {
        if (o->required && !is_given(o, settings, setting_count)) {
            snprintf(ret_sentence, sentence_size,
                     "plugin %.60s needs option \"%.60s\" (%.120s), which is not given",
                     loader->name, o->name, o->help ? o->help : "");
            return HG_INVALID_ARGUMENT;
        }
    }
    return HG_OK;
}
