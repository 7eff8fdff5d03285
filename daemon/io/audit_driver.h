/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_driver - compares one watch with its server now and then, and when asked to: makes the lists
 * that the watch's audit wants; driver.
 */
#ifndef IO_AUDIT_DRIVER_H
#define IO_AUDIT_DRIVER_H

#include <stdint.h>

struct audit_driver;
struct api_client;
struct loop;
struct watch;

/* How long a comparison is put off when the watch is not in sync at its time. */
#define AUDIT_DRIVER_PUT_OFF_MS 60000

/* Borrowed; must outlive the auditor. */
struct audit_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct watch *watch;
    uint64_t interval_ms; /* 0 = only when asked to; the first one comes after [1, 2] of them */
    unsigned page_size;   /* 0 = no paging */
    uint64_t grace_ms;    /* from the last list to the comparison at most; 0 = AUDIT_GRACE_MS */
    uint64_t seed;
};

/* They run on the stack of a callback of the loop, never inside a call of the user; each may
 * dispose the auditor. */
struct audit_driver_events {
    /* A comparison that had begun has ended: audit_result(). If it is applied and found
     * differences, the owner lists the watch anew (RELIST_AUDIT). */
    void (*on_done)(void *arg);
    /* Instead, after 401: is there a newer credential?
     * docs/kubernetes-protocol.md "Bearer tokens". */
    void (*on_unauthorized)(void *arg);
};

/* Never NULL. events must outlive the auditor. */
struct audit_driver *audit_driver_create(const struct audit_driver_params *params,
                                         const struct audit_driver_events *events, void *arg);

/* Compares now, without applying; a comparison under way (which may be applied) counts as this one.
 * A watch that is not in sync fails at once: audit_result() says why, on_done does not run. It was
 * resolved (watch_wants() is NULL). */
void audit_driver_verify(struct audit_driver *d);

/* Events of the watch have come: if it has all that the lists have, the comparison ends. */
void audit_driver_kick(struct audit_driver *d);

/* The end for the user: *a is NULL, no event comes any more; a comparison under way has failed.
 * NULL is fine. */
void audit_driver_dispose(struct audit_driver **d);

#endif
