/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "helper/child.h"
#include "helper/tables.h"

/* The descriptors of the child. It has no use for a stdin or stdout, and child_start() passes three
 * descriptors on. */
enum { CHILD_TABLES = STDIN_FILENO, CHILD_ANSWER = STDOUT_FILENO };

/* The values that the child reports. They are no exit codes, so a library that calls exit() reports
 * nothing. Neither is a good end, so runs_reap() kills all processes that are left of the child. */
enum { CHILD_READY = 256, CHILD_REFUSED };

static void enter(struct reload *r, enum reload_state state)
{
    static const char *const names[] = {"idle", "reading", "again", "stopping", "ready"};

    log_debug("helper: reload", KV_STR("from", names[r->state]), KV_STR("to", names[state]));
    r->state = state;
}

/* ---- The child */

/* A work function. Memory is not freed: the child ends. */
static void read_configuration(const struct child_spec *spec, struct run_end *out)
{
    const struct helper_reload *how = spec->work_arg;
    struct helper_params params = {0};
    struct buf bundle = {0};
    struct buf problems = {0};
    struct buf tables = {0};
    bool is_good = how->build(how->arg, &params, &bundle, &problems);

    if (is_good)
        tables_encode(&params, &tables);
    int error = memfile_fill(CHILD_TABLES, buf_str(&tables));
    if (error == 0)
        error = memfile_fill(CHILD_ANSWER, buf_str(is_good ? &bundle : &problems));
    out->value = is_good ? CHILD_READY : CHILD_REFUSED;
    if (error != 0)
        *out = run_end_refused(out->program, RUN_STAGE_MEMORY_FILE, error);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_files(struct reload *r)
{
    close_fd(&r->tables_fd);
    close_fd(&r->answer_fd);
}

/* Opens the files of the child, and starts it. False: *why says which step failed. */
static bool start_child(struct reload *r, struct child *child, struct run_end *why)
{
    static const struct helper_hook reader = {.name = "reload", .umask = 077};
    int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    bool is_started = false;

    r->tables_fd = memfile_open("informerd-tables");
    r->answer_fd = memfile_open("informerd-reload");
    if (stderr_fd < 0 || r->tables_fd < 0 || r->answer_fd < 0) {
        *why = run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_MEMORY_FILE, errno);
    } else {
        const struct child_spec spec = {
            .hook = &reader,
            .work = read_configuration,
            .work_arg = r->how,
            .work_needs = CAPABILITY_ALL, /* a start has them, too */
            .fds = {r->tables_fd, r->answer_fd, stderr_fd},
        };
        is_started = child_start(&spec, child, why);
    }
    close_fd(&stderr_fd);
    return is_started;
}

/* ---- Answers */

static void answer(struct reload *r, enum wire_reloaded how, int fd)
{
    const struct wire_reply reply = {.type = WIRE_RELOADED, .error = (int32_t)how, .id = r->tag};

    channel_reply(r->channel, &reply, fd);
}

/* Refuses the reload with a text of the helper, and frees it. The configuration itself is not the
 * reason. */
static void refuse(struct reload *r, char *text)
{
    struct err err;
    int fd = -1;

    if (memfile_create("informerd-reload", str_c(text), &fd, &err) != ERR_OK)
        log_error("helper: reload refused", KV_STR("reason", text), KV_ERR(&err));
    free(text);
    enter(r, RELOAD_IDLE);
    answer(r, WIRE_RELOADED_REFUSED, fd);
}

static char *describe(const struct run_end *end)
{
    static const char what[] = "the configuration cannot be read";
    static const char bug[] = "this is a bug of informerd, please report it";

    if (end->kind == RUN_END_REFUSED)
        return mem_printf("%s: %s: %s\n", what, run_stage_name(end->stage),
                          strerrordesc_np(end->value));
    if (end->kind == RUN_END_SIGNALED)
        return mem_printf("%s: signal %d (%s) ended the process that read it%s%s\n", what,
                          end->value, sigdescr_np(end->value), end->value == SIGKILL ? "" : ": ",
                          end->value == SIGKILL ? "" : bug);
    return mem_printf("%s: the process that read it ended with exit code %d: %s\n", what,
                      end->value, bug);
}

/* ---- The tables that the child has made */

/* Makes the new parameters of the tables file. */
static enum err_kind load(struct reload *r, struct err *err)
{
    struct stat st;

    if (fstat(r->tables_fd, &st) < 0 || st.st_size == 0)
        return err_set(err, ERR_PROTOCOL, 0, "the tables of the helper are empty");
    size_t n = (size_t)st.st_size;
    void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, r->tables_fd, 0);
    if (bytes == MAP_FAILED)
        return err_set(err, ERR_IO, errno, "tables of the helper: %s", strerrordesc_np(errno));
    enum err_kind kind = tables_decode(str_of(bytes, n), r->nofile_soft, &r->params, err);
    munmap(bytes, n);
    return kind;
}

static int take_answer(struct reload *r)
{
    int fd = r->answer_fd;

    r->answer_fd = -1;
    return fd;
}

static void finish(struct reload *r, const struct run_end *end)
{
    struct err err;

    if (end->kind != RUN_END_EXITED || end->value < CHILD_READY) {
        refuse(r, describe(end));
    } else if (end->value == CHILD_REFUSED) {
        enter(r, RELOAD_IDLE);
        answer(r, WIRE_RELOADED_REFUSED, take_answer(r));
    } else if (load(r, &err) != ERR_OK) {
        refuse(r, mem_printf("the configuration cannot be read: %s\n", err.text));
    } else {
        enter(r, RELOAD_READY);
        answer(r, WIRE_RELOADED_READY, take_answer(r));
    }
    close_files(r);
}

/* ---- Requests */

/* SIGKILL: the child has nothing to put in order. */
static void start(struct reload *r)
{
    struct run_end why;
    struct child child;

    if (r->how == NULL) {
        refuse(r, mem_printf("this process cannot reload its configuration\n"));
    } else if (start_child(r, &child, &why)) {
        enter(r, RELOAD_READING);
        runs_add(r->runs, RELOAD_RUN_ID, (struct runs_stop){.signal_number = SIGKILL}, child,
                 RUN_CGROUP_NONE);
    } else {
        close_files(r);
        refuse(r, describe(&why));
    }
}

/* Answers the RELOAD that is replaced or dropped, and kills its child, if there is one. */
static void stop(struct reload *r, enum reload_state then)
{
    if (r->state == RELOAD_READING || r->state == RELOAD_AGAIN)
        answer(r, WIRE_RELOADED_DROPPED, -1);
    if (r->state == RELOAD_READING)
        runs_kill(r->runs, RELOAD_RUN_ID, SIGKILL);
    enter(r, then);
}

static bool has_child(const struct reload *r)
{
    return r->state == RELOAD_READING || r->state == RELOAD_AGAIN || r->state == RELOAD_STOPPING;
}

/* There is one child at a time, however often main asks. */
void reload_begin(struct reload *r, uint64_t tag)
{
    bool waits = has_child(r);

    tables_free(&r->params);
    if (waits)
        stop(r, RELOAD_AGAIN);
    r->tag = tag;
    if (!waits)
        start(r);
}

enum err_kind reload_commit(struct reload *r, uint64_t tag, struct helper_params **params,
                            struct err *err)
{
    if (r->state != RELOAD_READY || r->tag != tag)
        return err_set(err, ERR_PROTOCOL, 0, "message from main: no reload to commit");
    *params = r->params;
    r->params = NULL;
    enter(r, RELOAD_IDLE);
    return ERR_OK;
}

void reload_drop(struct reload *r, uint64_t tag)
{
    if (r->tag != tag)
        return;
    tables_free(&r->params);
    stop(r, has_child(r) ? RELOAD_STOPPING : RELOAD_IDLE);
}

/* When main is gone nothing begins any more. */
void reload_on_end(struct reload *r, const struct run_end *end)
{
    if (r->state == RELOAD_READING) {
        finish(r, end);
        return;
    }
    bool is_again = r->state == RELOAD_AGAIN && r->channel->fd >= 0;
    close_files(r);
    enter(r, RELOAD_IDLE);
    if (is_again)
        start(r);
}

/* ---- Begin and end */

void reload_init(struct reload *r, const struct helper_reload *how, rlim_t nofile_soft,
                 struct runs *runs, struct channel *channel)
{
    *r = (struct reload){.how = how,
                         .nofile_soft = nofile_soft,
                         .runs = runs,
                         .channel = channel,
                         .tables_fd = -1,
                         .answer_fd = -1};
}

void reload_fini(struct reload *r)
{
    tables_free(&r->params);
    close_files(r);
}
