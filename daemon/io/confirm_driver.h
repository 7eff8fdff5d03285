/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confirm_driver - asks the server for each object whose DELETED the watch's confirm holds back, one
 * after the other; driver.
 */
#ifndef IO_CONFIRM_DRIVER_H
#define IO_CONFIRM_DRIVER_H

struct api_client;
struct confirm_driver;
struct loop;
struct resource;
struct watch;

/* Borrowed; must outlive the confirmer. */
struct confirm_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct watch *watch;             /* with a confirm */
    const struct resource *resource; /* the watch's, known */
};

/* They run on the stack of a callback of the loop, never inside a call of the user; each may
 * dispose the confirmer. */
struct confirm_driver_events {
    void (*on_progress)(void *arg); /* deltas may have run */
    /* Instead, after 401: is there a newer credential?
     * docs/kubernetes-protocol.md "Bearer tokens". */
    void (*on_unauthorized)(void *arg);
};

/* Never NULL. events must outlive the confirmer. */
struct confirm_driver *confirm_driver_create(const struct confirm_driver_params *params,
                                             const struct confirm_driver_events *events, void *arg);

/* Deltas have run: looks in the next turn of the loop whether one is held back. */
void confirm_driver_kick(struct confirm_driver *c);

/* The end for the user: *c is NULL, its request is dropped, no event comes any more. NULL is
 * fine. */
void confirm_driver_dispose(struct confirm_driver **c);

#endif
