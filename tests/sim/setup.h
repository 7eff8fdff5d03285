/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup - the random choices that hold for one simulation: settings of the daemon, habits of the
 * servers, and the number of faults.
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
    BY_SPACE,   /* one scope for each namespace */
    PICKED,     /* with a label selector */
    MATCHED,    /* with match */
    SERVICES,   /* this and the next are the watches of the view */
    SLICES,
    WATCHES,
};

/* The sources of hooks: the watches, and the view. */
enum { VIEW_ORACLE = WATCHES, SOURCES };

/* How the servers answer a watch that asks for initial events (a streaming list). */
enum setup_streams {
    STREAMS_SENT,
    STREAMS_OFF,     /* 422 */
    STREAMS_UNKNOWN, /* 400 */
    STREAMS_IGNORED, /* as an ordinary watch: synthetic ADDED, and no bookmark that ends them */
    STREAMS_KINDS,
};

struct setup {
    struct reflector_params reflector;
    struct guard_params guard;
    uint64_t stale_after_ms;
    uint64_t hold_empty_ms; /* of the view */
    uint64_t bookmark_timeout_ms;
    uint64_t list_idle_timeout_ms;
    bool told_can_stream; /* the version of the server says so, rightly or not */
    enum setup_streams streams;
    bool cached;                /* the resource has a watch cache; else no bookmarks, and no 410 */
    uint64_t bookmark_every_ms; /* 0 = only the last one */
    bool unversioned[LENS_KINDS]; /* the lists of this resource have no version */
    bool unversioned_marks;       /* but its watches have bookmarks */
    bool future_fails; /* a watch from a version of the future gets an ERROR, not silence */
    bool no_revision;  /* the answer which cluster it is has no version */
    bool others;       /* other resources are written */
    bool cutter;       /* a proxy ends each stream behind its first frames */
    bool remembers;    /* the daemon keeps delivery records over restarts */
    bool confirm;      /* the watch with a label selector has confirm_deletes */
    uint64_t lag_ms[3];
    unsigned fault_percent;    /* the chance of a fault where one can happen */
    unsigned hook_percent;     /* at most so many runs fail */
    unsigned hook_slots;       /* shared ones, beside each hook's own */
    unsigned operator_percent; /* the chance at each moment that the operator does something */
    unsigned reload_percent;   /* the chance at each moment of a reload */
    unsigned disaster_percent; /* the chance of a disaster at each moment where one can happen */
    uint64_t storm_ms;         /* so long there are faults and changes */
    uint64_t change_every_ms;  /* at most so long between two changes */
    unsigned hot_percent;      /* sim/api.h */
    unsigned odd_percent;      /* sim/api.h */
    uint64_t outage_ms;        /* a server is gone for so long at most */
};

/* Draws all of it. */
void setup_draw(struct setup *s, struct clock *clock);

/* Draws another weather, in which anything may happen, for the next hour of a world that lives for
 * hours. */
void setup_redraw_weather(struct setup *s, struct clock *clock);

/* The longest time that a cache may differ from the cluster while the status of its watch shows no
 * problem. */
uint64_t setup_silence_ms(const struct setup *s);

/* The longest time until all is quiet when no faults happen any more. */
uint64_t setup_calm_ms(const struct setup *s);

#endif
