/* SPDX-License-Identifier: Apache-2.0 */
#include "sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool sockets_check(const char *plugin, char *error, size_t error_size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        snprintf(error, error_size, "plugin %s needs sockets: %s%s", plugin, strerror(errno),
                 errno == EPERM ? "; its section must not say network = off" : "");
        return false;
    }
    close(fd);
    return true;
}
