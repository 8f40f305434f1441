/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <confuse.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/nearest.h"
#include "server/config_build.h"
#include "server/config_override.h"
#include "server/config_secret.h"
#include "server/config_text.h"

#define ARENA_BYTES  (16u * 1024u * 1024u)
#define SECTIONS_MAX 12u
#define OPTIONS_MAX  64u
#define WHERE_MAX    300u

struct config_box {
    struct hgi_config config; /* first: what callers hold */
    struct hgi_arena arena;
};

/* An assignment while its section may still be open. */
struct found {
    struct found *next;
    const cfg_t *section;
    struct hgi_assignment *assignment;
};

struct reading {
    bool is_closed; /* no other file is looked into */
    char *sentence;
    bool has_failed;
    struct hgi_arena *arena;
    struct hgi_config_text *text;
    struct found *first;
    struct found **last;
};

/* libconfuse hands its callbacks no context: the one parse that runs in this thread. */
static _Thread_local struct reading *current;

static const char *const titled_sections[] = {"listen", "principal", "loader",
                                              "cache",  "http",      "authz"};
static const char *const plain_sections[] = {"limits", "snapshot"};

/* The first fault is the one told: those after it follow from it. Returns what libconfuse takes for
 * "stop". */
static int fault(int line, const char *format, ...) HG_PRINTF(2, 3);

static int fault(int line, const char *format, ...)
{
    char *out = current->sentence;
    va_list args;
    size_t len;

    if (current->has_failed) {
        return -1;
    }
    current->has_failed = true;
    hgi_config_lines_say(&current->text->lines, line, out, HGI_CONFIG_SENTENCE_MAX / 2);
    len = strlen(out);
    len += (size_t)snprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, ": ");
    va_start(args, format);
    vsnprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, format, args);
    va_end(args);
    return -1;
}

/* "on line 3", or where else: in ret_text, which it returns. */
static const char *refer(int from, int line, char ret_text[WHERE_MAX])
{
    hgi_config_lines_refer(&current->text->lines, from, line, ret_text, WHERE_MAX);
    return ret_text;
}

static bool is_root(const cfg_t *cfg)
{
    return strcmp(cfg->name, "root") == 0;
}

static const char *section_name(const cfg_t *cfg)
{
    return is_root(cfg) ? HGI_OPTION_SECTION_GLOBAL : cfg->name;
}

/* `cache "auth": `, or nothing outside sections. */
static const char *label(const cfg_t *cfg, char *ret_label, size_t size)
{
    if (is_root(cfg)) {
        ret_label[0] = '\0';
    } else if (cfg->title) {
        snprintf(ret_label, size, "%s \"%.80s\": ", cfg->name, cfg->title);
    } else {
        snprintf(ret_label, size, "%s: ", cfg->name);
    }
    return ret_label;
}

/* The words that may stand here, for a mistyped one that resembles none. */
static void list_known(const cfg_t *cfg, char *ret_list, size_t size)
{
    size_t len = 0;

    ret_list[0] = '\0';
    for (const cfg_opt_t *opt = cfg->opts; opt->name && len < size; opt++) {
        len += (size_t)snprintf(ret_list + len, size - len, "%s%s", len ? ", " : "", opt->name);
    }
}

static int unknown_word(const cfg_t *cfg, const char *word)
{
    const char *nearest = NULL;
    const char *home = hgi_option_home(word);
    char known[512];
    char head[128];

    for (const cfg_opt_t *opt = cfg->opts; opt->name; opt++) {
        (void)hgi_nearer(word, opt->name, &nearest);
    }
    label(cfg, head, sizeof(head));
    if (strcmp(word, "include") == 0) {
        return is_root(cfg) ? fault(cfg->line, "write include(\"more.conf\")")
                            : fault(cfg->line, "%sinclude stands outside of sections", head);
    }
    if (home && strcmp(home, HGI_OPTION_SECTION_GLOBAL) == 0) {
        return fault(cfg->line, "%s\"%s\" cannot stand in a section; move it outside", head, word);
    }
    if (home) {
        return fault(cfg->line, "%s\"%s\" cannot stand here; it is an option of a %s section", head,
                     word, home);
    }
    if (nearest) {
        return fault(cfg->line, "%sthere is no option \"%.80s\"; did you mean \"%s\"?", head, word,
                     nearest);
    }
    list_known(cfg, known, sizeof(known));
    return fault(cfg->line, "%sthere is no option \"%.80s\"; what may stand here: %s", head, word,
                 known);
}

/* The section of that name and title which has been read, counted from 0; -1: there is none. */
static int find_titled(cfg_t *cfg, const char *name, const char *title)
{
    for (unsigned n = 0; n < cfg_size(cfg, name); n++) {
        if (strcmp(cfg_title(cfg_getnsec(cfg, name, n)), title) == 0) {
            return (int)n;
        }
    }
    return -1;
}

/* libconfuse says it when it reaches the brace, without the section's name: it is one that has such
 * a title, and whose next one begins here. */
static int duplicate_title(cfg_t *cfg, const char *title)
{
    char where[WHERE_MAX];
    const char *name = NULL;
    int line = 0;
    int first = 0;

    for (size_t i = 0; i < HGI_COUNT_OF(titled_sections); i++) {
        int earlier = find_titled(cfg, titled_sections[i], title);
        int next_line = hgi_config_text_line(current->text, titled_sections[i],
                                             cfg_size(cfg, titled_sections[i]));

        if (earlier >= 0 && next_line > line && next_line <= cfg->line) {
            name = titled_sections[i];
            line = next_line;
            first = earlier;
        }
    }
    if (!name) {
        return fault(cfg->line, "\"%.80s\" is there already; give one another name", title);
    }
    return fault(line, "%s \"%.80s\" is there already, %s; give one another name", name, title,
                 refer(line, hgi_config_text_line(current->text, name, (size_t)first), where));
}

/* What libconfuse says of the grammar, and how we say it, with what would be right. Both of one
 * word. */
static const struct {
    const char *theirs;
    const char *ours;
} grammar_faults[] = {
    {"missing equal sign after option '%s'", "%s needs a value; write %s = \"value\""},
    {"unexpected token '%s'",
     "%s cannot stand where a value belongs; write such as name = \"value\""},
    {"missing title for section '%s'", "a %s section needs a name; write %s \"name\" { ... }"},
    {"missing opening brace for section '%s'", "%s is a section; write %s { ... }"},
    {"attempt to append to non-list option '%s'", "%s takes one value; write %s = \"value\""},
    {"syntax error in call of function '%s'",
     "this %s is not understood; write %s(\"name\", \"value\")"},
};

static void grammar_fault(const cfg_t *cfg, const char *format, va_list args)
{
    char text[256];

    for (size_t i = 0; i < HGI_COUNT_OF(grammar_faults); i++) {
        if (strcmp(format, grammar_faults[i].theirs) == 0) {
            const char *word = va_arg(args, const char *);

            snprintf(text, sizeof(text), grammar_faults[i].ours, word, word);
            (void)fault(cfg->line, "%s", text);
            return;
        }
    }
    if (strcmp(format, "premature end of file") == 0) {
        (void)fault(cfg->line,
                    "the file ends where a value belongs; write such as name = \"value\"");
        return;
    }
    vsnprintf(text, sizeof(text), format, args);
    (void)fault(cfg->line, "%s", text);
}

static void on_error(cfg_t *cfg, const char *format, va_list args)
{
    if (strcmp(format, "no such option '%s'") == 0) {
        (void)unknown_word(cfg, va_arg(args, const char *));
    } else if (strcmp(format, "found duplicate title '%s'") == 0) {
        (void)duplicate_title(cfg, va_arg(args, const char *));
    } else {
        grammar_fault(cfg, format, args);
    }
}

static char *keep_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hgi_arena_alloc(current->arena, size);

    if (copy) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* The same option of the same section, or the same setting of the same loader. */
static const struct found *find_earlier(const cfg_t *cfg, const struct hgi_option *option,
                                        const char *setting_name)
{
    const struct found *at = current->first;

    for (; at; at = at->next) {
        const char *name = at->assignment->setting_name;

        if (at->section == cfg && at->assignment->option == option &&
            (!setting_name || strcmp(name, setting_name) == 0)) {
            return at;
        }
    }
    return NULL;
}

static int keep(const cfg_t *cfg, const struct hgi_assignment *assignment)
{
    const struct found *earlier = find_earlier(cfg, assignment->option, assignment->setting_name);
    struct found *found = hgi_arena_alloc(current->arena, sizeof(*found));
    struct hgi_assignment *copy = hgi_arena_alloc(current->arena, sizeof(*copy));
    char where[WHERE_MAX];
    char head[128];

    if (earlier) {
        return fault(cfg->line, "%s%s%s%s is set twice; the first is %s",
                     label(cfg, head, sizeof(head)), assignment->option->name,
                     assignment->setting_name ? " " : "",
                     assignment->setting_name ? assignment->setting_name : "",
                     refer(cfg->line, earlier->assignment->line, where));
    }
    if (!found || !copy) {
        return fault(cfg->line, "out of memory");
    }
    *copy = *assignment;
    *found = (struct found){.section = cfg, .assignment = copy};
    *current->last = found;
    current->last = &found->next;
    return 0;
}

/* Called after each `name = value`, when the line is right. */
static int on_value(cfg_t *cfg, cfg_opt_t *opt)
{
    const struct hgi_option *option = hgi_option_find(section_name(cfg), opt->name);
    struct hgi_assignment assignment = {.option = option, .line = cfg->line};
    char sentence[HGI_SENTENCE_MAX];
    char head[128];
    const char *text;

    if (!option) {
        return unknown_word(cfg, opt->name);
    }
    text = keep_text(cfg_opt_getnstr(opt, 0));
    if (!text) {
        return fault(cfg->line, "out of memory");
    }
    if (!hgi_option_parse(option, text, &assignment.value, sentence)) {
        return fault(cfg->line, "%s%s", label(cfg, head, sizeof(head)), sentence);
    }
    return keep(cfg, &assignment);
}

/* option("name", "value") */
static int on_setting(cfg_t *cfg, cfg_opt_t *opt, int argc, const char **argv)
{
    struct hgi_assignment assignment = {
        .option = hgi_option_find(section_name(cfg), opt->name),
        .line = cfg->line,
    };
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_secret name;
    struct hgi_secret value;
    enum hgi_secret_file file = strcmp(section_name(cfg), "loader") != 0 ? HGI_SECRET_IS_TEXT
                                : current->is_closed                     ? HGI_SECRET_IS_REFUSED
                                                                         : HGI_SECRET_IS_READ;
    char head[128];

    if (argc != 2 || !argv[0][0]) {
        return fault(cfg->line, "%s%s takes %s", label(cfg, head, sizeof(head)), opt->name,
                     strcmp(opt->name, "allow") == 0
                         ? "a cache and what may be done; write allow(\"auth\", \"read, load\")"
                     : strcmp(opt->name, "header") == 0
                         ? "a header and what it says; write header(\"X-Auth-User\", \"user_id\")"
                         : "a name and a value; write option(\"name\", \"value\")");
    }
    if (!hgi_secret_read(current->arena, argv[0], HGI_SECRET_IS_TEXT, &name, sentence) ||
        !hgi_secret_read(current->arena, argv[1], file, &value, sentence)) {
        return fault(cfg->line, "%s%s %.60s: %s", label(cfg, head, sizeof(head)), opt->name,
                     argv[0], sentence);
    }
    assignment.setting_name = name.text;
    assignment.value.text = value.text;
    assignment.shown = value.shown;
    return keep(cfg, &assignment);
}

/* libconfuse's table of one section, from ours. `opts` has OPTIONS_MAX places. */
static size_t list_options(const char *section, cfg_opt_t *opts)
{
    size_t count = 0;

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);

        if (strcmp(option->section, section) != 0) {
            continue;
        }
        HGI_BUG_ON(count + SECTIONS_MAX + 1 >= OPTIONS_MAX);
        if (option->kind == HGI_OPTION_SETTING) {
            opts[count++] = (cfg_opt_t)CFG_FUNC(option->name, on_setting);
        } else {
            /* All are texts to libconfuse: its numbers take a sign, octal and hexadecimal. */
            opts[count] = (cfg_opt_t)CFG_STR(option->name, NULL, CFGF_NONE);
            opts[count++].validcb = on_value;
        }
    }
    opts[count] = (cfg_opt_t)CFG_END();
    return count;
}

static cfg_t *open_parser(void)
{
    cfg_opt_t sections[SECTIONS_MAX][OPTIONS_MAX];
    cfg_opt_t root[OPTIONS_MAX];
    size_t count = list_options(HGI_OPTION_SECTION_GLOBAL, root);
    size_t section = 0;
    cfg_t *cfg;

    for (size_t i = 0; i < HGI_COUNT_OF(titled_sections); i++, section++) {
        (void)list_options(titled_sections[i], sections[section]);
        root[count++] = (cfg_opt_t)CFG_SEC(titled_sections[i], sections[section],
                                           CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
    }
    for (size_t i = 0; i < HGI_COUNT_OF(plain_sections); i++, section++) {
        (void)list_options(plain_sections[i], sections[section]);
        /* MULTI, because a second one would silently take the place of the first. */
        root[count++] = (cfg_opt_t)CFG_SEC(plain_sections[i], sections[section], CFGF_MULTI);
    }
    root[count] = (cfg_opt_t)CFG_END();
    cfg = cfg_init(root, CFGF_NONE);
    if (cfg) {
        (void)cfg_set_error_function(cfg, on_error);
    }
    return cfg;
}

static struct hgi_section **add_section(struct hgi_section **last, const char *name,
                                        const cfg_t *cfg, int line)
{
    struct hgi_section *section = hgi_arena_alloc(current->arena, sizeof(*section));
    struct hgi_assignment **tail;

    if (!section || (cfg->title && !(section->title = keep_text(cfg->title)))) {
        (void)fault(line, "out of memory");
        return NULL;
    }
    section->name = name;
    section->line = line;
    tail = &section->assignments;
    for (struct found *at = current->first; at; at = at->next) {
        if (at->section == cfg) {
            *tail = at->assignment;
            tail = &at->assignment->next;
        }
    }
    *last = section;
    return &section->next;
}

/* What was parsed, free of libconfuse. NULL: fault. */
static struct hgi_section *list_sections(cfg_t *cfg)
{
    const char *names[HGI_COUNT_OF(titled_sections) + HGI_COUNT_OF(plain_sections)];
    struct hgi_section *first = NULL;
    struct hgi_section **last = add_section(&first, HGI_OPTION_SECTION_GLOBAL, cfg, 1);

    memcpy(names, titled_sections, sizeof(titled_sections));
    memcpy(names + HGI_COUNT_OF(titled_sections), plain_sections, sizeof(plain_sections));
    for (size_t i = 0; i < HGI_COUNT_OF(names); i++) {
        for (unsigned n = 0; last && n < cfg_size(cfg, names[i]); n++) {
            int line = hgi_config_text_line(current->text, names[i], n);

            if (n > 0 && i >= HGI_COUNT_OF(titled_sections)) {
                char where[WHERE_MAX];

                (void)fault(line, "there is a %s section already, %s; make them one", names[i],
                            refer(line, hgi_config_text_line(current->text, names[i], 0), where));
                return NULL;
            }
            last = add_section(last, names[i], cfg_getnsec(cfg, names[i], n), line);
        }
    }
    return last ? first : NULL;
}

static bool read_into(struct config_box *box, const struct hgi_config_source *source,
                      char *ret_sentence)
{
    struct hgi_config_text text = {.text = NULL};
    const char *default_plugin_dir;
    struct reading reading = {.is_closed = source->is_closed,
                              .sentence = ret_sentence,
                              .arena = &box->arena,
                              .text = &text};
    struct hgi_section *sections = NULL;
    cfg_t *cfg = NULL;
    bool is_good = false;

    reading.last = &reading.first;
    if (!hgi_config_text_open(source->path, !source->is_closed, &text, ret_sentence)) {
        return false;
    }
    current = &reading;
    default_plugin_dir = keep_text(source->default_plugin_dir);
    cfg = open_parser();
    if (!default_plugin_dir || !cfg) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: out of memory", source->path);
        goto out;
    }
    if (cfg_parse_buf(cfg, text.text) != CFG_SUCCESS) {
        /* Only where libconfuse stops without a word. */
        (void)fault(cfg->line, "not understood");
        goto out;
    }
    sections = list_sections(cfg);
    is_good = sections &&
              hgi_config_override(&box->arena, source, &text.lines, sections, ret_sentence) &&
              hgi_config_build(&box->arena, &text.lines, default_plugin_dir, sections, &box->config,
                               ret_sentence);
out:
    if (cfg) {
        (void)cfg_free(cfg);
    }
    current = NULL;
    hgi_config_text_close(&text);
    return is_good;
}

struct hgi_config *hgi_config_read(const struct hgi_config_source *source, char *ret_sentence)
{
    struct config_box *box = hgi_alloc(&hgi_heap, sizeof(*box));

    if (!box) {
        snprintf(ret_sentence, HGI_CONFIG_SENTENCE_MAX, "%s: out of memory", source->path);
        return NULL;
    }
    hgi_arena_init(&box->arena, ARENA_BYTES);
    if (!read_into(box, source, ret_sentence)) {
        hgi_text_flatten(ret_sentence); /* it quotes the file */
        hgi_arena_deinit(&box->arena);
        hgi_free(&hgi_heap, box);
        return NULL;
    }
    return &box->config;
}

void hgi_config_destroy(struct hgi_config **config)
{
    struct config_box *box;

    if (!*config) {
        return;
    }
    box = HGI_CONTAINER(*config, struct config_box, config);
    hgi_arena_deinit(&box->arena);
    hgi_free(&hgi_heap, box);
    *config = NULL;
}
