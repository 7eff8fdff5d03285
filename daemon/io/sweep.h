/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep - has the helper remove strays that are due (hook/strays), in one run at a time; driver
 * (docs/design.md "Stray files").
 */
#ifndef IO_SWEEP_H
#define IO_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/strays.h"
#include "io/helper_link.h"

struct deadline;
struct loop;
struct sweep;

/* Borrowed; must outlive the sweep. */
struct sweep_params {
    struct loop *loop;
    struct helper_link *link;
    uint32_t number;     /* of the hook in helper_params */
    uint64_t timeout_ms; /* a run that takes longer is killed, and its files end as FAILED */
    /* The removal of a stray that was due has ended: it is due no more on return. */
    void (*on_stray)(void *arg, struct stray *x, enum stray_end end);
    /* Strays that were due have been taken care of. From the loop, or inside sweep_begin(). */
    void (*on_swept)(void *arg);
    void *arg;
};

/* Embedded in its owner. */
struct sweep {
    struct sweep_params params;
    struct strays *strays; /* of the run under way */
    struct helper_run run;
    int answers;  /* our end of the pipe that the helper answers through; -1 = no run */
    size_t asked; /* files that the helper was asked about */
    struct deadline *timer;
};

/* Makes it idle. */
void sweep_init(struct sweep *w, const struct sweep_params *params);

/* Is a run under way? */
bool sweep_is_on(const struct sweep *w);

/* Begins to remove strays of *strays that are due, WIRE_SWEEP_MAX at most; no run may be under way. If
 * the helper cannot be asked, all of them end as FAILED. *strays must outlive the run. */
void sweep_begin(struct sweep *w, struct strays *strays);

/* Ends it: nothing is called any more. */
void sweep_fini(struct sweep *w);

#endif
