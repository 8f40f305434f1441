/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_script.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AWAIT_MS 10000

void hgi_script_open(struct hgi_script *script)
{
    snprintf(script->folder, sizeof(script->folder), "/tmp/herdgate-script-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(script->folder));
    snprintf(script->control, sizeof(script->control), "%s/control", script->folder);
    snprintf(script->journal, sizeof(script->journal), "%s/journal", script->folder);
}

void hgi_script_close(struct hgi_script *script)
{
    DIR *folder = opendir(script->folder);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            ck_assert_int_eq(unlinkat(dirfd(folder), entry->d_name, 0), 0);
        }
    }
    if (folder) {
        closedir(folder);
    }
    ck_assert_int_eq(rmdir(script->folder), 0);
}

void hgi_script_set(const struct hgi_script *script, const char *text)
{
    char fresh[128];
    FILE *file;

    snprintf(fresh, sizeof(fresh), "%s.new", script->control);
    file = fopen(fresh, "we");
    ck_assert_ptr_nonnull(file);
    for (; *text; text++) {
        if (*text == '%') {
            fputs(script->folder, file);
        } else {
            fputc(*text, file);
        }
    }
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(fresh, script->control), 0);
}

void hgi_script_touch(const struct hgi_script *script, const char *name)
{
    char path[192];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", script->folder, name);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

size_t hgi_script_loads(const struct hgi_script *script, const char *key)
{
    FILE *file = fopen(script->journal, "re");
    char line[2048];
    size_t len = key ? strlen(key) : 0;
    size_t count = 0;

    while (file && fgets(line, sizeof(line), file)) {
        count +=
            (!key && line[0] != '@') || (key && strncmp(line, key, len) == 0 && line[len] == ' ');
    }
    if (file) {
        fclose(file);
    }
    return count;
}

void hgi_script_await(const struct hgi_script *script, const char *key, size_t count)
{
    const struct timespec pause = {0, 2000000};

    for (int waited_ms = 0; hgi_script_loads(script, key) < count; waited_ms += 2) {
        ck_assert_msg(waited_ms < AWAIT_MS, "load %zu of %s did not begin", count,
                      key ? key : "all keys");
        nanosleep(&pause, NULL);
    }
}
