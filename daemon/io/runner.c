/* SPDX-License-Identifier: Apache-2.0 */
#include "io/runner.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/job.h"
#include "io/loop.h"
#include "io/shortage_log.h"
#include "io/state_driver.h"
#include "io/strays_driver.h"

/* Starting runs may take so much of a turn of the loop; inputs of megabytes take long. Then others
 * have theirs. */
#define STARTING_MS 5

/* A disk that hangs does not hold runs up for longer. */
#define KEEPING_MS 2000

/* A file system that hangs does not hold a hook up for longer, when files are removed. */
#define SWEEP_MS 30000

/* A timer that is later than that says that the loop stood still, and nothing about the disk. */
#define LATE_MS 500

enum runner_state {
    RUNNER_WAITING,
    RUNNER_ON,
    RUNNER_STOPPING, /* nothing more starts */
    RUNNER_KILLING,  /* and what is under way is ended */
};

/* A run that has left the schedule, and starts when that is on disk; what it is told is fixed. */
struct opening {
    struct list link;
    struct state_driver_wait wait;
    struct runner *runner;
    struct job *job;
    uint64_t since_ms;
};

struct runner {
    struct runner_params params;
    const struct runner_events *events;
    void *arg;
    enum runner_state state;
    struct list openings;
    struct list jobs;
    size_t running;         /* openings, and jobs with a run; the others linger for their output */
    struct deadline *hangs; /* of the oldest opening */
    uint64_t hung_at; /* commits there were when the disk was found to hang; 0 = it does not */
    struct shortage_log shortage;
    struct strays_driver *strays_driver;
    bool *left_told;      /* by hook.index: it was said that its runs leave processes behind */
    bool *forgotten_told; /* the same: that it forgets ends that were parked */
    struct loop_task kick;
    struct deadline *wake; /* when the schedule has something although nothing happened */
};

/* A run is one of many; that a burst is in effect, and that a trouble is over, people look for. */
static void log_success(const struct hook *h, const struct history_run *ended, bool was_failing)
{
    const struct kv *fields = LOG_FIELDS(KV_STR("hook", h->name), KV_STR("key", ended->key),
                                         KV_U64("run", ended->id), KV_MS("took", ended->took_ms));

    if (ended->kind == RUN_APPLY)
        log_emit(LOG_LVL_INFO, "hook applied", fields);
    else if (was_failing)
        log_emit(LOG_LVL_INFO, "hook works again", fields);
    else
        log_emit(LOG_LVL_DEBUG, "hook done", fields);
}

static void log_failure(const struct hook *h, const struct history_run *ended, uint64_t retry_ms)
{
    bool parked = ended->outcome == HISTORY_PARKED;

    log_warn(parked ? "hook failed and is parked until something changes" : "hook failed",
             KV_STR("hook", h->name), KV_STR("key", ended->key), KV_U64("run", ended->id),
             KV_STR("result", ended->text), KV_INT("attempt", ended->attempt),
             retry_ms != NEVER_MS ? KV_MS("retry_in", retry_ms)
                                  : (struct kv){.type = KV_TYPE_NONE});
}

/* What was no run is no news of the hook. */
static void finish(struct runner *r, struct run *run, const struct run_result *result)
{
    const struct hook *h = run->hook;
    bool was_failing = h->last_error[0] != '\0';
    struct hooks_verdict v =
        hooks_finish(r->params.hooks, run, result, loop_now_ms(r->params.loop));

    if (result->end == RUN_NOT_STARTED) {
        shortage_log_begin(&r->shortage, h, result);
    } else {
        const struct history_run *ended = history_get(&h->history, 0);

        if (ended->outcome == HISTORY_OK)
            log_success(h, ended, was_failing);
        else
            log_failure(h, ended, v.retry_ms);
        if (r->events->on_result != NULL)
            r->events->on_result(r->arg, h, ended);
    }
    shortage_log_check(&r->shortage, r->params.hooks);
    r->events->on_deliveries(r->arg);
    r->events->on_progress(r->arg);
}

/* What a run leaves behind is told once per hook: one that means it does so every time. */
static void log_left(struct runner *r, const struct run *run, const struct helper_link_exit *end,
                     const struct run_result *result)
{
    bool *told = &r->left_told[run->hook->index];
    bool well = end->how == HELPER_LINK_EXITED && end->value == 0 && !end->killed;
    bool good = well || (result->end == RUN_EXITED && result->status == 0); /* no timeout */

    if (end->left == 0 || (good && *told))
        return;
    *told = *told || good;
    log_warn(good ? "hook left processes behind, which go on: said once"
                  : "processes of a failed hook could not be killed",
             KV_STR("hook", run->hook->name), KV_STR("key", run_key(run)), KV_U64("run", run->id),
             KV_U64("processes", end->left), KV_INT("pid", end->left_pid),
             KV_STR("program", end->left_comm));
}

static void on_over(void *arg, struct run *run, const struct helper_link_exit *end,
                    const struct run_result *result)
{
    struct runner *r = arg;
    struct run_result told = *result;

    told.stopped = r->state == RUNNER_KILLING;
    r->running--;
    log_left(r, run, end, result);
    runner_kick(r); /* before the keeper's turn: what starts next joins what has ended */
    finish(r, run, &told);
}

static void on_gone(void *arg, struct job *job)
{
    (void)arg;
    job_dispose(&job);
}

/* What cannot be told is no better next time; what the system refused may be. */
static void refuse(struct runner *r, struct run *run, const struct err *err)
{
    struct run_result result = {.end = RUN_FAILED, .text = err->text, .wall_ns = loop_wall_ns()};

    if (err->kind == ERR_IO)
        result.shortage = shortage_lacking(SHORTAGE_MEMORY_FILE, err->code);
    if (result.shortage != SHORTAGE_NONE)
        result.end = RUN_NOT_STARTED;
    else if (err->kind == ERR_CONFIG || err->kind == ERR_TOO_BIG)
        result.end = RUN_UNFIT;
    finish(r, run, &result);
}

/* Nothing is started, and that is right. */
static void skip(struct runner *r, struct run *run, const char *text)
{
    static const enum run_file became[] = {RUN_FILE_WRITTEN, RUN_FILE_REMOVED, RUN_FILE_NONE};
    const struct run_result result = {.end = RUN_EXITED,
                                      .text = text,
                                      .wall_ns = loop_wall_ns(),
                                      .file =
                                          run->file != NULL ? became[run->kind] : RUN_FILE_NONE};

    finish(r, run, &result);
}

static void pretend(struct runner *r, struct run *run)
{
    static const char *const what[] = {"would run hook", "would remove a file", "would apply"};
    static const char *const becomes[] = {"writes", "removes", ""};
    const struct run_event *re = run_keyed(run);

    log_info(what[run->kind], KV_STR("hook", run->hook->name), KV_STR("key", run_key(run)),
             KV_STR("event", re != NULL ? delta_type_name(re->ev.type) : ""),
             KV_STR("reason", run_reason_name(run->reason)), KV_U64("events", run->event_count),
             run->file != NULL ? KV_STR(becomes[run->kind], run->file)
                               : (struct kv){.type = KV_TYPE_NONE});
    skip(r, run, "not started: --dry-run");
}

static void start_job(struct runner *r, struct job *job)
{
    list_append(&r->jobs, job_link(job));
    job_start(job);
}

static struct job *take_opening(struct opening *o)
{
    struct job *job = o->job;

    list_remove(&o->link);
    state_driver_cancel(&o->wait);
    free(o);
    return job;
}

static void begin(struct runner *r, struct job *job)
{
    hooks_began(job_run(job), loop_now_ms(r->params.loop));
    start_job(r, job);
}

static void watch_oldest(struct runner *r)
{
    struct list *first = list_first(&r->openings);

    if (first == NULL) {
        deadline_stop(r->hangs);
        return;
    }
    uint64_t late_ms = list_entry(first, struct opening, link)->since_ms + KEEPING_MS;
    uint64_t now_ms = loop_now_ms(r->params.loop);
    deadline_start(r->hangs, late_ms > now_ms ? late_ms - now_ms : 0);
}

static void on_kept(struct state_driver_wait *wait, bool durable)
{
    struct opening *o = container_of(wait, struct opening, wait);
    struct runner *r = o->runner;

    (void)durable; /* without a record, too: docs/design.md "Records on disk" */
    begin(r, take_opening(o));
    watch_oldest(r);
}

/* The disk may have done its part while nothing of informerd ran, but timers come before answers:
 * what waits does so anew. */
static bool stood_still(struct runner *r)
{
    const struct opening *oldest = list_entry(list_first(&r->openings), struct opening, link);
    uint64_t now_ms = loop_now_ms(r->params.loop);

    if (now_ms < oldest->since_ms + KEEPING_MS + LATE_MS)
        return false;
    list_each (pos, tmp, &r->openings)
        list_entry(pos, struct opening, link)->since_ms = now_ms;
    watch_oldest(r);
    return true;
}

/* Nobody waits for that disk before it has shown that it works. */
static void on_hangs(void *arg)
{
    struct runner *r = arg;

    if (stood_still(r))
        return;
    log_warn("the state is not written in time: hooks run without, and what runs now may run again "
             "after a crash",
             KV_MS("waited", KEEPING_MS));
    r->hung_at = state_driver_status(r->params.state_driver).commits + 1;
    list_each (pos, tmp, &r->openings)
        begin(r, take_opening(list_entry(pos, struct opening, link)));
}

static bool can_wait(struct runner *r)
{
    struct state_driver_status s = state_driver_status(r->params.state_driver);

    if (r->hung_at > s.commits)
        return false;
    r->hung_at = 0;
    return s.is_kept;
}

static void open_job(struct runner *r, struct run *run)
{
    static const struct job_events events = {on_over, on_gone};
    struct job *job;
    struct err err = {0};

    if (job_create(&r->params, run, &events, r, &job, &err) != ERR_OK) {
        refuse(r, run, &err);
        return;
    }
    r->running++;
    if (!can_wait(r)) {
        start_job(r, job);
        return;
    }
    struct opening *o =
        MEM_NEW(struct opening, .runner = r, .job = job, .since_ms = loop_now_ms(r->params.loop));

    list_init(&o->link);
    list_append(&r->openings, &o->link);
    state_driver_wait_init(&o->wait, on_kept);
    if (!deadline_pending(r->hangs))
        watch_oldest(r);
}

/* All that has left the schedule in this turn goes to disk at once. */
static void await_openings(struct runner *r)
{
    r->events->on_deliveries(r->arg);
    list_each (pos, tmp, &r->openings) {
        struct opening *o = list_entry(pos, struct opening, link);

        if (list_is_empty(&o->wait.link))
            state_driver_await(r->params.state_driver, &o->wait);
    }
}

static void start(struct runner *r, struct run *run)
{
    struct err err = {0};

    if (files_claim(run, &err) != ERR_OK) {
        refuse(r, run, &err);
        return;
    }
    if (run->kind == RUN_REMOVE && run->file == NULL) {
        skip(r, run, "it has no file");
        return;
    }
    if (r->params.dry_run) {
        pretend(r, run);
        return;
    }
    open_job(r, run);
}

/* False if there may be more to start than this turn has time for. */
static bool start_some(struct runner *r)
{
    uint64_t until_ms = loop_now_ms(r->params.loop) + STARTING_MS;
    struct run *run;

    while (r->state == RUNNER_ON) {
        if (loop_now_ms(r->params.loop) >= until_ms)
            return false;
        run = hooks_next(r->params.hooks, loop_now_ms(r->params.loop));
        if (run == NULL)
            break;
        start(r, run);
        loop_update_now(r->params.loop);
    }
    return true;
}

static void log_forgotten(struct runner *r)
{
    for (size_t i = 0; i < r->params.hooks->n; i++) {
        const struct hook *h = r->params.hooks->v[i];
        bool *told = &r->forgotten_told[h->index];

        if (*told || h->last_forgotten[0] == '\0')
            continue;
        *told = true;
        log_warn("a parked DELETED is forgotten, as it is too old or they are too many: said once",
                 KV_STR("hook", h->name), KV_STR("key", h->last_forgotten),
                 KV_STR("settings", "parked_deletes, parked_age"));
    }
}

static void start_due(struct runner *r)
{
    loop_update_now(r->params.loop);
    if (!start_some(r))
        runner_kick(r);
    log_forgotten(r);
    if (r->state == RUNNER_ON)
        strays_driver_look(r->strays_driver);
    await_openings(r);
    shortage_log_check(&r->shortage, r->params.hooks);
    uint64_t due = hooks_wake_ms(r->params.hooks);
    uint64_t now = loop_now_ms(r->params.loop);
    if (r->state == RUNNER_ON && due != NEVER_MS)
        deadline_start(r->wake, due > now ? due - now : 0);
    else
        deadline_stop(r->wake);
    r->events->on_progress(r->arg); /* a hook without anything to run has had its first runs */
}

static void on_swept(void *arg)
{
    struct runner *r = arg;

    r->events->on_deliveries(r->arg);
    runner_kick(r);
}

static void on_kick(struct loop_task *task)
{
    start_due(container_of(task, struct runner, kick));
}

static void on_wake(void *arg)
{
    start_due(arg);
}

struct runner *runner_create(const struct runner_params *params, const struct runner_events *events,
                             void *arg)
{
    struct runner *r = mem_zalloc(sizeof(*r));

    r->params = *params;
    r->events = events;
    r->arg = arg;
    r->left_told = mem_array(params->hooks->n + 1, sizeof(*r->left_told));
    r->forgotten_told = mem_array(params->hooks->n + 1, sizeof(*r->forgotten_told));
    shortage_log_init(&r->shortage, params->hooks->n);
    list_init(&r->openings);
    list_init(&r->jobs);
    r->strays_driver =
        strays_driver_create(&(struct strays_driver_params){.loop = params->loop,
                                                            .link = params->link,
                                                            .hooks = params->hooks,
                                                            .timeout_ms = SWEEP_MS,
                                                            .dry_run = params->dry_run},
                             on_swept, r);
    r->hangs = deadline_create(params->loop, on_hangs, r);
    loop_task_init(&r->kick, on_kick);
    r->wake = deadline_create(params->loop, on_wake, r);
    return r;
}

void runner_begin(struct runner *r)
{
    if (r->state == RUNNER_WAITING)
        r->state = RUNNER_ON;
    runner_kick(r);
}

void runner_kick(struct runner *r)
{
    loop_defer(r->params.loop, &r->kick);
}

static struct job *find(struct runner *r, uint64_t id)
{
    list_each (pos, tmp, &r->jobs) {
        struct job *job = job_of_link(pos);

        if (job_run(job) != NULL && job_run(job)->id == id)
            return job;
    }
    return NULL;
}

void runner_exited(struct runner *r, const struct helper_link_exit *end)
{
    if (strays_driver_exited(r->strays_driver, end))
        return;
    struct job *job = find(r, end->run);

    ensure(job != NULL);
    job_exited(job, end);
}

void runner_stop(struct runner *r)
{
    r->state = RUNNER_STOPPING;
}

void runner_kill_all(struct runner *r)
{
    const struct run_result result = {.end = RUN_FAILED,
                                      .text = "not started: informerd ends",
                                      .wall_ns = loop_wall_ns(),
                                      .stopped = true};

    r->state = RUNNER_KILLING;
    list_each (pos, tmp, &r->openings) {
        struct job *job = take_opening(list_entry(pos, struct opening, link));

        r->running--;
        finish(r, job_run(job), &result);
        job_dispose(&job);
    }
    watch_oldest(r);
    list_each (pos, tmp, &r->jobs)
        job_kill(job_of_link(pos));
}

uint64_t runner_longest_grace_ms(const struct runner *r)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < r->params.hooks->n; i++)
        if (r->params.by_index[i].kill_grace_ms > longest)
            longest = r->params.by_index[i].kill_grace_ms;
    return longest;
}

size_t runner_running(const struct runner *r)
{
    return r->running;
}

void runner_dispose(struct runner **rp)
{
    struct runner *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    list_each (pos, tmp, &r->openings) {
        struct job *job = take_opening(list_entry(pos, struct opening, link));

        job_dispose(&job);
    }
    list_each (pos, tmp, &r->jobs) {
        struct job *job = job_of_link(pos);

        job_dispose(&job);
    }
    loop_cancel(&r->kick);
    deadline_dispose(&r->hangs);
    deadline_dispose(&r->wake);
    strays_driver_dispose(&r->strays_driver);
    shortage_log_fini(&r->shortage);
    free(r->left_told);
    free(r->forgotten_told);
    free(r);
}
