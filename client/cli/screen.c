/* SPDX-License-Identifier: Apache-2.0 */
#include "screen.h"

#include <curses.h>
#include <locale.h>
#include <string.h>

#define REDRAW 0x0c /* control-L, as everywhere */

static SCREEN *screen;

bool hgi_screen_open(void)
{
    (void)setlocale(LC_CTYPE, "");
    screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        return false;
    }
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0); /* not every terminal can */
    return true;
}

void hgi_screen_close(void)
{
    if (screen) {
        (void)endwin();
        delscreen(screen);
        screen = NULL;
    }
}

/* The heads of tables are in capitals. */
static bool is_head(const char *line, size_t len)
{
    bool has_capital = false;

    for (size_t i = 0; i < len; i++) {
        if (line[i] >= 'a' && line[i] <= 'z') {
            return false;
        }
        has_capital = has_capital || (line[i] >= 'A' && line[i] <= 'Z');
    }
    return has_capital && len > 5 && memchr(line, ' ', len) != NULL;
}

static void draw_line(int row, const char *line, size_t len, bool is_first)
{
    attr_t look = is_first ? A_BOLD : is_head(line, len) ? A_REVERSE : A_NORMAL;

    (void)attron(look);
    (void)mvaddnstr(row, 0, line, (int)len);
    for (int column = getcurx(stdscr); look == A_REVERSE && column < COLS; column++) {
        if (getcury(stdscr) != row) { /* the line was as wide as the terminal */
            break;
        }
        (void)addch(' ');
    }
    (void)attroff(look);
}

void hgi_screen_draw(const char *text, size_t *skip, const char *status)
{
    size_t lines = 0;
    size_t room = LINES > 1 ? (size_t)LINES - 1 : 1;
    size_t number = 0;

    for (const char *at = text; *at; at++) {
        lines += *at == '\n';
    }
    if (*skip + room > lines) {
        *skip = lines > room ? lines - room : 0;
    }
    (void)erase();
    for (const char *line = text; *line && number < *skip + room; number++) {
        size_t len = strcspn(line, "\n");

        if (number >= *skip) {
            draw_line((int)(number - *skip), line, len < (size_t)COLS ? len : (size_t)COLS,
                      number == 0);
        }
        line += len + (line[len] == '\n');
    }
    (void)attron(A_DIM);
    (void)mvaddnstr(LINES - 1, 0, status, COLS - 1);
    (void)attroff(A_DIM);
    (void)refresh();
}

int hgi_screen_key(int timeout_ms)
{
    int key;

    timeout(timeout_ms);
    key = getch();
    switch (key) {
    case ERR:
        return HGI_SCREEN_NONE;
    case KEY_RESIZE:
        return HGI_SCREEN_RESIZED;
    case REDRAW: /* somebody else has written on the terminal */
        (void)clearok(curscr, TRUE);
        return HGI_SCREEN_NONE;
    case KEY_UP:
        return HGI_SCREEN_UP;
    case KEY_DOWN:
        return HGI_SCREEN_DOWN;
    default:
        return key < 256 ? key : HGI_SCREEN_OTHER;
    }
}
