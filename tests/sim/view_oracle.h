/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_oracle - the view of the simulated daemon, and what must be in it: worked out anew from what the
 * cluster has, each time. Of a slice, value says which endpoints it has, shown which of the two
 * Services of its namespace they are of; a Service that is not shown is an ExternalName.
 */
#ifndef SIM_VIEW_ORACLE_H
#define SIM_VIEW_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/view.h"
#include "sim/api.h"
#include "sim/setup.h"

/* Both run in the course of a look. */
struct view_oracle_events {
    void (*on_delta)(void *arg, const struct delta *d);
    void (*on_stale)(void *arg, bool stale, uint64_t wall_ns);
    void (*on_time)(void *arg); /* time has come to look */
};

/* Borrowed; outlives it. */
struct view_oracle_params {
    struct clock *clock;
    struct watch *services;
    struct watch *slices;
    uint64_t hold_empty_ms;
    uint64_t *features; /* FEATURES counts */
    const struct view_oracle_events *events;
    void *arg;
};

/* One key as it was told last. */
struct view_oracle_key {
    struct api_object is; /* uid 0 = it is not there */
    struct api_object slice;
    uint64_t empty_ms; /* held since then; 0 = not */
};

struct view_oracle {
    struct view_oracle_params params;
    struct view *view;
    struct alarm look;
    bool stale;       /* as told */
    unsigned touched; /* changes of its watches since it last told of one, or looked */
    struct view_oracle_key keys[API_KEYS];
};

/* Makes the view. */
void view_oracle_init(struct view_oracle *v, const struct view_oracle_params *params);

/* Frees it. */
void view_oracle_fini(struct view_oracle *v);

/* A watch of it tells of a change. */
void view_oracle_delta(struct view_oracle *v, const struct watch *w, const struct delta *d);

/* They have told of what they had before. */
void view_oracle_restored(struct view_oracle *v);

/* As app/sources does it. */
void view_oracle_look(struct view_oracle *v);

/* Is nothing held? */
bool view_oracle_is_quiet(const struct view_oracle *v);

/* What the view must say of a key; uid 0 = nothing. */
struct api_object view_oracle_truth(const struct api_object state[API_KEYS], size_t key);

/* All is quiet: is it what the cluster says? */
void view_oracle_check(const struct view_oracle *v, const struct api_object state[API_KEYS]);

/* Now and then: is it stale when it says so, and is nothing held for too long? */
void view_oracle_sample(const struct view_oracle *v);

/* Of a slice: appends the label that says whose it is. */
void view_oracle_put_owner(struct buf *out, size_t key, const struct api_object *o);

/* Of a slice: appends what is behind its data. */
void view_oracle_put_endpoints(struct buf *out, size_t key, const struct api_object *o);

/* The like for a Service. */
void view_oracle_put_spec(struct buf *out, const struct api_object *o);

/* The endpoints that an object of the view uses: bits by address and state, and one for held. 0 for
 * all other objects. */
unsigned view_oracle_uses(const char *json);

/* Is this object one of the view, and is it that, a Service or a slice? */
bool view_oracle_is(const struct object *o);
/* See above. */
bool view_oracle_has_part(const struct object *o);

/* PATH_ bits for paths of such an object, each with a newline. */
unsigned view_oracle_paths(const struct buf *paths);

#endif
