/* SPDX-License-Identifier: Apache-2.0 */
#include "io/keeper_sync.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "state/syncer.h"

/* A sync begins so long after a commit, and ends within the second that is promised. */
#define SYNC_AFTER_MS 400

/* After one that failed. */
#define RETRY_MS 5000

/* 8 MiB of log. */
enum { CHECKPOINT_PAGES = 512 };

enum sync_state {
    SYNC_CLEAN,   /* all commits are on the disk */
    SYNC_DIRTY,   /* the timer runs */
    SYNC_BUSY,    /* a worker syncs */
    SYNC_BEHIND,  /* the same, and there were commits since it began */
    SYNC_DISPOSED /* the same, and nobody wants to know */
};

struct keeper_sync {
    uv_work_t work;
    struct loop *loop;
    const struct folder *folder;
    keeper_sync_cb *cb;
    void *arg;
    struct deadline *timer;
    enum sync_state state;
    unsigned wal_pages;
    bool checkpoint;      /* of the one under way; the worker reads it */
    enum err_kind result; /* the worker writes it */
    struct err err;
};

static void on_work(uv_work_t *work)
{
    struct keeper_sync *s = container_of(work, struct keeper_sync, work);

    s->result = syncer_run(s->folder, s->checkpoint, &s->err);
}

static void on_done(uv_work_t *work, int status)
{
    struct keeper_sync *s = container_of(work, struct keeper_sync, work);

    (void)status;
    if (s->state == SYNC_DISPOSED) {
        free(s);
        return;
    }
    bool again = s->result != ERR_OK || s->state == SYNC_BEHIND;
    s->state = again ? SYNC_DIRTY : SYNC_CLEAN;
    if (again)
        deadline_start(s->timer, s->result != ERR_OK ? RETRY_MS : SYNC_AFTER_MS);
    s->cb(s->arg, s->result != ERR_OK ? &s->err : NULL);
}

static void on_timer(void *arg)
{
    struct keeper_sync *s = arg;

    ensure(s->state == SYNC_DIRTY);
    s->state = SYNC_BUSY;
    s->checkpoint = s->wal_pages >= CHECKPOINT_PAGES;
    ensure(uv_queue_work(loop_uv(s->loop), &s->work, on_work, on_done) == 0);
}

struct keeper_sync *keeper_sync_create(struct loop *loop, const struct folder *folder,
                                       keeper_sync_cb *cb, void *arg)
{
    struct keeper_sync *s =
        MEM_NEW(struct keeper_sync, .loop = loop, .folder = folder, .cb = cb, .arg = arg);

    s->timer = deadline_create(loop, on_timer, s);
    return s;
}

void keeper_sync_note(struct keeper_sync *s, unsigned wal_pages)
{
    s->wal_pages = wal_pages;
    if (s->state == SYNC_BUSY) {
        s->state = SYNC_BEHIND;
    } else if (s->state == SYNC_CLEAN) {
        s->state = SYNC_DIRTY;
        deadline_start(s->timer, SYNC_AFTER_MS);
    }
}

void keeper_sync_forget(struct keeper_sync *s)
{
    ensure(!keeper_sync_is_busy(s));
    deadline_stop(s->timer);
    s->state = SYNC_CLEAN;
}

bool keeper_sync_is_busy(const struct keeper_sync *s)
{
    return s->state == SYNC_BUSY || s->state == SYNC_BEHIND;
}

void keeper_sync_dispose(struct keeper_sync **sp)
{
    struct keeper_sync *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    deadline_dispose(&s->timer);
    if (keeper_sync_is_busy(s))
        s->state = SYNC_DISPOSED;
    else
        free(s);
}
