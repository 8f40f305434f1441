/* SPDX-License-Identifier: Apache-2.0 */
/* address: what may be listened on, and the lock that keeps two servers off one socket.
 * Owns:     nothing; a lock's descriptor is the caller's.
 * Threads:  any.
 * Limits:   a socket's path is at most 107 bytes.
 * Errors:   FAILED_PRECONDITION or, where somebody else has it, UNAVAILABLE; one sentence.
 * Not here: binding (listener). */
#ifndef HGI_SERVER_RPC_ADDRESS_H
#define HGI_SERVER_RPC_ADDRESS_H

#include "server/config.h"

struct hgi_address {
    bool is_ipc;
    bool is_tls;      /* over tcp */
    const char *path; /* ipc: borrowed from the url */
    char host[64];    /* tcp: as in the url, with the brackets of an IPv6 address */
    uint16_t port;
};

/* tls+tcp://host:port with all its files named and access TOKEN, ipc:///absolute/path, or
 * tcp://host:port where host is a loopback address (without TLS nothing else is allowed) and access
 * is not OWNER. */
HG_NODISCARD enum hg_status hgi_address_parse(const struct hgi_listen_config *listen,
                                              struct hgi_address *ret_address, char *ret_sentence);
/* Locks <path>.lock for as long as *ret_fd is open. UNAVAILABLE: another server holds it. The file
 * stays for ever: removing it would let two servers hold two files of one name. */
HG_NODISCARD enum hg_status hgi_address_lock(const char *path, int *ret_fd, char *ret_sentence);

#endif
