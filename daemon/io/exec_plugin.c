/* SPDX-License-Identifier: Apache-2.0 */
#include "io/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "hook/output.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io/run_output.h"
#include "kube/secret_mask.h"

/* STDERR_MAX: so many bytes of the stderr of a run are logged. SECRETS_MAX: if more may have to be
 * masked there, the time for that is too long, and nothing is logged. */
enum { STDERR_MAX = 16 * 1024, SECRETS_MAX = 64 * 1024, HINT_INTERVAL_MS = 60 * 60 * 1000 };

enum exec_plugin_state {
    EXEC_PLUGIN_IDLE,
    EXEC_PLUGIN_RUNNING,
    EXEC_PLUGIN_KILLED,    /* SIGKILL was sent; the helper will say when it has ended */
    EXEC_PLUGIN_NOT_BEGUN, /* there were no descriptors: cb is due */
};

struct exec_plugin {
    struct exec_plugin_params params;
    exec_plugin_cb *cb;
    void *arg;
    enum exec_plugin_state state;
    enum run_cut cut; /* why the program was killed; ignored if it had ended */
    struct helper_run program;
    struct run_output *output; /* while a program runs */
    struct buf said;           /* stderr of this run, which may hold secrets */
    struct buf secrets;        /* secret: of the last credential, for secret_mask_put() */
    uint64_t made_ns;          /* wall clock; part of the names of its runs */
    uint64_t runs;             /* so far */
    bool left_told;            /* the log says that processes of a good run go on */
    uint64_t hint_ms;          /* the hint is not logged before this time */
    struct deadline *timeout;
    struct loop_task not_begun;
    struct err err; /* NOT_BEGUN */
};

/* The whole capacity: earlier secrets may lie behind the length. */
static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

static struct kv cluster(const struct exec_plugin *p)
{
    return KV_STR("cluster", p->params.cluster);
}

/* ---- stderr */

/* The lines are kept until the run is over: only then are the secrets known that must be masked in them.
 * A part of a line that was cut gets no newline, so that a secret is not cut. */
static void on_line(void *arg, const char *stream, struct str line)
{
    struct exec_plugin *p = arg;

    (void)stream;
    buf_append_str(&p->said, line);
    if (line.n < OUTPUT_LINE_BYTES)
        buf_putc(&p->said, '\n');
}

static void on_dropped(void *arg, const char *stream, uint64_t bytes)
{
    const struct exec_plugin *p = arg;

    (void)stream;
    log_warn("exec plugin printed more than is logged", cluster(p), KV_U64("bytes", bytes));
}

static void on_unwatched(void *arg, const char *why)
{
    const struct exec_plugin *p = arg;

    log_warn("output of an exec plugin cannot be watched: it is read when the run ends", cluster(p),
             KV_STR("err", why),
             KV_STR("advice", "free memory, or raise fs.epoll.max_user_watches"));
}

static void log_line(void *arg, struct str line)
{
    const struct exec_plugin *p = arg;

    log_info("exec plugin output", cluster(p), KV_VIEW("line", line));
}

/* Logs the stderr of the run; secrets: the texts that are masked in it. */
static void tell(struct exec_plugin *p, struct str secrets)
{
    struct buf masked = {0};
    struct output lines = {.limit = UINT64_MAX};

    secret_mask_put(buf_str(&p->said), secrets, &masked);
    output_feed(&lines, masked.data, masked.len, log_line, p);
    output_end(&lines, log_line, p);
    output_free(&lines);
    buf_free(&masked);
}

/* The credential, or all of stdout if that is none: any word in it might be a part of one. Without
 * the backslashes of JSON, words look as on stderr. */
static void note_secrets(const struct exec_credential *c, struct str printed, struct buf *out)
{
    buf_make_room(out, c->token.len + c->key_pem.len + printed.n + 2);
    buf_append_str(out, buf_str(&c->token));
    buf_putc(out, '\n');
    buf_append_str(out, buf_str(&c->key_pem));
    buf_putc(out, '\n');
    for (size_t i = 0; c->token.len == 0 && c->key_pem.len == 0 && i < printed.n; i++)
        if (printed.p[i] != '\\')
            buf_putc(out, printed.p[i]);
}

/* ---- The end of a run */

/* Tells where the program can be had, but not with each try. */
static void hint(struct exec_plugin *p)
{
    uint64_t now_ms = loop_now_ms(p->params.loop);

    if (p->params.install_hint == NULL || now_ms < p->hint_ms)
        return;
    p->hint_ms = now_ms + HINT_INTERVAL_MS;
    log_error("exec plugin is not installed", cluster(p), KV_STR("command", p->params.command),
              KV_STR("hint", p->params.install_hint));
}

static enum err_kind not_started(struct exec_plugin *p, const struct run_end *end, struct err *err)
{
    if (end->stage != RUN_STAGE_EXEC || end->value != ENOENT)
        return err_set(err, ERR_IO, end->value, "could not be started: %s: %s",
                       run_stage_name(end->stage), strerrordesc_np(end->value));
    hint(p);
    return err_set(err, ERR_CREDENTIAL, ENOENT,
                   strchr(p->params.command, '/') != NULL
                       ? "there is no such program, or its interpreter is missing: install it"
                       : "there is no such program in PATH, or its interpreter is missing: install "
                         "it, or name its whole path in the kubeconfig");
}

/* Why the program has not ended well; ERR_OK: it has. */
static enum err_kind judge_end(struct exec_plugin *p, const struct run_end *end, struct err *err)
{
    static const char why[] = "\"exec plugin output\" in the log may say why";

    if (end->cut == RUN_CUT_FULL)
        return err_set(err, ERR_TOO_BIG, 0, "prints more than 1 MiB, which is no credential");
    if (end->cut == RUN_CUT_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, 0, "was killed, as it had not ended after 60 s");
    switch (end->kind) {
    case RUN_END_REFUSED:
        return not_started(p, end, err);
    case RUN_END_SIGNALED:
        return err_set(err, ERR_CREDENTIAL, 0, "was ended by signal %d: %s", end->value, why);
    case RUN_END_EXITED:
        break;
    }
    return end->value == 0 ? ERR_OK
                           : err_set(err, ERR_CREDENTIAL, 0, "has ended with exit status %d: %s",
                                     end->value, why);
}

/* Makes a credential of stdout, and logs stderr. */
static enum err_kind judge(struct exec_plugin *p, const struct run_end *end, struct str printed,
                           struct exec_credential *out, struct err *err)
{
    struct buf secrets = {0};
    struct err unread;
    enum err_kind unfit = exec_credential_read(printed, p->params.api_version, out, &unread);

    /* The secrets never move: nobody would wipe the copy that a realloc() leaves behind. */
    buf_make_room(&secrets, p->secrets.len + out->token.len + out->key_pem.len + printed.n + 2);
    note_secrets(out, printed, &secrets);
    buf_append_str(&secrets, buf_str(&p->secrets));
    if (end->cut != RUN_CUT_FULL && secrets.len <= SECRETS_MAX)
        tell(p, buf_str(&secrets));
    else if (p->said.len > 0)
        log_warn("stderr of an exec plugin is not logged, as it may hold secrets", cluster(p));
    wipe(&secrets);
    if (judge_end(p, end, err) == ERR_OK && unfit != ERR_OK)
        *err = unread;
    return err->kind;
}

/* Ends the output of the run, even if a process that the program left behind has the pipes. *printed
 * gets stdout. Returns whether more came than EXEC_CREDENTIAL_MAX: then there is none. */
static bool end_output(struct exec_plugin *p, struct buf *printed)
{
    struct run_result result = {0};

    (void)run_output_drain(p->output);
    bool is_full = run_output_is_full(p->output);
    run_output_take(p->output, printed);
    run_output_finish(p->output, &result);
    run_output_dispose(&p->output);
    return is_full;
}

/* The run is over. */
static void finish(struct exec_plugin *p, struct run_end *end)
{
    struct exec_credential credential;
    struct buf printed;
    struct err err = {0};

    deadline_stop(p->timeout);
    if (end_output(p, &printed))
        end->cut = RUN_CUT_FULL;
    enum err_kind kind = judge(p, end, buf_str(&printed), &credential, &err);
    wipe(&printed);
    wipe(&p->said);
    if (kind == ERR_OK) {
        wipe(&p->secrets);
        note_secrets(&credential, str_of(NULL, 0), &p->secrets);
    } else {
        err_wrap(&err, "exec plugin %.100s", p->params.command);
    }
    p->state = EXEC_PLUGIN_IDLE;
    p->cb(p->arg, kind == ERR_OK ? &credential : NULL, &err);
    /* The callback may have disposed p. */
    exec_credential_fini(&credential);
}

/* Logs processes that the run left behind, as for hooks: after a good end once, because a plugin that
 * means to leave them does so every time. */
static void tell_left(struct exec_plugin *p, const struct run_end *end)
{
    bool is_good = run_end_is_good(end);

    if (end->left == 0 || (is_good && p->left_told))
        return;
    p->left_told = p->left_told || is_good;
    log_warn(is_good ? "exec plugin left processes running (logged once per cluster)"
                     : "processes of a failed exec plugin could not be killed",
             cluster(p), KV_U64("processes", end->left), KV_INT("pid", end->left_pid),
             KV_STR("program", end->left_comm));
}

static void on_exited(struct helper_run *program, const struct run_end *end)
{
    struct exec_plugin *p = container_of(program, struct exec_plugin, program);
    struct run_end seen = *end;

    run_end_cut(&seen, p->cut);
    tell_left(p, &seen);
    finish(p, &seen);
}

/* ---- A run */

static void kill_program(struct exec_plugin *p, enum run_cut cut)
{
    if (p->state != EXEC_PLUGIN_RUNNING)
        return;
    p->state = EXEC_PLUGIN_KILLED;
    p->cut = cut;
    helper_link_kill(p->params.link, &p->program, SIGKILL);
}

static void on_timeout(void *arg)
{
    kill_program(arg, RUN_CUT_TIMEOUT);
}

static void on_full(void *arg)
{
    kill_program(arg, RUN_CUT_FULL);
}

/* A stream has ended. Only the end of the program counts. */
static void on_stream_end(void *arg)
{
    (void)arg;
}

/* Opens stdin, stdout and stderr. */
static enum err_kind open_fds(struct exec_plugin *p, int fds[WIRE_RUN_FDS], struct err *err)
{
    const struct run_output_params params = {
        .loop = p->params.loop,
        .log_limit = STDERR_MAX,
        .capture_max = EXEC_CREDENTIAL_MAX,
        .on_line = on_line,
        .on_dropped = on_dropped,
        .on_unwatched = on_unwatched,
        .on_full = on_full,
        .on_captured = on_stream_end,
        .on_end = on_stream_end,
        .arg = p,
    };

    if (run_output_create(&params, fds, &p->output, err) != ERR_OK)
        return err->kind;
    fds[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[STDIN_FILENO] >= 0)
        return ERR_OK;
    err_set(err, ERR_IO, errno, "/dev/null: %s", strerrordesc_np(errno));
    run_output_dispose(&p->output);
    return err->kind;
}

static void on_not_begun(struct loop_task *task)
{
    struct exec_plugin *p = container_of(task, struct exec_plugin, not_begun);

    p->state = EXEC_PLUGIN_IDLE;
    p->cb(p->arg, NULL, &p->err);
}

/* INFORMERD_RUN names the cgroup of the run, which is killed with all that is in it when the program of before
 * a reload ends. So no run may have the name of another one, not even of another exec_plugin. */
static void begin(struct exec_plugin *p, const int fds[WIRE_RUN_FDS])
{
    struct buf env = {0};

    buf_printf(&env, "INFORMERD_RUN=exec-plugin-%s-%" PRIx64 "-%" PRIu64, p->params.cluster,
               p->made_ns, ++p->runs);
    buf_putc(&env, '\0');
    p->state = EXEC_PLUGIN_RUNNING;
    p->cut = RUN_CUT_NONE;
    helper_link_run(p->params.link, &p->program, p->params.hook, RUN_PROGRAM_COMMAND, buf_str(&env),
                    fds);
    run_output_watch(p->output);
    deadline_start(p->timeout, EXEC_PLUGIN_TIMEOUT_MS);
    buf_free(&env);
}

void exec_plugin_run(struct exec_plugin *p)
{
    int fds[WIRE_RUN_FDS] = {-1, -1, -1};

    if (p->state != EXEC_PLUGIN_IDLE)
        return;
    if (open_fds(p, fds, &p->err) == ERR_OK) {
        begin(p, fds);
        return;
    }
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    err_wrap(&p->err, "exec plugin %.100s could not be started", p->params.command);
    p->state = EXEC_PLUGIN_NOT_BEGUN;
    loop_defer(p->params.loop, &p->not_begun);
}

void exec_plugin_renumber(struct exec_plugin *p, uint32_t hook)
{
    p->params.hook = hook;
}

struct exec_plugin *exec_plugin_create(const struct exec_plugin_params *params, exec_plugin_cb *cb,
                                       void *arg)
{
    struct exec_plugin *p = MEM_NEW(struct exec_plugin, .params = *params, .cb = cb, .arg = arg,
                                    .made_ns = loop_wall_ns(), .program.on_exited = on_exited);

    p->timeout = deadline_create(params->loop, on_timeout, p);
    loop_task_init(&p->not_begun, on_not_begun);
    return p;
}

void exec_plugin_dispose(struct exec_plugin **pp)
{
    struct exec_plugin *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    helper_link_kill(p->params.link, &p->program, SIGKILL);
    helper_run_forget(&p->program);
    loop_cancel(&p->not_begun);
    deadline_dispose(&p->timeout);
    run_output_dispose(&p->output);
    wipe(&p->said);
    wipe(&p->secrets);
    free(p);
}
