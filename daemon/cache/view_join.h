/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_join - Services joined with their slices: takes changes of both in any order, and says which
 * joined objects really changed; pure. A change costs time for its own Service only. Used by view
 * only, which knows when the joined objects may be shown.
 */
#ifndef CACHE_VIEW_JOIN_H
#define CACHE_VIEW_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/delta.h"
#include "cache/store.h"

/* The kind of objects that have the endpoints. */
enum view_join_from { VIEW_JOIN_SLICES, VIEW_JOIN_ENDPOINTS };

/* Copied. */
struct view_join_params {
    const char *cluster;
    const char *node_name; /* "" = not known, nothing is local */
    enum view_join_from from;
    bool local_only;
    uint64_t hold_empty_ms;
};

struct view_join;

/* The sink runs inside view_join_flush(), for ADDED, MODIFIED, DELETED, and for LEFT of a Service
 * that still exists. Never NULL. */
struct view_join *view_join_create(const struct view_join_params *params, delta_sink *sink,
                                   void *arg);

/* Frees it and sets *j to NULL; the sink does not run. NULL is fine. */
void view_join_destroy(struct view_join **j);

/* Takes a change of a Service, never STALE or FRESH. */
void view_join_service(struct view_join *j, const struct delta *d);

/* Takes a change of a slice (or Endpoints). */
void view_join_backends(struct view_join *j, const struct delta *d);

/* Joins the Services that have changed since the last call, and ends holds that are over. The end of a
 * hold is a change that is received now. */
void view_join_flush(struct view_join *j, struct now now);

/* Would a flush now have anything to do? */
bool view_join_wants(const struct view_join *j, uint64_t now_ms);

/* When the next hold is over: flush then. UINT64_MAX = no port is held. */
uint64_t view_join_due_ms(const struct view_join *j);

/* The store with the joined objects. */
const struct store *view_join_store(const struct view_join *j);

#endif
