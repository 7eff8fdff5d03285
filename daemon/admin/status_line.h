/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_line - one sentence for `systemctl status`: the first fault, else a watch that has no contact,
 * else how far the start is, else how many watches and hooks there are; pure.
 */
#ifndef ADMIN_STATUS_LINE_H
#define ADMIN_STATUS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct admin_model;
struct buf;

/* Longer sentences are cut: systemctl shows the line as it is. */
enum { STATUS_LINE_MAX = 240 };

/* Did the server not answer, as opposed to an answer that informerd cannot use? For people this is "no
 * contact". */
bool status_line_no_contact(enum err_kind kind);

/* Appends the sentence, without control bytes. It names no objects if m hides their names. */
void status_line_put(const struct admin_model *m, uint64_t now_ms, struct buf *out);

#endif
