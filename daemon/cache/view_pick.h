/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_pick - which endpoints a port of a Service uses, out of all its slices; pure. The rules are
 * those of docs/design.md "Endpoints", which are kube-proxy's (pkg/proxy/topology.go,
 * endpointslicecache.go).
 */
#ifndef CACHE_VIEW_PICK_H
#define CACHE_VIEW_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/backends.h"
#include "kube/service.h"

/* Addresses times ports of one Service: more than the Pods of the largest cluster that Kubernetes
 * supports, and little enough to bear (an Endpoints of 1 MB can name a thousand million). */
enum { VIEW_PICK_MAX = 200000 };

/* What view_pick_port() returns when there are more. */
#define VIEW_PICK_TOO_MANY SIZE_MAX

/* What there is to choose from. Borrowed. */
struct view_pick {
    const struct backends *const *from; /* of the Service's slices, in any order */
    size_t count;
    struct str node; /* ours; empty = not known, nothing is local */
    bool local_only; /* leave out what is not local before anything else is looked at */
};

/* One endpoint in use, borrowed from where it was read. */
struct view_use {
    const struct backends *from;
    const struct backend *backend;
    unsigned port;
    bool local;
};

/* The endpoints of one port: the ready ones, else those that are draining; each address and port
 * once, the best of its kind; sorted by family, address, port. The same whatever the order and
 * number of the slices. At most room of them are looked at. Returns how many stand in *out, which
 * the caller frees. */
size_t view_pick_port(const struct view_pick *all, const struct service_port *port, size_t room,
                      struct view_use **out);

/* Distinct addresses. */
struct view_pick_count {
    size_t ready;
    size_t local_ready;
};

/* Counts the ready ones among the uses of all ports; sorts them anew by address. */
struct view_pick_count view_pick_count(struct view_use *uses, size_t n);

#endif
