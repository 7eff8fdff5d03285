/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup - what is drawn once for a simulation: settings of the daemon, habits of the servers, how
 * bad the weather is.
 */
#ifndef SIM_SETUP_H
#define SIM_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/guard.h"
#include "cache/reflector.h"
#include "sim/api.h"
#include "sim/clock.h"

enum {
    EVERYWHERE, /* the watches: all namespaces */
    BY_SPACE,   /* one stream per namespace */
    PICKED,     /* a label selector */
    MATCHED,    /* match */
    SERVICES,   /* the view's, as are */
    SLICES,
    WATCHES,
};

/* What hooks look at: watches, and the view. */
enum { VIEW_ORACLE = WATCHES, SOURCES };

/* What the servers make of a watch that asks for its initial events. */
enum setup_streams {
    STREAMS_SENT,
    STREAMS_OFF,     /* 422 */
    STREAMS_UNKNOWN, /* 400 */
    STREAMS_IGNORED, /* an ordinary watch: synthetic ADDED, no end of them is ever told */
    STREAMS_KINDS,
};

struct setup {
    struct reflector_params reflector;
    struct guard_params guard;
    uint64_t stale_after_ms;
    uint64_t hold_empty_ms; /* of the view */
    uint64_t bookmark_timeout_ms;
    uint64_t list_idle_timeout_ms;
    bool told_can_stream; /* what discovery says, right or wrong */
    enum setup_streams streams;
    bool cached;                /* the resource has a watch cache; else no bookmarks, and no 410 */
    uint64_t bookmark_every_ms; /* 0 = none but the last */
    bool unversioned[LENS_KINDS]; /* the lists of this resource have no version */
    bool unversioned_marks;       /* but its watches have bookmarks */
    bool future_fails; /* a watch from a version of the future gets an ERROR, not silence */
    bool others;       /* other resources are written */
    bool cutter;       /* a proxy ends each stream behind its first frames */
    bool remembers;    /* the daemon what hooks were told, over restarts */
    bool confirm;      /* confirm_deletes of the watch with a label selector */
    uint64_t lag_ms[3];
    unsigned fault_percent;    /* where a fault can happen */
    unsigned hook_percent;     /* of runs that fail, at most */
    unsigned hook_slots;       /* beyond each hook's own */
    unsigned operator_percent; /* of the moments at which somebody meddles with the hooks */
    unsigned disaster_percent; /* of the moments at which one can happen */
    uint64_t storm_ms;         /* faults and changes */
    uint64_t change_every_ms;  /* at most */
    unsigned hot_percent;      /* see api.h */
    unsigned odd_percent;      /* see api.h */
    uint64_t outage_ms;        /* of a server, at most */
};

/* Draws all of it. */
void setup_draw(struct setup *s, struct clock *clock);

/* So long a cache may differ from the cluster before its watch has said that something is wrong. */
uint64_t setup_silence_ms(const struct setup *s);

/* So long it may take until all is quiet when nothing bad happens any more. */
uint64_t setup_calm_ms(const struct setup *s);

#endif
