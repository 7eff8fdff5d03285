/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health - what is wrong, in words for people; pure (docs/design.md "Health").
 */
#ifndef ADMIN_HEALTH_H
#define ADMIN_HEALTH_H

#include <stdint.h>

struct admin_model;
struct buf;
struct json_out;

/* Writes an array with a text for each watch that is refused by the server, stale, or fails before
 * its first list is complete ("watch NAME: forbidden: ..."), one for each whose guard holds a list,
 * one for each with objects that cannot be used, and one for each hook of which a key is pending for longer than limits.pending. A short
 * interruption is not among them. */
void health_put_degraded(struct json_out *j, const struct admin_model *m, uint64_t now_ms);

/* Appends why informerd is not ready: a line per hook whose first run has not ended. */
void health_put_not_ready(struct buf *out, const struct admin_model *m, uint64_t now_ms);

#endif
