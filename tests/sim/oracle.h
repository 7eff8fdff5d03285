/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle - judges the caches of the watches: no cache is old without saying so, no cache shows a
 * state that the cluster never had, and when all is quiet the caches equal the cluster. Panics if
 * one of these does not hold.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/disk.h"
#include "sim/sim_daemon.h"

/* A state of a key as a watch should see it from from_ms on; uid 0 = no object. */
struct sight {
    uint64_t uid;
    uint64_t rv;
    bool odd; /* the object cannot be used */
    uint64_t from_ms;
};

/* All states of a key that a watch should have seen, but those that were over more than an hour
 * ago. */
struct sights {
    struct sight *v;
    size_t n;
    size_t room;
};

/* The guard of a scope, as seen from outside. */
struct guarded {
    uint64_t held_ms; /* the guard has held a list since then; 0 = it holds no list */
    bool accepted;    /* by hand, while a list was held */
    bool rejected;
    uint64_t mark;   /* version of the last list or bookmark */
    uint64_t rv;     /* the scope would resume from this version */
    uint64_t events; /* so many events have come */
};

/* The state that the last delta of a key has shown, in this process or an earlier one; uid 0 = no
 * object. */
struct told_last {
    uint64_t uid;
    uint64_t rv;
};

/* The deletes of a watch that lists have brought at one moment. */
struct burst {
    uint64_t at_ms;
    size_t before; /* so many objects were in the cache */
    size_t deletes;
};

/* XX(identifier, text): why a cache is behind the cluster, as far as its stream shows. When streams
 * differ, the reason that comes first here counts. */
#define BEHIND_MAP(XX)                                                \
    XX(HUNG, "a connection on which nothing comes any more")          \
    XX(RESTORED, "a watch from a version that a restored etcd lacks") \
    XX(FOREIGN, "another cluster at the address")                     \
    XX(SPLIT, "a server cut off from etcd")                           \
    XX(LOST, "no connection: the next try waits for its backoff")     \
    XX(LAG, "a server behind etcd, or bytes on the way")

#define BEHIND_ENUM(id, text) BEHIND_##id,
enum behind { BEHIND_MAP(BEHIND_ENUM) BEHINDS };
#undef BEHIND_ENUM

/* The text of a reason: "a server cut off from etcd". */
const char *oracle_behind_text(enum behind why);

struct oracle {
    const struct clock *clock;
    const struct api *api;
    const struct setup *setup;
    uint64_t silence_ms; /* setup_silence_ms() */
    struct guarded guarded[WATCHES][API_SPACES];
    size_t objects[WATCHES];
    struct burst bursts[WATCHES];
    struct told_last last[WATCHES][API_KEYS];
    struct sights sights[WATCHES][API_KEYS];
    uint64_t told_ms[WATCHES];   /* when the status of the watch last showed a problem */
    uint64_t *features;          /* FEATURES counts */
    uint64_t worst_ms;           /* the longest time that a cache was old without a word */
    uint64_t worst_by[BEHINDS];  /* the same by its reason */
    enum behind due_to[WATCHES]; /* the reason for the present silence */
    uint64_t worst_percent;      /* worst_ms in percent of silence_ms */
};

/* Makes an oracle for a cluster without objects. */
void oracle_init(struct oracle *o, const struct clock *clock, const struct api *api,
                 const struct setup *setup, uint64_t *features);

/* Frees all that the oracle holds. */
void oracle_fini(struct oracle *o);

/* The heap that the oracle takes. */
size_t oracle_bytes(const struct oracle *o);

/* Something happened in etcd. */
void oracle_note(struct oracle *o);

/* A daemon starts, and knows the state on disk. */
void oracle_begin(struct oracle *o, const struct disk *r);

/* A reload has put another watch in the place of this one, with the objects that it had. */
void oracle_replace(struct oracle *o, const struct watch *w, size_t number);

/* The daemon knows of an object, by a delivery record alone. */
void oracle_know(struct oracle *o, size_t number, size_t key, uint64_t uid);

/* A watch reports a change. */
void oracle_delta(struct oracle *o, size_t number, const struct delta *d);

/* A person is about to accept or reject the list that the guard holds. */
void oracle_decide(struct oracle *o, const struct watch *w, size_t number, bool accept);

/* The daemon's status may have changed. */
void oracle_look(struct oracle *o, const struct watch *w, size_t number);

/* Called now and then: panics if a cache is older than its watch says. */
void oracle_sample(struct oracle *o, const struct sim_daemon *l);

/* All servers have been gone for long: panics if a watch or the view does not say so. */
void oracle_check_outage(const struct oracle *o, const struct sim_daemon *l);

/* Is this the record of an object that a list did not name, and yet did not delete? */
bool oracle_is_missing(const struct skip *s);

/* Has the watch records of skipped objects that only a clean list can clear? */
bool oracle_waits_for_list(const struct watch *w);

/* All is quiet: panics if a cache differs from the cluster. */
void oracle_check(struct oracle *o, const struct sim_daemon *l);

#endif
