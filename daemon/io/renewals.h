/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renewals - the watches of one cluster whose connections have older credentials, and which of them
 * is renewed when: in the order in which they came, and only RENEWALS_AT_A_TIME of them together,
 * so that a thousand watches do not shake hands at once; driver.
 *
 * A failure that would meet every watch of the cluster (the server cannot be reached, or refuses
 * the credentials) makes all of them wait, and then one tries alone, until one has succeeded. Any
 * other failure makes only its own watch wait.
 */
#ifndef IO_RENEWALS_H
#define IO_RENEWALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/list.h"
#include "base/log.h"

struct loop;
struct renewals;

/* Each renewal costs a handshake, and the connections of open watches wait behind it for their
 * events (io/loop.h loop_defer_slow()). */
enum { RENEWALS_AT_A_TIME = 8 };

/* Copied, except for cluster, which must outlive the object. */
struct renewals_params {
    struct loop *loop;
    const char *cluster; /* for the log */
    struct backoff_params retry;
    uint64_t seed;
};

enum renewals_state {
    RENEWALS_OUT,
    RENEWALS_WAITING,
    RENEWALS_UNDER_WAY, /* start() was called */
};

/* One watch. Its owner initialises it with renewals_init(), and must not move it in memory. */
struct renewals_watch {
    struct list link; /* WAITING */
    enum renewals_state state;
    uint64_t due_ms; /* WAITING: not to be started before */
    struct backoff backoff;
    enum err_kind logged; /* why it was not renewed, as logged last; OK = it was not logged */
    /* Begins the renewal: has led to renewals_done() or renewals_failed() some time later, or calls
     * renewals_leave(). Runs on the stack of a callback of the loop. */
    void (*start)(void *arg);
    void *arg;
};

/* Never NULL; release with renewals_dispose(). */
struct renewals *renewals_create(const struct renewals_params *params);

/* A watch that is OUT. */
void renewals_init(struct renewals_watch *w, void (*start)(void *arg), void *arg);

/* The watch is to be renewed. Nothing changes if it is not OUT. start() runs in a later turn. */
void renewals_join(struct renewals *r, struct renewals_watch *w);

/* The watch is renewed; it is OUT. */
void renewals_done(struct renewals *r, struct renewals_watch *w);

struct renewals_retry {
    uint64_t in_ms;       /* when the watch is tried again, at the earliest */
    enum log_level level; /* for the line that says so: DEBUG for the same kind of error again */
};

/* The renewal has failed; the watch waits for another try. wait_ms: for so long the server wants to
 * be left alone. */
struct renewals_retry renewals_failed(struct renewals *r, struct renewals_watch *w,
                                      const struct err *err, uint64_t wait_ms);

/* The watch need not be renewed any more: it is OUT, whatever it was. */
void renewals_leave(struct renewals *r, struct renewals_watch *w);

/* The servers or the settings of the cluster are other ones: an earlier failure makes no watch wait any
 * more. retry takes the place of that in the parameters. */
void renewals_restart(struct renewals *r, const struct backoff_params *retry);

/* The end for the user: *r is NULL, and start() runs no more. All watches must be OUT. NULL is
 * fine. */
void renewals_dispose(struct renewals **r);

#endif
