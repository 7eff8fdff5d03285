/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_pick - chooses the endpoints that a port of a Service uses, out of all its slices; pure. The
 * rules are those of docs/design.md "Endpoints", which are kube-proxy's (pkg/proxy/topology.go,
 * endpointslicecache.go).
 */
#ifndef CACHE_VIEW_PICK_H
#define CACHE_VIEW_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/backends.h"
#include "kube/service.h"

/* The limit of addresses times ports of one Service: more than the Pods of the largest cluster that
 * Kubernetes supports, and few enough to fit into memory (an Endpoints of 1 MB can name a thousand
 * million). */
enum { VIEW_PICK_MAX = 200000 };

/* view_pick_port() returns this when there are more than room. */
#define VIEW_PICK_TOO_MANY SIZE_MAX

/* The slices to choose from. Borrowed. */
struct view_pick {
    const struct backends *const *from; /* of the Service's slices, in any order */
    size_t count;
    struct str node; /* this node; empty = not known, no endpoint is local */
    bool local_only; /* leave out endpoints of other nodes before any rule is applied */
};

/* One endpoint in use, borrowed from the slice that it was read from. */
struct view_use {
    const struct backends *from;
    const struct backend *backend;
    unsigned port;
    bool local;
};

/* The endpoints of one port: the ready ones, or if there are none, those that are draining. Each
 * address and port stands there once, with its best state; they are sorted by family, address and
 * port. The result does not depend on order and number of the slices. At most room endpoints are
 * looked at. Returns how many stand in *out, which the caller frees in any case. */
size_t view_pick_port(const struct view_pick *all, const struct service_port *port, size_t room,
                      struct view_use **out);

/* Numbers of distinct addresses. */
struct view_pick_count {
    size_t ready;
    size_t local_ready;
};

/* Counts the ready endpoints among the uses of all ports; sorts the array by address. */
struct view_pick_count view_pick_count(struct view_use *uses, size_t n);

#endif
