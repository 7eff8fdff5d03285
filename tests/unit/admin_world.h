/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_world - what tests of the control socket look at: watches filled in memory, a hook, and a
 * record of what was to be done; pure.
 */
#ifndef UNIT_ADMIN_WORLD_H
#define UNIT_ADMIN_WORLD_H

#include "objects.h"

#include "admin/admin.h"
#include "admin/journal.h"
#include "admin/stream.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "hook/payload.h"

/* 2024-05-01T10:20:30Z, when the monotonic clock stood at WORLD_STARTED_MS. */
#define WORLD_STARTED_NS (UINT64_C(1714558830) * 1000000000U)

enum {
    WORLD_STARTED_MS = 5000,
    WORLD_NOW_MS = 8500,
    WORLD_STALE_MS = 30000,
    WORLD_PENDING_MS = 600000,
};

/* The names of the watches; "twin" and "services" are one. */
enum { WORLD_SERVICES, WORLD_PRIVATE, WORLD_WIDGETS, WORLD_TWIN, WORLD_NAMES };

struct admin_world {
    struct admin_watch watches[WORLD_NAMES];
    struct hooks hooks;
    struct admin_cluster clusters[2];
    struct journal *journal;
    struct admin_streams *streams;
    struct payload_context context; /* node "n1", instance "i" */
    struct admin_model model;
    uint64_t now_ms;
    struct buf done;  /* "relist services;": what the actions were called for */
    bool guard_holds; /* the answer of actions.guard */
};

/* Nothing is started; the resource of the widgets is not known. For cmocka. */
int admin_world_set_up(void **state);

/* Frees it all. */
int admin_world_tear_down(void **state);

/* What a hook of admin_world_add_hook() is like. */
struct world_hook {
    const char *name;
    enum hook_mode mode;
    size_t source_count; /* services, twin, private, widgets: the first so many */
    struct hook_rules rules;
    struct work_queue_params
        work_queue; /* concurrency 0 = 1; retry.initial_ms 0 = 1 s, doubled up to 60 s */
};

/* Adds a hook that takes every event; it is the newest of t->hooks. */
struct hook *admin_world_add_hook(struct admin_world *t, struct world_hook params);

/* Starts the run that is due; there must be one. */
struct run *admin_world_start(struct admin_world *t);

/* Starts it and ends it, at t->now_ms. "" = success. */
void admin_world_run(struct admin_world *t, const char *failure);

/* A list of n Services "b/s0"... of this version. */
void admin_world_put_list(struct buf *out, const char *rv, size_t n);

/* Does this come as the answer to the list that the first stream of a watch makes next? */
void admin_world_list(struct admin_world *t, size_t watch, int status, const char *body);

/* The answer to a request; JSON is checked to be such. The body is the caller's. */
struct admin_response admin_world_ask(struct admin_world *t, const char *method, const char *target,
                                      bool privileged);

/* The answer to a privileged request must have this status and this text somewhere. */
void admin_world_expect(struct admin_world *t, const char *request, int status, const char *text);

/* The same for one without privileges. */
void admin_world_expect_poor(struct admin_world *t, const char *request, int status,
                             const char *text);

/* The answer must not hold this text. */
void admin_world_lacks(struct admin_world *t, const char *request, const char *text);

#endif
