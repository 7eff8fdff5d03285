/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - says why keys and hooks wait, as JSON (informerctl why); pure.
 */
#ifndef ADMIN_EXPLAIN_H
#define ADMIN_EXPLAIN_H

#include <stdbool.h>

#include "base/str.h"

struct call;
struct hook;

/* The most keys of one answer. */
enum { EXPLAIN_KEYS = 1000 };

/* Appends {"hook":H,"units":[...],"left_out":N}. Each unit is one work item: program, source, key,
 * reason, of, text, before_restart, until, failures, event {type, cause, received}, digest,
 * last_run (runs_put()). A unit for the hook as a whole, with key null, stands first; in mode
 * object it is left out if its reason is HANDLED and keys are pending. Then a unit for apply, if
 * the hook has one. In mode object the pending keys follow, the longest waiting first; left_out
 * counts those beyond EXPLAIN_KEYS. Digests of a hook that gets Secrets are shown to privileged
 * peers only. */
void explain_put_hook(struct call *c, const struct hook *h);

/* The same for one key, with a unit for each source that knows the key. False: no source does, and
 * nothing was appended. */
bool explain_put_key(struct call *c, const struct hook *h, struct str key);

#endif
