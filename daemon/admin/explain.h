/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - what keys and hooks wait for, as JSON; pure.
 */
#ifndef ADMIN_EXPLAIN_H
#define ADMIN_EXPLAIN_H

#include <stdbool.h>

#include "base/str.h"

struct call;
struct hook;

/* Keys of one answer. */
enum { EXPLAIN_KEYS = 1000 };

/* Appends {"hook":H,"units":[...],"left_out":N}. Each unit is an object: source, key, reason, of,
 * text, before_restart, until, failures, event {type, cause, received}, digest, last_run
 * (runs_put()). The hook as
 * a whole, whose key is null, stands first if anything but HANDLED is to be said of it, or else
 * alone; behind it stand the keys that are not handled (mode object), longest first. Digests of a
 * hook that gets Secrets are shown to the privileged only. */
void explain_put_hook(struct call *c, const struct hook *h);

/* The same of one key, a unit for each source that has it. False: none has, nothing was added. */
bool explain_put_key(struct call *c, const struct hook *h, struct str key);

#endif
