/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_params - the parameters of a list_watch; pure.
 */
#ifndef CACHE_LIST_WATCH_PARAMS_H
#define CACHE_LIST_WATCH_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "cache/guard.h"
#include "cache/memory_limit.h"
#include "cache/reflector_params.h"
#include "cache/store.h"
#include "kube/resource.h"
#include "kube/shape.h"

/* ns, name and selectors are copied; all else is borrowed and must outlive the list_watch. */
struct list_watch_params {
    const char *cluster; /* with watch: for logs */
    const char *watch;
    const struct resource *resource;
    const char *ns;             /* NULL = all namespaces, or cluster-scoped */
    const char *name;           /* NULL = all names */
    const char *label_selector; /* "" = none */
    const char *field_selector;
    const struct shape *shape; /* NULL = everything is kept */
    size_t object_size;
    struct reflector_params reflector;
    struct guard_params guard;
    struct guard_window *window;       /* of the watch: its scopes share it */
    const struct memory_limit *memory; /* of the process; NULL = none */
    /* The scope has become incomplete (list_watch_is_incomplete()), or is complete again. It runs inside
     * the call that made the change, behind the deltas of that. NULL = nobody wants to know. */
    void (*on_incomplete)(void *arg, struct now now);
    void *arg;
    uint64_t bookmark_timeout_ms;  /* a watch that has had a bookmark may be silent so long */
    uint64_t list_idle_timeout_ms; /* and a streaming list that is not complete */
    uint64_t seed;
    struct store *store;
    size_t scope; /* of the store; only this list_watch fills it */
};

#endif
