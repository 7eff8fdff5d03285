/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflex - one reflector under test, without jitter: an input per call, and its answer as a text in
 * the notation of the scenarios: "L(0) limit=500", "L(-)", "L continue=t", "W(7)", "S(-)" (a list as
 * a stream), "P(-) limit=1" (a probe), "wait 800"; pure.
 */
#ifndef UNIT_REFLEX_H
#define UNIT_REFLEX_H

#include "objects.h"

#include "cache/reflector.h"

enum { REFLEX_INITIAL = 800, REFLEX_RESET_AFTER = 120000 };

struct reflex {
    struct reflector *r;
    struct reflector_action last;
    uint64_t now; /* virtual time, ms */
};

/* The one under test. */
extern struct reflex reflex;

/* Page size 500, streams of 300 to 600 s, watch_list off. */
extern const struct reflector_params reflex_defaults;

/* cmocka's setup (reflex_defaults) and teardown. */
int reflex_set_up(void **state);
/* See above. */
int reflex_clean_up(void **state);

/* A new reflector of these. */
void reflex_use(const struct reflector_params *p);

/* Inputs. */
void reflex_start(void);
/* See above. */
void reflex_listed(const char *rv, const char *next);
/* reflex_start() and a list of one page. */
void reflex_sync_at(const char *rv);
/* The stream under way ends after ms more. */
void reflex_ended_after(uint64_t ms);
/* See above. */
void reflex_failed(enum err_kind kind);
/* The server asked for a wait. */
void reflex_failed_asking(enum err_kind kind, uint64_t retry_after_ms);
/* ERR_SERVER with this status. */
void reflex_refused(int code);
/* The wait is over: time moves on. */
void reflex_timer(void);
/* The guard holds the list. */
void reflex_held(uint64_t wait_ms);
/* An order, or a version that went backwards. */
void reflex_relist(enum relist_reason why);
/* An event or a bookmark with this version. */
void reflex_seen(const char *rv);

/* How many relists this was the reason of. */
uint64_t reflex_relists(enum relist_reason why);

/* How many relists there were. */
uint64_t reflex_all_relists(void);

/* Checks the last answer, and that the state fits it. */
void reflex_want(const char *want);

/* A WAIT of ms, then what comes behind it. */
void reflex_want_wait_then(uint64_t ms, const char *want);

#endif
