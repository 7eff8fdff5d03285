/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_driver - compares one watch with its server at intervals, and when a person asks: makes the
 * LISTs for cache/audit (docs/design.md "Audit"); driver.
 */
#ifndef IO_AUDIT_DRIVER_H
#define IO_AUDIT_DRIVER_H

#include <stdint.h>

struct audit_driver;
struct api_client;
struct loop;
struct watch;

/* How long an audit is put off if the watch is not synced or not connected when the audit is
 * due. */
#define AUDIT_DRIVER_PUT_OFF_MS 60000

/* Copied; the objects that it points to must outlive the driver. */
struct audit_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct watch *watch;
    uint64_t interval_ms; /* 0 = only when asked to; the first audit comes after 1 to 2 intervals */
    unsigned page_size;   /* of the LISTs; 0 = no paging */
    uint64_t grace_ms;    /* from the last LIST to the comparison at most; 0 = AUDIT_GRACE_MS */
    uint64_t seed;        /* of the time of the first audit, so that nodes do not audit together */
};

/* The callbacks run on the stack of a callback of the loop, never inside a call of the user; each
 * may dispose the driver. */
struct audit_driver_events {
    /* An audit that had begun has ended, with audit_result() as its outcome. If its differences are
     * to be applied and there are any, the owner lists the watch anew (RELIST_AUDIT). */
    void (*on_done)(void *arg);
    /* The same, and the server said 401: the owner may have a newer credential
     * (docs/kubernetes-protocol.md "Bearer tokens"). Comes instead of on_done. */
    void (*on_unauthorized)(void *arg);
};

/* Waits for the first interval. events must outlive the driver. Never NULL; release with
 * audit_driver_dispose(). */
struct audit_driver *audit_driver_create(const struct audit_driver_params *params,
                                         const struct audit_driver_events *events, void *arg);

/* Compares now, without applying the differences. An audit under way, whose differences may be
 * applied, counts as this one. If the watch is not synced or not connected, the comparison fails at
 * once: audit_result() says why, and on_done does not run. The resource of the watch must be known
 * (watch_wants() is NULL). */
void audit_driver_verify(struct audit_driver *d);

/* Another interval; 0 = no audit comes by itself any more. One under way goes on. An interval that has
 * not changed goes on as it is. */
void audit_driver_set_interval(struct audit_driver *d, uint64_t interval_ms);

/* Requests go through this client from now on, with pages of this size; one under way ends where it
 * began. */
void audit_driver_move(struct audit_driver *d, struct api_client *client, unsigned page_size);

/* Events of the watch have come. If the cache is now as new as the LISTs of an audit, the audit
 * ends in the next turn. */
void audit_driver_kick(struct audit_driver *d);

/* The end for the user: *d is NULL, no callback comes any more. An audit under way ends as failed
 * in audit_result(). NULL is fine. */
void audit_driver_dispose(struct audit_driver **d);

#endif
