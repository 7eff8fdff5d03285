/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_line - what `systemctl status` shows in a line: how many watches are synced, and in
 * trouble.
 */
#ifndef APP_STATUS_LINE_H
#define APP_STATUS_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "app/sources.h"

/* Zero-initialised: nothing was told yet. */
struct status_line {
    char told[160];
};

/* Tells systemd, if it has changed. It looks at every watch. */
void status_line_tell(struct status_line *s, const struct sources *sources, size_t n_hooks,
                      uint64_t now_ms);

#endif
