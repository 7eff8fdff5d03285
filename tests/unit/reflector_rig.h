/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_rig - one reflector under test, without jitter: an input per call, and its answer as a
 * text in the notation of the scenarios: "L(0) limit=500", "L(-)", "L continue=t", "W(7)", "S(-)"
 * (a streaming list), "P(-) limit=1" (a probe), "wait 800"; pure.
 */
#ifndef UNIT_REFLECTOR_RIG_H
#define UNIT_REFLECTOR_RIG_H

#include "objects.h"

#include "cache/reflector.h"

enum { REFLECTOR_RIG_INITIAL = 800, REFLECTOR_RIG_RESET_AFTER = 120000 };

struct reflector_rig {
    struct reflector *r;
    struct reflector_action last;
    uint64_t now; /* virtual time, ms */
    /* The server of a request that ends has failed, and so many others can be tried. */
    unsigned others;
};

/* The rig of the test that runs now. */
extern struct reflector_rig reflector_rig;

/* Page size 500, watches of 300 to 600 s, watch_list off. */
extern const struct reflector_params reflector_rig_defaults;

/* The setup of a test with cmocka: reflector_rig_use(&reflector_rig_defaults). */
int reflector_rig_set_up(void **state);

/* The teardown of a test with cmocka: frees the reflector. */
int reflector_rig_clean_up(void **state);

/* A new reflector with these parameters. */
void reflector_rig_use(const struct reflector_params *p);

/* ---- Inputs. */

/* The reflector is started. */
void reflector_rig_start(void);
/* A page of a list came whole: its version, and the token of the next page, "" = it was the
 * last. */
void reflector_rig_listed(const char *rv, const char *next);
/* reflector_rig_start() and a list of one page. */
void reflector_rig_sync_at(const char *rv);
/* The watch or streaming list under way ends after ms more. */
void reflector_rig_ended_after(uint64_t ms);
/* It is cut off after ms more. */
void reflector_rig_cut_after(uint64_t ms);
/* The request under way failed. */
void reflector_rig_failed(enum err_kind kind);
/* The request under way failed, and the server asked for a wait. */
void reflector_rig_failed_asking(enum err_kind kind, uint64_t retry_after_ms);
/* The request under way failed with ERR_SERVER and this status. */
void reflector_rig_refused(int code);
/* The wait is over: time moves on. */
void reflector_rig_timer(void);
/* The guard holds the list. */
void reflector_rig_held(uint64_t wait_ms);
/* A relist is ordered, for this reason. */
void reflector_rig_relist(enum relist_reason why);
/* An event or a bookmark with this version. */
void reflector_rig_seen(const char *rv);

/* n watches in a row have one event each, version "8", and end after 10 ms. */
void reflector_rig_hasty_streams(int n);

/* How many relists this was the reason of. */
uint64_t reflector_rig_relists(enum relist_reason why);

/* How many relists there were. */
uint64_t reflector_rig_all_relists(void);

/* Checks the last answer, and that the state fits it. */
void reflector_rig_want(const char *want);

/* Checks that the reflector waits for ms, and the answer after that. */
void reflector_rig_want_wait_then(uint64_t ms, const char *want);

#endif
