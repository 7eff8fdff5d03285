/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener_rig - a control socket in a folder of its own and clients of it, all in one thread.
 */
#ifndef UNIT_LISTENER_RIG_H
#define UNIT_LISTENER_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "io/listener.h"

/* LARGE is more than a socket takes, and little enough for all clients together. */
enum {
    RIG_PEERS = 4 * LISTENER_CLIENTS,
    RIG_BIG_BYTES = 8 * 1024 * 1024,
    RIG_LARGE_BYTES = 1024 * 1024
};

/* So long that it passes only when play_clock_pass() moves the clock. */
enum { RIG_IDLE_MS = 60000 };

/* One client; reads only while reading is set. */
struct rig_peer {
    int fd;
    bool reading;
    bool eof;
    struct buf got;
};

struct rig {
    char dir[64];
    char path[96];
    struct loop *loop;
    struct listener *listener;
    struct deadline *tick;
    struct rig_peer peers[RIG_PEERS];
    size_t peer_count;
    struct buf asked; /* "METHOD TARGET;" of each request */
    bool privileged;  /* the peer of the last request */
    bool anonymous;   /* the same */
    bool dispose;     /* to be called from inside handle */
    struct journal *journal;
    struct admin_streams *streams; /* /follow follows the journal */
    /* The condition that rig_run_until() waits for. */
    bool (*done)(struct rig *t);
    unsigned ticks;
};

/* Makes the rig; the socket does not exist yet. */
int rig_set_up(void **state);

/* Disposes all that is left; fails if a handle leaked or the socket file stays. */
int rig_tear_down(void **state);

/* Makes socket and listener, whose clients may be idle for RIG_IDLE_MS. */
void rig_start(struct rig *t);

/* Answers a request: its Host and its target in angle brackets, RIG_BIG_BYTES for /big,
 * RIG_LARGE_BYTES for /large, or a stream. The answer to /headers has a header of its own. */
void rig_handle(void *arg, const struct admin_request *req, struct admin_response *out);

/* One more client. */
struct rig_peer *rig_connect(struct rig *t);

/* Sends text, all of it. */
void rig_say(struct rig_peer *p, const char *text);

/* Sends text so many times in one piece: many small ones fill the socket. */
void rig_say_many(struct rig_peer *p, const char *text, size_t times);

/* Runs the loop, and the clients that read, until done. */
void rig_run_until(struct rig *t, bool (*done)(struct rig *t));

/* Lets several deadlines pass, one after the other. */
void rig_pass(struct rig *t);

/* Writes so many lines of the journal. */
void rig_note(struct rig *t, size_t lines);

/* Conditions to wait for. This one: a short answer to the first client is complete. */
bool rig_first_answered(struct rig *t);
/* Condition: the first client sees the end of its connection. */
bool rig_first_eof(struct rig *t);
/* Condition: a request came. */
bool rig_asked(struct rig *t);
/* Condition: the loop has turned. */
bool rig_one_turn(struct rig *t);

#endif
