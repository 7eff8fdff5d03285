/* SPDX-License-Identifier: Apache-2.0 */
#include "io/state_driver.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/state_driver_sync.h"
#include "state/syncer.h"
#include "state/writer.h"

/* Changes that are not urgent are gathered for this long, as each commit costs writes of its
 * own. */
#define SOON_MS 100

/* A batch of this many bytes is written without waiting for more: it bounds the memory and the time
 * of one commit. */
#define ENOUGH ((size_t)1 << 20)

enum state_driver_state {
    STATE_DRIVER_OFF,      /* no state is written (state_dir "none", or it cannot be) */
    STATE_DRIVER_IDLE,     /* no worker writes or closes the file */
    STATE_DRIVER_WRITING,  /* `writing` is being written */
    STATE_DRIVER_FAILING,  /* the last write has failed; the retry timer runs */
    STATE_DRIVER_CLOSING,  /* all is written; a worker syncs and closes the file */
    STATE_DRIVER_CLOSED,   /* the file is closed: changes are dropped */
    STATE_DRIVER_DISPOSED, /* disposed; a worker may still use it */
};

struct state_driver {
    uv_work_t work;
    uv_timer_t retry; /* active iff FAILING */
    struct state_driver_params params;
    const struct state_driver_events *events;
    void *arg;
    enum state_driver_state state;
    /* a worker runs `work` and uses writer, writing and the three results below */
    bool worker_has_it;
    bool timer_is_closed;
    struct writer *writer;
    struct batch batch;        /* changes that are gathered */
    struct batch writing;      /* changes that the worker writes, while WRITING */
    struct list waits;         /* waits for the commit of `batch` */
    struct list writing_waits; /* waits for the commit of `writing` */
    struct list telling;       /* waits that have ended: tell() calls them one by one */
    struct loop_task turn;
    struct deadline *soon;
    struct deadline *flush; /* runs until flushed has been called */
    struct state_driver_sync *sync;
    bool held;       /* commits end no waits (state_driver_hold()) */
    bool due;        /* the batch is to be written as soon as no worker is busy */
    bool begun_anew; /* a new file was begun, and nothing was committed to it yet */
    bool start_over; /* the next batch begins a new file; belongs to the worker while WRITING */
    /* NULL: state_driver_flush() was not called, or flushed was */
    void (*flushed)(void *arg, bool all);
    struct err lost;         /* why the file is lost; kind OK: it is not known to be lost */
    struct err trouble;      /* why a write has failed; kind OK = the last one succeeded */
    struct err sync_trouble; /* the same of syncing */
    uint64_t failing_ms;
    uint64_t commits;
    enum err_kind result; /* the worker writes these three */
    struct err err;
    struct writer_report report;
};

static void proceed(struct state_driver *d);

static void move_waits(struct list *from, struct list *to)
{
    list_each (link, tmp, from) {
        list_remove(link);
        list_append(to, link);
    }
}

/* Ends these waits. A callback may wait again for something else, which goes to another list, or
 * dispose the driver, which empties this one. */
static void tell(struct state_driver *d, struct list *waits, bool durable)
{
    move_waits(waits, &d->telling);
    for (struct list *link; (link = list_first(&d->telling)) != NULL;) {
        struct state_driver_wait *w = list_entry(link, struct state_driver_wait, link);

        list_remove(link);
        w->fn(w, durable);
    }
}

/* A commit has succeeded. While held, the waits go back to those for the batch, and the end of the
 * hold has them ended with the next commit, or at once if there is nothing to commit. */
static void tell_committed(struct state_driver *d, struct list *waits)
{
    if (!d->held)
        tell(d, waits, true);
    else if (waits != &d->waits)
        move_waits(waits, &d->waits);
}

/* Calls the callback of state_driver_flush(), if it is still to come. */
static void tell_flushed(struct state_driver *d, bool all)
{
    void (*done)(void *arg, bool all) = d->flushed;

    if (done == NULL || d->state == STATE_DRIVER_DISPOSED)
        return;
    d->flushed = NULL;
    deadline_stop(d->flush);
    done(d->arg, all);
}

/* Frees a disposed driver when neither a worker nor libuv uses it any more. */
static void free_when_over(struct state_driver *d)
{
    if (d->state != STATE_DRIVER_DISPOSED || d->worker_has_it || !d->timer_is_closed)
        return;
    writer_destroy(&d->writer);
    batch_fini(&d->writing);
    batch_fini(&d->batch);
    free(d);
}

static void start_work(struct state_driver *d, enum state_driver_state state, uv_work_cb work,
                       uv_after_work_cb done)
{
    d->state = state;
    d->worker_has_it = true;
    loop_work_began(d->params.loop);
    ensure(uv_queue_work(loop_uv(d->params.loop), &d->work, work, done) == 0);
}

/* Runs in the worker: writes `writing`, into a new file if start_over. If setting the old file aside
 * fails, start_over stays for the next try. */
static void on_write(uv_work_t *work)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    d->result = ERR_OK;
    if (d->start_over)
        d->result = writer_start_over(d->writer, &d->err);
    if (d->result != ERR_OK)
        return;
    d->start_over = false;
    d->result = writer_apply(d->writer, &d->writing, &d->report, &d->err);
}

/* The writer may drop rows to stay within the limit (state/writer.h): an administrator may want to
 * raise it. */
static void say_what_was_dropped(const struct writer_report *report)
{
    if (report->dropped_items + report->dropped_scopes == 0)
        return;
    log_warn("state is over its size limit: saved data was dropped, and watches that lost objects "
             "are listed again at the next start",
             KV_U64("unused", report->dropped_items), KV_U64("streams", report->dropped_scopes));
}

/* The batch is committed: it survives the end of the process, and the sync that is noted here makes
 * it survive a power cut. */
static void written(struct state_driver *d)
{
    d->commits++;
    d->begun_anew = false;
    d->state = STATE_DRIVER_IDLE;
    batch_clear(&d->writing);
    say_what_was_dropped(&d->report);
    if (d->trouble.kind != ERR_OK)
        log_info("state is writable again: nothing was lost",
                 KV_MS("after", loop_now_ms(d->params.loop) - d->failing_ms));
    d->trouble.kind = ERR_OK;
    state_driver_sync_note(d->sync, d->report.wal_pages);
    tell_committed(d, &d->writing_waits);
}

/* Whether the file itself is lost, damaged or taken away, so that no later try can succeed. Other
 * errors are of the disk and may pass. */
static bool is_lost(const struct err *err)
{
    return err->kind == ERR_PROTOCOL || err->kind == ERR_NOT_FOUND;
}

/* Tries the batch again, with all that was gathered since. */
static void on_retry(uv_timer_t *timer)
{
    struct state_driver *d = container_of(timer, struct state_driver, retry);

    d->state = STATE_DRIVER_IDLE;
    d->due = true;
    proceed(d);
}

/* Writing and syncing may fail at the same time: the status says since when one of them does. */
static void note_since(struct state_driver *d)
{
    if (d->trouble.kind == ERR_OK && d->sync_trouble.kind == ERR_OK)
        d->failing_ms = loop_now_ms(d->params.loop);
}

/* Waits before the next try. Only the first failure in a row is logged. */
static void wait_and_retry(struct state_driver *d)
{
    d->state = STATE_DRIVER_FAILING;
    uv_timer_start(&d->retry, on_retry, d->params.retry_ms, 0);
    if (d->trouble.kind == ERR_OK) {
        note_since(d);
        log_warn("state not writable: informerd continues from memory and tries again",
                 KV_STR("state_dir", d->params.folder->path), KV_ERR(&d->err),
                 KV_MS("every", d->params.retry_ms));
    }
    d->trouble = d->err;
}

/* The batch was not committed: its changes go back, before those gathered since, so that their
 * order stays. A lost file is begun anew at once; if the new one is lost before its first commit,
 * the folder is not usable, and the next try waits as for a full disk. All waits end, as no run
 * waits for such a disk
 * (docs/decisions.md "No run waits for a disk that does not take its record"). */
static void not_written(struct state_driver *d)
{
    bool lost = is_lost(&d->err);

    batch_join(&d->writing, &d->batch);
    batch_join(&d->batch, &d->writing);
    batch_trim(&d->batch);
    if (lost)
        d->lost = d->err;
    if (lost && !d->begun_anew)
        d->state = STATE_DRIVER_IDLE;
    else
        wait_and_retry(d);
    /* After the change of state: a callback may wait again, and then on_turn() decides. */
    tell(d, &d->writing_waits, false);
    tell(d, &d->waits, false);
    if (d->state == STATE_DRIVER_FAILING)
        tell_flushed(d, false);
}

/* Back in the loop after on_write(). */
static void on_written(uv_work_t *work, int status)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    (void)status;
    loop_work_ended(d->params.loop);
    d->worker_has_it = false;
    if (d->state != STATE_DRIVER_DISPOSED) {
        if (d->result == ERR_OK)
            written(d);
        else
            not_written(d);
        /* Changes that were added during the write have had their turn, which only trimmed the
         * batch: they get another one. */
        if (d->state == STATE_DRIVER_IDLE && d->batch.count > 0)
            loop_defer(d->params.loop, &d->turn);
        proceed(d);
    }
    free_when_over(d);
}

/* Runs in the worker: syncs and closes the file. state_driver_flush() says how the sync ended; the
 * close moves the log into the file, and if it fails the log stays beside it and holds the same
 * commits. */
static void on_close(uv_work_t *work)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    d->result = d->commits > 0 ? syncer_run(d->params.folder, false, &d->err) : ERR_OK;
    writer_close(d->writer);
}

/* Back in the loop after on_close(). */
static void on_closed(uv_work_t *work, int status)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    (void)status;
    loop_work_ended(d->params.loop);
    d->worker_has_it = false;
    if (d->state != STATE_DRIVER_DISPOSED) {
        d->state = STATE_DRIVER_CLOSED;
        loop_defer(d->params.loop, &d->turn);
        tell_flushed(d, d->result == ERR_OK);
    }
    free_when_over(d);
}

/* The file is lost: everything that is known goes into a new file. on_lost() has the owner add it
 * to the empty batch. */
static void begin_anew(struct state_driver *d)
{
    log_warn("state.db lost or damaged: a new one is written from memory",
             KV_STR("state_dir", d->params.folder->path), KV_ERR(&d->lost));
    d->lost.kind = ERR_OK;
    d->begun_anew = true;
    d->start_over = true;
    d->due = true;
    batch_clear(&d->batch);
    /* the folder may be gone now, and come back with the old file in it: its rows must not stay */
    batch_reset(&d->batch);
    d->events->on_lost(d->arg);
}

/* Starts the next work: a new file, a write, or the close. Called after each change that may allow
 * one; nothing happens while a worker is busy. */
static void proceed(struct state_driver *d)
{
    if (d->state == STATE_DRIVER_IDLE && d->lost.kind != ERR_OK)
        begin_anew(d);
    if (d->state != STATE_DRIVER_IDLE)
        return;
    bool sync_is_busy = state_driver_sync_is_busy(d->sync);
    if (d->batch.count > 0 && (d->due || d->flushed != NULL)) {
        /* A new file waits for the end of a sync: when its connection to the old file is closed,
         * SQLite may remove a log with the name of the new file's; and a sync would miss a file
         * that is not there yet. */
        if (d->start_over && sync_is_busy)
            return;
        if (d->start_over)
            state_driver_sync_forget(d->sync);
        if (d->events->on_batch != NULL)
            d->events->on_batch(d->arg);
        d->due = false;
        deadline_stop(d->soon);
        if (d->trouble.kind != ERR_OK)
            batch_compact(&d->batch); /* as few bytes as possible: the disk may be nearly full */
        batch_join(&d->writing, &d->batch);
        move_waits(&d->waits, &d->writing_waits);
        start_work(d, STATE_DRIVER_WRITING, on_write, on_written);
    } else if (d->flushed != NULL && d->batch.count == 0 && !sync_is_busy) {
        /* The close syncs as well. A second connection would keep SQLite from removing the log. */
        state_driver_sync_forget(d->sync);
        start_work(d, STATE_DRIVER_CLOSING, on_close, on_closed);
    }
}

/* Runs once per turn in which changes were added or a wait began: all changes of one turn are in
 * one batch. */
static void on_turn(struct loop_task *task)
{
    struct state_driver *d = container_of(task, struct state_driver, turn);

    switch (d->state) {
    case STATE_DRIVER_OFF:
    case STATE_DRIVER_CLOSED:
        /* Nothing is written any more, so nothing is on disk, and nothing is left to flush. */
        batch_clear(&d->batch);
        tell(d, &d->waits, false);
        tell_flushed(d, true);
        break;
    case STATE_DRIVER_FAILING:
        /* The disk does not take anything: the batch is kept small, and no wait is worth while. */
        batch_trim(&d->batch);
        tell(d, &d->waits, false);
        break;
    case STATE_DRIVER_WRITING:
    case STATE_DRIVER_CLOSING:
        batch_trim(&d->batch);
        break;
    case STATE_DRIVER_IDLE:
        /* Nothing is to be written, so all that was added before the wait is committed. */
        if (d->batch.count == 0)
            tell_committed(d, &d->waits);
        else if (d->batch.buf.len + d->batch.body_bytes >= ENOUGH)
            d->due = true;
        else if (!d->due && !deadline_pending(d->soon))
            deadline_start(d->soon, SOON_MS);
        break;
    case STATE_DRIVER_DISPOSED:
        break;
    }
    proceed(d);
}

/* SOON_MS have passed. */
static void on_soon(void *arg)
{
    struct state_driver *d = arg;

    d->due = true;
    proceed(d);
}

/* The disk takes too long for the end of the process: informerd ends without it. */
static void on_flush_timeout(void *arg)
{
    tell_flushed(arg, false);
}

/* A sync has ended. A failed sync is no failed commit: runs go on, as their records survive
 * everything but a power cut. */
static void on_synced(void *arg, const struct err *err)
{
    struct state_driver *d = arg;

    if (err != NULL && is_lost(err)) {
        if (!d->start_over) /* else the lost file is the one that is given up already */
            d->lost = *err;
    } else if (err != NULL) {
        if (d->sync_trouble.kind == ERR_OK) {
            note_since(d);
            log_warn("state not synced to disk: a power failure would lose the newest changes",
                     KV_STR("state_dir", d->params.folder->path), KV_ERR(err));
        }
        d->sync_trouble = *err;
    } else {
        d->sync_trouble.kind = ERR_OK;
    }
    proceed(d);
}

struct state_driver *state_driver_create(const struct state_driver_params *params,
                                         const struct state_driver_events *events, void *arg)
{
    struct state_driver *d =
        MEM_NEW(struct state_driver, .params = *params, .events = events, .arg = arg);

    d->batch.release = params->release;
    d->writing.release = params->release;
    list_init(&d->waits);
    list_init(&d->writing_waits);
    list_init(&d->telling);
    loop_task_init(&d->turn, on_turn);
    uv_timer_init(loop_uv(params->loop), &d->retry);
    d->soon = deadline_create(params->loop, on_soon, d);
    d->flush = deadline_create(params->loop, on_flush_timeout, d);
    /* The status shows from the start why no state can be written. */
    if (params->reason != NULL)
        err_set(&d->trouble, ERR_IO, 0, "%s", params->reason);
    if (params->folder == NULL)
        return d;
    d->state = STATE_DRIVER_IDLE;
    d->writer = writer_create(params->folder, params->limit);
    d->sync = state_driver_sync_create(params->loop, params->folder, on_synced, d);
    if (params->reset)
        batch_reset(state_driver_batch(d, STATE_DRIVER_SOON));
    return d;
}

struct batch *state_driver_batch(struct state_driver *d, enum state_driver_haste haste)
{
    if (haste == STATE_DRIVER_NOW)
        d->due = true;
    loop_defer(d->params.loop, &d->turn);
    return &d->batch;
}

void state_driver_wait_init(struct state_driver_wait *w,
                            void (*fn)(struct state_driver_wait *w, bool durable))
{
    list_init(&w->link);
    w->fn = fn;
}

void state_driver_await(struct state_driver *d, struct state_driver_wait *w)
{
    /* If nothing was added since the write under way began, its commit covers all that the caller
     * waits for. */
    bool flies = d->state == STATE_DRIVER_WRITING && d->batch.count == 0;

    ensure(list_is_empty(&w->link));
    list_append(flies ? &d->writing_waits : &d->waits, &w->link);
    d->due = true;
    loop_defer(d->params.loop, &d->turn);
}

void state_driver_cancel(struct state_driver_wait *w)
{
    list_remove(&w->link);
}

void state_driver_hold(struct state_driver *d, bool held)
{
    /* The waits are for the batch again: they end with its commit, or in the next turn if it is
     * empty. */
    if (d->held && !held) {
        d->due = true;
        loop_defer(d->params.loop, &d->turn);
    }
    d->held = held;
}

void state_driver_flush(struct state_driver *d, uint64_t timeout_ms,
                        void (*done)(void *arg, bool all))
{
    ensure(d->flushed == NULL);
    d->flushed = done;
    deadline_start(d->flush, timeout_ms);
    /* One more try at once, as the process ends: the retry timer may be too late. */
    if (d->state == STATE_DRIVER_FAILING) {
        uv_timer_stop(&d->retry);
        d->state = STATE_DRIVER_IDLE;
    }
    loop_defer(d->params.loop, &d->turn);
}

struct state_driver_status state_driver_status(const struct state_driver *d)
{
    /* A failed write is worse than a failed sync. */
    const struct err *why = d->trouble.kind != ERR_OK ? &d->trouble : &d->sync_trouble;
    bool fine = why->kind == ERR_OK;

    return (struct state_driver_status){
        .is_kept = d->params.folder != NULL,
        .is_writable = fine,
        .reason = fine ? NULL : why->text,
        .failing_ms = fine ? 0 : d->failing_ms,
        .waiting = d->batch.count + d->writing.count,
        .commits = d->commits,
    };
}

/* The objects that wait may end as they like: state_driver_cancel() finds their links on no
 * list. */
static void forget_waits(struct list *waits)
{
    list_each (link, tmp, waits)
        list_remove(link);
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct state_driver *d = container_of(timer, struct state_driver, retry);

    d->timer_is_closed = true;
    free_when_over(d);
}

void state_driver_dispose(struct state_driver **dp)
{
    struct state_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    d->state = STATE_DRIVER_DISPOSED;
    forget_waits(&d->waits);
    forget_waits(&d->writing_waits);
    forget_waits(&d->telling);
    loop_cancel(&d->turn);
    deadline_dispose(&d->soon);
    deadline_dispose(&d->flush);
    state_driver_sync_dispose(&d->sync);
    uv_close((uv_handle_t *)&d->retry, on_timer_closed);
}
