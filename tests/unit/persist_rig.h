/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_rig - the processes of a test, one after the other, with the watches and hooks of
 * hook_rig and one state. Watches w0 and w1 are of the first cluster, w2 of the second one, unless
 * a test moves them; hook h0 has w0 as its source, h1 has w2.
 */
#ifndef UNIT_PERSIST_RIG_H
#define UNIT_PERSIST_RIG_H

#include "hook_rig.h"
#include "state_rig.h"

#include "persist/persist.h"

#define PERSIST_RIG_MINUTE_NS UINT64_C(60000000000)

/* start_stale of both clusters. */
enum { PERSIST_RIG_AFTER_MS = 10000, PERSIST_RIG_MAX_AGE_MS = 3600000 };

/* A test may change these before a process begins, but not state and p. */
struct persist_rig {
    struct state_rig state;
    const char *names[2]; /* of the clusters */
    size_t cluster_of[HOOK_RIG_WATCHES];
    /* w0 and w2 are equal: one watch, which has both names, in this order. */
    enum persist_rig_merge { PERSIST_RIG_APART, PERSIST_RIG_W0_W2, PERSIST_RIG_W2_W0 } merge;
    uint64_t stale_after_ms;
    enum persist_bytes bytes;
    size_t hook_count;
    struct persist_now now;
    struct persist *p; /* of the process that runs */
    struct err err;    /* of the last answer */
};

/* The rig of the test that runs now. */
extern struct persist_rig persist_rig;

/* The setup of a test with cmocka: nothing is on disk, and no process runs. */
int persist_rig_set_up(void **state);
/* The teardown of a test with cmocka. */
int persist_rig_clean_up(void **state);

/* For tests with watches and hooks of their own: reads the state and gives it to those of params.
 * Release the result with persist_destroy(). */
struct persist *persist_rig_create(const struct persist_params *params, struct state_rig *state,
                                   struct persist_now now);

/* The process is killed, if one runs, and its batch is lost. The next one begins, and the changes of its
 * start are on disk. */
void persist_rig_begin(void);

/* Writes all that has changed. */
void persist_rig_commit(void);

/* The watch is listed: one object ns/n with this uid. */
void persist_rig_lists(size_t watch, const char *uid);
/* All watches are listed: their objects have the uids u0, u1 and u2. */
void persist_rig_lists_all(void);

/* A server of the cluster says that it is of the cluster with this uid; "" = it does not tell. */
enum persist_verdict persist_rig_answers(size_t cluster, const char *uid);
/* The same; the answer must be good. */
void persist_rig_expect_good(size_t cluster, const char *uid);

/* A first process of clusters X and Y, which has listed all watches and handled their objects. */
void persist_rig_knows(const char *x, const char *y);

/* How many objects a watch has. */
size_t persist_rig_objects(size_t watch);

/* Is this in the rows on disk? */
bool persist_rig_has(const char *part);

#endif
