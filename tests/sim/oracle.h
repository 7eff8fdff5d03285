/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle - what must hold: no cache is silently stale, none shows what never was, and when all is
 * quiet caches and what hooks made of them are what the cluster has. Panics if not.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/disk.h"
#include "sim/sim_daemon.h"

/* A state of a key as a watch should see it, from then on; uid 0 = none. */
struct sight {
    uint64_t uid;
    uint64_t rv;
    bool odd; /* it cannot be used */
    uint64_t from_ms;
};

/* All states of a key that a watch should have seen. */
struct sights {
    struct sight *v;
    size_t n;
};

/* What the guard of a stream has said, and what it was told. */
struct guarded {
    uint64_t held_ms; /* since then it holds a list; 0 = it does not */
    bool accepted;    /* by hand, while it did */
    bool rejected;
    uint64_t mark;   /* version of the last list or bookmark */
    uint64_t rv;     /* that the stream would resume from */
    uint64_t events; /* that it has had */
};

/* What the last delta of a key has told, in this life or in an earlier one: uid 0 = none. */
struct told_last {
    uint64_t uid;
    uint64_t rv;
};

/* Deletes of a watch that lists have brought at one time. */
struct burst {
    uint64_t at_ms;
    size_t before; /* objects */
    size_t deletes;
};

/* XX(identifier, text): why a cache is not what the server has, as far as the stream shows; what counts more comes
 * first. */
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

/* "a server cut off from etcd", ... */
const char *oracle_behind_text(enum behind why);

struct oracle {
    const struct clock *clock;
    const struct api *api;
    const struct setup *setup;
    uint64_t silence_ms; /* see setup_silence_ms() */
    struct guarded guarded[WATCHES][API_SPACES];
    size_t objects[WATCHES];
    struct burst bursts[WATCHES];
    struct told_last last[WATCHES][API_KEYS];
    struct sights sights[WATCHES][API_KEYS];
    uint64_t told_ms[WATCHES];   /* when the watch last said that not all is well */
    uint64_t *features;          /* FEATURES counts */
    uint64_t worst_ms;           /* the longest silence ... */
    uint64_t worst_by[BEHINDS];  /* by what it was due to */
    enum behind due_to[WATCHES]; /* the silence of now, as far as it was seen */
    uint64_t worst_percent;      /* ... and how much of silence_ms that is */
};

/* Nothing exists yet. */
void oracle_init(struct oracle *o, const struct clock *clock, const struct api *api,
                 const struct setup *setup, uint64_t *features);

/* Frees what it holds. */
void oracle_fini(struct oracle *o);

/* Something happened in etcd. */
void oracle_note(struct oracle *o);

/* A daemon starts, and remembers. */
void oracle_begin(struct oracle *o, const struct disk *r);

/* Of an object it knows no more than this. */
void oracle_know(struct oracle *o, size_t number, size_t key, uint64_t uid);

/* A watch tells of a change. */
void oracle_delta(struct oracle *o, size_t number, const struct delta *d);

/* Somebody is about to decide about what the guard holds. */
void oracle_decide(struct oracle *o, const struct watch *w, size_t number, bool accept);

/* The daemon's status may have changed. */
void oracle_look(struct oracle *o, const struct watch *w, size_t number);

/* Now and then: are caches older than they say? */
void oracle_sample(struct oracle *o, const struct sim_daemon *l);

/* All servers are gone for long: does everybody know? */
void oracle_check_outage(const struct oracle *o, const struct sim_daemon *l);

/* Is it the mark of an object that a list did not name, and yet did not delete? */
bool oracle_is_missing(const struct skip *s);

/* Has the watch marks that only a clean list can clear? */
bool oracle_waits_for_list(const struct watch *w);

/* All is quiet. */
void oracle_check(struct oracle *o, const struct sim_daemon *l);

#endif
