/* SPDX-License-Identifier: Apache-2.0 */
#include "io/state_driver_sync.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "state/syncer.h"

/* A sync begins this long after a commit, so that many commits share it. With the time it takes,
 * commits are on the disk within the second that docs/design.md "Records on disk" promises. */
#define SYNC_AFTER_MS 400

/* The pause after a sync that failed. */
#define RETRY_MS 5000

/* 8 MiB of pages with 16 KiB
 * (docs/decisions.md "The log is synced by itself, checkpoints wait for 8 MiB"). */
enum { CHECKPOINT_PAGES = 512 };

enum sync_state {
    SYNC_CLEAN,   /* all commits are on the disk */
    SYNC_DIRTY,   /* there are commits to sync, and the timer runs */
    SYNC_BUSY,    /* a worker syncs all commits */
    SYNC_BEHIND,  /* a worker syncs, and there were commits since it began */
    SYNC_DISPOSED /* a worker syncs, and the owner has disposed us */
};

struct state_driver_sync {
    uv_work_t work;
    struct loop *loop;
    const struct folder *folder;
    state_driver_sync_cb *cb;
    void *arg;
    struct deadline *timer;
    enum sync_state state;
    unsigned wal_pages;   /* pages of the log that are not in the file */
    bool checkpoint;      /* of the sync under way: with a checkpoint; the worker reads it */
    enum err_kind result; /* the worker writes these two */
    struct err err;
};

/* Runs in the worker. */
static void on_work(uv_work_t *work)
{
    struct state_driver_sync *d = container_of(work, struct state_driver_sync, work);

    d->result = syncer_run(d->folder, d->checkpoint, &d->err);
}

/* Back in the loop. After a failure or new commits the timer runs again. */
static void on_done(uv_work_t *work, int status)
{
    struct state_driver_sync *d = container_of(work, struct state_driver_sync, work);

    (void)status;
    loop_work_ended(d->loop);
    if (d->state == SYNC_DISPOSED) {
        free(d);
        return;
    }
    bool again = d->result != ERR_OK || d->state == SYNC_BEHIND;
    d->state = again ? SYNC_DIRTY : SYNC_CLEAN;
    if (again)
        deadline_start(d->timer, d->result != ERR_OK ? RETRY_MS : SYNC_AFTER_MS);
    d->cb(d->arg, d->result != ERR_OK ? &d->err : NULL);
}

static void on_timer(void *arg)
{
    struct state_driver_sync *d = arg;

    /* The timer only runs while DIRTY. */
    ensure(d->state == SYNC_DIRTY);
    d->state = SYNC_BUSY;
    d->checkpoint = d->wal_pages >= CHECKPOINT_PAGES;
    loop_work_began(d->loop);
    ensure(uv_queue_work(loop_uv(d->loop), &d->work, on_work, on_done) == 0);
}

struct state_driver_sync *state_driver_sync_create(struct loop *loop, const struct folder *folder,
                                                   state_driver_sync_cb *cb, void *arg)
{
    struct state_driver_sync *d =
        MEM_NEW(struct state_driver_sync, .loop = loop, .folder = folder, .cb = cb, .arg = arg);

    d->timer = deadline_create(loop, on_timer, d);
    return d;
}

void state_driver_sync_note(struct state_driver_sync *d, unsigned wal_pages)
{
    /* A sync that is under way may have missed this commit: another one follows it. */
    d->wal_pages = wal_pages;
    if (d->state == SYNC_BUSY) {
        d->state = SYNC_BEHIND;
    } else if (d->state == SYNC_CLEAN) {
        d->state = SYNC_DIRTY;
        deadline_start(d->timer, SYNC_AFTER_MS);
    }
}

void state_driver_sync_forget(struct state_driver_sync *d)
{
    ensure(!state_driver_sync_is_busy(d));
    deadline_stop(d->timer);
    d->state = SYNC_CLEAN;
}

bool state_driver_sync_is_busy(const struct state_driver_sync *d)
{
    return d->state == SYNC_BUSY || d->state == SYNC_BEHIND;
}

void state_driver_sync_dispose(struct state_driver_sync **dp)
{
    struct state_driver_sync *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    deadline_dispose(&d->timer);
    if (state_driver_sync_is_busy(d))
        d->state = SYNC_DISPOSED;
    else
        free(d);
}
