/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_model - the contents of a view, worked out anew from nothing each time, for a small world of
 * Services and slices; pure. It shares no code with the view: it never reads JSON, it only writes
 * it.
 */
#ifndef UNIT_VIEW_MODEL_H
#define UNIT_VIEW_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    MODEL_SERVICES = 6, /* s0/a .. s0/c, s1/a .. s1/c */
    MODEL_SLICES = 12,
    MODEL_PORTS = 3,
    MODEL_ENDPOINTS = 5,
    MODEL_HINTS = 3,
};

/* A condition of an endpoint as it stands in the JSON. */
enum model_said { MODEL_ABSENT, MODEL_NULL, MODEL_FALSE, MODEL_TRUE };

struct model_port {
    unsigned name; /* of model_port_names; MODEL_PORTS = no such member */
    unsigned number;
    bool udp;
};

struct model_service {
    bool exists;
    unsigned uid;
    unsigned rv;
    bool external;
    unsigned noise; /* changes its bytes */
    struct model_port ports[MODEL_PORTS];
    unsigned port_count;
};

struct model_endpoint {
    unsigned address; /* a small number */
    enum model_said ready;
    enum model_said serving;
    enum model_said terminating;
    unsigned node;               /* 0 = none, 1 = ours, others */
    unsigned zone;               /* 0 = none */
    unsigned pod;                /* 0 = none */
    unsigned hints[MODEL_HINTS]; /* 0 = none; any order, repeated */
};

struct model_slice {
    bool exists;
    unsigned rv;
    unsigned space;   /* its namespace */
    unsigned service; /* 0 .. 2, more = no label */
    bool v6;
    struct model_port ports[MODEL_PORTS];
    unsigned port_count;
    struct model_endpoint endpoints[MODEL_ENDPOINTS];
    unsigned endpoint_count;
};

/* The endpoints that a port had at the last look, while it had some. */
struct model_last {
    unsigned service;
    bool known;
    uint64_t empty_ms; /* since when it has none; 0 = it has some */
    struct buf uses;
};

/* In a cluster of Endpoints a slice is a subset of its Service's Endpoints. */
struct model {
    bool of_endpoints;
    struct model_service services[MODEL_SERVICES];
    struct model_slice slices[MODEL_SLICES];
    bool local_only;
    uint64_t hold_ms;
    struct model_last last[MODEL_SERVICES * 2 * MODEL_PORTS];
};

/* Appends the JSON of a Service. */
void model_put_service(struct buf *out, unsigned i, const struct model_service *s);
/* Appends the JSON of a slice. */
void model_put_slice(struct buf *out, unsigned i, const struct model_slice *s);

/* Appends the Endpoints of Service i: its slices as subsets. Returns how many these are. */
unsigned model_put_endpoints(struct buf *out, const struct model *m, unsigned i, unsigned rv);

/* Is the slice one of Service i? */
bool model_is_of(const struct model_slice *s, unsigned i);

/* Appends the JSON that the view should have of Service i now; nothing = it should not have the
 * Service. Remembers for how long ports are held: call it for each Service each time the view was
 * looked at. */
void model_put_view(struct model *m, unsigned i, uint64_t now_ms, struct buf *out);

/* The Service is another incarnation: nothing is held for it. */
void model_forget(struct model *m, unsigned i);

/* When the view must be asked again, UINT64_MAX = never. */
uint64_t model_due_ms(const struct model *m);

/* Frees the memory of the held objects. */
void model_fini(struct model *m);

#endif
