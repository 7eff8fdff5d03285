/* SPDX-License-Identifier: Apache-2.0 */
#include "io/keeper.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/keeper_sync.h"
#include "io/loop.h"
#include "state/syncer.h"
#include "state/writer.h"

#define SOON_MS 100

/* A batch of so many bytes does not wait for more. */
#define ENOUGH ((size_t)1 << 20)

enum keeper_state {
    KEEPER_OFF,     /* nothing is kept */
    KEEPER_IDLE,    /* no worker is busy with it */
    KEEPER_WRITING, /* `flying` is being written */
    KEEPER_FAILING, /* the last batch was not taken; the retry timer runs */
    KEEPER_CLOSING, /* all is written; a worker syncs and closes the file */
    KEEPER_CLOSED,
    KEEPER_DISPOSED, /* a worker still holds it */
};

struct keeper {
    uv_work_t work;
    uv_timer_t retry; /* active iff FAILING */
    struct keeper_params params;
    const struct keeper_events *events;
    void *arg;
    enum keeper_state state;
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
    struct deadline *flush; /* runs until the end of keeper_flush() has been told */
    struct keeper_sync *sync;
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

static void proceed(struct keeper *k);

static void move_waits(struct list *from, struct list *to)
{
    list_each (link, tmp, from) {
        list_remove(link);
        list_append(to, link);
    }
}

/* Whoever is told may wait anew, for something else, or dispose the keeper: then nobody is left. */
static void tell(struct keeper *k, struct list *waits, bool durable)
{
    move_waits(waits, &k->telling);
    for (struct list *link; (link = list_first(&k->telling)) != NULL;) {
        struct keeper_wait *w = list_entry(link, struct keeper_wait, link);

        list_remove(link);
        w->fn(w, durable);
    }
}

static void tell_committed(struct keeper *k, struct list *waits)
{
    if (!k->held)
        tell(k, waits, true);
    else if (waits != &k->waits)
        move_waits(waits, &k->waits);
}

static void tell_flushed(struct keeper *k, bool all)
{
    void (*done)(void *arg, bool all) = k->flushed;

    if (done == NULL || k->state == KEEPER_DISPOSED)
        return;
    k->flushed = NULL;
    deadline_stop(k->flush);
    done(k->arg, all);
}

static void free_when_over(struct keeper *k)
{
    if (k->state != KEEPER_DISPOSED || k->worker_has_it || !k->timer_is_closed)
        return;
    writer_destroy(&k->writer);
    batch_fini(&k->flying);
    batch_fini(&k->batch);
    free(k);
}

static void start_work(struct keeper *k, enum keeper_state state, uv_work_cb work,
                       uv_after_work_cb done)
{
    k->state = state;
    k->worker_has_it = true;
    ensure(uv_queue_work(loop_uv(k->params.loop), &k->work, work, done) == 0);
}

static void on_write(uv_work_t *work)
{
    struct keeper *k = container_of(work, struct keeper, work);

    k->result = ERR_OK;
    if (k->start_over)
        k->result = writer_start_over(k->writer, &k->err);
    if (k->result != ERR_OK)
        return;
    k->start_over = false;
    k->result = writer_apply(k->writer, &k->flying, &k->report, &k->err);
}

static void say_what_was_dropped(const struct writer_report *report)
{
    if (report->dropped_items + report->dropped_streams == 0)
        return;
    log_warn(
        "the state is larger than it may be: what was dropped is listed anew at the next start",
        KV_U64("unused", report->dropped_items), KV_U64("streams", report->dropped_streams));
}

static void written(struct keeper *k)
{
    k->commits++;
    k->begun_anew = false;
    k->state = KEEPER_IDLE;
    batch_clear(&k->flying);
    say_what_was_dropped(&k->report);
    if (k->trouble.kind != ERR_OK)
        log_info("the state is written again, and nothing was lost",
                 KV_MS("after", loop_now_ms(k->params.loop) - k->failing_ms));
    k->trouble.kind = ERR_OK;
    keeper_sync_note(k->sync, k->report.wal_pages);
    tell_committed(k, &k->flying_for);
}

/* The file is not one that could be written later. */
static bool is_lost(const struct err *err)
{
    return err->kind == ERR_PROTOCOL || err->kind == ERR_NOT_FOUND;
}

static void on_retry(uv_timer_t *timer)
{
    struct keeper *k = container_of(timer, struct keeper, retry);

    k->state = KEEPER_IDLE;
    k->due = true;
    proceed(k);
}

/* One trouble may come on top of the other. */
static void note_since(struct keeper *k)
{
    if (k->trouble.kind == ERR_OK && k->sync_trouble.kind == ERR_OK)
        k->failing_ms = loop_now_ms(k->params.loop);
}

static void wait_and_retry(struct keeper *k)
{
    k->state = KEEPER_FAILING;
    uv_timer_start(&k->retry, on_retry, k->params.retry_ms, 0);
    if (k->trouble.kind == ERR_OK) {
        note_since(k);
        log_warn("the state is not written: informerd goes on from memory and tries again",
                 KV_STR("state_dir", k->params.folder->path), KV_ERR(&k->err),
                 KV_MS("every", k->params.retry_ms));
    }
    k->trouble = k->err;
}

/* A file that is lost as soon as it was begun anew is waited for, as a disk is. */
static void not_written(struct keeper *k)
{
    bool lost = is_lost(&k->err);

    batch_join(&k->flying, &k->batch);
    batch_join(&k->batch, &k->flying);
    batch_trim(&k->batch);
    if (lost)
        k->lost = k->err;
    if (lost && !k->begun_anew)
        k->state = KEEPER_IDLE;
    else
        wait_and_retry(k);
    tell(k, &k->flying_for, false);
    tell(k, &k->waits, false);
    if (k->state == KEEPER_FAILING)
        tell_flushed(k, false);
}

static void on_written(uv_work_t *work, int status)
{
    struct keeper *k = container_of(work, struct keeper, work);

    (void)status;
    k->worker_has_it = false;
    if (k->state != KEEPER_DISPOSED) {
        if (k->result == ERR_OK)
            written(k);
        else
            not_written(k);
        if (k->state == KEEPER_IDLE && k->batch.count > 0)
            loop_defer(k->params.loop, &k->turn); /* its turn came during the write */
        proceed(k);
    }
    free_when_over(k);
}

/* The file's last words: a failed sync is what its loss at a power cut would be. */
static void on_close(uv_work_t *work)
{
    struct keeper *k = container_of(work, struct keeper, work);

    k->result = k->commits > 0 ? syncer_run(k->params.folder, false, &k->err) : ERR_OK;
    writer_close(k->writer);
}

static void on_closed(uv_work_t *work, int status)
{
    struct keeper *k = container_of(work, struct keeper, work);

    (void)status;
    k->worker_has_it = false;
    if (k->state != KEEPER_DISPOSED) {
        k->state = KEEPER_CLOSED;
        loop_defer(k->params.loop, &k->turn);
        tell_flushed(k, k->result == ERR_OK);
    }
    free_when_over(k);
}

/* All that is known goes into a new file. */
static void begin_anew(struct keeper *k)
{
    log_warn("the state begins anew", KV_STR("state_dir", k->params.folder->path),
             KV_ERR(&k->lost));
    k->lost.kind = ERR_OK;
    k->begun_anew = true;
    k->start_over = true;
    k->due = true;
    batch_clear(&k->batch);
    batch_reset(&k->batch); /* the folder may be gone, and come back with the old file */
    k->events->on_lost(k->arg);
}

/* Does what is to be done while no worker is busy. */
static void proceed(struct keeper *k)
{
    if (k->state == KEEPER_IDLE && k->lost.kind != ERR_OK)
        begin_anew(k);
    if (k->state != KEEPER_IDLE)
        return;
    bool sync_is_busy = keeper_sync_is_busy(k->sync);
    if (k->batch.count > 0 && (k->due || k->flushed != NULL)) {
        /* A connection that is closed may take the log of a file of the same name with it; and one
         * that syncs meanwhile would miss a file that is not there yet. */
        if (k->start_over && sync_is_busy)
            return;
        if (k->start_over)
            keeper_sync_forget(k->sync);
        k->due = false;
        deadline_stop(k->soon);
        if (k->trouble.kind != ERR_OK)
            batch_compact(&k->batch); /* as little as will do: the disk may be nearly full */
        batch_join(&k->flying, &k->batch);
        move_waits(&k->waits, &k->flying_for);
        start_work(k, KEEPER_WRITING, on_write, on_written);
    } else if (k->flushed != NULL && k->batch.count == 0 && !sync_is_busy) {
        /* The close syncs; a connection beside it would keep the log from being removed. */
        keeper_sync_forget(k->sync);
        start_work(k, KEEPER_CLOSING, on_close, on_closed);
    }
}

/* Once per turn in which something was added or asked for. */
static void on_turn(struct loop_task *task)
{
    struct keeper *k = container_of(task, struct keeper, turn);

    switch (k->state) {
    case KEEPER_OFF:
    case KEEPER_CLOSED:
        batch_clear(&k->batch);
        tell(k, &k->waits, false);
        tell_flushed(k, true);
        break;
    case KEEPER_FAILING:
        batch_trim(&k->batch);
        tell(k, &k->waits, false);
        break;
    case KEEPER_WRITING:
    case KEEPER_CLOSING:
        batch_trim(&k->batch);
        break;
    case KEEPER_IDLE:
        if (k->batch.count == 0)
            tell_committed(k, &k->waits);
        else if (k->batch.buf.len + k->batch.body_bytes >= ENOUGH)
            k->due = true;
        else if (!k->due && !deadline_pending(k->soon))
            deadline_start(k->soon, SOON_MS);
        break;
    case KEEPER_DISPOSED:
        break;
    }
    proceed(k);
}

static void on_soon(void *arg)
{
    struct keeper *k = arg;

    k->due = true;
    proceed(k);
}

static void on_flush_timeout(void *arg)
{
    tell_flushed(arg, false);
}

static void on_synced(void *arg, const struct err *err)
{
    struct keeper *k = arg;

    if (err != NULL && is_lost(err)) {
        if (!k->start_over) /* else it is the one that is given up already */
            k->lost = *err;
    } else if (err != NULL) {
        if (k->sync_trouble.kind == ERR_OK) {
            note_since(k);
            log_warn("the state is written, but a power cut would lose the last of it",
                     KV_STR("state_dir", k->params.folder->path), KV_ERR(err));
        }
        k->sync_trouble = *err;
    } else {
        k->sync_trouble.kind = ERR_OK;
    }
    proceed(k);
}

struct keeper *keeper_create(const struct keeper_params *params, const struct keeper_events *events,
                             void *arg)
{
    struct keeper *k = MEM_NEW(struct keeper, .params = *params, .events = events, .arg = arg);

    k->batch.release = params->release;
    k->flying.release = params->release;
    list_init(&k->waits);
    list_init(&k->flying_for);
    list_init(&k->telling);
    loop_task_init(&k->turn, on_turn);
    uv_timer_init(loop_uv(params->loop), &k->retry);
    k->soon = deadline_create(params->loop, on_soon, k);
    k->flush = deadline_create(params->loop, on_flush_timeout, k);
    if (params->reason != NULL)
        err_set(&k->trouble, ERR_IO, 0, "%s", params->reason);
    if (params->folder == NULL)
        return k;
    k->state = KEEPER_IDLE;
    k->writer = writer_create(params->folder, params->limit);
    k->sync = keeper_sync_create(params->loop, params->folder, on_synced, k);
    if (params->reset)
        batch_reset(keeper_batch(k, KEEPER_SOON));
    return k;
}

struct batch *keeper_batch(struct keeper *k, enum keeper_haste haste)
{
    if (haste == KEEPER_NOW)
        k->due = true;
    loop_defer(k->params.loop, &k->turn);
    return &k->batch;
}

void keeper_wait_init(struct keeper_wait *w, void (*fn)(struct keeper_wait *w, bool durable))
{
    list_init(&w->link);
    w->fn = fn;
}

void keeper_await(struct keeper *k, struct keeper_wait *w)
{
    bool flies = k->state == KEEPER_WRITING && k->batch.count == 0;

    ensure(list_is_empty(&w->link));
    list_append(flies ? &k->flying_for : &k->waits, &w->link);
    k->due = true;
    loop_defer(k->params.loop, &k->turn);
}

void keeper_cancel(struct keeper_wait *w)
{
    list_remove(&w->link);
}

void keeper_hold(struct keeper *k, bool held)
{
    if (k->held && !held) {
        k->due = true;
        loop_defer(k->params.loop, &k->turn);
    }
    k->held = held;
}

void keeper_flush(struct keeper *k, uint64_t timeout_ms, void (*done)(void *arg, bool all))
{
    ensure(k->flushed == NULL);
    k->flushed = done;
    deadline_start(k->flush, timeout_ms);
    if (k->state == KEEPER_FAILING) {
        uv_timer_stop(&k->retry);
        k->state = KEEPER_IDLE;
    }
    loop_defer(k->params.loop, &k->turn);
}

struct keeper_status keeper_status(const struct keeper *k)
{
    const struct err *why = k->trouble.kind != ERR_OK ? &k->trouble : &k->sync_trouble;
    bool fine = why->kind == ERR_OK;

    return (struct keeper_status){
        .is_kept = k->params.folder != NULL,
        .is_writable = fine,
        .reason = fine ? NULL : why->text,
        .failing_ms = fine ? 0 : k->failing_ms,
        .waiting = k->batch.count + k->flying.count,
        .waiting_bytes = batch_bytes(&k->batch) + batch_bytes(&k->flying),
        .commits = k->commits,
    };
}

static void forget_waits(struct list *waits)
{
    list_each (link, tmp, waits)
        list_remove(link);
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct keeper *k = container_of(timer, struct keeper, retry);

    k->timer_is_closed = true;
    free_when_over(k);
}

void keeper_dispose(struct keeper **kp)
{
    struct keeper *k = *kp;

    if (k == NULL)
        return;
    *kp = NULL;
    k->state = KEEPER_DISPOSED;
    forget_waits(&k->waits);
    forget_waits(&k->flying_for);
    forget_waits(&k->telling);
    loop_cancel(&k->turn);
    deadline_dispose(&k->soon);
    deadline_dispose(&k->flush);
    keeper_sync_dispose(&k->sync);
    uv_close((uv_handle_t *)&k->retry, on_timer_closed);
}
