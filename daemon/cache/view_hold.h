/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_hold - remembers which endpoints each port of a Service used last, and keeps them for a
 * while after the port has run empty (hold_empty: docs/design.md "Endpoints"); pure.
 */
#ifndef CACHE_VIEW_HOLD_H
#define CACHE_VIEW_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/service.h"

struct view_hold_port;

/* Zero-initialised: no port is remembered. */
struct view_hold {
    struct view_hold_port *v;
    size_t n;
};

/* The endpoints that a port uses now; a port is known by name and protocol. */
struct view_hold_use {
    struct str text; /* as JSON; borrowed */
    bool empty;
};

/* Begins a round over all ports of the Service: view_hold_end() forgets those that were not looked
 * at. */
void view_hold_begin(struct view_hold *h);

/* Looks at one port. True: the port has run empty less than hold_ms ago, and use->text is now what
 * it used last, borrowed until the next call. */
bool view_hold_look(struct view_hold *h, const struct service_port *port, struct view_hold_use *use,
                    uint64_t hold_ms, uint64_t now_ms);

/* Ends the round. Returns when the first hold ends, UINT64_MAX = no port is held. */
uint64_t view_hold_end(struct view_hold *h);

/* Forgets all ports. */
void view_hold_clear(struct view_hold *h);

#endif
