/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_oracle - the view of the simulated daemon, and a naive model of its objects, computed anew
 * from the cluster each time. Of a slice, value says which endpoints it has, and shown to which of
 * the two Services of its namespace they belong. A Service that is not shown is an ExternalName.
 */
#ifndef SIM_VIEW_ORACLE_H
#define SIM_VIEW_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/view.h"
#include "sim/api.h"
#include "sim/setup.h"

/* All but on_time are called within view_oracle_look(), or as a watch of the view becomes incomplete. */
struct view_oracle_events {
    void (*on_delta)(void *arg, const struct delta *d);
    void (*on_stale)(void *arg, bool stale, struct now now);
    void (*on_incomplete)(void *arg, bool incomplete, struct now now);
    void (*on_time)(void *arg); /* it is time to call view_oracle_look() */
};

/* All pointers are borrowed and outlive the struct view_oracle. */
struct view_oracle_params {
    struct clock *clock;
    struct watch *services;
    struct watch *slices;
    uint64_t hold_empty_ms;
    uint64_t *features; /* FEATURES counts */
    const struct view_oracle_events *events;
    void *arg;
};

/* One key as the view has reported it last. */
struct view_oracle_key {
    struct api_object is; /* uid 0 = no object */
    struct api_object slice;
    uint64_t empty_ms; /* its endpoints are held since then; 0 = not held */
};

struct view_oracle {
    struct view_oracle_params params;
    struct view *view;
    struct alarm look;
    bool stale;       /* as the view has reported */
    unsigned touched; /* changes of its watches since its last delta or look */
    struct view_oracle_key keys[API_KEYS];
};

/* Makes the view. */
void view_oracle_init(struct view_oracle *v, const struct view_oracle_params *params);

/* Frees the view. */
void view_oracle_fini(struct view_oracle *v);

/* A watch of the view reports a change. */
void view_oracle_delta(struct view_oracle *v, const struct watch *w, const struct delta *d);

/* The watches have loaded their objects. */
void view_oracle_restored(struct view_oracle *v);

/* Lets the view look at the changes of its watches, as app/sources does. */
void view_oracle_look(struct view_oracle *v);

/* True if no endpoints are held. */
bool view_oracle_is_quiet(const struct view_oracle *v);

/* The object that the view must have of a key; uid 0 = no object. */
struct api_object view_oracle_truth(const struct api_object state[API_KEYS], size_t key);

/* All is quiet: panics if the view differs from the cluster. */
void view_oracle_check(const struct view_oracle *v, const struct api_object state[API_KEYS]);

/* Called now and then: panics if a watch is stale and the view does not say so, or if endpoints are
 * held for too long. */
void view_oracle_sample(const struct view_oracle *v);

/* Of a slice: appends the label that names its Service. */
void view_oracle_put_owner(struct buf *out, size_t key, const struct api_object *o);

/* Of a slice: appends the members behind data: its endpoints and ports. */
void view_oracle_put_endpoints(struct buf *out, size_t key, const struct api_object *o);

/* Of a Service: appends the members behind data. */
void view_oracle_put_spec(struct buf *out, const struct api_object *o);

/* The endpoints that an object of the view uses: bits by address and state, and a bit for held. 0
 * for all other objects. */
unsigned view_oracle_uses(const char *json);

/* Is this an object of the view? */
bool view_oracle_is(const struct object *o);

/* Is this an object of the view, a Service or a slice? */
bool view_oracle_has_part(const struct object *o);

/* PATH_ bits for paths of such an object, each with a newline. */
unsigned view_oracle_paths(const struct buf *paths);

#endif
