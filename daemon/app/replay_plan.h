/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_plan - which watch of the configuration gets which objects of `informerd --replay`: reads the
 * whole file once before anything starts, so that a mistake in its last line is known before the first
 * hook runs.
 */
#ifndef APP_REPLAY_PLAN_H
#define APP_REPLAY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/replay_file.h"
#include "base/err.h"
#include "conf/conf.h"
#include "kube/resource.h"

/* The part of the recording that one watch gets. */
struct replay_route {
    struct resource resource; /* of the watch, as far as the configuration tells it */
    char *source;             /* the name in the recording; NULL = it has nothing for this watch */
    struct object *example;   /* the first of its objects; NULL = there is none */
    bool synced;              /* its list is complete in the recording */
};

struct replay_plan {
    struct replay_file *file;
    struct replay_route *routes; /* as conf->watches; used only for the first of equal watches */
    size_t count;
    int64_t first_ms; /* when the recording began; 0 = it has no times */
};

/* Makes of the configuration one that a replay can follow: only this hook (NULL = all), and nothing
 * that waits for a server (a guard, a confirmation, a stream that may be lost for a while).
 * ERR_CONFIG: there is no such hook. */
enum err_kind replay_plan_fit(struct conf *conf, const char *hook, struct err *err) MUST_CHECK;

/* Opens and reads path. all: each recorded watch must be in the configuration. ERR_CONFIG: a line
 * cannot be used, or the names of watches do not fit; *p is zeroed then. Release with
 * replay_plan_fini(). */
enum err_kind replay_plan_make(const char *path, const struct conf *conf, bool all,
                               struct replay_plan *p, struct err *err) MUST_CHECK;

/* The route of the recorded watch; NULL = nothing takes it. */
struct replay_route *replay_plan_route(const struct replay_plan *p, const char *source);

/* Closes the file and frees the rest. */
void replay_plan_fini(struct replay_plan *p);

#endif
