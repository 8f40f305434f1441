/* SPDX-License-Identifier: Apache-2.0 */
/* fault_memory: memory that runs out when told to, under everything the program takes from it.
 * Owns:     how often it was asked, and what is out.
 * Threads:  any; begin and end from one.
 * Limits:   what our own code takes: realloc, free and mmap are wrapped at link time (hgi_faulty in
 *           tests/CMakeLists.txt), the C library's own calls are not.
 * Errors:   those it is told to make.
 * Not here: what should become of them. */
#ifndef HG_FAULT_MEMORY_H
#define HG_FAULT_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct fault_memory {
    _Atomic bool is_armed;
    size_t fail_at;           /* the call of this number fails, counted from 1; 0: none */
    bool is_lasting;          /* and all after it */
    _Atomic size_t calls;     /* while armed */
    _Atomic size_t failures;  /* made since begin */
    _Atomic ptrdiff_t blocks; /* taken and not given back, armed or not */
};

/* In memory that a forked process shares. */
extern struct fault_memory *fault_memory;

void fault_memory_begin(size_t fail_at, bool is_lasting);
/* Memory is there again; returns how often it was asked for. */
size_t fault_memory_end(void);
/* For memory that is not ours to wrap, sqlite's: must the next call fail? It is counted. */
bool fault_memory_fails(void);

#endif
