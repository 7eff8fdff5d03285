/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fingerprints.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"

/* Reads that are under way at a time: each one is a process of the helper. */
enum { AT_ONCE = 8 };

/* Run ids from here on are those of fingerprints: FIRST_RUN + number of the hook. Runs of hooks
 * count from 1, and strays_driver has the ids from 2^62. */
#define FIRST_RUN (UINT64_C(1) << 63)

enum ask_state {
    ASK_WAITING,  /* the helper was not asked yet */
    ASK_READING,  /* a process of the helper reads the hook's files */
    ASK_DUE,      /* there is a digest or an error: the callback is due */
    ASK_ANSWERED, /* the callback has run */
};

/* The question about one hook. */
struct ask {
    enum ask_state state;
    int fd; /* READING: our end of the pipe that the answer comes through */
    struct digest digest;
    struct err err; /* kind OK = digest holds the answer */
};

struct fingerprints {
    struct fingerprints_params params;
    fingerprints_cb *cb;
    void *arg;
    struct ask *asks;
    size_t reading;
    struct loop_task turn;
    struct deadline *timer;
};

/* The read is over, with an answer or an error: on_turn() goes on with it. */
static void settle(struct fingerprints *f, struct ask *a, enum ask_state state)
{
    if (a->state == ASK_READING) {
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

/* Opens the descriptors of the helper's process. stdout is the pipe for its answer, 16 bytes, which
 * fit into the pipe: they are read when the process has ended. False: there are no descriptors;
 * errno says why. */
static bool open_fds(struct ask *a, int fds[WIRE_RUN_FDS])
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    a->fd = ends[0];
    fds[STDOUT_FILENO] = ends[1];
    fds[STDIN_FILENO] = open("/dev/null", O_RDWR | O_CLOEXEC);
    fds[STDERR_FILENO] = fcntl(fds[STDIN_FILENO], F_DUPFD_CLOEXEC, 0);
    if (fcntl(a->fd, F_SETFL, O_NONBLOCK) == 0 && fds[STDERR_FILENO] >= 0)
        return true;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    if (fds[STDIN_FILENO] >= 0)
        close(fds[STDIN_FILENO]);
    errno = error;
    return false;
}

/* Asks the helper about one hook. */
static void begin(struct fingerprints *f, struct ask *a)
{
    size_t hook = (size_t)(a - f->asks);
    int fds[WIRE_RUN_FDS];

    if (!open_fds(a, fds)) {
        fail(a, "pipe", errno);
        settle(f, a, ASK_DUE);
        return;
    }
    a->state = ASK_READING;
    f->reading++;
    helper_link_run(f->params.link, FIRST_RUN + hook, (uint32_t)hook, WIRE_PROGRAM_FINGERPRINT,
                    str_c(NULL), fds);
}

static struct ask *first_in(struct fingerprints *f, enum ask_state state)
{
    for (size_t i = 0; i < f->params.hook_count; i++)
        if (f->asks[i].state == state)
            return &f->asks[i];
    return NULL;
}

/* Keeps reads under way and runs one callback. Only one callback runs in each turn, and last: it
 * may dispose f. */
static void on_turn(struct loop_task *task)
{
    struct fingerprints *f = container_of(task, struct fingerprints, turn);
    struct ask *a;

    while (f->reading < AT_ONCE && (a = first_in(f, ASK_WAITING)) != NULL)
        begin(f, a);
    a = first_in(f, ASK_DUE);
    /* Nothing is under way and nothing waits: the time limit has no use any more. */
    if (a == NULL && f->reading == 0)
        deadline_stop(f->timer);
    if (a == NULL)
        return;
    a->state = ASK_ANSWERED;
    loop_defer(f->params.loop, &f->turn);
    bool known = a->err.kind == ERR_OK;
    f->cb(f->arg, (size_t)(a - f->asks), known ? &a->digest : NULL, known ? NULL : &a->err);
}

/* Ends all questions that have no answer with an error, as the time is over or nobody wants to
 * know: runs wait for the answers, and a file system that hangs must not hold them up. */
static void kill_all(struct fingerprints *f, enum ask_state then)
{
    for (size_t i = 0; i < f->params.hook_count; i++) {
        struct ask *a = &f->asks[i];

        if (a->state == ASK_READING)
            helper_link_kill(f->params.link, FIRST_RUN + i, SIGKILL);
        if (a->state == ASK_READING || a->state == ASK_WAITING) {
            fail(a, "no answer in time", ETIMEDOUT);
            settle(f, a, then);
        }
    }
}

static void on_late(void *arg)
{
    kill_all(arg, ASK_DUE);
}

struct fingerprints *fingerprints_create(const struct fingerprints_params *params,
                                         fingerprints_cb *cb, void *arg)
{
    struct fingerprints *f = MEM_NEW(struct fingerprints, .params = *params, .cb = cb, .arg = arg);

    f->asks = mem_array(params->hook_count + 1, sizeof(*f->asks));
    loop_task_init(&f->turn, on_turn);
    f->timer = deadline_create(params->loop, on_late, f);
    deadline_start(f->timer, params->timeout_ms);
    loop_defer(params->loop, &f->turn);
    return f;
}

/* Reads the answer of a process that has ended. The pipe does not block: a process without an
 * answer is an error. */
static void take(struct ask *a, const struct helper_link_exit *end)
{
    if (end->how == HELPER_LINK_NOT_STARTED)
        fail(a, end->stage, end->value);
    else if (end->how != HELPER_LINK_EXITED || end->value != 0)
        fail(a, "killed", EINTR);
    else if (read(a->fd, &a->digest, sizeof(a->digest)) != (ssize_t)sizeof(a->digest))
        fail(a, "no answer", EPROTO);
}

bool fingerprints_exited(struct fingerprints *f, const struct helper_link_exit *end)
{
    uint64_t hook = end->run - FIRST_RUN;

    if (end->run < FIRST_RUN)
        return false;
    /* The hook's question may have ended at the time limit, and its process later. */
    if (f == NULL || hook >= f->params.hook_count || f->asks[hook].state != ASK_READING)
        return true;
    take(&f->asks[hook], end);
    settle(f, &f->asks[hook], ASK_DUE);
    return true;
}

void fingerprints_dispose(struct fingerprints **fp)
{
    struct fingerprints *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    /* ASK_ANSWERED, so that no callback runs. Ends of these processes are recognised by their
     * ids. */
    kill_all(f, ASK_ANSWERED);
    loop_cancel(&f->turn);
    deadline_dispose(&f->timer);
    free(f->asks);
    free(f);
}
