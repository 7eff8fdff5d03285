/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_hold - the empty guard of one Service: remembers what each of its ports used last, and goes
 * on saying so for a while after there is nothing any more (hold_empty:
 * docs/design.md "Endpoints"); pure.
 */
#ifndef CACHE_VIEW_HOLD_H
#define CACHE_VIEW_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/service.h"

struct view_hold_port;

/* Zero-initialised remembers nothing. */
struct view_hold {
    struct view_hold_port *v;
    size_t n;
};

/* What a port, known by name and protocol, uses now. */
struct view_hold_use {
    struct str text; /* as JSON; borrowed */
    bool empty;
};

/* Begins to look at all ports of the Service; those that are not looked at until view_hold_end()
 * are forgotten. */
void view_hold_begin(struct view_hold *h);

/* Looks at one port. True: it has run empty less than hold_ms ago; use->text is then what it used
 * last, borrowed until the next call. */
bool view_hold_look(struct view_hold *h, const struct service_port *port, struct view_hold_use *use,
                    uint64_t hold_ms, uint64_t now_ms);

/* See view_hold_begin(). Returns when the first hold ends, UINT64_MAX = none holds. */
uint64_t view_hold_end(struct view_hold *h);

/* Forgets everything. */
void view_hold_clear(struct view_hold *h);

#endif
