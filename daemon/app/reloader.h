/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reloader - has the helper read the configuration anew, and compares it with the one in use; driver. One
 * read runs at a time. An order that comes during a read waits for the next one, which serves all orders
 * that wait: so each order gets an answer about files that were read after it.
 */
#ifndef APP_RELOADER_H
#define APP_RELOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/admin.h"
#include "app/generation.h"
#include "app/reload_plan.h"
#include "base/compiler.h"

struct helper_link;
struct loop;
struct reloader;

/* A read that takes longer is given up: a path may be a pipe, or on a file system that hangs. */
enum { RELOADER_TIME_MS = 30000 };

enum reloader_result {
    RELOADER_NONE,    /* no reload has ended */
    RELOADER_DONE,    /* the configuration is good, and was committed unless it was a dry run */
    RELOADER_INVALID, /* a person must change a file: exit code 78 */
    RELOADER_FAILED,  /* it could not be read: exit code 1 */
};

/* The result of a read. All pointers are borrowed. */
struct reloader_end {
    uint64_t number; /* reloader_start() has returned it for each order that this read serves */
    bool dry_run;    /* each of these orders asked for the plan only */
    enum reloader_result result;
    const char *problems;           /* lines; "" = none */
    const struct reload_plan *plan; /* DONE */
};

/* on_begin is also called inside reloader_start(), and on_end inside reloader_stop(); else all are called
 * from the loop. None may dispose the reloader. */
struct reloader_events {
    /* The configuration in use, borrowed. */
    struct reload_side (*in_use)(void *arg);
    /* A read has begun for an order that is no dry run. */
    void (*on_begin)(void *arg);
    /* The configuration is good, and on_commit() follows, unless the receiver cannot get the sockets
     * that it needs for g: then the whole reload fails with the error. */
    enum err_kind (*on_prepare)(void *arg, const struct generation *g, struct err *err);
    /* The helper is ready: the receiver switches over to g, which it takes, and then calls
     * reloader_committed(), now or in a later turn. plan is borrowed until on_end(). */
    void (*on_commit)(void *arg, struct generation *g, const struct reload_plan *plan);
    /* A read has ended, with any result; a dry run, too. When this returns, the reloader begins the next
     * read if an order waits for it. */
    void (*on_end)(void *arg, const struct reloader_end *end);
};

/* link and events are borrowed until dispose. refusal: why this process cannot reload, a constant;
 * NULL = it can. Never NULL. */
struct reloader *reloader_create(struct loop *loop, struct helper_link *link, const char *refusal,
                                 const struct reloader_events *events, void *arg);

/* Orders a reload. Returns the number of the read that serves it. 0: *refusal says why there is none; a
 * constant. */
uint64_t reloader_start(struct reloader *r, bool dry_run, const char **refusal) MUST_CHECK;

/* An event of the helper: takes fd. */
void reloader_on_reloaded(struct reloader *r, bool ok, int fd);

/* The receiver of on_commit() has switched over. */
void reloader_committed(struct reloader *r);

/* The receiver of on_commit() cannot switch over: the reload ends as FAILED, with this line. */
void reloader_give_up(struct reloader *r, const char *why);

/* From now on orders are refused for this reason, a constant. The read that is under way, and the one that
 * orders wait for, end as FAILED inside this call. */
void reloader_stop(struct reloader *r, const char *refusal);

/* For the status; borrowed until the next turn of the loop. */
struct admin_reload reloader_status(const struct reloader *r);

/* Appends the answer to an order and a newline: {"result":"reloaded"|"planned"|"invalid"|"failed",
 * "problems":[LINE,...],"plan":PLAN or null}; pure. */
void reloader_put_answer(const struct reloader_end *end, struct buf *out);

/* Sets *r to NULL; no event follows. NULL is fine. */
void reloader_dispose(struct reloader **r);

#endif
