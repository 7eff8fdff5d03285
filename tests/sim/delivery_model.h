/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_model - a naive model of one delivery: the events that one hook got for one key of a source,
 * and the event that must come next, by docs/design.md "Delivery". It knows incarnations and states as
 * numbers. The outage of a source is an incarnation as well (RULES_OUTAGE).
 */
#ifndef SIM_DELIVERY_MODEL_H
#define SIM_DELIVERY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/api.h"
#include "sim/rules.h"

struct delivery_model_event {
    enum delta_type type;
    uint64_t uid;
};

/* A change in the cache. */
struct delivery_model_change {
    enum delta_type type;
    enum delta_cause cause;
    bool state_unknown; /* the watch did not show the final state */
    struct api_object is;
};

/* How an incarnation ended. */
struct delivery_model_gone {
    enum delta_type type;
    enum delta_cause cause;
    bool state_unknown;
};

struct delivery_model {
    bool outage;
    struct api_object now;           /* in the cache; uid 0 = none */
    enum delta_cause cause;          /* of the change that brought this state */
    uint64_t delivered;              /* the delivered incarnation, whose end is not handled */
    uint64_t successor;              /* the next one, delivered with an end that is not handled */
    struct delivery_model_gone gone; /* how the delivered incarnation ended, if it has */
    struct delivery_model_gone successor_gone;
    struct api_object handled; /* the last state of the delivered incarnation that was handled */
    uint64_t skipped;          /* this incarnation counts as delivered without any run */
    bool open;                 /* attempted: a run was started since then */
    bool superseded;           /* the end of the delivered incarnation is superseded */
    bool existing;             /* due since the source was first seen, and no run has ended */
    bool due;
    unsigned running;                 /* events of runs under way */
    unsigned paths;                   /* told as changed since a state was last handled */
    struct delivery_model_event last; /* of the last run */
};

/* The cache changes before the hook may see the source. */
void delivery_model_prepare(struct delivery_model *a, const struct delivery_model_change *c);

/* The hook sees the source for the first time. True if an object was skipped. */
bool delivery_model_see(struct delivery_model *a, const struct rules *r);

/* The cache changes. True if something is due and the hook sees a difference to the state
 * before. */
bool delivery_model_change(struct delivery_model *a, const struct rules *r,
                           const struct delivery_model_change *c);

/* How the incarnation with that uid, whose end is due, has ended. */
const struct delivery_model_gone *delivery_model_gone(const struct delivery_model *a, uint64_t uid);

/* Fills in the events that are due, in order. Returns how many. */
size_t delivery_model_events(const struct delivery_model *a, const struct rules *r,
                             struct delivery_model_event out[2]);

/* Is an event about this incarnation due? */
bool delivery_model_is_due(const struct delivery_model *a, const struct rules *r, uint64_t uid);

/* Fills in the event of a rerun, when nothing is due; false = a rerun has nothing to tell. */
bool delivery_model_repeats(const struct delivery_model *a, const struct rules *r,
                            struct delivery_model_event *out);

/* Is another event due than the last run had: of another incarnation, an end, or of an incarnation
 * that was over in between? */
bool delivery_model_new_matter(const struct delivery_model *a, const struct rules *r);

/* Must the end that is due be superseded by the next incarnation, after so many failures, or as it
 * is parked (mode object)? */
bool delivery_model_must_yield(const struct delivery_model *a, const struct rules *r,
                               unsigned failures, bool parked);

/* Supersedes the end that is due. */
void delivery_model_yield(struct delivery_model *a, const struct rules *r);

/* The paths that a MODIFIED must tell as changed: API_PATH_ bits. */
unsigned delivery_model_paths(const struct delivery_model *a);

/* A run with this event starts. */
void delivery_model_begin(struct delivery_model *a, const struct delivery_model_event *ev);

/* The run is over; once for each delivery_model_begin(), before delivery_model_end(). */
void delivery_model_over(struct delivery_model *a);

/* The result of the run for this event: told is the state that the run got. Called for the events
 * in their order. */
void delivery_model_end(struct delivery_model *a, const struct rules *r,
                        const struct delivery_model_event *ev, const struct api_object *told,
                        bool ok);

#endif
