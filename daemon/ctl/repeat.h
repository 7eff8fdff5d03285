/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat - shows an answer of the daemon again whenever something in it has changed; driver.
 */
#ifndef CTL_REPEAT_H
#define CTL_REPEAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "ctl/command.h"

/* Asks the daemon, and appends the answer to json and its text for people to out. Anything but
 * EXIT_FINE and EXIT_NO without a complaint ends the repetition. */
typedef enum command_exit repeat_ask(void *arg, struct buf *json, struct buf *out,
                                     struct buf *complaint);

/* Asks each second, and writes the text that `ask` has appended to out to stdout, if more has changed
 * than ages; a blank line goes before it from the second time on. Returns when `ask` fails, or when
 * nobody reads stdout any more (EXIT_FINE). */
enum command_exit repeat_run(repeat_ask *ask, void *arg, struct buf *complaint);

/* Appends all of the answer (JSON) that is no age and no duration: members whose name ends with
 * "_s". */
void repeat_put_still(struct buf *out, struct str json);

#endif
