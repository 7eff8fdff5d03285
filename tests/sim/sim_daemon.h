/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_daemon - one process of the daemon without io/: its watches on simulated streams, its hooks as
 * simulated programs. What it knew dies with it; what hooks did stays.
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

/* Borrowed; outlives the life. */
struct sim_daemon_params {
    struct clock *clock;
    struct net *net;
    struct handler *handlers;  /* HOOKS of them */
    const struct rules *rules; /* the same */
    struct disk *disk;
    uint64_t *features;      /* FEATURES counts */
    struct persist *persist; /* NULL: hooks are not remembered */
    struct alarm *reaper;    /* see sim_hooks.h */
    unsigned edited_percent; /* of the watches have other settings than in the life before */
    uint64_t seed;
    void (*on_look)(void *arg, struct watch *w, size_t number); /* its status may have changed */
    void (*on_delta)(void *arg, size_t watch, const struct delta *d);
    void (*on_known)(void *arg, size_t watch, size_t key, uint64_t uid); /* of a mark alone */
    void *arg;
};

/* What calls of streams and alarms come with. */
struct post {
    struct sim_daemon *sim_daemon;
    size_t watch;
    struct alarm tick;
    struct alarm confirm; /* when a confirmation of deletes has something to do */
    struct alarm answer;  /* when the GET under way is answered */
    char key[32];         /* that it asks for ... */
    uint64_t uid;         /* ... and what the object was */
};

struct sim_daemon {
    struct sim_daemon_params params;
    struct watch *watches[WATCHES];
    struct post posts[WATCHES];
    bool whole[WATCHES][API_SPACES]; /* the stream can go on without a list */
    bool stale[WATCHES];             /* as the watch has told last */
    bool begun[WATCHES];             /* it has begun stale */
    struct alarm patience;           /* then what no server has said anything about begins stale */
    struct view_oracle view_oracle;
    struct stream streams[SCOPES];
    size_t stream_count;
    struct sim_hooks sim_hooks;
};

/* What a watch sees. */
const struct lens *sim_daemon_lens(size_t watch);

/* A process starts. */
struct sim_daemon *sim_daemon_create(const struct sim_daemon_params *params);

/* It ends in order: what runs is told to end. sim_daemon_destroy() follows. */
void sim_daemon_stop(struct sim_daemon *l);

/* kill -9: its programs die as well. *l is NULL. */
void sim_daemon_destroy(struct sim_daemon **l);

/* Carries out what was ordered of a watch. */
void sim_daemon_poke(struct sim_daemon *l, size_t watch);

/* Are all streams up to date, and have the hooks nothing to do? */
bool sim_daemon_is_quiet(const struct sim_daemon *l);

#endif
