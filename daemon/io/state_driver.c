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

#define SOON_MS 100

/* A batch of so many bytes does not wait for more. */
#define ENOUGH ((size_t)1 << 20)

enum state_driver_state {
    STATE_DRIVER_OFF,     /* nothing is kept */
    STATE_DRIVER_IDLE,    /* no worker is busy with it */
    STATE_DRIVER_WRITING, /* `flying` is being written */
    STATE_DRIVER_FAILING, /* the last batch was not taken; the retry timer runs */
    STATE_DRIVER_CLOSING, /* all is written; a worker syncs and closes the file */
    STATE_DRIVER_CLOSED,
    STATE_DRIVER_DISPOSED, /* a worker still holds it */
};

struct state_driver {
    uv_work_t work;
    uv_timer_t retry; /* active iff FAILING */
    struct state_driver_params params;
    const struct state_driver_events *events;
    void *arg;
    enum state_driver_state state;
    bool worker_has_it; /* `work` is under way */
    bool timer_is_closed;
    struct writer *writer;
    struct batch batch;     /* gathered */
    struct batch flying;    /* of the worker, while WRITING */
    struct list waits;      /* for `batch` */
    struct list flying_for; /* for `flying` */
    struct list telling;    /* what they waited for is over */
    struct loop_task turn;
    struct deadline *soon;
    struct deadline *flush; /* runs until the end of state_driver_flush() has been told */
    struct state_driver_sync *sync;
    bool held;       /* who waits is not told of commits */
    bool due;        /* the batch is to be written as soon as no worker is busy */
    bool begun_anew; /* and nothing was committed since */
    bool start_over; /* the next batch begins a new file; the worker's while WRITING */
    void (*flushed)(void *arg, bool all); /* NULL: not asked for, or told */
    struct err lost;                      /* kind OK: the file is not known to be lost */
    struct err trouble;                   /* with writing; kind OK = none */
    struct err sync_trouble;              /* with syncing */
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

/* Whoever is told may wait anew, for something else, or dispose the keeper: then nobody is left. */
static void tell(struct state_driver *d, struct list *waits, bool durable)
{
    move_waits(waits, &d->telling);
    for (struct list *link; (link = list_first(&d->telling)) != NULL;) {
        struct state_driver_wait *w = list_entry(link, struct state_driver_wait, link);

        list_remove(link);
        w->fn(w, durable);
    }
}

static void tell_committed(struct state_driver *d, struct list *waits)
{
    if (!d->held)
        tell(d, waits, true);
    else if (waits != &d->waits)
        move_waits(waits, &d->waits);
}

static void tell_flushed(struct state_driver *d, bool all)
{
    void (*done)(void *arg, bool all) = d->flushed;

    if (done == NULL || d->state == STATE_DRIVER_DISPOSED)
        return;
    d->flushed = NULL;
    deadline_stop(d->flush);
    done(d->arg, all);
}

static void free_when_over(struct state_driver *d)
{
    if (d->state != STATE_DRIVER_DISPOSED || d->worker_has_it || !d->timer_is_closed)
        return;
    writer_destroy(&d->writer);
    batch_fini(&d->flying);
    batch_fini(&d->batch);
    free(d);
}

static void start_work(struct state_driver *d, enum state_driver_state state, uv_work_cb work,
                       uv_after_work_cb done)
{
    d->state = state;
    d->worker_has_it = true;
    ensure(uv_queue_work(loop_uv(d->params.loop), &d->work, work, done) == 0);
}

static void on_write(uv_work_t *work)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    d->result = ERR_OK;
    if (d->start_over)
        d->result = writer_start_over(d->writer, &d->err);
    if (d->result != ERR_OK)
        return;
    d->start_over = false;
    d->result = writer_apply(d->writer, &d->flying, &d->report, &d->err);
}

static void say_what_was_dropped(const struct writer_report *report)
{
    if (report->dropped_items + report->dropped_streams == 0)
        return;
    log_warn(
        "the state is larger than it may be: what was dropped is listed anew at the next start",
        KV_U64("unused", report->dropped_items), KV_U64("streams", report->dropped_streams));
}

static void written(struct state_driver *d)
{
    d->commits++;
    d->begun_anew = false;
    d->state = STATE_DRIVER_IDLE;
    batch_clear(&d->flying);
    say_what_was_dropped(&d->report);
    if (d->trouble.kind != ERR_OK)
        log_info("the state is written again, and nothing was lost",
                 KV_MS("after", loop_now_ms(d->params.loop) - d->failing_ms));
    d->trouble.kind = ERR_OK;
    state_driver_sync_note(d->sync, d->report.wal_pages);
    tell_committed(d, &d->flying_for);
}

/* The file is not one that could be written later. */
static bool is_lost(const struct err *err)
{
    return err->kind == ERR_PROTOCOL || err->kind == ERR_NOT_FOUND;
}

static void on_retry(uv_timer_t *timer)
{
    struct state_driver *d = container_of(timer, struct state_driver, retry);

    d->state = STATE_DRIVER_IDLE;
    d->due = true;
    proceed(d);
}

/* One trouble may come on top of the other. */
static void note_since(struct state_driver *d)
{
    if (d->trouble.kind == ERR_OK && d->sync_trouble.kind == ERR_OK)
        d->failing_ms = loop_now_ms(d->params.loop);
}

static void wait_and_retry(struct state_driver *d)
{
    d->state = STATE_DRIVER_FAILING;
    uv_timer_start(&d->retry, on_retry, d->params.retry_ms, 0);
    if (d->trouble.kind == ERR_OK) {
        note_since(d);
        log_warn("the state is not written: informerd goes on from memory and tries again",
                 KV_STR("state_dir", d->params.folder->path), KV_ERR(&d->err),
                 KV_MS("every", d->params.retry_ms));
    }
    d->trouble = d->err;
}

/* A file that is lost as soon as it was begun anew is waited for, as a disk is. */
static void not_written(struct state_driver *d)
{
    bool lost = is_lost(&d->err);

    batch_join(&d->flying, &d->batch);
    batch_join(&d->batch, &d->flying);
    batch_trim(&d->batch);
    if (lost)
        d->lost = d->err;
    if (lost && !d->begun_anew)
        d->state = STATE_DRIVER_IDLE;
    else
        wait_and_retry(d);
    tell(d, &d->flying_for, false);
    tell(d, &d->waits, false);
    if (d->state == STATE_DRIVER_FAILING)
        tell_flushed(d, false);
}

static void on_written(uv_work_t *work, int status)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    (void)status;
    d->worker_has_it = false;
    if (d->state != STATE_DRIVER_DISPOSED) {
        if (d->result == ERR_OK)
            written(d);
        else
            not_written(d);
        if (d->state == STATE_DRIVER_IDLE && d->batch.count > 0)
            loop_defer(d->params.loop, &d->turn); /* its turn came during the write */
        proceed(d);
    }
    free_when_over(d);
}

/* The file's last words: a failed sync is what its loss at a power cut would be. */
static void on_close(uv_work_t *work)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    d->result = d->commits > 0 ? syncer_run(d->params.folder, false, &d->err) : ERR_OK;
    writer_close(d->writer);
}

static void on_closed(uv_work_t *work, int status)
{
    struct state_driver *d = container_of(work, struct state_driver, work);

    (void)status;
    d->worker_has_it = false;
    if (d->state != STATE_DRIVER_DISPOSED) {
        d->state = STATE_DRIVER_CLOSED;
        loop_defer(d->params.loop, &d->turn);
        tell_flushed(d, d->result == ERR_OK);
    }
    free_when_over(d);
}

/* All that is known goes into a new file. */
static void begin_anew(struct state_driver *d)
{
    log_warn("the state begins anew", KV_STR("state_dir", d->params.folder->path),
             KV_ERR(&d->lost));
    d->lost.kind = ERR_OK;
    d->begun_anew = true;
    d->start_over = true;
    d->due = true;
    batch_clear(&d->batch);
    batch_reset(&d->batch); /* the folder may be gone, and come back with the old file */
    d->events->on_lost(d->arg);
}

/* Does what is to be done while no worker is busy. */
static void proceed(struct state_driver *d)
{
    if (d->state == STATE_DRIVER_IDLE && d->lost.kind != ERR_OK)
        begin_anew(d);
    if (d->state != STATE_DRIVER_IDLE)
        return;
    bool sync_is_busy = state_driver_sync_is_busy(d->sync);
    if (d->batch.count > 0 && (d->due || d->flushed != NULL)) {
        /* A connection that is closed may take the log of a file of the same name with it; and one
         * that syncs meanwhile would miss a file that is not there yet. */
        if (d->start_over && sync_is_busy)
            return;
        if (d->start_over)
            state_driver_sync_forget(d->sync);
        d->due = false;
        deadline_stop(d->soon);
        if (d->trouble.kind != ERR_OK)
            batch_compact(&d->batch); /* as little as will do: the disk may be nearly full */
        batch_join(&d->flying, &d->batch);
        move_waits(&d->waits, &d->flying_for);
        start_work(d, STATE_DRIVER_WRITING, on_write, on_written);
    } else if (d->flushed != NULL && d->batch.count == 0 && !sync_is_busy) {
        /* The close syncs; a connection beside it would keep the log from being removed. */
        state_driver_sync_forget(d->sync);
        start_work(d, STATE_DRIVER_CLOSING, on_close, on_closed);
    }
}

/* Once per turn in which something was added or asked for. */
static void on_turn(struct loop_task *task)
{
    struct state_driver *d = container_of(task, struct state_driver, turn);

    switch (d->state) {
    case STATE_DRIVER_OFF:
    case STATE_DRIVER_CLOSED:
        batch_clear(&d->batch);
        tell(d, &d->waits, false);
        tell_flushed(d, true);
        break;
    case STATE_DRIVER_FAILING:
        batch_trim(&d->batch);
        tell(d, &d->waits, false);
        break;
    case STATE_DRIVER_WRITING:
    case STATE_DRIVER_CLOSING:
        batch_trim(&d->batch);
        break;
    case STATE_DRIVER_IDLE:
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

static void on_soon(void *arg)
{
    struct state_driver *d = arg;

    d->due = true;
    proceed(d);
}

static void on_flush_timeout(void *arg)
{
    tell_flushed(arg, false);
}

static void on_synced(void *arg, const struct err *err)
{
    struct state_driver *d = arg;

    if (err != NULL && is_lost(err)) {
        if (!d->start_over) /* else it is the one that is given up already */
            d->lost = *err;
    } else if (err != NULL) {
        if (d->sync_trouble.kind == ERR_OK) {
            note_since(d);
            log_warn("the state is written, but a power cut would lose the last of it",
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
    d->flying.release = params->release;
    list_init(&d->waits);
    list_init(&d->flying_for);
    list_init(&d->telling);
    loop_task_init(&d->turn, on_turn);
    uv_timer_init(loop_uv(params->loop), &d->retry);
    d->soon = deadline_create(params->loop, on_soon, d);
    d->flush = deadline_create(params->loop, on_flush_timeout, d);
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
    bool flies = d->state == STATE_DRIVER_WRITING && d->batch.count == 0;

    ensure(list_is_empty(&w->link));
    list_append(flies ? &d->flying_for : &d->waits, &w->link);
    d->due = true;
    loop_defer(d->params.loop, &d->turn);
}

void state_driver_cancel(struct state_driver_wait *w)
{
    list_remove(&w->link);
}

void state_driver_hold(struct state_driver *d, bool held)
{
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
    if (d->state == STATE_DRIVER_FAILING) {
        uv_timer_stop(&d->retry);
        d->state = STATE_DRIVER_IDLE;
    }
    loop_defer(d->params.loop, &d->turn);
}

struct state_driver_status state_driver_status(const struct state_driver *d)
{
    const struct err *why = d->trouble.kind != ERR_OK ? &d->trouble : &d->sync_trouble;
    bool fine = why->kind == ERR_OK;

    return (struct state_driver_status){
        .is_kept = d->params.folder != NULL,
        .is_writable = fine,
        .reason = fine ? NULL : why->text,
        .failing_ms = fine ? 0 : d->failing_ms,
        .waiting = d->batch.count + d->flying.count,
        .waiting_bytes = batch_bytes(&d->batch) + batch_bytes(&d->flying),
        .commits = d->commits,
    };
}

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

void state_driver_dispose(struct state_driver **kp)
{
    struct state_driver *d = *kp;

    if (d == NULL)
        return;
    *kp = NULL;
    d->state = STATE_DRIVER_DISPOSED;
    forget_waits(&d->waits);
    forget_waits(&d->flying_for);
    forget_waits(&d->telling);
    loop_cancel(&d->turn);
    deadline_dispose(&d->soon);
    deadline_dispose(&d->flush);
    state_driver_sync_dispose(&d->sync);
    uv_close((uv_handle_t *)&d->retry, on_timer_closed);
}
