/* SPDX-License-Identifier: Apache-2.0 */
/* screen: a whole terminal, drawn anew each time, and its keys. The only ncurses.
 * Owns:     the terminal, from open to close.
 * Threads:  one.
 * Limits:   lines are cut at the terminal's width.
 * Errors:   a terminal that cannot be drawn on is false.
 * Not here: what is drawn (top), what the keys do (verb_top). */
#ifndef HGI_CLI_SCREEN_H
#define HGI_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "herdgate/attr.h"

/* Keys that are no character; those are what they are. */
enum hgi_screen_key {
    HGI_SCREEN_NONE = -1, /* the time was up, or a signal came */
    HGI_SCREEN_RESIZED = 0x110000,
    HGI_SCREEN_UP,
    HGI_SCREEN_DOWN,
    HGI_SCREEN_OTHER,
};

/* stdin and stdout are a terminal that TERM names. */
HG_NODISCARD bool hgi_screen_open(void);
void hgi_screen_close(void);
/* The lines of `text` from `*skip` on, the first and those in capitals set off; `status` in the
 * last row. *skip is brought back to where there is still something to see. */
void hgi_screen_draw(const char *text, size_t *skip, const char *status);
int hgi_screen_key(int timeout_ms);

#endif
