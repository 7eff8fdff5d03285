/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers - the API servers of one cluster: their health, and which of them the next request goes
 * to (docs/design.md "Several servers"); pure.
 *
 * Servers stand in tiers: as long as one of a better tier can be used, those of worse tiers are
 * not. Within a tier the choice is sticky: it stays until that server fails. A server that failed
 * is left alone for a hold time. After that time a server of a better tier gets one request, and
 * further ones when it has answered that.
 */
#ifndef KUBE_SERVERS_H
#define KUBE_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

/* A set of servers is a bit mask: bit i stands for server i. */
enum { SERVERS_MAX = 64 };

/* Stands for "no server". */
#define SERVERS_NONE SIZE_MAX

/* How long a server that failed is left alone: the first time, and at most. The time doubles with
 * each further failure, and begins anew when the server has been good for the longest hold time.
 * Ten seconds are about the time in which an API server that was restarted serves again. */
#define SERVERS_HOLD_MS     ((uint64_t)10 * 1000)
#define SERVERS_HOLD_MAX_MS ((uint64_t)5 * 60 * 1000)

enum server_state {
    SERVER_UNTRIED,   /* it has neither answered nor failed */
    SERVER_GOOD,      /* it has answered */
    SERVER_FAILED,    /* it could not be used */
    SERVER_LAGS,      /* its state of etcd was older than the newest known one, or it did not say */
    SERVER_RETURNING, /* the hold is over, and one request finds out whether the server is back */
};

struct server_health {
    char *name; /* its URL, for people */
    unsigned tier;
    enum server_state state;
    uint64_t since_ms;      /* since when it is good, or is not; 0 = UNTRIED */
    uint64_t failed_ms;     /* its last failure; 0 = none */
    uint64_t hold_until_ms; /* it is used before only if no other server can be */
    unsigned failures;      /* holds in a row, of which each is longer than the one before */
    struct err err;         /* why it failed last; kind OK = it never did */
    int64_t clock_ahead_s;  /* of this machine's clock, by its last Date; < 0 = it is behind */
};

/* Read-only outside servers.c. */
struct servers {
    struct server_health *v;
    size_t n;
    unsigned *place; /* of each server in the order in which this process goes through them */
    size_t choice;   /* new requests go there, unless it has failed since */
    size_t in_use;   /* the choice that answered last; SERVERS_NONE = none has */
};

struct servers_entry {
    const char *name;
    unsigned tier; /* lower is better */
};

/* Takes n (0 to SERVERS_MAX) servers; their names are copied. seed decides with which server of a
 * tier it begins, and which ones follow, so that the nodes of a fleet spread over the servers.
 * Release with servers_fini(). */
void servers_init(struct servers *s, const struct servers_entry *v, size_t n, uint64_t seed);

/* Frees everything. */
void servers_fini(struct servers *s);

/* Returns the server for a request that the servers in the set `tried` have failed; SERVERS_NONE =
 * each was tried. If every server that is left has failed lately, it is the one whose failure is
 * the oldest. */
size_t servers_choose(struct servers *s, uint64_t tried, uint64_t now_ms) MUST_CHECK;

/* Server i has answered a request, so it is good. It may be in use from now on: s->in_use. */
void servers_answered(struct servers *s, size_t i, uint64_t now_ms);

/* Server i has written this Date (in seconds since 1970; 0 = it wrote none) into its answer to a
 * request. sent_ns and read_ns are this machine's wall clock when the request was sent and when the
 * head of the answer was read. A Date between the two, however long that took, is no difference. */
void servers_dated(struct servers *s, size_t i, int64_t date_s, uint64_t sent_ns, uint64_t read_ns);

/* Server i could not be used. Requests that were under way may report one failure several times. */
void servers_failed(struct servers *s, size_t i, const struct err *err, uint64_t now_ms);

/* Server i lags behind the newest known state of the cluster, or did not say in time whether it does. */
void servers_lags(struct servers *s, size_t i, const struct err *err, uint64_t now_ms);

/* Server i got other credentials, which may have been the reason why it failed: it may be used at
 * once. */
void servers_renewed(struct servers *s, size_t i);

/* Server i has failed a request: how many others can that request, or the one after it, go to at
 * once? Those in the set `tried` and those that failed lately do not count. 0 also if i itself
 * would be used again. */
unsigned servers_others(const struct servers *s, size_t i, uint64_t tried, uint64_t now_ms);

/* "good", ...: the word of a state in status and logs. */
const char *server_state_name(enum server_state state);

#endif
