/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempts - which servers of a cluster have failed one request, and why; pure. Decides when a
 * server is to blame for that, and what to tell when no server is left
 * (docs/design.md "Several servers").
 */
#ifndef KUBE_ATTEMPTS_H
#define KUBE_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/servers.h"

/* Whose fault it is that a server has failed a request. */
enum server_fault {
    FAULT_NONE,    /* not the server's, so another server would do the same */
    FAULT_CERTAIN, /* the server's: it cannot be reached */
    /* Perhaps the request's. The server is blamed once another one answers the request. */
    FAULT_UNPROVEN,
    /* The same: the server's state of etcd is older than the request, or it did not say how old. */
    FAULT_LAGS,
};

/* Zero-initialised: no server has failed the request. */
struct attempts {
    uint64_t tried;       /* the servers that have failed it, as a set */
    uint64_t unproven;    /* those of `tried` with FAULT_UNPROVEN or FAULT_LAGS */
    uint64_t lagging;     /* those of `tried` with FAULT_LAGS */
    struct err *failures; /* why, for each server; NULL = none has failed it */
};

/* Server i has failed the request. */
void attempts_failed(struct attempts *a, struct servers *s, size_t i, const struct err *err,
                     enum server_fault fault, uint64_t now_ms);

/* Server i has answered the request. */
void attempts_answered(struct attempts *a, struct servers *s, size_t i, uint64_t now_ms);

/* Is there a server that has not failed the request, other than `but` (SERVERS_NONE = any)? */
bool attempts_left(const struct attempts *a, const struct servers *s, size_t but);

/* The error of a request that no server is left for: that of the only server that was tried, or one
 * whose text says how each of them has failed. Of several kinds of errors the result gets one that says
 * nothing about the resourceVersion, if there is such a kind: a server that could not be reached may be
 * the only one that is well. ERR_UNAUTHORIZED goes before all others. At least one server must have
 * failed. */
struct err attempts_sum(const struct attempts *a, const struct servers *s);

/* Frees everything; no server has failed the request then. */
void attempts_reset(struct attempts *a);

#endif
