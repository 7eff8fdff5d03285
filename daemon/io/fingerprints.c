/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fingerprints.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"

/* AT_ONCE: reads that are under way at a time: each one is a process of the helper. AGAIN_MS: until a killed
 * one has ended, usually. */
enum { AT_ONCE = 8, AGAIN_MS = 50 };

enum ask_state {
    ASK_WAITING,  /* the helper was not asked yet */
    ASK_READING,  /* a process of the helper reads the hook's files */
    ASK_REFUSED,  /* processes of killed readings have not ended: it is asked again */
    ASK_DUE,      /* there is a digest or an error: on_digest is due */
    ASK_ANSWERED, /* on_digest has run */
};

/* The question about one hook. */
struct ask {
    struct fingerprints *of;
    enum ask_state state;
    struct helper_run run;
    int fd; /* READING: our end of the pipe that the answer comes through */
    struct digest_forms digest;
    struct err err; /* kind OK = digest holds the answer */
};

struct fingerprints {
    struct fingerprints_params params;
    const struct fingerprints_events *events;
    void *arg;
    struct ask *asks;
    size_t reading;
    struct loop_task turn;
    struct deadline *timer;
    struct deadline *again; /* to ask those again that were refused */
};

/* The read is over, with an answer or an error: on_turn() goes on with it. */
static void settle(struct ask *a, enum ask_state state)
{
    struct fingerprints *f = a->of;

    if (a->state == ASK_READING) {
        helper_run_forget(&a->run);
        close(a->fd);
        f->reading--;
    }
    a->state = state;
    loop_defer(f->params.loop, &f->turn);
}

static void fail(struct ask *a, const char *what, int error)
{
    err_set(&a->err, ERR_IO, error, "its program and files cannot be read: %s: %s", what,
            strerrordesc_np(error));
}

/* Asks the helper about one hook: its answer is a struct digest_forms. */
static void begin(struct ask *a)
{
    struct fingerprints *f = a->of;

    a->fd = helper_link_ask(f->params.link, &a->run, (uint32_t)(a - f->asks),
                            RUN_PROGRAM_FINGERPRINT, str_c(NULL));
    if (a->fd >= 0) {
        a->state = ASK_READING;
        f->reading++;
        return;
    }
    fail(a, "pipe", errno);
    settle(a, ASK_DUE);
}

static struct ask *first_in(struct fingerprints *f, enum ask_state state)
{
    for (size_t i = 0; i < f->params.hook_count; i++)
        if (f->asks[i].state == state)
            return &f->asks[i];
    return NULL;
}

/* Keeps reads under way and reports one event. Only one event comes in each turn, and last: it may
 * dispose f. */
static void on_turn(struct loop_task *task)
{
    struct fingerprints *f = container_of(task, struct fingerprints, turn);
    struct ask *a;

    while (f->reading < AT_ONCE && (a = first_in(f, ASK_WAITING)) != NULL)
        begin(a);
    a = first_in(f, ASK_DUE);
    /* Nothing is under way and nothing waits: on_turn() does not come again. */
    if (a == NULL && f->reading == 0 && first_in(f, ASK_REFUSED) == NULL) {
        deadline_stop(f->timer);
        f->events->on_ready(f->arg);
    }
    if (a == NULL)
        return;
    a->state = ASK_ANSWERED;
    loop_defer(f->params.loop, &f->turn);
    bool known = a->err.kind == ERR_OK;
    f->events->on_digest(f->arg, (size_t)(a - f->asks), known ? &a->digest : NULL,
                         known ? NULL : &a->err);
}

/* Ends all questions that have no answer with an error, as the time is over or nobody wants to
 * know: runs wait for the answers, and a file system that hangs must not hold them up. */
static void kill_all(struct fingerprints *f, enum ask_state then)
{
    for (size_t i = 0; i < f->params.hook_count; i++) {
        struct ask *a = &f->asks[i];

        if (a->state == ASK_READING)
            helper_link_kill(f->params.link, &a->run, SIGKILL);
        if (a->state == ASK_READING || a->state == ASK_WAITING || a->state == ASK_REFUSED) {
            fail(a, "no answer in time", ETIMEDOUT);
            settle(a, then);
        }
    }
}

static void on_late(void *arg)
{
    kill_all(arg, ASK_DUE);
}

static void on_again(void *arg)
{
    struct fingerprints *f = arg;
    struct ask *a;

    while ((a = first_in(f, ASK_REFUSED)) != NULL)
        settle(a, ASK_WAITING);
}

/* Earlier readings were killed, by a reload for example, and the helper has not reaped them. */
static bool is_too_early(const struct run_end *end)
{
    return end->kind == RUN_END_REFUSED && end->stage == RUN_STAGE_CONCURRENCY;
}

/* The process has ended: takes its answer. The pipe does not block: a process without an answer is an
 * error. */
static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct ask *a = container_of(run, struct ask, run);

    if (is_too_early(end)) {
        settle(a, ASK_REFUSED);
        deadline_start(a->of->again, AGAIN_MS);
        return;
    }
    if (end->kind == RUN_END_REFUSED)
        fail(a, run_stage_name(end->stage), end->value);
    else if (!run_end_is_good(end))
        fail(a, "killed", EINTR);
    else if (read(a->fd, &a->digest, sizeof(a->digest)) != (ssize_t)sizeof(a->digest))
        fail(a, "no answer", EPROTO);
    settle(a, ASK_DUE);
}

struct fingerprints *fingerprints_create(const struct fingerprints_params *params,
                                         const struct fingerprints_events *events, void *arg)
{
    struct fingerprints *f =
        MEM_NEW(struct fingerprints, .params = *params, .events = events, .arg = arg);

    f->asks = mem_array(params->hook_count + 1, sizeof(*f->asks));
    for (size_t i = 0; i < params->hook_count; i++)
        f->asks[i] = (struct ask){.of = f, .run.on_exited = on_exited};
    loop_task_init(&f->turn, on_turn);
    f->timer = deadline_create(params->loop, on_late, f);
    f->again = deadline_create(params->loop, on_again, f);
    deadline_start(f->timer, params->timeout_ms);
    loop_defer(params->loop, &f->turn);
    return f;
}

void fingerprints_dispose(struct fingerprints **fp)
{
    struct fingerprints *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    /* ASK_ANSWERED, so that no event comes. */
    kill_all(f, ASK_ANSWERED);
    loop_cancel(&f->turn);
    deadline_dispose(&f->timer);
    deadline_dispose(&f->again);
    free(f->asks);
    free(f);
}
