/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_daemon - one process of the daemon without io/: its watches on simulated streams, its hooks
 * with simulated programs. Its memory dies with it; the effects of hooks stay.
 */
#ifndef SIM_SIM_DAEMON_H
#define SIM_SIM_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/disk.h"
#include "sim/sim_hooks.h"
#include "sim/stream.h"
#include "sim/view_oracle.h"

enum { SCOPES = WATCHES + API_SPACES - 1 };

/* All pointers are borrowed and outlive the process. */
struct sim_daemon_params {
    struct clock *clock;
    struct net *net;
    struct handler *handlers;  /* HOOKS elements */
    const struct rules *rules; /* HOOKS elements */
    struct disk *disk;
    struct oracle *oracle;
    uint64_t *features;      /* FEATURES counts */
    struct persist *persist; /* NULL: no delivery records */
    struct alarm *reaper;    /* see sim/sim_hooks.h */
    unsigned edited_percent; /* so many watches have other settings than in the process before */
    uint64_t seed;
    void (*on_look)(void *arg, struct watch *w, size_t number); /* w's status may have changed */
    void (*on_delta)(void *arg, size_t watch, const struct delta *d);
    void (*on_known)(void *arg, size_t watch, size_t key, uint64_t uid); /* by a record only */
    void *arg;
};

/* The argument of the callbacks of streams and alarms. */
struct post {
    struct sim_daemon *sim_daemon;
    size_t watch;
    struct alarm tick;
    struct alarm confirm; /* when a confirmation of deletes has something to do */
    struct alarm answer;  /* when the GET under way is answered */
    char key[32];         /* of the object that the GET asks for */
    uint64_t uid;         /* of that object when it was deleted */
};

/* The parts of a watch that a reload changes. */
enum sim_daemon_edit { SIM_DAEMON_NOTHING, SIM_DAEMON_EXTENT, SIM_DAEMON_SELECTION };

struct sim_daemon {
    struct sim_daemon_params params;
    struct watch *watches[WATCHES];
    struct post posts[WATCHES];
    bool whole[WATCHES][API_SPACES]; /* the scope can go on without a list */
    struct {
        unsigned selection;
        unsigned extent;
    } edits[WATCHES];    /* so many reloads have changed it */
    bool stale[WATCHES]; /* as the watch has reported last */
    struct memory_limit memory;
    uint64_t incomplete; /* so often has the limit stopped a watch */
    bool begun[WATCHES]; /* the watch has begun stale */
    /* A reload has replaced a synced watch, not edited: it may begin stale. */
    bool may_begin[WATCHES];
    enum sim_daemon_edit edit; /* of the watch sim_hooks.changing */
    struct alarm change;       /* its hooks have retired */
    struct alarm patience;     /* start_stale: watches without an answer begin stale then */
    struct view_oracle view_oracle;
    struct stream streams[SCOPES];
    size_t stream_count;
    struct sim_hooks sim_hooks;
};

/* Which objects a watch sees. */
const struct lens *sim_daemon_lens(size_t watch);

/* A process starts. */
struct sim_daemon *sim_daemon_create(const struct sim_daemon_params *params);

/* The process ends in order: all runs are stopped. sim_daemon_destroy() follows. */
void sim_daemon_stop(struct sim_daemon *l);

/* kill -9: the programs die as well. Sets *l to NULL. */
void sim_daemon_destroy(struct sim_daemon **l);

/* A reload puts a watch with other settings in the place of this one, and replaces the hooks that have it,
 * or the view of it, as a source: all in one turn, when the runs of these hooks have ended. Only for a
 * daemon with delivery records. Does nothing if another such reload waits. */
void sim_daemon_reload(struct sim_daemon *l, size_t number, enum sim_daemon_edit edit);

/* Carries out the request of a person (a relist, a decision about the guard) for a watch. */
void sim_daemon_poke(struct sim_daemon *l, size_t watch);

/* Gives back the room that the bytes on the way to the daemon have once needed. */
void sim_daemon_trim(struct sim_daemon *l);

/* A reload changes limits.memory; 0 = no limit. */
void sim_daemon_limit(struct sim_daemon *l, uint64_t bytes);

/* Are all streams up to date, and have the hooks nothing to do? */
bool sim_daemon_is_quiet(const struct sim_daemon *l);

#endif
