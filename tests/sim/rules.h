/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules - the settings of the simulated hooks: drawn anew for each simulation. Also the words in
 * which all judges of hooks speak: keys and ends.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "hook/hook.h"
#include "sim/setup.h"

enum { HOOKS = 6, RULES_SOURCES = 2, RULES_STATUSES = 4 };

/* The keys of a source, as hooks know them: those of its objects, and one for the outage of the
 * source, whose uid is 1. */
enum { RULES_OUTAGE = API_KEYS, RULES_KEYS };

struct rules {
    char name[16];
    size_t sources[RULES_SOURCES]; /* perhaps one source under two names */
    unsigned events;               /* bit 1 << enum delta_type */
    bool narrow;                   /* changes_in: data.value */
    bool fields;                   /* data.noise becomes a variable, if its value fits */
    bool include_old;
    enum hook_mode mode;
    enum hook_existing existing;
    enum hook_require require;
    enum hook_when_stale when_stale;
    unsigned after;       /* bit 1 << hook */
    unsigned after_drawn; /* at first; a reload only takes from it, so that there are no cycles */
    unsigned park_exit;   /* bit 1 << status; statuses are 1 to RULES_STATUSES */
    struct work_queue_params work_queue;
    bool output; /* stdout becomes a file, one for each key in mode object */
    bool applies;
    struct work_queue_params apply;
    bool shares;                  /* its apply is that of all hooks that share theirs */
    uint64_t timeout_ms;          /* of apply, to choose who runs it */
    unsigned apply_percent;       /* so many runs of apply fail */
    unsigned file_percent;        /* so many files cannot be written, or fail in the check */
    unsigned percent;             /* so many runs fail */
    unsigned hang_percent;        /* so many of the failing runs hang */
    unsigned not_started_percent; /* so many runs cannot be started */
    unsigned slow_percent;        /* so many of the other runs are slow */
};

/* Draws the settings of all hooks. */
void rules_draw(struct rules v[HOOKS], struct clock *clock, const struct setup *setup);

/* DELETED, LEFT or FRESH? */
bool rules_is_end(enum delta_type type);

/* Does the hook take events of this type? */
bool rules_take(const struct rules *r, enum delta_type type);

/* Does the hook take all events of objects? */
bool rules_take_all(const struct rules *r);

/* Does the hook take STALE or FRESH? */
bool rules_take_outages(const struct rules *r);

/* Draws other settings of time, retry, limits and order. */
void rules_redraw(struct rules *r, struct clock *clock);

/* Traces the settings of a hook. */
void rules_trace_one(const struct rules *r, const struct clock *clock);

/* Traces the settings of all hooks. */
void rules_trace(const struct rules v[HOOKS], const struct clock *clock);

/* The hook with this number; NULL = the configuration does not have it. */
struct hook *rules_find(const struct hooks *hooks, size_t number);

/* The params of hook v[number], without its sources. */
struct hook_params rules_params(const struct rules *v, size_t number);

#endif
