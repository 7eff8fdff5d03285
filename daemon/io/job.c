/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "hook/members.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/job_end.h"
#include "io/loop.h"
#include "io/run_output.h"

/* Processes that a run left behind may hold its pipes open: so long main waits for the end of its
 * output (docs/decisions.md "A run ends with its process"). */
#define LINGER_MS 1000

/* Most runs end within this time. Until then their pipes are not watched
 * (docs/decisions.md "The pipes of a run are watched after 20 ms"). */
#define YOUNG_MS 20

#define OUTPUT_BYTES ((size_t)RUNNER_OUTPUT_MIB * 1024 * 1024)

enum job_state {
    JOB_NEW,         /* no program was started */
    JOB_YOUNG,       /* a program runs, its pipes are not watched */
    JOB_RUNNING,     /* a program runs, its pipes are watched */
    JOB_TERMINATING, /* kill_signal was sent; SIGKILL follows after the grace */
    JOB_KILLED,      /* SIGKILL was sent; the helper will say when it has ended */
    JOB_CAPTURING,   /* the command has succeeded, but its stdout has not ended */
    JOB_CLEARING,    /* stdout did not end in time: the helper kills the processes that hold it */
    JOB_ENDED,       /* the run is over; its output is read a little longer */
};

struct job {
    struct list link;
    enum job_state state;
    enum run_cut cut; /* why the program under way was signaled; ignored if the program had ended */
    struct helper_run program; /* the program under way */
    const struct runner_params *params;
    struct runner_hook hook; /* its strings only while there is a run */
    struct run *run;         /* NULL once ENDED */
    bool is_stopped;         /* by job_kill() */
    uint64_t id;
    bool hides_output;
    char *name; /* names of the hook and of the key: log lines may outlive the run */
    char *key;
    struct buf env; /* environment of the programs, until the last one has started */
    struct run_output *output;
    int first[WIRE_RUN_FDS];   /* NEW: the descriptors for the first program; else -1 */
    struct run_end end;        /* of the last program; its cpu_us is that of all of them */
    struct digest digest;      /* of the captured stdout */
    struct deadline *deadline; /* the time limit of the state */
    const struct job_events *events;
    void *arg;
};

static void close_fds(const int fds[WIRE_RUN_FDS])
{
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Once the run is over and both streams of its output have ended, the owner disposes the job: j is
 * not to be used after this. */
static void check_gone(struct job *j)
{
    if (j->state == JOB_ENDED && run_output_is_over(j->output))
        j->events->on_gone(j->arg, j);
}

static void on_line(void *arg, const char *stream, struct str line)
{
    const struct job *j = arg;

    if (j->hides_output)
        return;
    log_info("hook output", KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
             KV_STR("stream", stream), KV_VIEW("line", line));
}

static void on_dropped(void *arg, const char *stream, uint64_t bytes)
{
    const struct job *j = arg;

    log_warn("hook output over log_limit was dropped", KV_STR("hook", j->name),
             KV_STR("key", j->key), KV_U64("run", j->id), KV_STR("stream", stream),
             KV_U64("bytes", bytes));
}

static void on_unwatched(void *arg, const char *why)
{
    const struct job *j = arg;

    log_warn("output of a hook cannot be watched: it is read when the run ends",
             KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
             KV_STR("err", why),
             KV_STR("advice", "free memory, or raise fs.epoll.max_user_watches"));
}

static void on_output_end(void *arg)
{
    check_gone(arg);
}

/* A timeout shorter than YOUNG_MS holds as well. */
static uint64_t young_ms(const struct job *j)
{
    return j->hook.timeout_ms < YOUNG_MS ? j->hook.timeout_ms : YOUNG_MS;
}

/* Changes the state: with its time limit, and the request to the helper that belongs to it. KILLED
 * and CLEARING have no limit, as only the helper can tell when they are over. A second program
 * begins as YOUNG again: its stdout is a new pipe, which is not watched before RUNNING. */
static void enter(struct job *j, enum job_state state)
{
    j->state = state;
    /* KILLED follows TERMINATING, where the pipes are watched already. */
    if (state != JOB_YOUNG && state != JOB_KILLED)
        run_output_watch(j->output);
    switch (state) {
    case JOB_NEW:
        break;
    case JOB_YOUNG:
        deadline_start(j->deadline, young_ms(j));
        break;
    case JOB_RUNNING:
        deadline_start(j->deadline, j->hook.timeout_ms - young_ms(j));
        break;
    case JOB_TERMINATING:
        helper_link_kill(j->params->link, &j->program, j->hook.kill_signal);
        deadline_start(j->deadline, j->hook.kill_grace_ms);
        break;
    case JOB_KILLED:
        helper_link_kill(j->params->link, &j->program, SIGKILL);
        break;
    case JOB_CAPTURING:
    case JOB_ENDED:
        deadline_start(j->deadline, LINGER_MS);
        break;
    case JOB_CLEARING:
        helper_link_clear(j->params->link, &j->program, buf_str(&j->env));
        break;
    }
}

/* Whether a program runs that nothing was done to end. */
static bool is_alive(const struct job *j)
{
    return j->state == JOB_YOUNG || j->state == JOB_RUNNING;
}

/* ---- The end of the run */

/* The run is over; text says how. Output that can be read now is logged first, so that the lines of a
 * run come before the line about its end. */
static void over(struct job *j, const char *text)
{
    struct run *run = j->run;

    struct run_result result = {.end = j->end,
                                .text = text,
                                .stopped = j->is_stopped,
                                .wall_ns = loop_wall_ns(),
                                .digest = j->digest};

    run_output_finish(j->output, &result);
    j->run = NULL;
    /* run belongs to the receiver from here on */
    j->events->on_over(j->arg, run, &result);
    enter(j, JOB_ENDED);
    check_gone(j);
}

/* Ends the run with the result of its last program. */
static void end_run(struct job *j)
{
    const struct members *m = j->run->members;
    size_t member = j->end.member;
    char text[JOB_END_TEXT];

    job_end_put(text, &j->end, &j->hook,
                m != NULL && member > 0 && member <= m->n ? m->v[member - 1].path : j->run->file);
    over(j, text);
}

/* Ends the run as failed although the command succeeded: no file could be made of its stdout. */
static void fail_run(struct job *j, const char *text)
{
    j->end.cut = RUN_CUT_GIVEN_UP;
    over(j, text);
}

/* ---- Programs */

/* Whether the stdout of the command becomes a file: a second program follows then. */
static bool captures_output(const struct run *run)
{
    return run->kind == RUN_COMMAND && run->file != NULL;
}

static void launch(struct job *j, enum run_program program, const int fds[WIRE_RUN_FDS])
{
    j->cut = RUN_CUT_NONE;
    helper_link_run(j->params->link, &j->program, (uint32_t)j->run->hook->index, program,
                    buf_str(&j->env), fds);
    enter(j, JOB_YOUNG);
    log_debug(program == RUN_PROGRAM_OUTPUT ? "hook's file is written" : "hook started",
              KV_STR("hook", j->name), KV_STR("key", j->key), KV_U64("run", j->id),
              KV_STR("program", run_kind_name(j->run->kind)), KV_INT("attempt", j->run->attempt));
}

/* The command has succeeded and its stdout is complete: has the helper write the file. */
static void write_file(struct job *j)
{
    int fds[WIRE_RUN_FDS] = {-1, -1, -1};
    struct err err = {0};

    /* found when the rest was read, after the end of the command */
    if (run_output_is_full(j->output)) {
        j->end.cut = run_output_cut(j->output);
        end_run(j);
    } else if (run_output_hand_on(j->output, &j->digest, fds, &err) == ERR_OK) {
        launch(j, RUN_PROGRAM_OUTPUT, fds);
    } else {
        close_fds(fds);
        fail_run(j, err.text);
    }
}

/* More than a file may have, or than there is memory for: the command is stopped as at a timeout. */
static void on_full(void *arg)
{
    struct job *j = arg;

    if (!is_alive(j))
        return;
    j->cut = run_output_cut(j->output);
    enter(j, JOB_TERMINATING);
}

/* The stdout of the command has ended. While the command itself still runs, nothing follows from
 * that. */
static void on_captured(void *arg)
{
    struct job *j = arg;

    if (j->state == JOB_CAPTURING)
        write_file(j);
}

/* The time limit of the state has passed. */
static void on_deadline(void *arg)
{
    struct job *j = arg;

    switch (j->state) {
    case JOB_YOUNG:
        enter(j, JOB_RUNNING);
        break;
    case JOB_RUNNING:
        j->cut = RUN_CUT_TIMEOUT;
        enter(j, JOB_TERMINATING);
        break;
    case JOB_TERMINATING:
        enter(j, JOB_KILLED);
        break;
    case JOB_CAPTURING:
        /* stdout has ended: main stood still and did not see it */
        if (run_output_drain(j->output))
            write_file(j);
        else
            enter(j, JOB_CLEARING);
        break;
    case JOB_ENDED:
        run_output_give_up(j->output);
        check_gone(j);
        break;
    case JOB_NEW:
    case JOB_KILLED:
    case JOB_CLEARING:
        break;
    }
}

/* A program of the job has ended: starts the next one, or the run is over. */
static void on_exited(struct helper_run *program, const struct run_end *end)
{
    struct job *j = container_of(program, struct job, program);
    const struct run_end before = j->end;

    j->end = *end;
    run_end_follow(&j->end, &before);
    run_end_cut(&j->end, j->cut);
    if (j->state == JOB_CLEARING)
        fail_run(j, "output: a process that the command left behind still holds its stdout after "
                    "1 s, so it may not be whole (was killed)");
    else if (end->program != RUN_PROGRAM_COMMAND || !captures_output(j->run) ||
             !run_end_is_good(&j->end))
        end_run(j);
    /* job_kill() came before the command's end: informerd stops, and no program is started any
     * more. */
    else if (!is_alive(j) && j->cut == RUN_CUT_NONE)
        fail_run(j, "output: informerd stops before it was written");
    else if (run_output_drain(j->output))
        write_file(j);
    else
        enter(j, JOB_CAPTURING);
}

/* ---- The start */

static void to_file(void *arg, struct buf *out)
{
    memfile_append(arg, buf_str(out));
    buf_clear(out);
}

/* The input document. It can be as large as the cache, so it goes to the file in pieces. */
static enum err_kind open_document(struct job *j, int *fd, struct err *err)
{
    struct buf json = {0};
    struct memfile file;
    const struct payload_drain drain = {to_file, &file};

    if (memfile_begin(&file, "informerd-input", err) != ERR_OK)
        return ERR_IO;
    payload_put_json(&json, &j->params->context, j->run, loop_now_ms(j->params->loop), &drain);
    to_file(&file, &json);
    buf_free(&json);
    return memfile_end(&file, fd, err);
}

/* Opens the stdin of the first program: the input document as a memory file, or with files_from the
 * files. No program reads one to remove a file. */
static enum err_kind open_input(struct job *j, int *fd, struct err *err)
{
    if (j->run->members != NULL) {
        enum err_kind kind =
            memfile_create("informerd-files", buf_str(&j->run->members->input), fd, err);
        members_drop_input(j->run->members);
        return kind;
    }
    if (j->run->kind == RUN_REMOVE) {
        *fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *fd >= 0 ? ERR_OK : err_set(err, ERR_IO, errno, "/dev/null: %s", strerror(errno));
    }
    return open_document(j, fd, err);
}

/* Opens the descriptors of the first program. The input comes last, as it costs most. */
static enum err_kind open_fds(struct job *j, struct err *err)
{
    const struct run_output_params params = {
        .loop = j->params->loop,
        .log_limit = j->hook.log_limit,
        .capture_max = captures_output(j->run) ? OUTPUT_BYTES : 0,
        .on_line = on_line,
        .on_dropped = on_dropped,
        .on_unwatched = on_unwatched,
        .on_full = on_full,
        .on_captured = on_captured,
        .on_end = on_output_end,
        .arg = j,
    };
    enum err_kind kind = run_output_create(&params, j->first, &j->output, err);

    return kind == ERR_OK ? open_input(j, &j->first[STDIN_FILENO], err) : kind;
}

/* apply reads the files of all hooks that share it, and may print their contents. */
static bool hides_output(const struct runner_params *params, const struct run *run)
{
    bool hides = params->by_index[run->hook->index].hides_output;

    for (size_t i = 0; i < run->other_count; i++)
        hides = hides || params->by_index[run->others[i].hook->index].hides_output;
    return hides;
}

static struct job *new_job(const struct runner_params *params, struct run *run,
                           const struct job_events *events, void *arg)
{
    struct job *j =
        MEM_NEW(struct job, .params = params, .hook = params->by_index[run->hook->index],
                .run = run, .id = run->id, .hides_output = hides_output(params, run),
                .program.on_exited = on_exited, .events = events, .arg = arg);

    list_init(&j->link);
    j->name = mem_strdup(run->hook->name);
    j->key = mem_strdup(run_key(run));
    j->deadline = deadline_create(params->loop, on_deadline, j);
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        j->first[i] = -1;
    return j;
}

/* The first program of the run. */
static enum run_program program_of(const struct run *run)
{
    if (run->members != NULL)
        return RUN_PROGRAM_FILES;
    switch (run->kind) {
    case RUN_REMOVE:
        return RUN_PROGRAM_REMOVE;
    case RUN_APPLY:
        return RUN_PROGRAM_APPLY;
    case RUN_COMMAND:
    case RUN_WRITE: /* has members */
        break;
    }
    return RUN_PROGRAM_COMMAND;
}

enum err_kind job_create(const struct runner_params *params, struct run *run,
                         const struct job_events *events, void *arg, struct job **out,
                         struct err *err)
{
    struct job *j = new_job(params, run, events, arg);
    enum err_kind kind = payload_put_env(&j->env, &params->context, run, err);

    if (kind == ERR_OK)
        kind = open_fds(j, err);
    *out = j;
    if (kind != ERR_OK)
        job_dispose(out);
    return kind;
}

void job_start(struct job *j)
{
    launch(j, program_of(j->run), j->first);
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        j->first[i] = -1;
    /* A second program gets the same environment. */
    if (!captures_output(j->run))
        buf_free(&j->env);
}

struct run *job_run(const struct job *j)
{
    return j->run;
}

void job_change(struct job *j)
{
    if (j->run != NULL)
        j->hook = j->params->by_index[j->run->hook->index];
}

/* A job in CAPTURING has no program left to kill: its file will not be written. In CLEARING the
 * helper will end it soon anyway. */
void job_kill(struct job *j)
{
    j->is_stopped = true;
    if (is_alive(j))
        enter(j, JOB_TERMINATING);
    else if (j->state == JOB_CAPTURING)
        fail_run(j, "output: informerd stops before it was written");
}

void job_dispose(struct job **jp)
{
    struct job *j = *jp;

    if (j == NULL)
        return;
    *jp = NULL;
    list_remove(&j->link);
    helper_run_forget(&j->program);
    close_fds(j->first);
    run_output_dispose(&j->output);
    deadline_dispose(&j->deadline);
    buf_free(&j->env);
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
