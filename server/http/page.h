/* SPDX-License-Identifier: Apache-2.0 */
/* page: the files an operator's browser is given.
 * Owns:     their bytes, made by the build from server/http/page.
 * Threads:  any; constant.
 * Limits:   none.
 * Errors:   none.
 * Not here: what they show (status), how they are sent (operator). */
#ifndef HGI_SERVER_HTTP_PAGE_H
#define HGI_SERVER_HTTP_PAGE_H

#include <stddef.h>

struct hgi_page_file {
    const char *path; /* "/index.html"; NULL ends the list */
    const char *content_type;
    const unsigned char *data;
    size_t len;
};

extern const struct hgi_page_file hgi_page_files[];

#endif
