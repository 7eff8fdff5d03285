/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confirm_driver - asks the server with a GET for each object whose DELETED cache/confirm holds
 * back, one after the other (docs/design.md "Confirmed deletes"); driver.
 */
#ifndef IO_CONFIRM_DRIVER_H
#define IO_CONFIRM_DRIVER_H

struct api_client;
struct confirm_driver;
struct loop;
struct resource;
struct watch;

/* Copied; the objects that it points to must outlive the driver. */
struct confirm_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct watch *watch;             /* watch_confirm() is not NULL */
    const struct resource *resource; /* that the watch watches: known by now */
};

/* The callbacks run on the stack of a callback of the loop, never inside a call of the user; each
 * may dispose the driver. */
struct confirm_driver_events {
    /* A GET is over, or a DELETED has waited for too long: deltas may have run. */
    void (*on_progress)(void *arg);
    /* The same, and the server said 401: the owner may have a newer credential
     * (docs/kubernetes-protocol.md "Bearer tokens"). Comes instead of on_progress. */
    void (*on_unauthorized)(void *arg);
};

/* Sends nothing before confirm_driver_kick(). events must outlive the driver. Never NULL; release
 * with confirm_driver_dispose(). */
struct confirm_driver *confirm_driver_create(const struct confirm_driver_params *params,
                                             const struct confirm_driver_events *events, void *arg);

/* Deltas have run: the driver looks in the next turn of the loop whether a DELETED is held back. */
void confirm_driver_kick(struct confirm_driver *c);

/* Requests go through this client from now on; one under way ends where it began. */
void confirm_driver_move(struct confirm_driver *c, struct api_client *client);

/* The end for the user: *c is NULL, its GET is dropped and counts as not answered, no callback
 * comes any more. NULL is fine. */
void confirm_driver_dispose(struct confirm_driver **c);

#endif
