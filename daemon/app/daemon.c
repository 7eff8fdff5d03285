/* SPDX-License-Identifier: Apache-2.0 */
#include "app/daemon.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/build.h"
#include "app/cluster_runtime.h"
#include "app/control.h"
#include "app/exec_plugins.h"
#include "app/notify.h"
#include "app/once.h"
#include "app/persist_driver.h"
#include "app/sources.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"

/* How long to wait for the end of runs after their SIGKILL. A process is gone at once then; a
 * helper that does not say so is not waited for any longer. */
#define LAST_WAIT_MS 5000

/* How long the state may take to be written at the end (docs/design.md "Programs"). After that the
 * daemon ends, and changes that were not written are lost. */
#define SAVE_MS 5000

/* The status line looks at every watch, so it is not made for each of a thousand events. */
#define STATUS_EVERY_MS 250

enum daemon_state {
    DAEMON_STARTING, /* not ready yet (docs/design.md "Readiness") */
    DAEMON_READY,
    DAEMON_STOPPING, /* no new runs; those under way may end */
    DAEMON_KILLING,  /* stop_timeout is over: runs under way are being killed */
    DAEMON_SAVING,   /* all runs have ended; the state is written to disk */
};

struct daemon {
    struct daemon_params params;
    enum daemon_state state;
    /* EXIT_CODE_FAILED with --once until it is done: a signal before that is a failure. */
    int exit_code;
    uint64_t started_ns;
    uint64_t started_ms;
    char instance[32]; /* part of the ids of runs, different at each start */
    struct loop *loop;
    struct helper_link *link;
    struct cluster_runtime **clusters; /* as conf->clusters */
    struct sources *sources;
    struct hooks hooks;
    struct persist_driver *persist;
    struct runner_hook *runner_hooks;
    struct runner *runner;
    struct control *control;
    /* STARTING: ready_timeout; STOPPING: stop_timeout; KILLING: LAST_WAIT_MS. */
    struct deadline *timer;
    struct loop_task progress; /* queued: something has changed in this turn */
    struct deadline *tell;     /* the next look at the status */
    struct deadline *once;     /* --timeout of --once */
    char status[160];          /* the line that systemd has; "" = none */
};

/* Sends STATUS= if the line has changed: each message to systemd wakes it up. */
static void send_status(struct daemon *dm)
{
    size_t n_watches = sources_watch_count(dm->sources);
    size_t synced = 0;
    size_t trouble = 0;
    char text[sizeof(dm->status)];

    for (size_t i = 0; i < n_watches; i++) {
        struct watch_status w =
            watch_status(sources_watches(dm->sources)[i].watch, loop_now_ms(dm->loop));

        synced += w.synced;
        trouble += w.err->kind != ERR_OK;
    }
    int n = snprintf(text, sizeof(text), "%zu of %zu watches synced, %zu failing, %zu hooks",
                     synced, n_watches, trouble, dm->hooks.n);
    if (n < 0 || strcmp(text, dm->status) == 0)
        return;
    memcpy(dm->status, text, sizeof(text));
    notify_status(text);
}

static void tell_status(void *arg)
{
    struct daemon *dm = arg;

    control_look(dm->control);
    send_status(dm);
}

/* why: the reason, for the log. READY is said once, and never after a stop has begun
 * (docs/design.md "Readiness"). */
static void become_ready(struct daemon *dm, const char *why)
{
    if (dm->state != DAEMON_STARTING)
        return;
    dm->state = DAEMON_READY;
    deadline_stop(dm->timer);
    log_info("ready", KV_STR("because", why),
             KV_MS("after", loop_now_ms(dm->loop) - dm->started_ms));
    tell_status(dm);
    notify_ready();
}

static void check_ready(struct daemon *dm)
{
    if (dm->state == DAEMON_STARTING && hooks_ready(&dm->hooks))
        become_ready(dm, "the first runs of all hooks have ended");
}

/* Looks once at all that has come from servers in a turn of the loop, however many connections it
 * came on, and at watches for which time has passed: so changes that arrive together are judged
 * together. Order: views follow their watches before anybody looks at them, then the state gets the
 * changes, and then runs are chosen (runner_kick()). */
static void look_at_progress(struct loop_task *task)
{
    struct daemon *dm = container_of(task, struct daemon, progress);

    sources_progress(dm->sources);
    persist_driver_look(dm->persist, STATE_DRIVER_SOON);
    control_progress(dm->control);
    runner_kick(dm->runner);
    if (!deadline_pending(dm->tell))
        deadline_start(dm->tell, STATUS_EVERY_MS);
}

static void on_progress(void *arg)
{
    struct daemon *dm = arg;

    loop_defer(dm->loop, &dm->progress);
}

/* The rows of objects may be written before the turn of the progress: an object must not be dropped
 * on disk before the hooks that know it have its last state in their records. */
static void on_batch(void *arg)
{
    struct daemon *dm = arg;

    if (loop_cancel(&dm->progress))
        look_at_progress(&dm->progress);
}

static void on_saved(void *arg, bool all)
{
    const struct daemon *dm = arg;

    if (!all)
        log_warn("state not completely written before the exit: the last runs may be repeated "
                 "after the restart",
                 KV_STR("state_dir", dm->params.conf->state_dir.v));
    loop_stop(dm->loop);
}

static void save(struct daemon *dm)
{
    dm->state = DAEMON_SAVING;
    deadline_stop(dm->timer);
    persist_driver_flush(dm->persist, SAVE_MS, on_saved);
}

/* The end of the last run is the moment to write the state: it has all records of runs then. */
static void check_stopped(struct daemon *dm)
{
    if ((dm->state == DAEMON_STOPPING || dm->state == DAEMON_KILLING) &&
        runner_running(dm->runner) == 0)
        save(dm);
}

static void stop_clusters(struct daemon *dm)
{
    for (size_t i = 0; i < dm->params.conf->n_clusters; i++)
        cluster_runtime_stop(dm->clusters[i]);
}

static void stop(struct daemon *dm, const char *why)
{
    if (dm->state >= DAEMON_STOPPING)
        return;
    dm->state = DAEMON_STOPPING;
    log_info("stopping", KV_STR("because", why), KV_U64("running", runner_running(dm->runner)));
    notify_stopping();
    /* First the servers: without changes nothing new becomes due. */
    stop_clusters(dm);
    runner_stop(dm->runner);
    deadline_start(dm->timer, dm->params.conf->limits.stop_timeout.v);
    check_stopped(dm);
}

/* Looks whether --once is done (docs/design.md "Once"). When everything has synced, and no run
 * waits for a cluster to say which one it is, informerd leaves the servers: changes after that
 * would keep it from ending. over: --timeout has passed. */
static void check_once(struct daemon *dm, bool over)
{
    if (dm->params.once_ms == 0 || dm->state >= DAEMON_STOPPING)
        return;
    const struct once_look look = {.hooks = &dm->hooks,
                                   .synced = sources_read(dm->sources) &&
                                             !persist_driver_awaits(dm->persist),
                                   .over = over};
    if (once_has_all(&look))
        stop_clusters(dm);
    int code = once_judge(&look);
    if (code == ONCE_GOES_ON)
        return;
    dm->exit_code = code;
    stop(dm, over ? "--timeout has passed" : "--once: all is done");
}

static void on_once(void *arg)
{
    check_once(arg, true);
}

static void on_runs(void *arg)
{
    struct daemon *dm = arg;

    check_ready(dm);
    check_stopped(dm);
    check_once(dm, false);
}

static void on_result(void *arg, const struct hook *hook, const struct history_run *ended)
{
    const struct daemon *dm = arg;

    control_result(dm->control, hook, ended);
}

static void on_timer(void *arg)
{
    struct daemon *dm = arg;

    switch (dm->state) {
    case DAEMON_STARTING:
        become_ready(dm, "ready_timeout has passed");
        break;
    case DAEMON_STOPPING:
        dm->state = DAEMON_KILLING;
        log_warn("stop_timeout has passed: running hooks are killed",
                 KV_U64("running", runner_running(dm->runner)));
        runner_kill_all(dm->runner);
        /* Each hook gets kill_signal, and SIGKILL after its kill_grace. */
        deadline_start(dm->timer, runner_longest_grace_ms(dm->runner) + LAST_WAIT_MS);
        break;
    case DAEMON_KILLING:
        save(dm);
        break;
    case DAEMON_READY:
    case DAEMON_SAVING:
        break;
    }
}

/* As the first process of a container (pid 1), main inherits processes that hooks leave behind, and
 * must reap them. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static void on_signal(void *arg, int number)
{
    switch (number) {
    case SIGCHLD:
        reap();
        break;
    case SIGHUP:
        log_warn("reload is not supported yet: restart informerd to read the changed configuration",
                 KV_STR("signal", "SIGHUP"));
        break;
    default:
        stop(arg, strsignal(number));
        break;
    }
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct daemon *dm = arg;

    /* Each cluster has its tags, in the order of conf->clusters. */
    cluster_runtime_opened(dm->clusters[tag / CLUSTER_RUNTIME_TAGS], tag, fd, error);
}

/* A file may be a credential of any cluster. */
static void on_changed(void *arg, uint32_t file)
{
    struct daemon *dm = arg;

    for (size_t i = 0; i < dm->params.conf->n_clusters; i++)
        cluster_runtime_changed(dm->clusters[i], file);
}

/* Without the helper nothing can be started any more, and the runs under way end with it
 * (docs/design.md "Two processes"). */
static void on_lost(void *arg, const struct err *err)
{
    struct daemon *dm = arg;

    log_error(
        "helper process has ended: hooks cannot run, so informerd exits and systemd restarts it",
        KV_ERR(err));
    dm->exit_code = EXIT_CODE_FAILED;
    loop_stop(dm->loop);
}

static void build_cluster_runtime(struct daemon *dm, size_t i, const char *agent)
{
    static const struct cluster_runtime_events events = {.on_progress = on_progress};
    const struct cluster_runtime_params p = {
        .loop = dm->loop,
        .link = dm->link,
        .conf = &dm->params.conf->clusters[i],
        .cluster_access = &dm->params.cluster_access->v[i],
        .user_agent = agent,
        .tag = (uint64_t)i * CLUSTER_RUNTIME_TAGS,
        .plugin = exec_plugins_number(dm->params.conf, dm->params.cluster_access, i),
        .seed = dm->started_ns,
        .credential_expiry_ms = dm->params.conf->limits.credential_expiry.v,
    };

    dm->clusters[i] = cluster_runtime_create(&p, &events, dm);
}

static void build_sources(struct daemon *dm)
{
    const struct sources_params p = {.loop = dm->loop,
                                     .conf = dm->params.conf,
                                     .node_name = dm->params.node_name,
                                     .on_progress = on_progress,
                                     .arg = dm};

    dm->sources = sources_create(&p);
}

static void build_hooks(struct daemon *dm)
{
    const struct conf *conf = dm->params.conf;
    struct err err;

    hooks_init(&dm->hooks, (unsigned)conf->limits.hook_concurrency.v, dm->started_ns);
    for (size_t i = 0; i < conf->n_hooks; i++) {
        struct hook_params p;

        if (build_hook(conf, i, dm->sources, dm->params.node_name, &p, &err) != ERR_OK)
            panic("a checked hook cannot be built: %s", err.text);
        hooks_add(&dm->hooks, &p);
        build_hook_fini(&p);
    }
    sources_subscribe(dm->sources, &hooks_subscriber, &dm->hooks);
    dm->runner_hooks = build_runner_hooks(conf);
}

/* Each hook knows now whether its programs have changed, and so which objects are to be renewed:
 * runs may start. */
static void on_known(void *arg)
{
    const struct daemon *dm = arg;

    runner_begin(dm->runner);
}

static void build_persist_driver(struct daemon *dm)
{
    static const struct persist_driver_events events = {on_known, on_progress, on_batch};
    const struct persist_driver_params p = {
        .loop = dm->loop,
        .link = dm->link,
        .conf = dm->params.conf,
        .node_name = dm->params.node_name,
        .folder = dm->params.folder,
        .reason = dm->params.folder_reason,
        .forgets = dm->params.dry_run,
        .sources = dm->sources,
        .hooks = &dm->hooks,
    };

    dm->persist = persist_driver_create(&p, &events, dm);
}

/* Runs have been chosen or have ended: their records go to disk at once. The runner waits for that
 * before it starts a run (docs/design.md "Records on disk"). */
static void on_deliveries(void *arg)
{
    const struct daemon *dm = arg;

    persist_driver_look(dm->persist, STATE_DRIVER_NOW);
}

static void build_runner(struct daemon *dm)
{
    static const struct runner_events events = {on_deliveries, on_result, on_runs};
    struct runner_params p = {
        .loop = dm->loop,
        .link = dm->link,
        .hooks = &dm->hooks,
        .state_driver = persist_driver_state(dm->persist),
        .by_index = dm->runner_hooks,
        .context = {.node = dm->params.node_name, .instance = dm->instance},
        .dry_run = dm->params.dry_run,
    };

    dm->runner = runner_create(&p, &events, dm);
}

static bool is_ready(void *arg)
{
    const struct daemon *dm = arg;

    return dm->state != DAEMON_STARTING;
}

static bool is_stopping(void *arg)
{
    const struct daemon *dm = arg;

    return dm->state >= DAEMON_STOPPING;
}

static void kick(void *arg)
{
    const struct daemon *dm = arg;

    runner_kick(dm->runner);
}

static void build_control(struct daemon *dm)
{
    const struct control_params p = {
        .loop = dm->loop,
        .conf = dm->params.conf,
        .cluster_access = dm->params.cluster_access,
        .clusters = dm->clusters,
        .sources = dm->sources,
        .hooks = &dm->hooks,
        .persist = dm->persist,
        .node = dm->params.node_name,
        .instance = dm->instance,
        .started_ns = dm->started_ns,
        .started_ms = dm->started_ms,
        .started_uid = dm->params.started_uid,
        .is_ready = is_ready,
        .is_stopping = is_stopping,
        .kick = kick,
        .arg = dm,
    };

    dm->control = control_create(&p);
}

/* The order matters. Hooks point to sources. persist loads both before anything moves. The runner
 * waits for the state driver of persist. control counts what the watches have loaded, and must be
 * there before a cluster brings the first delta. Nothing calls back before the loop runs. */
static void build(struct daemon *dm)
{
    static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    static const struct helper_link_events link_events = {on_opened, on_changed, on_lost};
    const struct conf *conf = dm->params.conf;
    char *agent =
        mem_printf("informerd/%s (linux) node/%s", INFORMERD_VERSION, dm->params.node_name);

    dm->loop = loop_create();
    dm->started_ns = loop_wall_ns();
    dm->started_ms = loop_now_ms(dm->loop);
    snprintf(dm->instance, sizeof(dm->instance), "%" PRIx64, dm->started_ns);
    loop_task_init(&dm->progress, look_at_progress);
    dm->timer = deadline_create(dm->loop, on_timer, dm);
    dm->tell = deadline_create(dm->loop, tell_status, dm);
    dm->once = deadline_create(dm->loop, on_once, dm);
    loop_catch(dm->loop, signal_numbers, ARRAY_LEN(signal_numbers), on_signal, dm);
    dm->link = helper_link_create(dm->loop, dm->params.helper_fd, &link_events, dm);
    build_sources(dm);
    build_hooks(dm);
    build_persist_driver(dm);
    build_runner(dm);
    dm->clusters = mem_array(conf->n_clusters + 1, sizeof(struct cluster_runtime *));
    build_control(dm);
    for (size_t i = 0; i < conf->n_clusters; i++)
        build_cluster_runtime(dm, i, agent);
    sources_follow(dm->sources, dm->clusters);
    persist_driver_follow(dm->persist, dm->clusters);
    if (dm->params.control_fd >= 0)
        control_listen(dm->control, dm->params.control_fd);
    free(agent);
}

/* The reverse of build(): first everything that calls back, then the loop, whose end waits for the
 * last close callbacks, and then the data that the drivers borrowed. The runner goes before
 * persist, as its runs wait in the state driver. */
static void take_down(struct daemon *dm)
{
    control_close(dm->control);
    for (size_t i = 0; i < dm->params.conf->n_clusters; i++)
        cluster_runtime_dispose(&dm->clusters[i]);
    runner_dispose(&dm->runner);
    persist_driver_dispose(&dm->persist);
    helper_link_dispose(&dm->link);
    deadline_dispose(&dm->tell);
    deadline_dispose(&dm->once);
    deadline_dispose(&dm->timer);
    sources_close(dm->sources);
    loop_cancel(&dm->progress);
    loop_finish(&dm->loop);
    control_destroy(&dm->control);
    hooks_fini(&dm->hooks);
    sources_destroy(&dm->sources);
    free(dm->runner_hooks);
    free(dm->clusters);
}

int daemon_run(const struct daemon_params *params)
{
    struct daemon dm = {.params = *params,
                        .exit_code = params->once_ms > 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK};

    build(&dm);
    log_info("started", KV_STR("version", INFORMERD_VERSION), KV_STR("node", params->node_name),
             KV_U64("watches", params->conf->n_watches), KV_U64("hooks", dm.hooks.n));
    deadline_start(dm.timer, params->conf->limits.ready_timeout.v);
    /* The first status line at once. */
    deadline_start(dm.tell, 0);
    if (params->once_ms > 0)
        deadline_start(dm.once, params->once_ms);
    check_ready(&dm); /* a configuration without hooks */
    loop_run(dm.loop);
    take_down(&dm);
    log_info("stopped", KV_INT("exit_code", dm.exit_code));
    return dm.exit_code;
}
