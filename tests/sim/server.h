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
    uint64_t lag_ms;                   /* so late it hears of a change */
    uint64_t rv;                       /* of its watch cache */
    size_t upto;                       /* events of the history that it has heard of */
    struct api_object state[API_KEYS]; /* its watch cache */
    uint64_t oldest;                   /* a watch can begin from this version on */
    bool split;                        /* from etcd: hears nothing, reads nothing */
    bool away;                         /* from its clients */
    uint64_t process;                  /* a number for it; a restart makes another one */
    uint64_t asked_rv;                 /* the revision that it has said last, .. */
    uint64_t asked_ms;                 /* .. and when; 0 = never */
    struct alarm alarm;
    void (*on_move)(void *arg, struct server *s); /* its version has moved */
    void *arg;
};

/* Runs with an empty history. */
void server_init(struct server *s, struct clock *clock, const struct api *api);

/* Something may have happened in etcd, or it is no longer split. */
void server_poke(struct server *s);

/* A new process: knows what etcd has now, and nothing of how it came to be. */
void server_restart(struct server *s);

/* Its watch cache drops old events. */
void server_forget(struct server *s);

#endif
