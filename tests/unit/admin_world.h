/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_world - the daemon that tests of the control socket look at: watches filled in memory, a hook,
 * and a record of the actions that requests asked for; pure.
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
#include "kube/servers.h"

/* 2024-05-01T10:20:30Z, when the monotonic clock stood at WORLD_STARTED_MS. */
#define WORLD_STARTED_NS (UINT64_C(1714558830) * 1000000000U)

enum {
    WORLD_STARTED_MS = 5000,
    WORLD_NOW_MS = 8500,
    WORLD_STALE_MS = 30000,
    WORLD_PENDING_MS = 600000,
};

/* The names of the watches; "twin" and "services" are one watch. */
enum { WORLD_SERVICES, WORLD_PRIVATE, WORLD_WIDGETS, WORLD_TWIN, WORLD_NAMES };

struct admin_world {
    struct admin_watch watches[WORLD_NAMES];
    struct hooks hooks;
    struct admin_cluster clusters[2];
    struct servers servers[2];    /* of each cluster */
    struct admin_login logins[2]; /* of the first cluster */
    struct journal *journal;
    struct admin_streams *streams;
    struct payload_context context; /* node "n1", instance "i" */
    struct admin_model model;
    uint64_t now_ms;
    uint64_t reload_number; /* of an order; 0 = it is refused */
    struct buf done;        /* "relist services;": the calls of the actions */
    bool guard_holds;       /* the answer of actions.guard */
};

/* The setup of a test with cmocka: no watch is started; the resource of the widgets is not
 * known. */
int admin_world_set_up(void **state);

/* The teardown of a test with cmocka: frees everything. */
int admin_world_tear_down(void **state);

/* The parameters of admin_world_add_hook(). */
struct world_hook {
    const char *name;
    enum hook_mode mode;
    size_t source_count; /* how many of services, twin, private, widgets, in this order */
    struct hook_rules rules;
    /* concurrency 0 = 1; retry.initial_ms 0 = 1 s, doubled up to 60 s */
    struct work_queue_params work_queue;
};

/* Adds a hook that takes every event; it is the newest of t->hooks. */
struct hook *admin_world_add_hook(struct admin_world *t, struct world_hook params);

/* Starts the run that is due; there must be one. */
struct run *admin_world_start(struct admin_world *t);

/* Starts the run that is due, and ends it at t->now_ms. failure: "" = success. */
void admin_world_run(struct admin_world *t, const char *failure);

/* A list of n Services "b/s0"... of this version. */
void admin_world_put_list(struct buf *out, const char *rv, size_t n);

/* The first scope of a watch lists; this is the whole answer. */
void admin_world_list(struct admin_world *t, size_t watch, int status, const char *body);

/* The request that is under way for the first scope of a watch ends with this error. */
void admin_world_fail(struct admin_world *t, size_t watch, const struct err *err);

/* The answer to a request; a JSON answer is checked. The caller frees the body. */
struct admin_response admin_world_ask(struct admin_world *t, const char *method, const char *target,
                                      bool privileged);

/* The answer to a privileged request must have this status and this text somewhere. */
void admin_world_expect(struct admin_world *t, const char *request, int status, const char *text);

/* The answer to a request without privileges must have this status and this text somewhere. */
void admin_world_expect_poor(struct admin_world *t, const char *request, int status,
                             const char *text);

/* The answer must not hold this text. */
void admin_world_lacks(struct admin_world *t, const char *request, const char *text);

#endif
