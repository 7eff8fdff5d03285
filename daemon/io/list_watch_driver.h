/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_driver - carries out the actions of one list_watch, that is of one scope of a watch:
 * sends its requests, hands it the responses, waits; driver. The list_watch decides what comes
 * next; the driver only decides what is worth a log line.
 */
#ifndef IO_LIST_WATCH_DRIVER_H
#define IO_LIST_WATCH_DRIVER_H

#include "cache/list_watch.h"
#include "cache/watch.h"

struct api_client;
struct loop;
struct list_watch_driver;
struct renewals;

/* Copied; the objects that it points to must outlive the driver. */
struct list_watch_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct renewals *renewals; /* of the client's cluster */
    struct watch *watch;       /* that list_watch is a scope of; for logs */
    struct list_watch *list_watch;
};

/* The callbacks run on the stack of a callback of the loop, never inside a call of the user, one at
 * a time and as the last thing that the driver does: each may dispose the driver. */
struct list_watch_driver_events {
    /* Bytes came, and deltas of the watch may have run, but synced and connected of
     * list_watch_status() are as before. Comes for each piece of a response, so it must be
     * cheap. */
    void (*on_data)(void *arg);
    /* The same, and list_watch_status() may have changed: a list may be complete, a request be
     * over. */
    void (*on_change)(void *arg);
    /* The same, and a request failed for this reason. The list_watch waits, then tries again. */
    void (*on_failed)(void *arg, enum err_kind why);
};

/* Starts the list_watch in the next turn of the loop. events must outlive the driver. Never NULL;
 * release with list_watch_driver_dispose(). */
struct list_watch_driver *list_watch_driver_create(const struct list_watch_driver_params *params,
                                                   const struct list_watch_driver_events *events,
                                                   void *arg);

/* Carries out the list that was ordered of the list_watch, if one was (list_watch_is_ordered()):
 * the request under way is dropped for it. */
void list_watch_driver_poke(struct list_watch_driver *d);

/* The credentials have changed: if the watch is established on a connection with older ones, it gets
 * another connection when its turn comes (io/renewals), and gives up the first one when the second
 * one has shown that it is served. No event is lost or comes twice. */
void list_watch_driver_renew(struct list_watch_driver *d);

/* Requests go through this client from now on. An open watch is renewed on it as by
 * list_watch_driver_renew(); another request under way ends where it began; a pause after a failure
 * ends. The client before must live until its requests have ended (api_client_retire()). */
void list_watch_driver_move(struct list_watch_driver *d, struct api_client *client);

/* The right cluster answers again. If the list_watch is held because another cluster had answered,
 * it tries again at once. */
void list_watch_driver_retry(struct list_watch_driver *d);

/* The API client has other credentials. If the last request failed because a server refused the old
 * ones, or they could not be used, the next one is sent at once. */
void list_watch_driver_reauthenticate(struct list_watch_driver *d);

/* The end for the user: *d is NULL, its requests are dropped, no callback comes any more. NULL is
 * fine. */
void list_watch_driver_dispose(struct list_watch_driver **d);

#endif
