/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/capture.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io/memfile.h"

/* What a run left behind may hold its pipes open; its last lines are waited for so long. */
#define LINGER_MS 1000

/* Most runs end within; until then nobody waits for what they print. */
#define YOUNG_MS 20

enum job_state {
    JOB_YOUNG,
    JOB_RUNNING,
    JOB_TERMINATING, /* kill_signal was sent; SIGKILL follows */
    JOB_KILLED,      /* SIGKILL was sent */
    JOB_ENDED,       /* the process is gone; its output lingers */
};

enum { JOB_STREAMS = 2 };

/* What it prints to stdout or to stderr. */
struct job_stream {
    struct job *job;
    const char *name;
    struct capture *capture; /* NULL once it is over */
    struct buf tail;         /* the last of it, once it is over */
    uint64_t dropped;
};

struct job {
    struct list link;
    enum job_state state;
    bool timed_out;
    const struct runner_params *params;
    const struct runner_hook *hook;
    struct run *run; /* NULL once ENDED */
    uint64_t id;
    char *name; /* of the hook, and of the key: the lines may outlive the run */
    char *key;
    struct job_stream streams[JOB_STREAMS];
    struct deadline *deadline; /* of the state */
    char text[200];            /* how it ended */
    const struct job_events *events;
    void *arg;
};

static void on_line(void *arg, struct str line)
{
    const struct job_stream *s = arg;

    log_info("hook output", KV_STR("hook", s->job->name), KV_STR("key", s->job->key),
             KV_U64("run", s->job->id), KV_STR("stream", s->name), KV_VIEW("line", line));
}

static void end_stream(struct job_stream *s)
{
    if (s->capture == NULL)
        return;
    buf_append_str(&s->tail, capture_tail(s->capture));
    s->dropped = capture_dispose(&s->capture);
    if (s->dropped > 0)
        log_warn("hook output over log_limit was dropped", KV_STR("hook", s->job->name),
                 KV_STR("key", s->job->key), KV_U64("run", s->job->id), KV_STR("stream", s->name),
                 KV_U64("bytes", s->dropped));
}

static bool is_silent(const struct job *j)
{
    return j->streams[0].capture == NULL && j->streams[1].capture == NULL;
}

static void check_gone(struct job *j)
{
    if (j->state == JOB_ENDED && is_silent(j))
        j->events->on_gone(j->arg, j);
}

static void on_eof(void *arg)
{
    struct job_stream *s = arg;

    end_stream(s);
    check_gone(s->job);
}

static uint64_t young_ms(const struct job *j)
{
    return j->hook->timeout_ms < YOUNG_MS ? j->hook->timeout_ms : YOUNG_MS;
}

static void watch_output(struct job *j)
{
    for (size_t i = 0; i < JOB_STREAMS; i++)
        if (j->streams[i].capture != NULL)
            capture_watch(j->streams[i].capture);
}

static void enter(struct job *j, enum job_state state)
{
    j->state = state;
    switch (state) {
    case JOB_YOUNG:
        deadline_start(j->deadline, young_ms(j));
        break;
    case JOB_RUNNING:
        watch_output(j);
        deadline_start(j->deadline, j->hook->timeout_ms - young_ms(j));
        break;
    case JOB_TERMINATING:
        watch_output(j);
        helper_link_kill(j->params->link, j->id, j->hook->kill_signal);
        deadline_start(j->deadline, j->hook->kill_grace_ms);
        break;
    case JOB_KILLED:
        helper_link_kill(j->params->link, j->id, SIGKILL);
        break;
    case JOB_ENDED:
        watch_output(j);
        deadline_start(j->deadline, LINGER_MS);
        break;
    }
}

static void on_deadline(void *arg)
{
    struct job *j = arg;

    switch (j->state) {
    case JOB_YOUNG:
        enter(j, JOB_RUNNING);
        break;
    case JOB_RUNNING:
        j->timed_out = true;
        enter(j, JOB_TERMINATING);
        break;
    case JOB_TERMINATING:
        enter(j, JOB_KILLED);
        break;
    case JOB_ENDED:
        end_stream(&j->streams[0]);
        end_stream(&j->streams[1]);
        check_gone(j);
        break;
    case JOB_KILLED:
        break;
    }
}

static enum err_kind open_output(struct job *j, int fds[3], struct err *err)
{
    static const struct capture_events events = {on_line, on_eof};
    static const char *const names[JOB_STREAMS] = {"stdout", "stderr"};

    for (size_t i = 0; i < JOB_STREAMS; i++) {
        struct job_stream *s = &j->streams[i];

        s->job = j;
        s->name = names[i];
        if (capture_create(j->params->loop, j->hook->log_limit, &events, s, &s->capture, err) !=
            ERR_OK)
            return err->kind;
        fds[i + 1] = capture_take_writer(s->capture);
    }
    return ERR_OK;
}

static enum err_kind open_input(struct job *j, int fds[3], struct err *err)
{
    struct buf json = {0};

    payload_put_json(&json, &j->params->context, j->run, loop_now_ms(j->params->loop));
    enum err_kind kind = memfile_create("informerd-input", buf_str(&json), &fds[0], err);
    buf_free(&json);
    return kind;
}

static void launch(struct job *j, struct str env, const int fds[3])
{
    helper_link_run(j->params->link, j->id, (uint32_t)j->run->hook->index, env, fds);
    enter(j, JOB_YOUNG);
    log_debug("hook started", KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
              KV_INT("attempt", j->run->attempt));
}

static struct job *create(const struct runner_params *params, struct run *run,
                          const struct job_events *events, void *arg)
{
    struct job *j =
        MEM_NEW(struct job, .params = params, .hook = &params->by_index[run->hook->index],
                .run = run, .id = run->id, .events = events, .arg = arg);

    list_init(&j->link);
    j->name = mem_strdup(run->hook->name);
    j->key = mem_strdup(run_key(run));
    j->deadline = deadline_create(params->loop, on_deadline, j);
    return j;
}

enum err_kind job_start(const struct runner_params *params, struct run *run,
                        const struct job_events *events, void *arg, struct job **out,
                        struct err *err)
{
    struct job *j = create(params, run, events, arg);
    int fds[3] = {-1, -1, -1};
    struct buf env = {0};
    enum err_kind kind = payload_put_env(&env, &params->context, run, err);

    if (kind == ERR_OK)
        kind = open_input(j, fds, err);
    if (kind == ERR_OK)
        kind = open_output(j, fds, err);
    if (kind == ERR_OK)
        launch(j, buf_str(&env), fds);
    buf_free(&env);
    *out = j;
    if (kind == ERR_OK)
        return ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    job_dispose(out);
    return kind;
}

struct run *job_run(const struct job *j)
{
    return j->run;
}

void job_kill(struct job *j)
{
    if (j->state == JOB_YOUNG || j->state == JOB_RUNNING)
        enter(j, JOB_TERMINATING);
}

static void describe(const struct job *j, const struct helper_link_exit *end, char *text, size_t n)
{
    char how[160];

    if (end->how == HELPER_LINK_NOT_STARTED)
        snprintf(how, sizeof(how), "%s could not be started: %s: %s", j->hook->program, end->stage,
                 strerror(end->value));
    else if (end->how == HELPER_LINK_SIGNALED)
        snprintf(how, sizeof(how), "killed by signal %d (%s)", end->value, strsignal(end->value));
    else
        snprintf(how, sizeof(how), "exit status %d", end->value);
    if (j->timed_out)
        snprintf(text, n, "timeout after %" PRIu64 " ms: %s", j->hook->timeout_ms, how);
    else
        snprintf(text, n, "%s", how);
}

/* What there is to read now comes before the result. */
static struct str drain(struct job_stream *s)
{
    if (s->capture != NULL && capture_drain(s->capture))
        end_stream(s);
    return s->capture != NULL ? capture_tail(s->capture) : buf_str(&s->tail);
}

static uint64_t dropped(const struct job_stream *s)
{
    return s->capture != NULL ? capture_dropped(s->capture) : s->dropped;
}

void job_exited(struct job *j, const struct helper_link_exit *end, struct run_result *result)
{
    bool exited = end->how == HELPER_LINK_EXITED && !j->timed_out;
    struct str out = drain(&j->streams[0]);
    struct str err = drain(&j->streams[1]);

    describe(j, end, j->text, sizeof(j->text));
    *result = (struct run_result){
        .end = exited ? RUN_EXITED : RUN_FAILED,
        .status = end->value,
        .text = j->text,
        .wall_ns = loop_wall_ns(),
        .cpu_us = end->cpu_us,
        .out = out,
        .err = err,
        .dropped = dropped(&j->streams[0]) + dropped(&j->streams[1]),
    };
    j->run = NULL;
}

void job_let_go(struct job *j)
{
    if (!is_silent(j))
        enter(j, JOB_ENDED);
    else
        j->events->on_gone(j->arg, j);
}

void job_dispose(struct job **jp)
{
    struct job *j = *jp;

    if (j == NULL)
        return;
    *jp = NULL;
    list_remove(&j->link);
    for (size_t i = 0; i < JOB_STREAMS; i++) {
        end_stream(&j->streams[i]);
        buf_free(&j->streams[i].tail);
    }
    deadline_dispose(&j->deadline);
    free(j->name);
    free(j->key);
    free(j);
}

struct list *job_link(struct job *j)
{
    return &j->link;
}

struct job *job_of_link(struct list *link)
{
    return list_entry(link, struct job, link);
}
