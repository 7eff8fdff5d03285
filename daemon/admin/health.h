/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health - names what is wrong and what informerd is waiting for, in sentences for people; pure
 * (docs/design.md "Health").
 */
#ifndef ADMIN_HEALTH_H
#define ADMIN_HEALTH_H

#include <stdint.h>

struct admin_model;
struct buf;
struct json_out;

/* Writes an array with a sentence for each fault: the state cannot be written; a cluster is another
 * one or has not said yet which it is; a watch is refused by the server, started stale, is stale,
 * or fails before its first list is complete ("watch NAME: forbidden: ..."); the guard holds a
 * list; objects of a watch cannot be used; a key of a hook is pending, or a file of it
 * waits for apply, for longer than limits.pending. A short interruption of a watch is no fault. */
void health_put_degraded(struct json_out *j, const struct admin_model *m, uint64_t now_ms);

/* Appends the text of /readyz while informerd is not ready: "not ready", then a line for each hook
 * whose first runs have not ended. */
void health_put_not_ready(struct buf *out, const struct admin_model *m, uint64_t now_ms);

#endif
