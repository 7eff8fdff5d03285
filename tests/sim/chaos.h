/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chaos - one simulation: a cluster, its servers, a daemon that is killed and started again, and
 * all that happens to them in a storm and in the calm after it.
 */
#ifndef SIM_CHAOS_H
#define SIM_CHAOS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/operator.h"
#include "sim/oracle.h"
#include "sim/sim_daemon.h"

/* Sums over simulations. */
struct totals {
    uint64_t seeds;
    uint64_t virtual_ms;
    uint64_t changes;
    uint64_t runs;
    uint64_t failures;
    uint64_t worst_ms; /* the longest time that a cache was old and its watch did not say so */
    uint64_t worst_by[BEHINDS];
    uint64_t worst_percent;
    uint64_t busiest;
    uint64_t injected[FAULTS];
    uint64_t requests[REQUESTS];
    uint64_t relists[RELIST_REASONS];
    uint64_t features[FEATURES];
    uint64_t starts; /* of the daemon */
};

/* How the simulation of a seed is run. */
struct chaos_options {
    bool verbose;
    bool remembers; /* the daemon keeps delivery records; without this only with odd seeds */
    /* The world lives for so many hours of storm, and is quiet after each. Its daemon dies only if
     * `remembers` is set. 0 = one storm of some minutes. */
    uint64_t hours;
};

/* Runs the simulation of a seed and adds to the sums; panics if a promise is broken. */
void chaos_run(uint64_t seed, const struct chaos_options *options, struct totals *totals);

#endif
