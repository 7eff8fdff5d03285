/* SPDX-License-Identifier: Apache-2.0 */
#include "io/runner.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "hook/shortage.h"
#include "io/deadline.h"
#include "io/job.h"
#include "io/loop.h"
#include "io/state_driver.h"
#include "io/strays_driver.h"

/* Starting runs may take this much of a turn of the loop, as making inputs of megabytes takes long;
 * then reading goes on (docs/decisions.md "Starting runs takes 5 ms of a turn of the loop"). */
#define STARTING_MS 5

/* A disk that hangs delays runs for this long, once (docs/design.md "Records on disk"). */
#define KEEPING_MS 2000

/* The time limit of the helper for removing stray files: a file system that hangs must not hold a
 * hook up for longer. */
#define SWEEP_MS 30000

/* If the timer for KEEPING_MS is late by this much, the loop stood still, which says nothing about
 * the disk. */
#define LATE_MS 500

enum runner_state {
    RUNNER_WAITING,  /* runner_begin() was not called yet */
    RUNNER_ON,       /* runs start when they are due */
    RUNNER_STOPPING, /* no run starts any more */
    RUNNER_KILLING,  /* and the runs under way are ended */
};

/* A run that has left the schedule and waits until its delivery records are on disk; then it
 * starts. Its input is made already. */
struct opening {
    struct list link;
    struct state_driver_wait wait;
    struct runner *runner;
    struct job *job;
    uint64_t since_ms; /* when it began to wait, monotonic */
};

/* The things that the runner remembers of a hook. */
struct note {
    enum shortage lacks; /* why its last run could not start */
    bool left_told;      /* the log has said that its runs leave processes behind */
    bool cleared_told;   /* and that such processes are killed */
    bool forgotten_told; /* the same: that parked ends of it are forgotten */
};

struct runner {
    struct runner_params params;
    const struct runner_events *events;
    void *arg;
    enum runner_state state;
    struct list openings;
    struct list jobs;
    /* openings, and jobs with a run; other jobs only wait for the rest of their output */
    size_t running;
    struct deadline *hangs; /* the time limit of the oldest opening */
    /* number of commits, plus 1, when the disk was found to hang; 0 = it does not hang */
    uint64_t hung_at;
    struct note *notes;              /* by hook.index */
    size_t lacking[SHORTAGE_KINDS];  /* number of hooks that lack it */
    bool short_told[SHORTAGE_KINDS]; /* the log has said so, and not yet that it is over */
    struct strays_driver *strays_driver;
    struct loop_task kick;
    struct deadline *wake; /* runs when the scheduler has something due although nothing happened */
};

/* ---- Shortages: logged when the first hook meets one, and when the last one has got over it */

/* No hook lacks it any more. */
static void tell_over(struct runner *r, enum shortage shortage)
{
    if (r->short_told[shortage] && r->lacking[shortage] == 0) {
        r->short_told[shortage] = false;
        log_info("runs can be started again", KV_STR("short_of", shortage_name(shortage)));
    }
}

/* A run was started. The hooks that lacked something may have gone with a reload before, which said nothing
 * about the system. */
static void tell_all_over(struct runner *r)
{
    for (enum shortage i = SHORTAGE_NONE + 1; i < SHORTAGE_KINDS; i++)
        tell_over(r, i);
}

/* The shortage of the hook does not count any more. */
static void drop_shortage(struct runner *r, const struct hook *h)
{
    enum shortage lacks = r->notes[h->index].lacks;

    r->notes[h->index].lacks = SHORTAGE_NONE;
    if (lacks != SHORTAGE_NONE)
        r->lacking[lacks]--;
}

/* The shortage of the hook is over. */
static void end_shortage(struct runner *r, const struct hook *h)
{
    enum shortage lacks = r->notes[h->index].lacks;

    drop_shortage(r, h);
    tell_over(r, lacks);
}

/* A run of the hook could not be started. The hook may have lacked another resource before. */
static void begin_shortage(struct runner *r, const struct hook *h, enum shortage shortage,
                           const char *result)
{
    /* Constant texts, as an operator looks for them. */
    static const char *const messages[SHORTAGE_KINDS] = {
        "",
        "cannot start runs: out of descriptors",
        "cannot start runs: out of processes",
        "cannot start runs: out of memory",
    };

    if (r->notes[h->index].lacks == shortage)
        return;
    end_shortage(r, h);
    r->notes[h->index].lacks = shortage;
    r->lacking[shortage]++;
    if (!r->short_told[shortage])
        log_warn(messages[shortage], KV_STR("short_of", shortage_name(shortage)),
                 KV_STR("hook", h->name), KV_STR("result", result),
                 KV_STR("advice", shortage_advice(shortage)));
    r->short_told[shortage] = true;
}

/* Looks for hooks that have got over their shortage: each of their work items that were not started
 * has run since, or has nothing due any more. Called after every run: without a shortage it must
 * cost nothing. */
static void check_shortages(struct runner *r)
{
    size_t any = 0;

    for (size_t i = SHORTAGE_NONE + 1; i < SHORTAGE_KINDS; i++)
        any += r->lacking[i];
    for (size_t i = 0; any > 0 && i < r->params.hooks->n; i++)
        if (hook_not_started(r->params.hooks->v[i]) == 0)
            end_shortage(r, r->params.hooks->v[i]);
}

/* ---- Ends of runs */

/* The hooks of a run of apply that several share. */
static struct kv kv_hooks(const struct history_run *ended)
{
    return ended->hooks != NULL ? KV_STR("hooks", ended->hooks) : (struct kv){.type = KV_TYPE_NONE};
}

/* Logs a run that succeeded. A single run is one of many and is logged for debugging only; but
 * people look for the line that a burst of files has taken effect, or that a failure is over. */
static void log_success(const struct hook *h, const struct history_run *ended, bool was_failing)
{
    const struct kv *fields =
        LOG_FIELDS(KV_STR("hook", h->name), KV_STR("key", ended->key), KV_U64("run", ended->id),
                   KV_MS("took", ended->took_ms), kv_hooks(ended));

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
             retry_ms != NEVER_MS ? KV_MS("retry_in", retry_ms) : (struct kv){.type = KV_TYPE_NONE},
             kv_hooks(ended));
}

/* Tells of the run, for each hook that it was for: it is the newest one in its history. */
static void tell_result(struct runner *r, uint64_t id)
{
    for (size_t i = 0; i < r->params.hooks->n; i++) {
        const struct hook *h = r->params.hooks->v[i];

        if (h->history.n > 0 && history_get(&h->history, 0)->id == id)
            r->events->on_result(r->arg, h, history_get(&h->history, 0));
    }
}

/* The run has ended. A run that the system could not start says nothing about its hook: only the
 * shortage is logged, and the history does not get it. on_deliveries comes after hooks_finish(),
 * which changes the delivery records. */
static void finish(struct runner *r, struct run *run, const struct run_result *result)
{
    const struct hook *h = run->hook;
    bool was_failing = h->last_error[0] != '\0';
    enum shortage shortage = shortage_of(&result->end);
    struct hooks_verdict v =
        hooks_finish(r->params.hooks, run, result, loop_now_ms(r->params.loop));

    if (shortage != SHORTAGE_NONE) {
        begin_shortage(r, h, shortage, result->text);
    } else {
        const struct history_run *ended = history_get(&h->history, 0);

        tell_all_over(r);
        if (ended->outcome == HISTORY_OK)
            log_success(h, ended, was_failing);
        else
            log_failure(h, ended, v.retry_ms);
        if (r->events->on_result != NULL && ended->hooks != NULL)
            tell_result(r, ended->id);
        else if (r->events->on_result != NULL)
            r->events->on_result(r->arg, h, ended);
    }
    check_shortages(r);
    r->events->on_deliveries(r->arg);
    r->events->on_progress(r->arg);
}

/* Logs processes that the run left behind: after a success once per hook, because a hook that means
 * to leave them does so every time; after a failure every time, as they could not be killed. */
static void log_left(struct runner *r, const struct run *run, const struct run_end *end)
{
    bool *told = &r->notes[run->hook->index].left_told;
    bool well = end->kind == RUN_END_EXITED && end->value == 0 && !end->killed;
    /* Status 0 after a kill signal is a success, too, unless the signal was sent for the timeout or
     * for too much output. */
    bool good = well || run_end_is_good(end);

    if (end->left == 0 || (good && *told))
        return;
    *told = *told || good;
    log_warn(good ? "hook left processes running (logged once per hook)"
                  : "processes of a failed hook could not be killed",
             KV_STR("hook", run->hook->name), KV_STR("key", run_key(run)), KV_U64("run", run->id),
             KV_U64("processes", end->left), KV_INT("pid", end->left_pid),
             KV_STR("program", end->left_comm));
}

/* Logs once per hook that processes of good runs are killed (leave = "kill"): a program that people miss may
 * be one of them. */
static void log_cleared(struct runner *r, const struct run *run, const struct run_end *end)
{
    struct note *n = &r->notes[run->hook->index];

    if (end->cleared == 0 || n->cleared_told)
        return;
    n->cleared_told = true;
    log_info("processes that a good run left were killed, as `leave` says (logged once per hook)",
             KV_STR("hook", run->hook->name), KV_STR("key", run_key(run)), KV_U64("run", run->id),
             KV_U64("processes", end->cleared));
}

/* A job has ended its run. */
static void on_over(void *arg, struct run *run, struct run_result *result)
{
    struct runner *r = arg;

    r->running--;
    log_left(r, run, &result->end);
    log_cleared(r, run, &result->end);
    /* before on_deliveries defers the turn of the state driver: so the records of the runs that
     * start next are in the same commit */
    runner_kick(r);
    finish(r, run, result);
}

static void on_gone(void *arg, struct job *job)
{
    (void)arg;
    job_dispose(&job);
}

/* The job could not be made. A run that cannot get its `fields` or its file would fail again and is
 * parked; a run that the system was too short for is tried again. */
static void refuse(struct runner *r, struct run *run, const struct err *err)
{
    enum run_stage stage = err->kind == ERR_IO ? RUN_STAGE_MEMORY_FILE : RUN_STAGE_FIELDS;
    const struct run_result result = {
        .end = run_end_refused(RUN_PROGRAM_COMMAND, stage, err->code),
        .text = err->text,
        .wall_ns = loop_wall_ns(),
    };

    finish(r, run, &result);
}

/* Ends a run as handled without starting a program. */
static void skip(struct runner *r, struct run *run, const char *text)
{
    static const enum run_stage became[] = {RUN_STAGE_WRITTEN, RUN_STAGE_REMOVED, RUN_STAGE_NONE,
                                            RUN_STAGE_WRITTEN};
    const struct run_result result = {
        .end.stage = files_count(run) > 0 ? became[run->kind] : RUN_STAGE_NONE,
        .text = text,
        .wall_ns = loop_wall_ns(),
    };

    finish(r, run, &result);
}

/* --dry-run: logs the run and counts it as handled, so that each due run is logged once. */
static void pretend(struct runner *r, struct run *run)
{
    static const char *const what[] = {"would run hook", "would remove a file", "would apply",
                                       "would write files"};
    static const char *const becomes[] = {"writes", "removes", "", ""};
    const struct run_event *re = run_keyed(run);

    log_info(what[run->kind], KV_STR("hook", run->hook->name), KV_STR("key", run_key(run)),
             KV_STR("event", re != NULL ? delta_type_name(re->ev.type) : ""),
             KV_STR("reason", run_reason_name(run->reason)), KV_U64("events", run->event_count),
             run->file != NULL ? KV_STR(becomes[run->kind], run->file)
                               : (struct kv){.type = KV_TYPE_NONE},
             run->members != NULL ? KV_U64("files", files_count(run))
                                  : (struct kv){.type = KV_TYPE_NONE});
    skip(r, run, "not started: --dry-run");
}

static void start_job(struct runner *r, struct job *job)
{
    list_append(&r->jobs, job_link(job));
    job_start(job);
}

/* Ends the wait of an opening and frees it. */
static struct job *take_opening(struct opening *o)
{
    struct job *job = o->job;

    list_remove(&o->link);
    state_driver_cancel(&o->wait);
    free(o);
    return job;
}

/* Starts a run that has waited: its start time is now, so that min_interval counts from the start
 * of its program. */
static void begin(struct runner *r, struct job *job)
{
    hooks_began(job_run(job), loop_now_ms(r->params.loop));
    start_job(r, job);
}

/* Sets the timer for the oldest opening, which is the first one on the list. */
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

/* The records are committed, or the disk does not take them. */
static void on_kept(struct state_driver_wait *wait, bool durable)
{
    struct opening *o = container_of(wait, struct opening, wait);
    struct runner *r = o->runner;

    (void)durable; /* it starts without a record, too: docs/design.md "Records on disk" */
    begin(r, take_opening(o));
    watch_oldest(r);
}

/* Whether the process, and not the disk, stood still. Then the commit may be done, but the loop
 * runs timers before it sees that the worker has ended: all openings get the whole time again. */
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

/* The disk hangs: all openings start now, and no run waits again before a commit has shown that the
 * disk works. */
static void on_hangs(void *arg)
{
    struct runner *r = arg;

    if (stood_still(r))
        return;
    log_warn("state not written in time: hooks run without it, and runs from now on may be "
             "repeated after a crash",
             KV_MS("waited", KEEPING_MS));
    /* plus 1: the first commit from now on ends this */
    r->hung_at = state_driver_status(r->params.state_driver).commits + 1;
    list_each (pos, tmp, &r->openings)
        begin(r, take_opening(list_entry(pos, struct opening, link)));
}

/* Whether a run is to wait for its records: only if a state is written, and the disk was not found
 * to hang. */
static bool can_wait(struct runner *r)
{
    struct state_driver_status s = state_driver_status(r->params.state_driver);

    if (r->hung_at > s.commits)
        return false;
    r->hung_at = 0;
    return s.is_kept;
}

/* Makes the job of a run, with its input, and starts it at once or lets it wait for its records
 * (docs/decisions.md "The input of a run is made before the wait for its records"). */
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

/* Has the records of all runs that left the schedule in this turn committed together, and lets the
 * openings wait for that commit. */
static void await_openings(struct runner *r)
{
    r->events->on_deliveries(r->arg);
    list_each (pos, tmp, &r->openings) {
        struct opening *o = list_entry(pos, struct opening, link);

        if (list_is_empty(&o->wait.link))
            state_driver_await(r->params.state_driver, &o->wait);
    }
}

/* A run that the scheduler has handed out: decides which file it is about, and whether a program
 * runs for it. */
static void start(struct runner *r, struct run *run)
{
    struct err err = {0};

    if (files_claim(run, &err) != ERR_OK) {
        refuse(r, run, &err);
        return;
    }
    if (files_count(run) == 0 && (run->kind == RUN_REMOVE || run->kind == RUN_WRITE)) {
        skip(r, run, run->kind == RUN_REMOVE ? "no file to remove" : "no file to write");
        return;
    }
    if (r->params.dry_run) {
        pretend(r, run);
        return;
    }
    open_job(r, run);
}

/* Changes the state, and with it the answer of `why` for hooks that are due. */
static void enter(struct runner *r, enum runner_state state)
{
    static const enum hooks_phase phases[] = {[RUNNER_WAITING] = HOOKS_STARTING,
                                              [RUNNER_ON] = HOOKS_RUN,
                                              [RUNNER_STOPPING] = HOOKS_STOPPING,
                                              [RUNNER_KILLING] = HOOKS_STOPPING};

    r->state = state;
    r->params.hooks->phase = phases[state];
}

/* Starts due runs. False: the time for this turn is over, and more runs may be due. */
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

/* A parked end that is forgotten is never delivered: the log says so once per hook, the status
 * counts them. */
static void log_forgotten(struct runner *r)
{
    for (size_t i = 0; i < r->params.hooks->n; i++) {
        const struct hook *h = r->params.hooks->v[i];
        bool *told = &r->notes[h->index].forgotten_told;

        if (*told || h->last_forgotten[0] == '\0')
            continue;
        *told = true;
        log_warn(
            "parked DELETED forgotten: it is too old or there are too many (logged once per hook)",
            KV_STR("hook", h->name), KV_STR("key", h->last_forgotten),
            KV_STR("settings", "parked_deletes, parked_age"));
    }
}

/* Starts all that is due, sets the timer for the next time, and asks the scheduler again in the
 * next turn if there was too much. Stray files go before await_openings(), whose on_deliveries
 * takes their records along. */
static void start_due(struct runner *r)
{
    loop_update_now(r->params.loop);
    if (!start_some(r))
        runner_kick(r);
    log_forgotten(r);
    if (r->state == RUNNER_ON)
        strays_driver_look(r->strays_driver);
    await_openings(r);
    check_shortages(r);
    uint64_t due = hooks_wake_ms(r->params.hooks);
    uint64_t now = loop_now_ms(r->params.loop);
    if (r->state == RUNNER_ON && due != NEVER_MS)
        deadline_start(r->wake, due > now ? due - now : 0);
    else
        deadline_stop(r->wake);
    /* a hook that has nothing to run has had its first runs by now */
    r->events->on_progress(r->arg);
}

/* Stray files are removed: their records go to disk, and their hook may run again. */
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

static void make_strays_driver(struct runner *r)
{
    const struct strays_driver_params p = {.loop = r->params.loop,
                                           .link = r->params.link,
                                           .hooks = r->params.hooks,
                                           .timeout_ms = SWEEP_MS,
                                           .dry_run = r->params.dry_run};

    r->strays_driver = strays_driver_create(&p, on_swept, r);
}

struct runner *runner_create(const struct runner_params *params, const struct runner_events *events,
                             void *arg)
{
    struct runner *r = mem_zalloc(sizeof(*r));

    r->params = *params;
    r->events = events;
    r->arg = arg;
    r->notes = mem_array(params->hooks->n + 1, sizeof(*r->notes));
    list_init(&r->openings);
    list_init(&r->jobs);
    make_strays_driver(r);
    r->hangs = deadline_create(params->loop, on_hangs, r);
    loop_task_init(&r->kick, on_kick);
    r->wake = deadline_create(params->loop, on_wake, r);
    enter(r, RUNNER_WAITING);
    return r;
}

void runner_begin(struct runner *r)
{
    if (r->state == RUNNER_WAITING)
        enter(r, RUNNER_ON);
    runner_kick(r);
}

void runner_kick(struct runner *r)
{
    loop_defer(r->params.loop, &r->kick);
}

void runner_stop(struct runner *r)
{
    enter(r, RUNNER_STOPPING);
}

/* run NULL: the job only waits for the rest of its output. */
static bool is_of(const struct run *run, runner_pick_cb *picks, const void *arg)
{
    bool is = run != NULL && picks(arg, run->hook);

    for (size_t i = 0; !is && run != NULL && i < run->other_count; i++)
        is = picks(arg, run->others[i].hook);
    return is;
}

/* No program of it was started. */
static void end_opening(struct opening *o, const char *why)
{
    const struct run_result result = {
        .end.cut = RUN_CUT_GIVEN_UP, .text = why, .wall_ns = loop_wall_ns(), .stopped = true};
    struct runner *r = o->runner;
    struct job *job = take_opening(o);

    watch_oldest(r);
    r->running--;
    finish(r, job_run(job), &result);
    job_dispose(&job);
}

/* Ends runs as stopped. */
static void kill_runs(struct runner *r, runner_pick_cb *picks, const void *arg, const char *why)
{
    list_each (pos, tmp, &r->openings) {
        struct opening *o = list_entry(pos, struct opening, link);

        if (is_of(job_run(o->job), picks, arg))
            end_opening(o, why);
    }
    list_each (pos, tmp, &r->jobs) {
        struct job *job = job_of_link(pos);

        if (is_of(job_run(job), picks, arg))
            job_kill(job);
    }
}

static bool is_any(const void *arg, const struct hook *h)
{
    (void)arg;
    (void)h;
    return true;
}

void runner_kill_all(struct runner *r)
{
    enter(r, RUNNER_KILLING);
    kill_runs(r, is_any, NULL, "not started: informerd ends");
}

void runner_kill(struct runner *r, runner_pick_cb *picks, const void *arg)
{
    kill_runs(r, picks, arg, "not started: a reload changes the hook");
}

/* ---- A reload. */

bool runner_is_sweeping(const struct runner *r)
{
    return strays_driver_is_on(r->strays_driver);
}

void runner_before_change(struct runner *r)
{
    for (size_t i = 0; i < r->params.hooks->n; i++)
        if (r->params.hooks->v[i]->stage == HOOK_RETIRES)
            drop_shortage(r, r->params.hooks->v[i]);
    strays_driver_dispose(&r->strays_driver);
}

void runner_after_renewal(struct runner *r)
{
    make_strays_driver(r);
    runner_kick(r);
}

void runner_change(struct runner *r, const struct runner_hook *by_index, const size_t *was,
                   size_t n)
{
    struct note *notes = mem_array(n + 1, sizeof(*notes));

    for (size_t i = 0; i < n; i++)
        if (was[i] != SIZE_MAX)
            notes[i] = r->notes[was[i]];
    free(r->notes);
    r->notes = notes;
    r->params.by_index = by_index;
    list_each (pos, tmp, &r->openings)
        job_change(list_entry(pos, struct opening, link)->job);
    list_each (pos, tmp, &r->jobs)
        job_change(job_of_link(pos));
    make_strays_driver(r);
    runner_kick(r);
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

size_t runner_running_of(const struct runner *r, runner_pick_cb *picks, const void *arg)
{
    size_t n = 0;

    list_each (pos, tmp, &r->openings)
        n += is_of(job_run(list_entry(pos, struct opening, link)->job), picks, arg);
    list_each (pos, tmp, &r->jobs)
        n += is_of(job_run(job_of_link(pos)), picks, arg);
    return n;
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
    free(r->notes);
    free(r);
}
