/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_wait - a reload between its commit and its switch; driver. The hooks that it replaces or drops start
 * no runs, and their runs have stop_timeout to end; then those are killed. If a run cannot be killed, the
 * reload is given up: a new hook could run beside it.
 */
#ifndef APP_RELOAD_WAIT_H
#define APP_RELOAD_WAIT_H

#include <stdint.h>

#include "app/reload_switch.h"

struct generation;
struct reload_wait;

/* Both come from the loop, on a stack of their own or inside reload_wait_look(). After either of them the
 * module waits for nothing. */
struct reload_wait_events {
    /* All of these hooks have retired: the receiver switches over to g, which it takes. */
    void (*on_retired)(void *arg, struct generation *g, const struct reload_plan *plan);
    /* The reload was given up, its hooks start runs again, and its generation is gone. why: one line of
     * text. */
    void (*on_given_up)(void *arg, const char *why);
};

/* loop, parts and events are borrowed until dispose. Never NULL. */
struct reload_wait *reload_wait_create(struct loop *loop, const struct reload_parts *parts,
                                       const struct reload_wait_events *events, void *arg);

/* A reload waits from now on; none may wait yet. Takes g; plan is borrowed until an event or
 * reload_wait_stop(). patience_ms: stop_timeout. */
void reload_wait_begin(struct reload_wait *w, struct generation *g, const struct reload_plan *plan,
                       uint64_t patience_ms);

/* Runs have ended, or files were removed: the hooks may have retired. */
void reload_wait_look(struct reload_wait *w);

/* The plan of the reload that waits; NULL = none does. */
const struct reload_plan *reload_wait_plan(const struct reload_wait *w);

/* Forgets the reload, as the daemon stops. The hooks stay as they are. */
void reload_wait_stop(struct reload_wait *w);

/* Sets *w to NULL; no event follows. NULL is fine. */
void reload_wait_dispose(struct reload_wait **w);

#endif
