/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_status - what is to be said of watches and views that have what an earlier process has left, and
 * of the state that it was left in; pure (docs/design.md "Stale start", "Status report").
 */
#ifndef ADMIN_RESTORE_STATUS_H
#define ADMIN_RESTORE_STATUS_H

#include <stdbool.h>

#include "cache/source.h"
#include "proto/json_out.h"

struct admin_model;
struct call;

/* Does it show what an earlier process has left, as the server has not said yet what is so now? */
bool restore_status_is(struct source c);

/* The like, and hooks run from it all the same (start_stale). */
bool restore_status_is_used(struct source c);

/* How the watch began: "watch" = it went on from there without a list, "list" = its first list is
 * compared with what was left, "edited" = the same, but it was left by other settings; NULL = there
 * was nothing. */
const char *restore_status_began(const struct watch *w);

/* May its objects be shown as what is there? If not, it is refused. */
bool restore_status_may_show(struct call *c, struct source from) MUST_CHECK;

/* Appends the member "state". */
void restore_status_put_state(struct json_out *j, const struct admin_model *m);

/* Of a moment on the clock of now_ms, not before the start: the wall clock. */
uint64_t restore_status_wall_ns(const struct admin_model *m, uint64_t then_ms);

#endif
