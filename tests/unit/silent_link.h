/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silent_link - a link to a helper that never answers, for tests of io/runner.
 */
#ifndef UNIT_SILENT_LINK_H
#define UNIT_SILENT_LINK_H

#include "io/helper_link.h"
#include "io/loop.h"
#include "io/runner.h"

/* *far is the helper's end: the caller closes it. Release with helper_link_dispose(). */
struct helper_link *silent_link_create(struct loop *loop, int *far);

/* The helper takes the next request, a RUN without an environment. Returns its id; *out is the
 * stdout of the program, to be closed. Blocks until there is one. */
uint64_t silent_link_take(int far, int *out);

/* The helper says that the program of this id has ended; the ids count from 1. */
void silent_link_end(int far, uint64_t id, struct run_end end);

/* A runner with these parameters, of the hooks of hook_rig, on node "n". Release with
 * runner_dispose(). */
struct runner *silent_link_runner(const struct runner_params *params,
                                  const struct runner_events *events, void *arg);

#endif
