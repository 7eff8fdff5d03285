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

enum job_state {
    JOB_RUNNING,
    JOB_TERMINATING, /* kill_signal was sent; SIGKILL follows */
    JOB_KILLED,      /* SIGKILL was sent */
    JOB_ENDED,       /* the process is gone; its output lingers */
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
    struct capture *out;
    struct capture *err;
    struct deadline *deadline; /* of the state */
    const struct job_events *events;
    void *arg;
};

static void log_line(struct job *j, const char *stream, struct str line)
{
    log_info("hook output", KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
             KV_STR("stream", stream), KV_VIEW("line", line));
}

static void on_out_line(void *arg, struct str line)
{
    log_line(arg, "stdout", line);
}

static void on_err_line(void *arg, struct str line)
{
    log_line(arg, "stderr", line);
}

static void close_capture(struct job *j, struct capture **c, const char *stream)
{
    uint64_t dropped = capture_dispose(c);

    if (dropped > 0)
        log_warn("hook output over the limit was dropped", KV_STR("hook", j->name),
                 KV_STR("key", j->key), KV_U64("run", j->id), KV_STR("stream", stream),
                 KV_U64("bytes", dropped));
}

static void check_gone(struct job *j)
{
    if (j->state == JOB_ENDED && j->out == NULL && j->err == NULL)
        j->events->on_gone(j->arg, j);
}

static void on_out_eof(void *arg)
{
    struct job *j = arg;

    close_capture(j, &j->out, "stdout");
    check_gone(j);
}

static void on_err_eof(void *arg)
{
    struct job *j = arg;

    close_capture(j, &j->err, "stderr");
    check_gone(j);
}

static void enter(struct job *j, enum job_state state)
{
    j->state = state;
    switch (state) {
    case JOB_RUNNING:
        deadline_start(j->deadline, j->hook->timeout_ms);
        break;
    case JOB_TERMINATING:
        helper_link_kill(j->params->link, j->id, j->hook->kill_signal);
        deadline_start(j->deadline, j->hook->kill_grace_ms);
        break;
    case JOB_KILLED:
        helper_link_kill(j->params->link, j->id, SIGKILL);
        break;
    case JOB_ENDED:
        deadline_start(j->deadline, LINGER_MS);
        break;
    }
}

static void on_deadline(void *arg)
{
    struct job *j = arg;

    switch (j->state) {
    case JOB_RUNNING:
        j->timed_out = true;
        enter(j, JOB_TERMINATING);
        break;
    case JOB_TERMINATING:
        enter(j, JOB_KILLED);
        break;
    case JOB_ENDED:
        close_capture(j, &j->out, "stdout");
        close_capture(j, &j->err, "stderr");
        check_gone(j);
        break;
    case JOB_KILLED:
        break;
    }
}

static enum err_kind open_output(struct job *j, int fds[3], struct err *err)
{
    static const struct capture_events out_events = {on_out_line, on_out_eof};
    static const struct capture_events err_events = {on_err_line, on_err_eof};
    uint64_t limit = j->params->log_limit;
    struct loop *loop = j->params->loop;

    if (capture_create(loop, limit, &out_events, j, &j->out, err) != ERR_OK ||
        capture_create(loop, limit, &err_events, j, &j->err, err) != ERR_OK)
        return err->kind;
    fds[1] = capture_take_writer(j->out);
    fds[2] = capture_take_writer(j->err);
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

static void launch(struct job *j, const int fds[3])
{
    struct buf env = {0};

    payload_put_env(&env, &j->params->context, j->run);
    helper_link_run(j->params->link, j->id, (uint32_t)j->run->hook->index, buf_str(&env), fds);
    buf_free(&env);
    enter(j, JOB_RUNNING);
    log_debug("hook started", KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
              KV_INT("attempt", j->run->attempt));
}

enum err_kind job_start(const struct runner_params *params, struct run *run,
                        const struct job_events *events, void *arg, struct job **out,
                        struct err *err)
{
    struct job *j = mem_zalloc(sizeof(*j));
    int fds[3] = {-1, -1, -1};

    list_init(&j->link);
    j->params = params;
    j->hook = &params->by_index[run->hook->index];
    j->run = run;
    j->id = run->id;
    j->name = mem_strdup(run->hook->name);
    j->key = mem_strdup(run->hook->mode == HOOK_OBJECT ? run->events[0].entry->key : "");
    j->events = events;
    j->arg = arg;
    j->deadline = deadline_create(params->loop, on_deadline, j);
    if (open_input(j, fds, err) == ERR_OK && open_output(j, fds, err) == ERR_OK) {
        launch(j, fds);
        *out = j;
        return ERR_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    job_dispose(&j);
    return err->kind;
}

struct run *job_run(const struct job *j)
{
    return j->run;
}

void job_kill(struct job *j)
{
    if (j->state == JOB_RUNNING)
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

bool job_exited(struct job *j, const struct helper_link_exit *end, char *text, size_t n)
{
    bool ok = end->how == HELPER_LINK_EXITED && end->value == 0 && !j->timed_out;

    if (j->out != NULL)
        capture_drain(j->out);
    if (j->err != NULL)
        capture_drain(j->err);
    describe(j, end, text, n);
    j->run = NULL;
    enter(j, JOB_ENDED);
    if (j->out == NULL && j->err == NULL)
        deadline_start(j->deadline, 0); /* on_gone comes from the loop */
    return ok;
}

void job_dispose(struct job **jp)
{
    struct job *j = *jp;

    if (j == NULL)
        return;
    *jp = NULL;
    list_remove(&j->link);
    close_capture(j, &j->out, "stdout");
    close_capture(j, &j->err, "stderr");
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
