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
#include "app/generation.h"
#include "app/kubeconfig_wait.h"
#include "app/notify.h"
#include "app/once.h"
#include "app/persist_driver.h"
#include "app/reload_plan.h"
#include "app/reload_switch.h"
#include "app/reload_wait.h"
#include "app/reloader.h"
#include "app/replay_player.h"
#include "app/sandbox.h"
#include "app/sources.h"
#include "app/watchdog.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"

/* How long the state may take to be written at the end (docs/design.md "Programs"). After that the
 * daemon ends, and changes that were not written are lost. */
#define SAVE_MS 5000

/* The status line looks at every watch, so it is not made for each of a thousand events. */
#define STATUS_EVERY_MS 250

/* How old the status line may become while nothing happens. */
#define STATUS_AGAIN_MS 5000

enum daemon_state {
    DAEMON_STARTING, /* not ready yet (docs/design.md "Readiness") */
    DAEMON_READY,
    DAEMON_STOPPING, /* no new runs; those under way may end */
    DAEMON_KILLING,  /* stop_timeout is over: runs under way are being killed */
    DAEMON_SAVING,   /* all runs have ended; the state is written to disk */
};

/* The name of the node is a part of everything that is built at the start. */
enum node_name_state {
    NODE_NAME_SETTLED,
    NODE_NAME_OPEN,  /* a kubeconfig that does not exist yet may give it another name */
    NODE_NAME_OTHER, /* it has done so: informerd must be started again */
};

struct daemon {
    struct daemon_params params;
    enum daemon_state state;
    /* EXIT_CODE_FAILED with --once and --replay until that is done: a signal before is a
     * failure. */
    int exit_code;
    uint64_t started_ns;
    uint64_t started_ms;
    char instance[32]; /* part of the ids of runs, different at each start */
    /* The configuration of the last reload, to which params point; NULL = there was none. */
    struct generation *generation;
    uint64_t next_tag; /* for files that the helper opens */
    char *agent;
    struct loop *loop;
    struct helper_link *link;
    struct cluster_runtime **clusters; /* as conf->clusters; none for a replay */
    size_t cluster_count;
    struct replay_player *player; /* NULL = no replay */
    struct sources *sources;
    struct hooks hooks;
    struct persist_driver *persist;
    struct runner_hook *runner_hooks;
    struct runner *runner;
    struct control *control;
    struct monitoring *monitoring; /* NULL = nothing listens */
    struct reloader *reloader;
    struct reload_parts reload_parts; /* of this object */
    struct reload_wait *reload_wait;
    struct loop_task retired; /* hooks may have retired */
    struct kubeconfig_wait *kubeconfig_wait;
    struct watchdog *watchdog; /* NULL = systemd does not watch */
    /* STARTING: ready_timeout; STOPPING: stop_timeout; KILLING: RUNNER_LAST_WAIT_MS. */
    struct deadline *timer;
    struct loop_task progress; /* queued: something has changed in this turn */
    struct deadline *tell;     /* the next look at the status after progress */
    struct deadline *retell;   /* the same without progress: time alone makes faults, too */
    struct deadline *once;     /* --timeout of --once */
    enum node_name_state node_name;
    struct buf status; /* the line that systemd has; "" = none */
};

/* Sends STATUS= if the line has changed: each message to systemd wakes it up. */
static void send_status(struct daemon *dm)
{
    struct buf line = {0};

    control_put_status_line(dm->control, &line);
    if (!str_is(buf_str(&line), buf_cstr(&dm->status))) {
        notify_status(buf_cstr(&line));
        buf_clear(&dm->status);
        buf_append_str(&dm->status, buf_str(&line));
    }
    buf_free(&line);
}

static void tell_status(void *arg)
{
    struct daemon *dm = arg;

    sandbox_tell();
    control_look(dm->control);
    send_status(dm);
    deadline_start(dm->retell, STATUS_AGAIN_MS);
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
    control_progress(dm->control);
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
    loop_defer(dm->loop, &dm->retired);
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
    for (size_t i = 0; i < dm->cluster_count; i++)
        cluster_runtime_stop(dm->clusters[i]);
    if (dm->player != NULL)
        replay_player_stop(dm->player);
}

static void stop(struct daemon *dm, const char *why)
{
    if (dm->state >= DAEMON_STOPPING)
        return;
    dm->state = DAEMON_STOPPING;
    log_info("stopping", KV_STR("because", why), KV_U64("running", runner_running(dm->runner)));
    notify_stopping();
    reload_wait_stop(dm->reload_wait); /* runs have all the time of the stop */
    if (dm->monitoring != NULL)
        monitoring_cancel(dm->monitoring);
    reloader_stop(dm->reloader, "informerd is stopping: it starts nothing new");
    /* First the servers: without changes nothing new becomes due. */
    stop_clusters(dm);
    runner_stop(dm->runner);
    deadline_start(dm->timer, dm->params.conf->limits.stop_timeout.v);
    check_stopped(dm);
}

/* A view that holds an empty port back will change by itself (hold_empty). */
static bool is_all_played(const struct daemon *dm)
{
    return dm->player == NULL ||
           (replay_player_has_ended(dm->player) && !sources_wait(dm->sources));
}

/* Looks whether --once or a replay is done (docs/design.md "Once"). When everything has synced, and
 * no run waits for a cluster to say which one it is, informerd leaves the servers: changes after
 * that would keep it from ending. over: --timeout has passed. */
static void check_once(struct daemon *dm, bool over)
{
    bool ends = dm->params.once_ms > 0 || dm->player != NULL;

    if (!ends || dm->state >= DAEMON_STOPPING)
        return;
    const struct once_look look = {.hooks = &dm->hooks,
                                   .synced = sources_read(dm->sources) && is_all_played(dm) &&
                                             !persist_driver_awaits(dm->persist),
                                   .over = over};
    if (once_has_all(&look))
        stop_clusters(dm);
    int code = once_judge(&look);
    if (code == ONCE_GOES_ON)
        return;
    dm->exit_code = code;
    stop(dm, over                 ? "--timeout has passed"
             : dm->player != NULL ? "--replay: all is done"
                                  : "--once: all is done");
}

static void on_once(void *arg)
{
    check_once(arg, true);
}

static void on_runs(void *arg)
{
    struct daemon *dm = arg;

    if (dm->player != NULL)
        replay_player_poke(dm->player);
    loop_defer(dm->loop, &dm->retired);
    check_ready(dm);
    control_progress(dm->control);
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
        deadline_start(dm->timer, runner_longest_grace_ms(dm->runner) + RUNNER_LAST_WAIT_MS);
        break;
    case DAEMON_KILLING:
        save(dm);
        break;
    case DAEMON_READY:
    case DAEMON_SAVING:
        break;
    }
}

/* Makes a cluster, or gives c, which goes on, the settings of conf. */
static struct cluster_runtime *build_cluster(void *arg, const struct conf *conf,
                                             const struct cluster_access_list *access, size_t i,
                                             struct cluster_runtime *c)
{
    static const struct cluster_runtime_events events = {.on_progress = on_progress};
    struct daemon *dm = arg;
    const struct cluster_runtime_params p = {
        .loop = dm->loop,
        .link = dm->link,
        .conf = &conf->clusters[i],
        .cluster_access = &access->v[i],
        .user_agent = dm->agent,
        .tag = dm->next_tag,
        .plugin = exec_plugins_number(conf, access, i),
        .seed = dm->started_ns,
        .credential_expiry_ms = conf->limits.credential_expiry.v,
    };

    dm->next_tag += CLUSTER_RUNTIME_TAGS;
    if (c == NULL)
        return cluster_runtime_create(&p, &events, dm);
    cluster_runtime_change(c, &p);
    return c;
}

/* ---- A reload. */

/* All hooks that the plan replaces or drops have retired. */
static void on_retired(void *arg, struct generation *g, const struct reload_plan *plan)
{
    struct daemon *dm = arg;
    const struct conf *was = dm->params.conf;

    reload_switch_over(&dm->reload_parts, was, g->conf, &g->cluster_access, plan);
    monitoring_change(dm->monitoring, g->conf, build_textfile_number(g->conf, &g->cluster_access));
    if (!dm->params.log_is_fixed)
        control_log_level(dm->control, was, g->conf);
    generation_destroy(&dm->generation);
    dm->generation = g;
    dm->params.conf = g->conf;
    dm->params.cluster_access = &g->cluster_access;
    kubeconfig_wait_set(dm->kubeconfig_wait, &g->cluster_access, &dm->next_tag);
    if (!cluster_access_awaits_any(&g->cluster_access))
        dm->node_name = NODE_NAME_SETTLED;
    reloader_committed(dm->reloader);
    on_progress(dm);
}

static void on_given_up(void *arg, const char *why)
{
    struct daemon *dm = arg;

    monitoring_cancel(dm->monitoring);
    reloader_give_up(dm->reloader, why);
    on_progress(dm);
}

/* Runs have ended, or files were removed: a reload may go on, and hooks may be renewed. */
static void look_at_retired(struct loop_task *task)
{
    struct daemon *dm = container_of(task, struct daemon, retired);

    if (dm->state >= DAEMON_STOPPING)
        return;
    reload_wait_look(dm->reload_wait);
    reload_switch_renew(&dm->reload_parts, dm->params.conf, reload_wait_plan(dm->reload_wait));
}

static struct reload_side in_use(void *arg)
{
    const struct daemon *dm = arg;

    return (struct reload_side){dm->params.conf, dm->params.cluster_access, dm->params.node_name};
}

/* Does the node have another name than at the start, now that a kubeconfig has come? The name is that of
 * the kubeconfig, or of the host. */
static bool has_other_name(struct daemon *dm, const struct generation *g)
{
    const struct reload_side was = in_use(dm);

    return dm->node_name == NODE_NAME_OPEN && generation_has_come(g, &was) &&
           g->wanted->node_name.v[0] == '\0' && strcmp(g->node_name, was.node_name) != 0;
}

/* The sockets that a reload needs are bound before anything changes: without them it fails as a whole. It
 * also fails if the node has another name now. */
static enum err_kind on_prepare(void *arg, const struct generation *g, struct err *err)
{
    struct daemon *dm = arg;

    if (has_other_name(dm, g)) {
        dm->node_name = NODE_NAME_OTHER;
        return err_set(err, ERR_IO, 0,
                       "this node is %s now, not %s as at the start: informerd exits, and systemd "
                       "restarts it",
                       g->node_name, dm->params.node_name);
    }
    return monitoring_prepare(dm->monitoring, g->conf, err);
}

/* Only a reload can use the kubeconfig: with it come servers, credentials and perhaps a plugin, which the
 * helper must know, too. The reload reads the whole configuration, as any other one. */
static void on_kubeconfig(void *arg, const char *path, bool is_there)
{
    struct daemon *dm = arg;
    const char *refusal;

    log_info(is_there ? "a kubeconfig that was awaited is there: reloading"
                      : "a kubeconfig that was awaited is gone again: reloading",
             KV_STR("path", path));
    if (reloader_start(dm->reloader, false, &refusal) == 0)
        log_warn("reload refused", KV_STR("path", path), KV_STR("reason", refusal));
}

/* A new configuration was read and checked, and the helper is ready for it. */
static void on_commit(void *arg, struct generation *g, const struct reload_plan *plan)
{
    struct daemon *dm = arg;

    reload_wait_begin(dm->reload_wait, g, plan, dm->params.conf->limits.stop_timeout.v);
    loop_defer(dm->loop, &dm->retired);
}

static void on_reload_begin(void *arg)
{
    struct daemon *dm = arg;

    if (dm->state == DAEMON_READY)
        notify_reloading();
    send_status(dm);
}

/* systemd gets READY=1 before anybody has the answer: then `systemctl reload` ends with the answer. */
static void on_reload_end(void *arg, const struct reloader_end *end)
{
    struct daemon *dm = arg;

    if (!end->dry_run)
        send_status(dm);
    if (!end->dry_run && dm->state == DAEMON_READY)
        notify_ready();
    control_reloaded(dm->control, end);
    if (dm->node_name == NODE_NAME_OTHER) {
        dm->exit_code = EXIT_CODE_FAILED;
        stop(dm, "the name of the node is another one than at the start");
    }
}

static void on_reloaded(void *arg, bool ok, int fd)
{
    const struct daemon *dm = arg;

    reloader_on_reloaded(dm->reloader, ok, fd);
}

static void reload_for_signal(struct daemon *dm)
{
    const char *refusal;

    if (reloader_start(dm->reloader, false, &refusal) == 0)
        log_warn("reload refused", KV_STR("signal", "SIGHUP"), KV_STR("reason", refusal));
}

static void build_reload_wait(struct daemon *dm)
{
    static const struct reload_wait_events events = {on_retired, on_given_up};

    dm->reload_parts = (struct reload_parts){
        .loop = dm->loop,
        .link = dm->link,
        .sources = dm->sources,
        .hooks = &dm->hooks,
        .persist = dm->persist,
        .runner = dm->runner,
        .runner_hooks = &dm->runner_hooks,
        .clusters = &dm->clusters,
        .cluster_count = &dm->cluster_count,
        .control = dm->control,
        .node_name = dm->params.node_name,
        .build_cluster = build_cluster,
        .arg = dm,
    };
    dm->reload_wait = reload_wait_create(dm->loop, &dm->reload_parts, &events, dm);
}

static void build_reloader(struct daemon *dm)
{
    static const struct reloader_events events = {in_use, on_reload_begin, on_prepare, on_commit,
                                                  on_reload_end};
    const struct daemon_params *p = &dm->params;
    const char *refusal = p->replay != NULL ? "a replay does not reload: start it again"
                          : p->once_ms > 0  ? "informerd --once does not reload: start it again"
                          : p->dry_run      ? "informerd --dry-run does not reload: start it again"
                                            : NULL;

    dm->reloader = reloader_create(dm->loop, dm->link, refusal, &events, dm);
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
        reload_for_signal(arg);
        break;
    default:
        stop(arg, strsignal(number));
        break;
    }
}

/* A file that no cluster waits for any more was asked for before a reload. */
static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct daemon *dm = arg;

    for (size_t i = 0; i < dm->cluster_count; i++)
        if (cluster_runtime_opened(dm->clusters[i], tag, fd, error))
            return;
    if (!kubeconfig_wait_opened(dm->kubeconfig_wait, tag, fd, error) && fd >= 0)
        close(fd);
}

/* A file may be a credential of any cluster, or a kubeconfig that is awaited. */
static void on_changed(void *arg, uint32_t file)
{
    struct daemon *dm = arg;

    for (size_t i = 0; i < dm->cluster_count; i++)
        cluster_runtime_changed(dm->clusters[i], file);
    kubeconfig_wait_changed(dm->kubeconfig_wait, file);
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

static void build_clusters(struct daemon *dm)
{
    dm->cluster_count = dm->params.conf->n_clusters;
    for (size_t i = 0; i < dm->cluster_count; i++)
        dm->clusters[i] = build_cluster(dm, dm->params.conf, dm->params.cluster_access, i, NULL);
    kubeconfig_wait_set(dm->kubeconfig_wait, dm->params.cluster_access, &dm->next_tag);
    sources_follow(dm->sources, dm->clusters);
    persist_driver_follow(dm->persist, dm->clusters);
}

static bool is_quiet(void *arg)
{
    const struct daemon *dm = arg;

    return hooks_quiet(&dm->hooks) && !sources_wait(dm->sources);
}

static void on_replay_failed(void *arg, const struct err *err)
{
    struct daemon *dm = arg;

    log_error("replay: the recording cannot be read any more", KV_ERR(err));
    dm->exit_code = EXIT_CODE_FAILED;
    stop(dm, "the replay has failed");
}

/* A recording in the place of all clusters. */
static void build_player(struct daemon *dm)
{
    static const struct replay_player_events events = {is_quiet, on_progress, on_replay_failed};
    const struct replay_player_params p = {
        .loop = dm->loop,
        .conf = dm->params.conf,
        .plan = dm->params.replay,
        .sources = dm->sources,
        .speed = dm->params.replay_speed,
    };

    dm->player = replay_player_create(&p, &events, dm);
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
        .gone_number = build_gone_number(dm->params.conf, dm->params.cluster_access),
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
        .clusters = dm->params.replay == NULL ? dm->clusters : NULL,
        .sources = dm->sources,
        .hooks = &dm->hooks,
        .persist = dm->persist,
        .link = dm->link,
        .node = dm->params.node_name,
        .instance = dm->instance,
        .started_ns = dm->started_ns,
        .started_ms = dm->started_ms,
        .started_uid = dm->params.started_uid,
        .is_ready = is_ready,
        .is_stopping = is_stopping,
        .kick = kick,
        .reloader = dm->reloader,
        .arg = dm,
    };

    dm->control = control_create(&p);
}

static void build_monitoring(struct daemon *dm)
{
    const struct daemon_params *p = &dm->params;
    const struct monitoring_params monitoring = {
        .loop = dm->loop,
        .link = dm->link,
        .control = dm->control,
        .node = p->node_name,
        .conf = p->conf,
        .textfile_number = build_textfile_number(p->conf, p->cluster_access),
        .sockets = p->sockets,
    };

    dm->monitoring = monitoring_create(&monitoring);
}

/* The order matters. Hooks point to sources. persist loads both before anything moves. The runner
 * waits for the state driver of persist. control counts what the watches have loaded, and must be
 * there before a cluster brings the first delta. Nothing calls back before the loop runs. */
static void build(struct daemon *dm)
{
    static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    static const struct helper_link_events link_events = {.on_opened = on_opened,
                                                          .on_changed = on_changed,
                                                          .on_lost = on_lost,
                                                          .on_reloaded = on_reloaded};
    const struct conf *conf = dm->params.conf;

    dm->agent = mem_printf("informerd/%s (linux) node/%s", INFORMERD_VERSION, dm->params.node_name);
    dm->loop = loop_create();
    dm->started_ns = loop_wall_ns();
    dm->started_ms = loop_now_ms(dm->loop);
    snprintf(dm->instance, sizeof(dm->instance), "%" PRIx64, dm->started_ns);
    loop_task_init(&dm->progress, look_at_progress);
    loop_task_init(&dm->retired, look_at_retired);
    dm->timer = deadline_create(dm->loop, on_timer, dm);
    dm->tell = deadline_create(dm->loop, tell_status, dm);
    dm->retell = deadline_create(dm->loop, tell_status, dm);
    dm->once = deadline_create(dm->loop, on_once, dm);
    loop_catch(dm->loop, signal_numbers, ARRAY_LEN(signal_numbers), on_signal, dm);
    dm->watchdog = watchdog_create(dm->loop);
    dm->link = helper_link_create(dm->loop, dm->params.helper_fd, &link_events, dm);
    dm->kubeconfig_wait = kubeconfig_wait_create(dm->loop, dm->link, on_kubeconfig, dm);
    build_reloader(dm);
    build_sources(dm);
    build_hooks(dm);
    build_persist_driver(dm);
    build_runner(dm);
    dm->clusters = mem_array(conf->n_clusters + 1, sizeof(struct cluster_runtime *));
    build_control(dm);
    if (dm->params.replay != NULL)
        build_player(dm);
    else
        build_clusters(dm);
    if (dm->params.control_fd >= 0)
        control_listen(dm->control, dm->params.control_fd);
    if (dm->params.sockets != NULL)
        build_monitoring(dm);
    build_reload_wait(dm);
}

/* The reverse of build(): first everything that calls back, then the loop, whose end waits for the
 * last close callbacks, and then the data that the drivers borrowed. The runner goes before
 * persist, as its runs wait in the state driver. */
static void take_down(struct daemon *dm)
{
    monitoring_dispose(&dm->monitoring);
    control_close(dm->control);
    replay_player_dispose(&dm->player);
    for (size_t i = 0; i < dm->cluster_count; i++)
        cluster_runtime_dispose(&dm->clusters[i]);
    runner_dispose(&dm->runner);
    persist_driver_dispose(&dm->persist);
    reload_wait_dispose(&dm->reload_wait);
    reloader_dispose(&dm->reloader);
    kubeconfig_wait_dispose(&dm->kubeconfig_wait);
    helper_link_dispose(&dm->link);
    watchdog_dispose(&dm->watchdog);
    deadline_dispose(&dm->tell);
    deadline_dispose(&dm->retell);
    deadline_dispose(&dm->once);
    deadline_dispose(&dm->timer);
    sources_close(dm->sources);
    loop_cancel(&dm->progress);
    loop_cancel(&dm->retired);
    /* A worker that a disk keeps from its end still uses the folder. */
    if (loop_finish(&dm->loop))
        folder_close(&dm->params.folder);
    control_destroy(&dm->control);
    hooks_fini(&dm->hooks);
    sources_destroy(&dm->sources);
    free(dm->runner_hooks);
    free(dm->clusters);
    free(dm->agent);
    buf_free(&dm->status);
    generation_destroy(&dm->generation);
}

int daemon_run(const struct daemon_params *params)
{
    struct daemon dm = {.params = *params,
                        .exit_code = params->once_ms > 0 || params->replay != NULL
                                         ? EXIT_CODE_FAILED
                                         : EXIT_CODE_OK};

    if (params->conf->node_name.v[0] == '\0' && cluster_access_awaits_any(params->cluster_access))
        dm.node_name = NODE_NAME_OPEN;
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
