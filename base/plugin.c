/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The linker's own words for a missing or foreign file are poor, so the file is looked at first. */
static enum hg_status check_file(const char *path, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    unsigned char head[sizeof(Elf64_Ehdr)];
    struct stat about;
    ssize_t got = 0;
    uint16_t type = ET_NONE;
    int fd = -1;

    if (path[0] != '/') {
        return refuse(ret_sentence, path, "is not an absolute path");
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return refuse(ret_sentence, path, "cannot be opened: %s", strerror(errno));
    }
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        status = refuse(ret_sentence, path, "is not a regular file");
        goto out;
    }
    got = read(fd, head, sizeof(head));
    if (got < (ssize_t)sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0) {
        status = refuse(ret_sentence, path, "is not an ELF shared object");
        goto out;
    }
    memcpy(&type, head + offsetof(Elf64_Ehdr, e_type), sizeof(type));
    if (type != ET_DYN) {
        status = refuse(ret_sentence, path, "is an ELF file, but not a shared object");
    }
out:
    close(fd);
    return status;
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

enum hg_status hgi_plugin_open(const char *path, const struct hg_loader **ret_loader,
                               char *ret_sentence)
{
    const struct hg_loader *(*query)(void) = NULL;
    const struct hg_loader *loader = NULL;
    void *library = NULL;
    void *symbol = NULL;
    enum hg_status status = check_file(path, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *why = dlerror();

        return refuse(ret_sentence, path, "cannot be loaded: %.200s",
                      why ? why : "no reason given");
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
