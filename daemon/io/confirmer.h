/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confirmer - asks the server for each object whose DELETED the watch's confirm holds back, one
 * after the other; driver.
 */
#ifndef IO_CONFIRMER_H
#define IO_CONFIRMER_H

struct cluster;
struct confirmer;
struct loop;
struct resource;
struct watch;

/* Borrowed; must outlive the confirmer. */
struct confirmer_params {
    struct loop *loop;
    struct cluster *cluster;
    struct watch *watch;             /* with a confirm */
    const struct resource *resource; /* the watch's, known */
};

/* They run on the stack of a callback of the loop, never inside a call of the user; each may
 * dispose the confirmer. */
struct confirmer_events {
    void (*on_progress)(void *arg); /* deltas may have run */
    /* Instead, after 401: is there a newer credential (PROTOCOL 2.4)? */
    void (*on_unauthorized)(void *arg);
};

/* Never NULL. events must outlive the confirmer. */
struct confirmer *confirmer_create(const struct confirmer_params *params,
                                   const struct confirmer_events *events, void *arg);

/* Deltas have run: looks in the next turn of the loop whether one is held back. */
void confirmer_kick(struct confirmer *c);

/* The end for the user: *c is NULL, its request is dropped, no event comes any more. NULL is
 * fine. */
void confirmer_dispose(struct confirmer **c);

#endif
