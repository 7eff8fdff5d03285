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

enum runner_state { RUNNER_ON, RUNNER_STOPPING };

struct runner {
    struct runner_params params;
    const struct runner_events *events;
    void *arg;
    enum runner_state state;
    struct list jobs;
    size_t running; /* jobs with a run; the others linger for their output */
    struct loop_task kick;
    struct deadline *wake; /* when the schedule has something although nothing happened */
};

static void finish(struct runner *r, struct run *run, bool ok, const char *text)
{
    struct run_result result = {.ok = ok, .text = text};
    const char *hook = run->hook->name;
    char *key = mem_strdup(run->hook->mode == HOOK_OBJECT ? run->events[0].entry->key : "");
    uint64_t id = run->id;
    uint64_t lived = loop_now_ms(r->params.loop) - run->started_ms;
    unsigned attempt = run->attempt;
    uint64_t retry = hooks_finish(r->params.hooks, run, &result, loop_now_ms(r->params.loop));

    if (ok)
        log_debug("hook done", KV_STR("hook", hook), KV_STR("key", key), KV_U64("run", id),
                  KV_MS("took", lived));
    else
        log_warn("hook failed", KV_STR("hook", hook), KV_STR("key", key), KV_U64("run", id),
                 KV_STR("result", text), KV_INT("attempt", attempt),
                 retry != NEVER_MS ? KV_MS("retry_in", retry) : (struct kv){.type = KV_TYPE_NONE});
    free(key);
    r->events->on_progress(r->arg);
}

static void on_gone(void *arg, struct job *job)
{
    (void)arg;
    job_dispose(&job);
}

static void start(struct runner *r, struct run *run)
{
    static const struct job_events events = {on_gone};
    struct job *job;
    struct err err = {0};

    if (job_start(&r->params, run, &events, r, &job, &err) != ERR_OK) {
        finish(r, run, false, err.text);
        return;
    }
    list_append(&r->jobs, job_link(job));
    r->running++;
}

static void start_due(struct runner *r)
{
    struct run *run;

    loop_update_now(r->params.loop);
    while (r->state == RUNNER_ON &&
           (run = hooks_next(r->params.hooks, loop_now_ms(r->params.loop))) != NULL)
        start(r, run);
    uint64_t due = hooks_wake_ms(r->params.hooks);
    uint64_t now = loop_now_ms(r->params.loop);
    if (r->state == RUNNER_ON && due != NEVER_MS)
        deadline_start(r->wake, due > now ? due - now : 0);
    else
        deadline_stop(r->wake);
    r->events->on_progress(r->arg); /* a hook without anything to run has had its first runs */
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
    list_init(&r->jobs);
    loop_task_init(&r->kick, on_kick);
    r->wake = deadline_create(params->loop, on_wake, r);
    return r;
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
    struct job *job = find(r, end->run);
    char text[200];

    ensure(job != NULL);
    struct run *run = job_run(job);
    bool ok = job_exited(job, end, text, sizeof(text));
    r->running--;
    finish(r, run, ok, text);
    runner_kick(r);
}

void runner_stop(struct runner *r)
{
    r->state = RUNNER_STOPPING;
}

void runner_kill_all(struct runner *r)
{
    list_each (pos, tmp, &r->jobs)
        job_kill(job_of_link(pos));
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
    list_each (pos, tmp, &r->jobs) {
        struct job *job = job_of_link(pos);

        job_dispose(&job);
    }
    loop_cancel(&r->kick);
    deadline_dispose(&r->wake);
    free(r);
}
