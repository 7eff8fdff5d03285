/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_model - what one hook has been told of one key of a source, and what it must be told next, by
 * docs/design.md "Delivery" and from the outside: as numbers of incarnations and states. That a
 * source is stale is an incarnation as well: DELIVERY_MODEL_OUTAGE is its key, 1 its uid.
 */
#ifndef SIM_DELIVERY_MODEL_H
#define SIM_DELIVERY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/api.h"
#include "sim/rules.h"

enum { DELIVERY_MODEL_OUTAGE = API_KEYS, DELIVERY_MODEL_KEYS };

/* What may differ between two states of one life. */
enum { PATH_NOISE = 1, PATH_ON = 2, PATH_VALUE = 4, PATH_LABEL = 8, PATH_USES = 16 };

struct delivery_model_event {
    enum delta_type type;
    uint64_t uid;
};

/* A change in the cache. */
struct delivery_model_change {
    enum delta_type type;
    enum delta_cause cause;
    bool state_unknown; /* an end of which the last state was not shown */
    struct api_object is;
};

/* How a life ended. */
struct delivery_model_gone {
    enum delta_type type;
    enum delta_cause cause;
    bool state_unknown;
};

struct delivery_model {
    bool outage;
    struct api_object now;  /* in the cache; uid 0 = none */
    enum delta_cause cause; /* what brought it */
    uint64_t announced;     /* the life that a run was started for and whose end is not handled */
    uint64_t heir;          /* the next life, told together with an end that is not handled */
    struct delivery_model_gone gone; /* how the announced life ended, if it has */
    struct delivery_model_gone heir_gone;
    struct api_object handled; /* the last state of the announced life that was handled */
    uint64_t skipped;          /* this life counts as announced without any run */
    bool open;                 /* a run was started since then */
    bool yields;               /* its end has given way to the next life */
    bool existing;             /* due since the source was first seen, and no run has ended */
    bool due;
    unsigned running;                 /* events of runs under way */
    unsigned paths;                   /* told as changed since it was last handled */
    struct delivery_model_event last; /* of the last run */
};

/* DELETED, LEFT or FRESH? */
bool delivery_model_is_end(enum delta_type type);

/* What differs: PATH_ bits. */
unsigned delivery_model_differences(const struct api_object *a, const struct api_object *b);

/* The cache changes before the hook may look. */
void delivery_model_prepare(struct delivery_model *a, const struct delivery_model_change *c);

/* The hook sees the source for the first time. True if an object was skipped. */
bool delivery_model_see(struct delivery_model *a, const struct rules *r);

/* The cache changes. True if what is due is not what it was, as the hook sees it. */
bool delivery_model_change(struct delivery_model *a, const struct rules *r,
                           const struct delivery_model_change *c);

/* How the life ended whose end is due. */
const struct delivery_model_gone *delivery_model_gone(const struct delivery_model *a, uint64_t uid);

/* What is due, in order. Returns how many. */
size_t delivery_model_events(const struct delivery_model *a, const struct rules *r,
                             struct delivery_model_event out[2]);

/* What it is told again though nothing is due; false = there is nothing. */
bool delivery_model_repeats(const struct delivery_model *a, const struct rules *r,
                            struct delivery_model_event *out);

/* Is what is due something else than what the last run was about: another life, an end, or a life that
 * was over in between? */
bool delivery_model_new_matter(const struct delivery_model *a, const struct rules *r);

/* Must the end that is due give way to the next life, after so many failures, or parked (mode
 * object)? */
bool delivery_model_must_yield(const struct delivery_model *a, const struct rules *r,
                               unsigned failures, bool parked);

/* It does. */
void delivery_model_yield(struct delivery_model *a, const struct rules *r);

/* What a MODIFIED must tell as changed: PATH_ bits. */
unsigned delivery_model_paths(const struct delivery_model *a);

/* A run with this event starts. */
void delivery_model_begin(struct delivery_model *a, const struct delivery_model_event *ev);

/* It is over; once for each delivery_model_begin(), before delivery_model_end(). */
void delivery_model_over(struct delivery_model *a);

/* How it went: told is the state that it was told. Events in order. */
void delivery_model_end(struct delivery_model *a, const struct rules *r,
                        const struct delivery_model_event *ev, const struct api_object *told,
                        bool ok);

#endif
