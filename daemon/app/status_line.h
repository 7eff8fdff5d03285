/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_line - the line that `systemctl status` shows: how many watches are synced, and how many
 * are failing.
 */
#ifndef APP_STATUS_LINE_H
#define APP_STATUS_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "app/sources.h"

/* Zero-initialised: no line was sent yet. */
struct status_line {
    char told[160];
};

/* Sends the line to systemd if it has changed. Looks at every watch, so call it now and then, not
 * for each event. */
void status_line_tell(struct status_line *s, const struct sources *sources, size_t n_hooks,
                      uint64_t now_ms);

#endif
