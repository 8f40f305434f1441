/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/plugin.h"

#define DIR HGI_BUILD_DIR "/tests/base/plugins/"

static char sentence[HGI_PLUGIN_SENTENCE_MAX];

/* The sentence must name the file and say `wanted`. */
static void assert_refused(const char *path, const char *wanted)
{
    const struct hgi_plugin_file file = {.path = path};
    const struct hg_loader *loader = NULL;

    sentence[0] = '\0';
    ck_assert_int_eq(hgi_plugin_open(&file, &loader, sentence), HG_FAILED_PRECONDITION);
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
    const struct hgi_plugin_file file = {.path = DIR "bad_nothing.so"};
    const struct hg_loader *loader = NULL;

    ck_assert_msg(hgi_plugin_open(&file, &loader, sentence) == HG_OK, "%s", sentence);
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

/* A sound plugin but for what is done to it: cut, or with another byte. The caller frees. */
static unsigned char *read_sound(size_t *ret_len)
{
    FILE *file = fopen(DIR "bad_nothing.so", "rb");
    unsigned char *bytes = malloc(1 << 20);

    ck_assert(file && bytes);
    *ret_len = fread(bytes, 1, 1 << 20, file);
    ck_assert_uint_lt(*ret_len, 1 << 20);
    fclose(file);
    return bytes;
}

static void assert_bytes_refused(const unsigned char *bytes, size_t len, const char *wanted)
{
    char path[] = "/tmp/herdgate-plugin-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
    assert_refused(path, wanted);
    unlink(path);
}

/* To load it would be to die of SIGBUS where its bytes end. */
START_TEST(a_shared_object_that_was_cut_is_not_loaded)
{
    size_t len;
    unsigned char *bytes = read_sound(&len);
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    size_t end = 0;

    memcpy(&head, bytes, sizeof(head));
    for (size_t i = 0; i < head.e_phnum; i++) {
        memcpy(&segment, bytes + head.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end) {
            end = segment.p_offset + segment.p_filesz;
        }
    }
    ck_assert(end > sizeof(head) && end <= len);
    assert_bytes_refused(bytes, sizeof(head) - 1, "is not an ELF shared object");
    assert_bytes_refused(bytes, sizeof(head), "is cut short");
    for (size_t cut = sizeof(head) + 1; cut < end; cut += end / 16) {
        assert_bytes_refused(bytes, cut, "is cut short");
    }
    assert_bytes_refused(bytes, end - 1, "is cut short");
    segment.p_type =
        PT_LOAD; /* longer than any file, so long that its end would be a small number */
    segment.p_offset = 4096;
    segment.p_filesz = UINT64_MAX - 1;
    memcpy(bytes + head.e_phoff, &segment, sizeof(segment));
    assert_bytes_refused(bytes, len, "is cut short");
    head.e_phoff = UINT64_MAX - 8;
    memcpy(bytes, &head, sizeof(head));
    assert_bytes_refused(bytes, len, "cannot be understood");
    free(bytes);
}
END_TEST

START_TEST(what_is_built_for_another_machine_is_said_to_be)
{
    static const size_t places[] = {EI_CLASS, EI_DATA, offsetof(Elf64_Ehdr, e_machine)};
    size_t len;
    unsigned char *bytes = read_sound(&len);

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bytes[places[i]] ^= 1;
        assert_bytes_refused(bytes, len, "is built for another kind of machine");
        bytes[places[i]] ^= 1;
    }
    free(bytes);
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

static size_t count_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* One after the other in the same process: the descriptor of one must not stand for the next. */
START_TEST(files_are_not_mixed_up_and_one_opened_again_costs_no_descriptor)
{
    const struct hgi_plugin_file sound = {.path = DIR "bad_nothing.so"};
    const struct hgi_plugin_file null = {.path = DIR "bad_null.so"};
    const struct hg_loader *first = NULL;
    const struct hg_loader *again = NULL;
    size_t before;

    ck_assert_int_eq(hgi_plugin_open(&sound, &first, sentence), HG_OK);
    before = count_descriptors();
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(hgi_plugin_open(&sound, &again, sentence), HG_OK);
        ck_assert_ptr_eq(again, first);
    }
    ck_assert_uint_eq(count_descriptors(), before);
    ck_assert_int_eq(hgi_plugin_open(&null, &again, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "returned no descriptor"));
    ck_assert_int_eq(hgi_plugin_open(&sound, &again, sentence), HG_OK);
    ck_assert_ptr_eq(again, first);
}
END_TEST

/* As `printf abc | b2sum -l 256` prints it. */
START_TEST(a_pin_is_b2sums_digest)
{
    static const char abc[] = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
    char path[] = "/tmp/herdgate-plugin-XXXXXX";
    struct hgi_plugin_file file = {.path = path, .pin = abc};
    const struct hg_loader *loader = NULL;

    write_file(path, "abc");
    ck_assert_int_eq(hgi_plugin_open(&file, &loader, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "is not an ELF shared object"));
    file.pin = "0ddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
    ck_assert_int_eq(hgi_plugin_open(&file, &loader, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, abc));
    ck_assert_ptr_nonnull(strstr(sentence, "is pinned to 0ddd"));
    unlink(path);
}
END_TEST

HGI_SUITE("base.plugin", 20, a_sound_plugin_opens,
          files_are_not_mixed_up_and_one_opened_again_costs_no_descriptor, a_pin_is_b2sums_digest,
          a_missing_file_is_named, a_relative_path_is_refused, a_folder_is_refused,
          a_text_file_is_not_a_shared_object, a_shared_object_that_was_cut_is_not_loaded,
          what_is_built_for_another_machine_is_said_to_be, a_truncated_elf_file_is_refused,
          a_plugin_without_the_symbol_is_refused, a_null_descriptor_is_refused,
          a_wrong_magic_is_refused, a_wrong_abi_is_refused, a_short_descriptor_is_refused,
          a_descriptor_without_load_is_refused)
