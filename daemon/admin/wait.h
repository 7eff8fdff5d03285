/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait - the conditions of `informerctl wait`: do they hold, and if not, which watches,
 * views and hooks are missing; pure.
 */
#ifndef ADMIN_WAIT_H
#define ADMIN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/admin.h"
#include "base/compiler.h"
#include "base/str.h"

struct buf;
struct call;

enum wait_for {
    WAIT_SYNCED, /* every watch and view has all objects, and a server has confirmed them */
    WAIT_READY,  /* READY=1 was sent */
    /* synced, and no hook has anything to do but reruns; parked keys and paused hooks do not count */
    WAIT_IDLE,
};

/* Reads "synced", "ready" or "idle". */
bool wait_parse(struct str name, enum wait_for *out) MUST_CHECK;

/* Does the condition hold now? */
bool wait_holds(const struct admin_model *m, enum wait_for what, uint64_t now_ms);

/* Appends {"for":NAME,"done":true,"waits_for":[]} and a newline. */
void wait_put_done(struct buf *out, enum wait_for what);

/* GET /v1/wait/NAME: the same object as it is now; waits_for has a sentence for each watch, view or
 * hook that is missing. 404 for another name. */
void wait_answer(struct call *c);

/* GET /v1/wait/NAME/follow: a stream that ends with that object when the condition holds. */
void wait_follow(struct call *c);

#endif
