/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server - one of several simulated API servers in front of the same etcd: a watch cache that lags,
 * forgets, is rebuilt, and may be cut off from etcd or from its clients.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/api.h"
#include "sim/clock.h"

struct server {
    struct clock *clock;
    const struct api *api;
    uint64_t lag_ms;                   /* so long after a change the server sees it */
    uint64_t rv;                       /* the version of its watch cache */
    size_t upto;                       /* so many events of the history have arrived */
    struct api_object state[API_KEYS]; /* its watch cache */
    uint64_t oldest;                   /* a watch can begin from this version on */
    bool split;                        /* cut off from etcd: no events, no reads */
    bool away;                         /* cut off from its clients */
    uint64_t process;                  /* the number of the process; a restart changes it */
    uint64_t asked_rv;                 /* the revision in its last answer about its identity */
    uint64_t asked_ms;                 /* the time of that answer; 0 = never asked */
    struct alarm alarm;
    void (*on_move)(void *arg, struct server *s); /* its version has moved */
    void *arg;
};

/* Makes a server that runs, of a cluster with an empty history. */
void server_init(struct server *s, struct clock *clock, const struct api *api);

/* Something may have happened in etcd, or the server is no longer cut off from it. */
void server_poke(struct server *s);

/* A new process: its watch cache has the present state of etcd, and no older events. */
void server_restart(struct server *s);

/* The watch cache drops old events. */
void server_forget(struct server *s);

#endif
