/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_status - says which watches and views still show objects that an earlier process stored;
 * pure (docs/design.md "Stale start", "Status report").
 */
#ifndef ADMIN_RESTORE_STATUS_H
#define ADMIN_RESTORE_STATUS_H

#include <stdbool.h>

#include "cache/resume_point.h"
#include "cache/source.h"

struct admin_model;

/* Whether the source shows objects of an earlier process, of which no server has said yet whether
 * they are still so. */
bool restore_status_is(struct source c);

/* How the watch began: WHOLE = it went on from the stored version without a list; PARTIAL = its
 * first list is compared with the stored objects; EDITED, RESHAPED = the same, but other settings
 * of the watch selected those objects; NONE = nothing was stored; never OVER. */
enum resume_kind restore_status_began(const struct watch *w);

/* Converts a moment on the clock of now_ms, not before the start of informerd, to wall clock
 * nanoseconds. */
uint64_t restore_status_wall_ns(const struct admin_model *m, uint64_t then_ms);

#endif
