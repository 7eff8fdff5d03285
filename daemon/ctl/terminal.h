/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal - a full screen on the terminal of stdin and stdout, which is as before however the
 * program ends, but for SIGKILL; driver.
 */
#ifndef CTL_TERMINAL_H
#define CTL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Are stdin and stdout terminals? */
bool terminal_is_there(void);

/* May colours be used on stdout? Only on a terminal, not with NO_COLOR (https://no-color.org), and not
 * on a terminal without them (TERM=dumb). */
bool terminal_has_colour(void);

/* Appends JSON of the daemon for stdout: for a program as it is; for a terminal so that texts in it cannot
 * change what is seen (visible_put_json()). */
void terminal_put_json(struct buf *out, struct str json);

/* Begins: another screen, no echo, keys without Enter. Signals that end or stop the program restore
 * the terminal first; a signal may end any poll() with EINTR. */
void terminal_begin(void);

/* Ends it: the terminal is as before terminal_begin(). */
void terminal_end(void);

/* The lines and columns of the terminal, now; 24 and 80 if it does not say. */
void terminal_size(size_t *rows, size_t *columns);

/* The columns that a table on stdout may have: those of the terminal; 0 = any number, as stdout is no
 * terminal, and programs get the whole texts. */
size_t terminal_width_of_tables(void);

/* Replaces the screen by these lines. False: the terminal is gone. */
bool terminal_show(struct str lines);

/* Waits until a key is pressed, or for so many ms. '\0': the time is over, or a signal came (the size
 * may be another one). The key 'q' stands also for a terminal that is gone. */
char terminal_key(int timeout_ms);

#endif
