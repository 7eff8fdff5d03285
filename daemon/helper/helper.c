/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/wire.h"
#include "helper/capability_needs.h"
#include "helper/capability_sets.h"
#include "helper/channel.h"
#include "helper/child.h"
#include "helper/clock.h"
#include "helper/fds.h"
#include "helper/file_watch.h"
#include "helper/reload.h"
#include "helper/run_cgroup.h"
#include "helper/runs.h"
#include "helper/slots.h"
#include "helper/tables.h"
#include "helper/work.h"

/* SOCKET_FD: the place of the socket to main, right above the standard descriptors; TREE_FD: the folder of
 * the cgroups of runs. FILE_MAX: bytes of a credential file at most. */
enum { SOCKET_FD = 3, TREE_FD, FILE_MAX = 1024 * 1024 };

struct helper {
    const struct helper_params *params;   /* the present ones */
    struct helper_params *reloaded;       /* the same, to be released; NULL = those of the start */
    const struct helper_reload *reloader; /* NULL = none */
    struct reload reload;
    uint64_t generation; /* how often the parameters were replaced */
    struct channel channel;
    struct run_cgroups cgroups;
    struct runs runs;
    struct slots slots;
    struct file_watch *file_watch;
    struct err *refused; /* of each file: why it was refused last; kind OK = it was not */
    int signal_fd;
    struct channel_message message; /* the message that is being handled */
};

/* ---- Requests */

/* A runs_end_cb. The slot is free before main hears of the end: main may ask for the next run at
 * once. */
static void reply_end(void *arg, uint64_t id, const struct run_end *end)
{
    struct helper *h = arg;

    if (id == RELOAD_RUN_ID) {
        reload_on_end(&h->reload, end);
        return;
    }
    slots_free(&h->slots, id);
    channel_reply(&h->channel, &(struct wire_reply){.type = WIRE_EXITED, .id = id, .end = *end},
                  -1);
}

static void refuse(struct helper *h, const struct wire_request *req, struct run_end why)
{
    const struct wire_reply reply = {.type = WIRE_EXITED, .id = req->id, .end = why};

    channel_reply(&h->channel, &reply, -1);
}

/* The environment of a run: the fixed strings of the hook, then the strings that main sent. The
 * caller frees the array; its strings are borrowed. INFORMERD_* of the hook's own environment is
 * left out, as the first string of a name would count. */
static const char **make_env(const struct helper_hook *hook, struct str sent, size_t sent_count)
{
    size_t fixed = 0;
    size_t n = 0;

    while (hook->env[fixed] != NULL)
        fixed++;
    const char **env = mem_array(fixed + sent_count + 1, sizeof(*env));
    for (size_t i = 0; i < fixed; i++)
        if (!wire_env_is_ours(hook->env[i]))
            env[n++] = hook->env[i];
    for (const char *s = sent.p; s < sent.p + sent.n; s += strlen(s) + 1)
        env[n++] = s;
    return env;
}

/* A program is either argv, or a function of the helper. */
static void choose_program(struct child_spec *spec)
{
    switch (spec->program) {
    case RUN_PROGRAM_COMMAND:
        spec->argv = spec->hook->argv;
        break;
    case RUN_PROGRAM_OUTPUT:
        spec->work = output_run_write;
        break;
    case RUN_PROGRAM_REMOVE:
        spec->work = output_run_remove;
        break;
    case RUN_PROGRAM_APPLY:
        spec->argv = spec->hook->apply;
        break;
    case RUN_PROGRAM_FINGERPRINT:
        spec->work = fingerprint_work;
        break;
    case RUN_PROGRAM_SWEEP:
        spec->work = output_sweep_work;
        if (spec->hook->kind == HELPER_GONE)
            spec->work_needs = capability_needs_of_files();
        break;
    case RUN_PROGRAM_FILES:
        spec->work = output_files_work;
        break;
    case RUN_PROGRAM_CHECK: /* main cannot ask for it */
        break;
    }
}

/* The value of INFORMERD_RUN in an environment that wire_env_check() accepts, borrowed; or NULL. */
static const char *run_name(struct str env)
{
    static const char variable[] = "INFORMERD_RUN=";
    size_t n = sizeof(variable) - 1;

    for (const char *s = env.p; s < env.p + env.n; s += strlen(s) + 1)
        if (strncmp(s, variable, n) == 0)
            return s + n;
    return NULL;
}

/* Does the program run code of others, which may leave processes behind? An output file is written by code
 * of the helper, unless a program checks it. */
static bool needs_cgroup(const struct helper_hook *hook, enum run_program program)
{
    bool is_checked = program == RUN_PROGRAM_OUTPUT || program == RUN_PROGRAM_FILES;

    return program == RUN_PROGRAM_COMMAND || program == RUN_PROGRAM_APPLY ||
           (is_checked && hook->check != NULL);
}

/* False: no child was started, and *why is the end of the run. EMFILE tells main that the system is short
 * of descriptors, so it tries the run again without counting a failure (docs/design.md "Retry"). */
static bool start_run(struct helper *h, const struct wire_request *req, struct child *child,
                      struct run_cgroup *cgroup, struct run_end *why)
{
    const struct helper_hook *hook = &h->params->hooks[req->number];
    struct child_spec spec = {
        .hook = hook, .program = req->program, .nofile_soft = h->params->nofile_soft};
    size_t env_count;

    if (h->message.fds_lost) {
        *why = run_end_refused(req->program, RUN_STAGE_RECEIVE, EMFILE);
        return false;
    }
    if (!wire_env_check(req->env, &env_count)) {
        *why = run_end_refused(req->program, RUN_STAGE_ENVIRONMENT, EINVAL);
        return false;
    }
    const char *name = needs_cgroup(hook, req->program) ? run_name(req->env) : NULL;
    int error = run_cgroup_make(&h->cgroups, name, hook->name, &hook->limits, cgroup);
    if (error != 0) {
        *why = run_end_refused(req->program, RUN_STAGE_CGROUP, error);
        return false;
    }
    const char **env = make_env(hook, req->env, env_count);
    spec.env = env;
    spec.cgroup = cgroup;
    choose_program(&spec);
    memcpy(spec.fds, h->message.fds, sizeof(spec.fds));
    bool is_started = child_start(&spec, child, why);
    free(env);
    if (!is_started)
        run_cgroup_leave(&h->cgroups, cgroup, false);
    return is_started;
}

/* hook/scheduler keeps to the runs that the configuration allows, so a main that asks for more has
 * a bug or was broken into. The run is refused and logged; the helper goes on for the other
 * hooks. Only a removal of stray files and a reading of programs may find another one: io/sweep and
 * io/fingerprints do not wait for one that was killed, and io/fingerprints asks again. */
static void refuse_too_many(struct helper *h, const struct wire_request *req)
{
    size_t n;
    const char *run = wire_env_check(req->env, &n) ? run_name(req->env) : NULL;
    const char *hook = req->type == WIRE_RUN ? h->params->hooks[req->number].name : NULL;

    if (hook != NULL && req->program == RUN_PROGRAM_SWEEP)
        log_warn("helper: obsolete files are not removed yet: the removal before has not ended",
                 KV_STR("hook", hook));
    else if (hook != NULL && req->program == RUN_PROGRAM_FINGERPRINT)
        log_debug("helper: programs are not read yet: the reading before has not ended",
                  KV_STR("hook", hook));
    else
        log_error("helper: run refused: more runs at a time than the configuration allows",
                  hook != NULL ? KV_STR("hook", hook) : (struct kv){.type = KV_TYPE_NONE},
                  KV_STR("run", run));
    refuse(h, req, run_end_refused(req->program, RUN_STAGE_CONCURRENCY, EBUSY));
}

/* A program may have ended that the helper has not reaped yet. */
static bool take_slot(struct helper *h, const struct wire_request *req)
{
    if (slots_take(&h->slots, req->id, req->number, req->program))
        return true;
    runs_reap(&h->runs);
    return slots_take(&h->slots, req->id, req->number, req->program);
}

static void on_run(struct helper *h, const struct wire_request *req)
{
    struct run_cgroup cgroup;
    struct run_end why;
    struct child child;

    if (!take_slot(h, req)) {
        refuse_too_many(h, req);
    } else if (start_run(h, req, &child, &cgroup, &why)) {
        const struct helper_hook *hook = &h->params->hooks[req->number];
        const struct runs_stop stop = {hook->kill_signal, hook->kills_left, hook->kill_grace_ms};

        runs_add(&h->runs, req->id, stop, child, cgroup);
    } else {
        slots_free(&h->slots, req->id);
        refuse(h, req, why);
    }
}

/* runs_clear() may call reply_end() before it returns, so the slot is taken first. */
static void on_clear(struct helper *h, const struct wire_request *req)
{
    size_t env_count;

    if (!slots_take_clear(&h->slots, req->id)) {
        refuse_too_many(h, req);
        return;
    }
    if (wire_env_check(req->env, &env_count)) {
        runs_clear(&h->runs, req->id, run_name(req->env));
    } else {
        slots_free(&h->slots, req->id);
        refuse(h, req, run_end_refused(req->program, RUN_STAGE_ENVIRONMENT, EINVAL));
    }
}

/* Returns a descriptor, or -1 with errno set. main gets no more than the errno, so the helper logs
 * who could change a file that it refuses; once for each reason, as main asks again and again. */
static int open_credential(const struct helper_file *file, struct err *refused)
{
    struct stat st;
    struct err err = {0};
    int fd;

    if (path_trust_open(file->path, &file->path_trust, &fd, &err) != ERR_OK) {
        if (err.code == EPERM && log_failure_level(refused, &err) == LOG_LVL_WARN)
            log_error("helper: credential file refused", KV_ERR(&err));
        errno = err.code;
        return -1;
    }
    *refused = (struct err){0};
    if (fstat(fd, &st) == 0 && st.st_size <= FILE_MAX)
        return fd;
    close(fd);
    errno = EFBIG;
    return -1;
}

static void on_open(struct helper *h, const struct wire_request *req)
{
    struct wire_reply reply = {.type = WIRE_OPENED, .id = req->id};

    file_watch_add(h->file_watch, req->number);
    int fd = open_credential(&h->params->files[req->number], &h->refused[req->number]);
    reply.error = fd < 0 ? errno : 0;
    channel_reply(&h->channel, &reply, fd);
}

/* Tells main which files may have changed. While main is slow a file waits with its further
 * changes, so there are never more messages than files. */
static void tell_changes(struct helper *h)
{
    uint32_t file;

    while (!channel_is_waiting(&h->channel) &&
           file_watch_take(h->file_watch, clock_now_ms(), &file)) {
        const struct wire_reply reply = {
            .type = WIRE_CHANGED, .id = file, .generation = h->generation};

        channel_reply(&h->channel, &reply, -1);
    }
}

/* Gives up the capabilities that the present parameters do not need. They stay permitted: a reload
 * may need them, and so do hooks of root, which get all of them (docs/decisions.md "The helper lowers its
 * effective capabilities"). */
static void limit_capabilities(const struct helper *h)
{
    struct capability_sets sets;
    struct buf names = {0};
    int error = capability_sets_read(&sets);

    if (error == 0)
        error = capability_sets_limit(capability_needs(h->params, sets.permitted));
    if (error == 0)
        error = capability_sets_read(&sets);
    if (error != 0) {
        log_warn("capabilities that are not needed cannot be given up", KV_STR("process", "helper"),
                 KV_STR("err", strerrordesc_np(error)));
        return;
    }
    capability_put(&names, sets.effective);
    log_debug("helper: capabilities", KV_STR("effective", buf_cstr(&names)));
    buf_free(&names);
}

/* From here on all numbers are those of the new parameters. file_watch tells again of the files of which
 * main reads an event with an old number only now. The memory of the old parameters goes: no run points
 * to it. */
static enum err_kind on_commit(struct helper *h, const struct wire_request *req, struct err *err)
{
    struct helper_params *params;
    enum err_kind kind = reload_commit(&h->reload, req->id, &params, err);

    if (kind != ERR_OK)
        return kind;
    slots_renew(&h->slots, params);
    file_watch_renew(h->file_watch, params->files, params->file_count, clock_now_ms());
    free(h->refused);
    h->refused = mem_array(params->file_count + 1, sizeof(*h->refused));
    tables_free(&h->reloaded);
    h->params = h->reloaded = params;
    h->generation++;
    limit_capabilities(h);
    return ERR_OK;
}

/* Does the hook have the parameters that this program needs? Main never has stray files of
 * metrics.textfile removed, as its folder has files of others. */
static bool has_program(const struct helper_hook *hook, enum run_program program)
{
    switch (program) {
    case RUN_PROGRAM_COMMAND:
        return hook->argv != NULL;
    case RUN_PROGRAM_OUTPUT:
    case RUN_PROGRAM_REMOVE:
    case RUN_PROGRAM_FILES:
        return hook->output != NULL;
    case RUN_PROGRAM_SWEEP:
        return hook->kind == HELPER_GONE || (hook->kind == HELPER_HOOK && hook->output != NULL);
    case RUN_PROGRAM_APPLY:
        return hook->apply != NULL;
    case RUN_PROGRAM_FINGERPRINT:
        return hook->contents != NULL;
    case RUN_PROGRAM_CHECK:
        break;
    }
    return false;
}

/* A request that names a hook, program, signal, file or level that does not exist is a bug of main, or
 * main was broken into: the helper ends (ERR_PROTOCOL). An unknown id of a KILL is no error,
 * because the run may have ended while the request was under way. */
static enum err_kind check_request(const struct helper *h, const struct wire_request *req,
                                   struct err *err)
{
    const struct helper_params *p = h->params;

    if (req->type == WIRE_RUN && req->number >= p->hook_count)
        return err_set(err, ERR_PROTOCOL, 0, "message from main: no hook %u", req->number);
    if (req->type == WIRE_RUN && !has_program(&p->hooks[req->number], req->program))
        return err_set(err, ERR_PROTOCOL, 0, "message from main: hook %u has no program %d",
                       req->number, (int)req->program);
    if ((req->type == WIRE_RUN || req->type == WIRE_CLEAR || req->type == WIRE_KILL) &&
        req->id == RELOAD_RUN_ID)
        return err_set(err, ERR_PROTOCOL, 0, "message from main: a run that is the helper's");
    if ((req->type == WIRE_RUN || req->type == WIRE_CLEAR) && runs_has(&h->runs, req->id))
        return err_set(err, ERR_PROTOCOL, 0, "message from main: a second run with the same id");
    if (req->type == WIRE_KILL && (req->number < 1 || req->number >= NSIG))
        return err_set(err, ERR_PROTOCOL, 0, "message from main: no signal %u", req->number);
    if (req->type == WIRE_OPEN && req->number >= p->file_count)
        return err_set(err, ERR_PROTOCOL, 0, "message from main: no file %u", req->number);
    if (req->type == WIRE_LOG_LEVEL && req->number > LOG_LVL_TRACE)
        return err_set(err, ERR_PROTOCOL, 0, "message from main: no log level %u", req->number);
    return ERR_OK;
}

static enum err_kind on_message(struct helper *h, struct err *err)
{
    struct str message = str_of(h->message.data, h->message.size);
    /* Lost descriptors are no fault of main: the message counts as complete, and start_run()
     * refuses the run. */
    size_t fd_count = h->message.fds_lost ? WIRE_RUN_FDS : h->message.fd_count;
    struct wire_request req;
    enum err_kind kind = wire_request_decode(message, fd_count, &req, err);

    if (kind == ERR_OK)
        kind = check_request(h, &req, err);
    if (kind != ERR_OK)
        return kind;
    switch (req.type) {
    case WIRE_RUN:
        on_run(h, &req);
        break;
    case WIRE_KILL:
        runs_reap(&h->runs); /* a program that has ended by itself before is not taken for killed */
        runs_kill(&h->runs, req.id, (int)req.number);
        break;
    case WIRE_OPEN:
        on_open(h, &req);
        break;
    case WIRE_CLEAR:
        runs_reap(&h->runs);
        on_clear(h, &req);
        break;
    case WIRE_RELOAD:
        reload_begin(&h->reload, req.id);
        break;
    case WIRE_COMMIT:
        return on_commit(h, &req, err);
    case WIRE_DROP:
        reload_drop(&h->reload, req.id);
        break;
    case WIRE_LOG_LEVEL:
        log_set_level((enum log_level)req.number);
        log_debug("helper: log level is changed", KV_STR("to", log_level_words[req.number]));
        break;
    }
    return ERR_OK;
}

/* ERR_CLOSED when main is gone. */
static enum err_kind receive(struct helper *h, struct err *err)
{
    enum err_kind kind = ERR_OK;

    switch (channel_receive(&h->channel, &h->message)) {
    case CHANNEL_MESSAGE:
        kind = on_message(h, err);
        channel_message_close(&h->message);
        break;
    case CHANNEL_NOTHING:
        break;
    case CHANNEL_END:
        return ERR_CLOSED;
    case CHANNEL_BROKEN:
        return err_set(err, ERR_PROTOCOL, 0, "message from main: empty or oversized");
    }
    return kind;
}

/* Empties the signalfd. SIGCHLDs merge, so the signals are not counted: runs_reap() asks for every
 * child that has ended. */
static void drain_signals(const struct helper *h)
{
    struct signalfd_siginfo info[8];

    while (read(h->signal_fd, info, sizeof(info)) == (ssize_t)sizeof(info))
        continue;
}

/* The shorter of two times for poll(), of which -1 is for ever. */
static int shorter(int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

/* Waits until something is to be done; the answers are in p. While a reply waits for the socket no
 * request is read, so that replies cannot pile up, and no change of a file is told. */
static enum err_kind wait_for(struct helper *h, struct pollfd p[4], struct err *err)
{
    bool is_waiting = channel_is_waiting(&h->channel);
    uint64_t now_ms = clock_now_ms();
    int changes_ms = is_waiting ? -1 : file_watch_wait_ms(h->file_watch, now_ms);

    p[0] = (struct pollfd){.fd = h->channel.fd, .events = is_waiting ? POLLOUT : POLLIN};
    p[1] = (struct pollfd){.fd = h->signal_fd, .events = POLLIN};
    p[2] = (struct pollfd){.fd = is_waiting ? -1 : file_watch_fd(h->file_watch, now_ms),
                           .events = POLLIN};
    p[3] = (struct pollfd){.fd = h->cgroups.watch_fd, .events = POLLIN};
    int wait_ms = shorter(runs_wait_ms(&h->runs), changes_ms);
    int n = poll(p, 4, wait_ms);
    /* poll() takes no more places than descriptors are allowed, and somebody may lower that to the standard
     * streams: then cgroups are removed later. */
    if (n < 0 && errno == EINVAL)
        n = poll(p, 3, wait_ms);
    if (n < 0 && errno != EINTR)
        return err_set(err, ERR_IO, errno, "poll: %s", strerrordesc_np(errno));
    return ERR_OK;
}

/* Serves main until it closes the socket (ERR_CLOSED) or breaks the protocol (ERR_PROTOCOL). Ends
 * come before requests: main gets the end of a run before the answer to a later request. */
static enum err_kind serve(struct helper *h, struct err *err)
{
    struct pollfd p[4];
    enum err_kind kind;

    while ((kind = wait_for(h, p, err)) == ERR_OK) {
        if ((p[1].revents & POLLIN) != 0)
            drain_signals(h);
        if ((p[1].revents & POLLIN) != 0 || runs_wait_ms(&h->runs) == 0)
            runs_reap(&h->runs);
        if ((p[2].revents & POLLIN) != 0)
            file_watch_read(h->file_watch, clock_now_ms());
        if ((p[3].revents & POLLIN) != 0)
            run_cgroups_tidy(&h->cgroups);
        if ((p[0].revents & POLLOUT) != 0)
            channel_flush(&h->channel);
        tell_changes(h);
        if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
            kind = receive(h, err);
        if (kind != ERR_OK)
            break;
    }
    return kind;
}

/* From here on no signal reaches the helper except SIGCHLD, by its signalfd. Ctrl-C goes to the
 * whole foreground group, and main decides how informerd ends. */
static enum err_kind take_signals(struct helper *h, struct err *err)
{
    /* The starter of informerd may have left SIGCHLD ignored: then children would vanish without
     * being reaped. */
    struct sigaction normal = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    sigset_t set;

    sigfillset(&set);
    if (sigaction(SIGCHLD, &normal, NULL) < 0 || pthread_sigmask(SIG_SETMASK, &set, NULL) != 0)
        return err_set(err, ERR_IO, errno, "signals: %s", strerrordesc_np(errno));
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    h->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (h->signal_fd < 0)
        return err_set(err, ERR_IO, errno, "signalfd: %s", strerrordesc_np(errno));
    return ERR_OK;
}

/* Closes every descriptor except 0 (from now on /dev/null), 1, 2, the socket and the folder of the
 * cgroups, which move to SOCKET_FD and TREE_FD. This also closes the copy of main's end: otherwise the helper would never see main
 * close it. */
static enum err_kind take_descriptors(int socket_fd, const struct cgroup_tree *tree,
                                      struct err *err)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int tree_fd =
        tree != NULL ? fcntl(tree->fd, F_DUPFD_CLOEXEC, TREE_FD) : -1; /* out of the way */
    int error = 0;

    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || (tree != NULL && tree_fd < 0) ||
        (socket_fd != SOCKET_FD && dup3(socket_fd, SOCKET_FD, O_CLOEXEC) < 0) ||
        (tree_fd > TREE_FD && dup3(tree_fd, TREE_FD, O_CLOEXEC) < 0))
        error = errno;
    if (error == 0)
        error = fds_close_from(tree != NULL ? TREE_FD + 1 : SOCKET_FD + 1);
    if (error != 0)
        return err_set(err, ERR_IO, error, "descriptors: %s", strerrordesc_np(error));
    return ERR_OK;
}

/* The subreaper setting must be there before the first run is started: orphans of runs become
 * children of the helper by it. */
static enum err_kind run(struct helper *h, int socket_fd, struct err *err)
{
    enum err_kind kind = take_descriptors(socket_fd, h->params->cgroups, err);
    int error;

    if (kind == ERR_OK)
        kind = take_signals(h, err);
    if (kind == ERR_OK && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        kind = err_set(err, ERR_IO, errno, "subreaper: %s", strerrordesc_np(errno));
    if (kind == ERR_OK && (error = capability_sets_settle()) != 0)
        kind = err_set(err, ERR_IO, error, "capabilities: %s", strerrordesc_np(error));
    if (kind != ERR_OK)
        return kind;
    channel_init(&h->channel, SOCKET_FD);
    run_cgroups_open(&h->cgroups, h->params->cgroups, TREE_FD);
    runs_init(&h->runs, &h->cgroups, reply_end, h);
    reload_init(&h->reload, h->reloader, h->params->nofile_soft, &h->runs, &h->channel);
    slots_init(&h->slots, h->params);
    h->file_watch = file_watch_create(h->params->files, h->params->file_count);
    h->refused = mem_array(h->params->file_count + 1, sizeof(*h->refused));
    limit_capabilities(h);
    kind = serve(h, err);
    channel_close(&h->channel); /* first: main must not wait for answers while the runs end */
    runs_end_all(&h->runs, h->signal_fd);
    runs_fini(&h->runs);
    run_cgroups_close(&h->cgroups);
    reload_fini(&h->reload);
    slots_fini(&h->slots);
    file_watch_destroy(&h->file_watch);
    free(h->refused);
    tables_free(&h->reloaded);
    close(h->signal_fd);
    return kind;
}

/* Shows as "informerd: helper" in ps and in systemd's tree. The kernel shows the strings in this
 * memory; the last byte stays NUL. */
static void show_title(const struct helper_params *params)
{
    static const char text[] = "informerd: helper";
    size_t n = params->title_size < sizeof(text) ? params->title_size : sizeof(text);

    if (n == 0)
        return;
    memset(params->title, 0, params->title_size);
    memcpy(params->title, text, n - 1);
}

/* The helper from its fork to its end, in a process of its own with one thread. It takes over the
 * signals and every descriptor except 0-2 and socket_fd (> 2), and runs until main closes its end.
 * Then the process group of each run gets its kill_signal, and SIGKILL after the grace. Returns the
 * exit code: 0, or 1 if main broke the protocol or the system refused a thing that the helper
 * cannot do without. */
static int live(const struct helper_params *params, const struct helper_reload *reload,
                int socket_fd)
{
    struct helper *h = mem_zalloc(sizeof(*h));
    struct err err;

    ensure(socket_fd > STDERR_FILENO);
    h->params = params;
    h->reloader = reload;
    show_title(params);
    prctl(PR_SET_NAME, "informerd-help"); /* the kernel keeps 15 bytes of a name */
    if (chdir("/") < 0)
        log_debug("helper: cannot change to /", KV_INT("errno", errno));
    enum err_kind kind = run(h, socket_fd, &err);
    free(h);
    if (kind == ERR_CLOSED)
        return 0;
    log_error("helper ends", KV_ERR(&err));
    return 1;
}

enum err_kind helper_start(const struct helper_params *params, const struct helper_reload *reload,
                           int *fd, pid_t *pid, struct err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, ERR_IO, errno, "helper: socketpair: %s", strerrordesc_np(errno));
    ensure(ends[0] > STDERR_FILENO && ends[1] > STDERR_FILENO);
    *pid = fork();
    if (*pid == 0)
        _exit(live(params, reload, ends[1])); /* not exit(): atexit() handlers are main's */
    int error = errno;
    close(ends[1]);
    if (*pid > 0) {
        *fd = ends[0];
        return ERR_OK;
    }
    close(ends[0]);
    return err_set(err, ERR_IO, error, "helper: fork: %s", strerrordesc_np(error));
}
