/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_player - plays a recording, or a folder of objects, to the watches, in the place of their
 * clusters; driver.
 */
#ifndef APP_REPLAY_PLAYER_H
#define APP_REPLAY_PLAYER_H

#include <stdbool.h>

#include "app/replay_plan.h"
#include "app/sources.h"

struct loop;
struct replay_player;

/* All callbacks run on the stack of a timer. */
struct replay_player_events {
    /* Have the hooks handled or parked all that they know? */
    bool (*is_quiet)(void *arg);
    /* Deltas may have run; watches may have become synced, stale or fresh. */
    void (*on_progress)(void *arg);
    /* The file cannot be read any more, and the player has ended. The last thing that it does. */
    void (*on_failed)(void *arg, const struct err *err);
};

/* Borrowed; must outlive the player. */
struct replay_player_params {
    struct loop *loop;
    const struct conf *conf;
    struct replay_plan *plan;
    struct sources *sources;
    double
        speed; /* how many times as fast as recorded; 0 = the next change comes when all is quiet */
};

/* Begins in the next turn of the loop. Never NULL; release with replay_player_dispose(). */
struct replay_player *replay_player_create(const struct replay_player_params *params,
                                           const struct replay_player_events *events, void *arg);

/* Runs have ended: is_quiet may say something else now. */
void replay_player_poke(struct replay_player *p);

/* Is everything played, or was the player stopped? */
bool replay_player_has_ended(const struct replay_player *p);

/* Stops playing: nothing new comes any more. */
void replay_player_stop(struct replay_player *p);

/* The end for the user; *p is NULL. NULL is fine. */
void replay_player_dispose(struct replay_player **p);

#endif
