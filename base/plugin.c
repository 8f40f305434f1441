/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>
#include <unistd.h>

#include "base/hash.h"

/* Read before anything else and never moved (loader.h). */
_Static_assert(offsetof(struct hg_loader, magic) == 0, "frozen");
_Static_assert(offsetof(struct hg_loader, abi) == 4, "frozen");
_Static_assert(offsetof(struct hg_loader, size) == 8, "frozen");
_Static_assert(HG_LOADER_SIZE_FIRST == offsetof(struct hg_loader, close) + sizeof(void (*)(void *)),
               "what was appended begins where ABI 1 ended");

HG_PRINTF(3, 4)
static enum hg_status refuse(char *ret_sentence, const char *path, const char *format, ...)
{
    va_list args;
    size_t len;

    snprintf(ret_sentence, HGI_PLUGIN_SENTENCE_MAX, "plugin %.255s ", path);
    len = strlen(ret_sentence);
    va_start(args, format);
    vsnprintf(ret_sentence + len, HGI_PLUGIN_SENTENCE_MAX - len, format, args);
    va_end(args);
    return HG_FAILED_PRECONDITION;
}

/* Where the linker has put the head of the program, or library, that this code is in: what is built
 * for this machine. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* To run what lies behind its end would end the process with SIGBUS. */
static enum hg_status check_segments(const char *path, int fd, const Elf64_Ehdr *head,
                                     char *ret_sentence)
{
    struct stat info;
    uint64_t size = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    uint64_t end = head->e_phoff + (uint64_t)head->e_phnum * sizeof(Elf64_Phdr);

    if (head->e_phentsize != sizeof(Elf64_Phdr) || end < head->e_phoff) {
        return refuse(ret_sentence, path, "is an ELF shared object that cannot be understood");
    }
    for (uint16_t i = 0; i < head->e_phnum && end <= size; i++) {
        Elf64_Phdr segment;
        ssize_t got = pread(fd, &segment, sizeof(segment),
                            (off_t)(head->e_phoff + (uint64_t)i * sizeof(segment)));

        if (got != (ssize_t)sizeof(segment) || segment.p_offset > INT64_MAX ||
            segment.p_filesz > INT64_MAX) {
            end = UINT64_MAX;
        } else if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end) {
            end = segment.p_offset + segment.p_filesz;
        }
    }
    return end <= size ? HG_OK
                       : refuse(ret_sentence, path, "is cut short: it ends before its segments do");
}

/* The linker's own words for a foreign file are poor, so the file is looked at first. */
static enum hg_status check_elf(const char *path, int fd, char *ret_sentence)
{
    Elf64_Ehdr head;
    const Elf64_Ehdr *own = &__ehdr_start;
    ssize_t got = pread(fd, &head, sizeof(head), 0);

    if (got < (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        return refuse(ret_sentence, path, "is not an ELF shared object");
    }
    if (head.e_ident[EI_CLASS] != own->e_ident[EI_CLASS] ||
        head.e_ident[EI_DATA] != own->e_ident[EI_DATA] || head.e_machine != own->e_machine) {
        return refuse(ret_sentence, path, "is built for another kind of machine than this one");
    }
    if (head.e_type != ET_DYN) {
        return refuse(ret_sentence, path, "is an ELF file, but not a shared object");
    }
    return check_segments(path, fd, &head, ret_sentence);
}

static enum hg_status check_pin(const char *path, int fd, const char *pin, char *ret_sentence)
{
    char found[HGI_HASH_HEX_LEN + 1];

    if (!pin || !*pin) {
        return HG_OK;
    }
    if (!hgi_hash_file(fd, found)) {
        return refuse(ret_sentence, path, "cannot be read: %s", strerror(errno));
    }
    if (strcasecmp(found, pin) != 0) {
        return refuse(ret_sentence, path, "has BLAKE2b-256 %s, but is pinned to %.64s", found, pin);
    }
    return HG_OK;
}

static enum hg_status check_descriptor(const char *path, const struct hg_loader *loader,
                                       char *ret_sentence)
{
    const char *missing = NULL;

    if (loader->magic != HG_LOADER_MAGIC) {
        return refuse(ret_sentence, path, "has magic 0x%08X, a loader has 0x%08X", loader->magic,
                      HG_LOADER_MAGIC);
    }
    if (loader->abi != HG_LOADER_ABI) {
        return refuse(ret_sentence, path, "speaks ABI %u, this host speaks %u", loader->abi,
                      HG_LOADER_ABI);
    }
    if (loader->size < HG_LOADER_SIZE_FIRST) {
        return refuse(ret_sentence, path, "has a descriptor of %u bytes, ABI %u has %zu",
                      loader->size, HG_LOADER_ABI, HG_LOADER_SIZE_FIRST);
    }
    missing = !loader->name      ? "name"
              : !loader->version ? "version"
              : !loader->open    ? "open"
              : !loader->load    ? "load"
              : !loader->close   ? "close"
                                 : NULL;
    if (missing) {
        return refuse(ret_sentence, path, "has no `%s` in its descriptor", missing);
    }
    return HG_OK;
}

uint32_t hgi_plugin_batch_max(const struct hg_loader *loader)
{
    if (loader->size < offsetof(struct hg_loader, load_batch) + sizeof(loader->load_batch) ||
        !loader->load_batch || loader->max_batch < 2) {
        return 1;
    }
    return loader->max_batch < HGI_PLUGIN_BATCH_MAX ? loader->max_batch : HGI_PLUGIN_BATCH_MAX;
}

/* A name for the descriptor that was never used before: the linker takes a name it knows for the
 * file it saw then, and a descriptor's number comes back once it is closed. Each bit of a count is
 * a way to write a slash. With the process's number, so that a debugger finds the file, too. */
static void name_descriptor(int fd, char *ret_name, size_t size)
{
    static _Atomic uint32_t used;
    uint32_t count = atomic_fetch_add(&used, 1);
    size_t len = (size_t)snprintf(ret_name, size, "/proc/%d/fd", (int)getpid());

    do {
        len += (size_t)snprintf(ret_name + len, size - len, count & 1 ? "/." : "/");
        count >>= 1;
    } while (count);
    snprintf(ret_name + len, size - len, "/%d", fd);
}

/* Takes the descriptor: it stays open under the library's name, unless the file was loaded already
 * under another. */
static void *load_file(int fd)
{
    char name[128];
    struct link_map *map = NULL;
    void *library;

    name_descriptor(fd, name, sizeof(name));
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || strcmp(map->l_name, name) != 0) {
        close(fd);
    }
    return library;
}

static enum hg_status open_file(const struct hgi_plugin_file *file, int *ret_fd, char *ret_sentence)
{
    char why[HGI_TRUST_SENTENCE_MAX];
    int fd = -1;
    enum hg_status status = hgi_trust_open(file->path, &file->trust, &fd, why);

    if (status != HG_OK) {
        return refuse(ret_sentence, file->path, "%s", why);
    }
    status = check_pin(file->path, fd, file->pin, ret_sentence);
    if (status == HG_OK) {
        status = check_elf(file->path, fd, ret_sentence);
    }
    if (status != HG_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return HG_OK;
}

enum hg_status hgi_plugin_open(const struct hgi_plugin_file *file,
                               const struct hg_loader **ret_loader, char *ret_sentence)
{
    const struct hg_loader *(*query)(void) = NULL;
    const struct hg_loader *loader = NULL;
    const char *path = file->path;
    void *library = NULL;
    void *symbol = NULL;
    int fd = -1;
    enum hg_status status = open_file(file, &fd, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    library = load_file(fd);
    if (!library) {
        const char *why = dlerror();
        const char *behind = why && strncmp(why, "/proc/", 6) == 0 ? strstr(why, ": ") : NULL;

        /* The descriptor's name says nothing to who reads this. */
        return refuse(ret_sentence, path, "cannot be loaded: %.200s",
                      behind ? behind + 2
                      : why  ? why
                             : "no reason given");
    }
    symbol = dlsym(library, "hg_loader_query");
    if (!symbol) {
        return refuse(ret_sentence, path, "exports no hg_loader_query, so it is no loader");
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX promises the bits. */
    memcpy(&query, &symbol, sizeof(query));
    loader = query();
    if (!loader) {
        return refuse(ret_sentence, path, "returned no descriptor from hg_loader_query");
    }
    status = check_descriptor(path, loader, ret_sentence);
    if (status == HG_OK) {
        *ret_loader = loader;
    }
    return status;
}
