/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <string.h>

#include "server/config.h"

static void print_default(FILE *out, const struct hgi_option *option)
{
    if (!option->fallback) {
        fputs("**must be given**", out);
    } else if (option->fallback[0] == '=') {
        fputs(option->fallback + 1, out);
    } else {
        fprintf(out, "`%s`", option->fallback);
    }
    if (option->fallback_auth) {
        fprintf(out, "; `%s` if the values are `auth`", option->fallback_auth);
    }
}

static void print_form(FILE *out, const struct hgi_option *option)
{
    char words[128];

    hgi_option_words(option->kind, words, sizeof(words));
    if (words[0]) {
        fputs(words, out);
        return;
    }
    switch (option->kind) {
    case HGI_OPTION_PATH:
        fputs("absolute path", out);
        break;
    case HGI_OPTION_PLUGIN:
        fputs("name or absolute path", out);
        break;
    case HGI_OPTION_PATHS:
        fputs("absolute paths", out);
        break;
    case HGI_OPTION_DIGEST:
        fputs("64 hexadecimal digits", out);
        break;
    case HGI_OPTION_UIDS:
        fputs("user ids", out);
        break;
    case HGI_OPTION_SETTING:
        fputs("two texts", out);
        break;
    case HGI_OPTION_DURATION:
        fprintf(out, "time, %s to %s", option->low, option->high);
        break;
    case HGI_OPTION_DURATION_OR_OFF:
        fprintf(out, "off, or time up to %s", option->high);
        break;
    case HGI_OPTION_PERCENT:
        fprintf(out, "%s to %s", option->low, option->high);
        break;
    case HGI_OPTION_REFRESH_AHEAD:
        fprintf(out, "off, xfetch, or %s to %s of the ttl", option->low, option->high);
        break;
    case HGI_OPTION_SIZE:
        fprintf(out, "size, %s to %s", option->low, option->high);
        break;
    case HGI_OPTION_COUNT:
    case HGI_OPTION_BIG_COUNT:
        fprintf(out, "%s to %s", option->low, option->high);
        break;
    default:
        fputs("text", out);
        break;
    }
}

/* How many of the section's options a reload changes (`is_live`), or does not. */
static size_t count_options(const char *section, bool is_live)
{
    size_t count = 0;

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        count += strcmp(option->section, section) == 0 && hgi_option_is_live(option) == is_live;
    }
    return count;
}

static void print_names(FILE *out, const char *section, bool is_live)
{
    const char *between = "";

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        if (strcmp(option->section, section) == 0 && hgi_option_is_live(option) == is_live) {
            fprintf(out, "%s`%s`", between, option->name);
            between = ", ";
        }
    }
}

static void print_live(FILE *out, const char *section)
{
    size_t live = count_options(section, true);
    size_t others = count_options(section, false);

    if (!live) {
        fputs("A reload changes nothing here.\n", out);
    } else if (!others) {
        fputs("A reload changes all of this.\n", out);
    } else {
        fprintf(out, "A reload changes %s", live > others ? "all but " : "");
        print_names(out, section, live <= others);
        fputs(".\n", out);
    }
}

void hgi_config_print_options(FILE *out)
{
    const char *section = "";

    fputs(
        "# Options of the configuration file\n\n"
        "Printed by `herdgated --help-options` from `server/options.def`. A time is a number and "
        "`ms`, `s`,\n"
        "`m` or `h`; a size is a number of bytes, or a number and `KiB`, `MiB` or `GiB`. "
        "`${NAME}` inside a\n"
        "text is replaced by the environment variable, `${NAME:-text}` by the text if it is not "
        "set.\n\n"
        "`include(\"more.conf\")`, outside of sections and on one line, stands for what that file "
        "says; its\n"
        "name is seen from the file it stands in. An `option` of a loader that is "
        "`file:/absolute/path` is what\n"
        "that file holds (others must not be able to read it): for secrets, which `-D` then does "
        "not print, as it\n"
        "does not print what `${NAME}` stands for there.\n\n"
        "The command line has the word before the environment, that before the file, and that "
        "before the\n"
        "defaults: `--set log_level=debug`, `--set limits.idle=1m`, `--set cache.auth.ttl=5s`; "
        "`HERDGATED_LOG_LEVEL`,\n"
        "`HERDGATED_LIMITS_IDLE`, `HERDGATED_SNAPSHOT_INTERVAL`, of options outside of sections "
        "and in those without a\n"
        "name. Lists (`option`, `allow`, `header`) are only in the file. A reload reads all of "
        "them again.\n",
        out);
    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        if (strcmp(section, option->section) != 0) {
            section = option->section;
            fprintf(out, "\n## %s\n\n", section);
            print_live(out, section);
            fprintf(out, "\n| option | what it is | default | meaning |\n|---|---|---|---|\n");
        }
        fprintf(out, "| `%s` | ", option->name);
        print_form(out, option);
        fputs(" | ", out);
        print_default(out, option);
        fprintf(out, " | %s |\n", option->help);
    }
}
