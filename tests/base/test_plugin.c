/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/plugin.h"

#define DIR HGI_BUILD_DIR "/tests/base/plugins/"

static char sentence[HGI_PLUGIN_SENTENCE_MAX];

/* The sentence must name the file and say `wanted`. */
static void assert_refused(const char *path, const char *wanted)
{
    const struct hg_loader *loader = NULL;

    sentence[0] = '\0';
    ck_assert_int_eq(hgi_plugin_open(path, &loader, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_null(loader);
    ck_assert_ptr_nonnull(strstr(sentence, path));
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
}

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(a_sound_plugin_opens)
{
    const struct hg_loader *loader = NULL;

    ck_assert_int_eq(hgi_plugin_open(DIR "bad_nothing.so", &loader, sentence), HG_OK);
    ck_assert_str_eq(loader->name, "bad");
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    assert_refused("/nonexistent/keys.so", "No such file");
}
END_TEST

START_TEST(a_relative_path_is_refused)
{
    assert_refused("keys.so", "not an absolute path");
}
END_TEST

START_TEST(a_folder_is_refused)
{
    assert_refused("/tmp", "not a regular file");
}
END_TEST

START_TEST(a_text_file_is_not_a_shared_object)
{
    char path[] = "/tmp/herdgate-plugin-XXXXXX";

    write_file(path,
               "#!/bin/sh\nexit 0\n# long enough to be mistaken for an ELF header, is it not?\n");
    assert_refused(path, "not an ELF shared object");
    unlink(path);
}
END_TEST

START_TEST(a_truncated_elf_file_is_refused)
{
    char path[] = "/tmp/herdgate-plugin-XXXXXX";

    write_file(path, "\177ELF");
    assert_refused(path, "not an ELF shared object");
    unlink(path);
}
END_TEST

START_TEST(a_plugin_without_the_symbol_is_refused)
{
    assert_refused(DIR "bad_symbol.so", "exports no hg_loader_query");
}
END_TEST

START_TEST(a_null_descriptor_is_refused)
{
    assert_refused(DIR "bad_null.so", "returned no descriptor");
}
END_TEST

START_TEST(a_wrong_magic_is_refused)
{
    assert_refused(DIR "bad_magic.so", "has magic 0x12345678, a loader has 0x48474C44");
}
END_TEST

START_TEST(a_wrong_abi_is_refused)
{
    assert_refused(DIR "bad_abi.so", "speaks ABI 2, this host speaks 1");
}
END_TEST

START_TEST(a_short_descriptor_is_refused)
{
    assert_refused(DIR "bad_size.so", "has a descriptor of 12 bytes");
}
END_TEST

START_TEST(a_descriptor_without_load_is_refused)
{
    assert_refused(DIR "bad_load.so", "has no `load`");
}
END_TEST

HGI_SUITE("base.plugin", 20, a_sound_plugin_opens, a_missing_file_is_named,
          a_relative_path_is_refused, a_folder_is_refused, a_text_file_is_not_a_shared_object,
          a_truncated_elf_file_is_refused, a_plugin_without_the_symbol_is_refused,
          a_null_descriptor_is_refused, a_wrong_magic_is_refused, a_wrong_abi_is_refused,
          a_short_descriptor_is_refused, a_descriptor_without_load_is_refused)
