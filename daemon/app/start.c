/* SPDX-License-Identifier: Apache-2.0 */
#include "app/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/build.h"
#include "app/check.h"
#include "app/check_access.h"
#include "app/cluster_access.h"
#include "app/daemon.h"
#include "app/generation.h"
#include "app/identity.h"
#include "app/monitoring.h"
#include "app/rbac.h"
#include "app/replay_plan.h"
#include "app/sandbox.h"
#include "base/capability.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/conf_print.h"
#include "conf/stand_in.h"
#include "helper/capability_sets.h"
#include "helper/file_source.h"
#include "helper/path_trust.h"
#include "io/listener.h"
#include "io/loop.h"

static bool print_problems(struct problems *p)
{
    struct buf out = {0};
    bool any = problems_count(p) > 0;

    problems_put(p, &out);
    if (any)
        fwrite(out.data, 1, out.len, stderr);
    buf_free(&out);
    problems_free(p);
    return any;
}

/* Makes sure that descriptors 0 to 2 are open: else sockets would get these numbers, and a log line
 * would go to a server. */
static void open_std(void)
{
    int fd = open("/dev/null", O_RDWR);

    if (fd < 0)
        fd = open("/", O_PATH); /* no null device: this at least holds the number */
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        close(fd);
}

/* The process that started informerd may have blocked or ignored signals that end it. When the
 * reader of the log goes away (SIGPIPE), informerd stays. Until the loop has its handler, a SIGHUP
 * must not end it either. */
static void set_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    /* A limit of file sizes then fails one write, and does not end the daemon. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* Each scope of a watch is a connection, so informerd takes as many descriptors as it may have.
 * Returns the soft limit from before, which programs get: select() breaks with descriptors from
 * 1024 on. */
static rlim_t raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

/* Makes the folder of the state for the user that main becomes, as that user often may not. Root
 * does so only where nobody else could have put a link. An ordinary user makes it here, too: the sandbox
 * needs a folder that is there. If the folder is not right, folder_open() will say so. */
static void prepare_state(const struct conf *conf)
{
    struct identity id = {.uid = geteuid(), .gid = getegid()};
    const char *path = conf_state_folder(conf);
    struct err err = {0};

    if (path == NULL)
        return;
    if ((id.uid == 0 && (identity_find(conf->user.v, "", &id, &err) != ERR_OK ||
                         path_trust_check(path, NULL, &err) != ERR_OK)) ||
        folder_prepare(path, id.uid, id.gid, &err) != ERR_OK)
        log_debug("state_dir is not prepared", KV_ERR(&err));
    identity_fini(&id);
}

static enum err_kind drop_privileges(const struct conf *conf, struct err *err)
{
    struct identity id;

    if (geteuid() != 0)
        return ERR_OK;
    if (identity_find(conf->user.v, "", &id, err) != ERR_OK)
        return err->kind;
    enum err_kind kind = identity_become(&id, err);
    identity_fini(&id);
    return kind;
}

static bool has_sandbox(const struct conf *conf)
{
#ifdef NO_SANDBOX
    (void)conf;
    return false;
#else
    return conf->sandbox.v == SANDBOX_ON;
#endif
}

/* The programs of hooks, for informerctl doctor. Those that a reload adds count from the next start on. */
static void limit_files(const struct conf *conf, bool is_daemon)
{
    const char **programs = mem_array(3 * conf->n_hooks + 1, sizeof(*programs));
    struct sandbox_files files = {.programs = programs};

    for (size_t i = 0; i < conf->n_hooks; i++) {
        const struct conf_hook *h = &conf->hooks[i];
        const struct conf_list *const all[] = {&h->command, &h->check, &h->apply};

        for (size_t j = 0; j < ARRAY_LEN(all); j++)
            if (all[j]->n > 0)
                programs[files.program_count++] = all[j]->v[0].v;
    }
    if (is_daemon) {
        files.state_dir = conf_state_folder(conf);
        files.socket = conf->control.socket.v;
    }
    sandbox_limit_files(&files);
    free(programs);
}

/* From here on this process is main, and gives up what main does not need. The order matters: the folder of the
 * state is made with the rights of the start. Landlock limits the threads that come after it. libuv's threads
 * start while no limit of processes stops them (docs/decisions.md "Worker threads start before root's rights are
 * dropped"). seccomp also refuses to change the user, so it is last. All this is before main opens the state
 * or a connection. */
static enum err_kind become_main(const struct conf *conf, bool is_daemon, struct err *err)
{
    if (is_daemon)
        prepare_state(conf);
    if (has_sandbox(conf))
        limit_files(conf, is_daemon);
    loop_start_workers();
    if (drop_privileges(conf, err) != ERR_OK)
        return err->kind;
    if (has_sandbox(conf))
        sandbox_limit_calls();
    return ERR_OK;
}

/* Opens the state. That the state is in use is an error, except for --once and --dry-run, which are
 * run beside the service: they begin with nothing. A disk that fails is no reason not to follow the
 * cluster, so informerd goes on and warns. A folder that cannot be its own is a mistake in the
 * configuration (docs/design.md "Exit codes"). *folder is NULL if nothing is kept; err then says
 * why, with the kind ERR_OK if nothing needs to be said in the status. */
static enum err_kind open_state(const struct options *o, const struct conf *conf,
                                struct folder **folder, struct err *err)
{
    const char *path = conf_state_folder(conf);

    *folder = NULL;
    if (path == NULL || folder_open(path, folder, err) == ERR_OK)
        return ERR_OK;
    if (err->kind == ERR_IO) {
        log_warn("state_dir cannot be used: nothing is saved until informerd is restarted",
                 KV_ERR(err));
        return ERR_OK;
    }
    if (err->kind != ERR_BUSY || (!o->once && !o->dry_run))
        return err->kind;
    log_info("state_dir is in use: this process starts without state and saves nothing",
             KV_ERR(err));
    err->kind = ERR_OK;
    return ERR_OK;
}

/* The group of the control socket: control.group, else the main group of the user that main becomes;
 * -1 leaves it as it is. */
static gid_t control_group(const struct conf *conf)
{
    struct identity id;
    struct err err;
    gid_t group = (gid_t)-1;

    if (conf->control.group.v[0] != '\0')
        return identity_find_group(conf->control.group.v, &group, &err) == ERR_OK ? group
                                                                                  : (gid_t)-1;
    if (geteuid() == 0 && identity_find(conf->user.v, "", &id, &err) == ERR_OK) {
        group = id.gid;
        identity_fini(&id);
    }
    return group;
}

/* Logs why informerd cannot start. Returns 78 if a person must change a file, so that systemd does
 * not start it again, else 1. */
static int complain(const struct err *err)
{
    log_error("cannot start", KV_ERR(err));
    return err->kind == ERR_CONFIG ? EXIT_CODE_CONFIG : EXIT_CODE_FAILED;
}

/* Reaps the helper. It ends by itself once our end of its socket is closed. */
static void wait_for_helper(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* A replay ends by itself, so it has a limit only if it was given one. */
static uint64_t once_ms(const struct options *o, const struct conf *conf)
{
    if (!o->once)
        return o->timeout_ms;
    return o->timeout_ms > 0 ? o->timeout_ms : conf->limits.ready_timeout.v;
}

/* Binds the control socket. --once and --dry-run are run beside the service, which has the socket
 * already: they go on without it. */
static enum err_kind bind_control(const struct options *o, const struct conf *conf, int *fd,
                                  struct err *err)
{
    enum err_kind kind = listener_bind(conf->control.socket.v, control_group(conf), fd, err);

    if (kind == ERR_OK || (!o->once && !o->dry_run))
        return kind;
    log_info("no control socket", KV_ERR(err));
    *fd = -1;
    return ERR_OK;
}

/* Opens the state and runs the daemon. p borrows the reason of a failure from err. */
static int run_with_state(const struct options *o, struct daemon_params *p, struct err *err)
{
    struct folder *folder;

    err->kind = ERR_OK;
    if (open_state(o, p->conf, &folder, err) != ERR_OK) {
        close(p->helper_fd); /* the end of the socket is the sign for the helper to end */
        return complain(err);
    }
    p->folder = folder;
    p->folder_reason = folder == NULL && err->kind != ERR_OK ? err->text : NULL;
    return daemon_run(p);
}

/* Without cgroups informerd works, but promises less of processes that leave their run
 * (docs/guarantees.md "Processes"): a service says so once. */
static void prepare_cgroups(struct cgroup_tree *out, bool is_service)
{
    struct err err;

    if (cgroup_tree_prepare(out, &err) == ERR_OK)
        log_debug("each run has a cgroup of its own", KV_STR("below", out->path));
    else if (is_service)
        log_warn("runs have no cgroup of their own: a process that leaves its process group "
                 "outlives its run",
                 KV_ERR(&err));
}

/* Started as another user than root, main has the capabilities that its unit may give it
 * (AmbientCapabilities=): they are for the helper and for hooks. Those for low ports stay, as a reload may
 * bind other addresses. To be called before there are threads, as each has its own sets. */
static void drop_capabilities(void)
{
    struct capability_sets sets = {0};
    int error = geteuid() == 0 ? 0 : capability_sets_read(&sets);

    if (error == 0 && sets.permitted == 0)
        return;
    uint64_t kept = sets.permitted & CAPABILITY_BIT(CAP_NET_BIND_SERVICE);
    if (error == 0)
        error = capability_sets_write(&(struct capability_sets){kept, kept, 0});
    if (error != 0)
        log_warn("capabilities that are not needed cannot be given up", KV_STR("process", "main"),
                 KV_STR("err", strerrordesc_np(error)));
}

/* Forks the helper, and releases its parameters. reload: NULL = this process cannot reload. */
static enum err_kind fork_helper(const struct options *o, struct helper_params *helper,
                                 const struct helper_reload *reload, int *fd, pid_t *pid,
                                 struct err *err)
{
    helper->title = o->title.p;
    helper->title_size = o->title.n;
    /* Before the fork: the helper passes the old limit on to programs. */
    helper->nofile_soft = raise_descriptors();
    enum err_kind kind = identity_drop_inheritable(err);
    struct cgroup_tree cgroups = {0};
    if (kind == ERR_OK) {
        prepare_cgroups(&cgroups, reload != NULL);
        helper->cgroups = cgroups.path != NULL ? &cgroups : NULL;
        kind = helper_start(helper, reload, fd, pid, err);
    }
    if (kind == ERR_OK)
        drop_capabilities();
    cgroup_tree_close(&cgroups);
    build_helper_fini(helper);
    return kind;
}

/* A replay is run beside the service, and on machines that have none: it has neither control socket
 * nor state, and reads its file before main drops its rights. */
static int start_replay(const struct options *o, const struct conf *conf,
                        const struct cluster_access_list *cluster_access, const char *node_name)
{
    struct helper_params helper = {0};
    struct replay_plan plan;
    struct daemon_params p = {
        .conf = conf,
        .cluster_access = cluster_access,
        .node_name = node_name,
        .control_fd = -1,
        .started_uid = geteuid(),
        .dry_run = o->dry_run,
        .once_ms = once_ms(o, conf),
        .replay = &plan,
        .replay_speed = o->speed,
    };
    struct err err = {0};
    pid_t pid;

    if (replay_plan_make(o->replay, conf, o->hook == NULL, &plan, &err) != ERR_OK)
        return complain(&err);
    int code = EXIT_CODE_FAILED;
    if (build_helper(conf, cluster_access, node_name, &helper, &err) != ERR_OK) {
        build_helper_fini(&helper);
        code = complain(&err);
    } else if (fork_helper(o, &helper, NULL, &p.helper_fd, &pid, &err) != ERR_OK) {
        code = complain(&err);
    } else {
        if (become_main(conf, false, &err) == ERR_OK) {
            code = daemon_run(&p);
        } else {
            code = complain(&err);
            close(p.helper_fd);
        }
        wait_for_helper(pid);
    }
    replay_plan_fini(&plan);
    return code;
}

/* A reload reads the file in /, so its path must not depend on the folder of the start. The caller frees
 * it. */
static char *absolute(const char *path)
{
    char *folder = path[0] == '/' ? NULL : get_current_dir_name();
    char *whole = folder != NULL ? mem_printf("%s/%s", folder, path) : mem_strdup(path);

    free(folder);
    return whole;
}

/* Binds the control socket and the addresses of metrics.listen. --once and --dry-run, which are run beside
 * the service, are not asked for metrics. */
static enum err_kind bind_all(const struct options *o, const struct conf *conf,
                              struct daemon_params *p, struct monitoring_sockets *sockets,
                              struct err *err)
{
    enum err_kind kind = bind_control(o, conf, &p->control_fd, err);

    if (kind != ERR_OK || o->once || o->dry_run)
        return kind;
    p->sockets = sockets;
    return monitoring_bind(conf, sockets, err);
}

/* Starts the helper, then the daemon. The order matters: users are looked up and the sockets are
 * bound with the rights of the start; the helper is forked before there are threads, and keeps
 * these rights, which main then drops (become_main()). */
static int start_daemon(const struct options *o, const struct conf *conf,
                        const struct cluster_access_list *cluster_access, const char *node_name)
{
    struct helper_params helper = {0};
    char *path = absolute(o->config);
    struct generation_source source = {path, conf, node_name};
    struct monitoring_sockets sockets = {0};
    const struct helper_reload reload = {generation_build, &source};
    struct daemon_params p = {
        .conf = conf,
        .cluster_access = cluster_access,
        .node_name = node_name,
        .started_uid = geteuid(),
        .dry_run = o->dry_run,
        .once_ms = once_ms(o, conf),
        .log_is_fixed = o->log_level >= 0,
    };
    struct err err = {0};
    pid_t pid;

    enum err_kind kind = build_helper(conf, cluster_access, node_name, &helper, &err);
    if (kind == ERR_OK)
        kind = bind_all(o, conf, &p, &sockets, &err);
    if (kind != ERR_OK) {
        build_helper_fini(&helper);
        free(path);
        return complain(&err);
    }
    kind =
        fork_helper(o, &helper, o->once || o->dry_run ? NULL : &reload, &p.helper_fd, &pid, &err);
    free(path); /* the helper has its own copy of this memory */
    if (kind != ERR_OK)
        return complain(&err);
    if (become_main(conf, true, &err) != ERR_OK)
        return complain(&err);
    int code = run_with_state(o, &p, &err);
    monitoring_unbind(&sockets);
    wait_for_helper(pid);
    return code;
}

/* The same processes and rights as for the daemon, but neither control socket nor state: a daemon that
 * runs is not disturbed. The report says everything, so main logs only on demand, and the helper only
 * warnings. */
static int check_access(const struct options *o, const struct conf *conf,
                        const struct cluster_access_list *cluster_access, const char *node_name)
{
    struct helper_params helper = {0};
    struct check_access_params p = {
        .conf = conf, .cluster_access = cluster_access, .node_name = node_name};
    struct err err = {0};
    pid_t pid;

    if (o->log_level < 0 && conf->log.level.v > LOG_LVL_WARN)
        log_set_level(LOG_LVL_WARN);
    if (build_helper(conf, cluster_access, node_name, &helper, &err) != ERR_OK) {
        build_helper_fini(&helper);
        return complain(&err);
    }
    if (fork_helper(o, &helper, NULL, &p.helper_fd, &pid, &err) != ERR_OK)
        return complain(&err);
    /* Reads credentials, perhaps as root. */
    p.nodes = check_access_nodes(cluster_access);
    int code = EXIT_CODE_FAILED;
    if (become_main(conf, false, &err) != ERR_OK) {
        code = complain(&err);
        close(p.helper_fd);
    } else {
        if (o->log_level < 0)
            log_mute();
        code = check_access_run(&p);
    }
    wait_for_helper(pid);
    check_access_free_nodes(cluster_access, &p.nodes);
    return code;
}

static void warn_surroundings(const struct conf *conf,
                              const struct cluster_access_list *cluster_access)
{
    struct buf lines = {0};

    generation_find_warnings(conf, &lines);
    generation_warn(conf, cluster_access, buf_str(&lines));
    buf_free(&lines);
}

/* Options of the command line win over the configuration. */
static void set_log(const struct options *o, const struct conf *conf)
{
    log_set_level((enum log_level)(o->log_level >= 0 ? o->log_level : conf->log.level.v));
    log_set_format((enum log_format)(o->log_format >= 0 ? o->log_format : conf->log.format.v));
    log_set_lines((uint64_t)conf->log.max_lines.v);
}

static int run_checked(const struct options *o, const struct conf *conf,
                       const struct cluster_access_list *cluster_access)
{
    set_log(o, conf);
    if (!o->check_access)
        warn_surroundings(conf, cluster_access);
    char *node_name = cluster_access_node_name(cluster_access, conf);
    int code = EXIT_CODE_OK;
    if (o->check_access)
        code = check_access(o, conf, cluster_access, node_name);
    else if (o->replay != NULL)
        code = start_replay(o, conf, cluster_access, node_name);
    else
        code = start_daemon(o, conf, cluster_access, node_name);
    free(node_name);
    return code;
}

static int print_config(const struct conf *conf)
{
    struct buf text = {0};

    conf_print(conf, &text);
    bool whole = fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
    buf_free(&text);
    return whole ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* Carries out the command, with a configuration that has no problems. */
static int run_chosen(const struct options *o, const struct conf *conf,
                      const struct cluster_access_list *cluster_access)
{
    if (o->print_config)
        return print_config(conf);
    if (o->print_rbac)
        return rbac_print(conf, cluster_access, o->subject.name.n > 0 ? &o->subject : NULL);
    return o->check ? EXIT_CODE_OK : run_checked(o, conf, cluster_access);
}

/* The problems of the configuration that a start refuses, and those that it accepts with a warning. */
struct findings {
    struct problems errors;
    struct problems warnings;
};

/* Prints all in one go. Returns whether the configuration is accepted. A start with --check prints the
 * warnings; any other one logs them. */
static bool print_findings(struct findings *f)
{
    bool is_wrong = print_problems(&f->errors);

    print_problems(&f->warnings);
    return !is_wrong;
}

/* Reads all files of the configuration out of the set; NULL if there is a problem. */
static struct conf *read_conf(const struct options *o, struct file_set *files, struct problems *p)
{
    return o->with != NULL ? stand_in_read(files, o->config, o->with, p)
                           : conf_read(files, o->config, p);
}

/* --check and a start accept the same configurations; so the checks of --check alone are of things that
 * a start finds out later. */
static void check_conf(const struct options *o, const struct conf *conf, struct file_set *files,
                       struct cluster_access_list *cluster_access, struct findings *f)
{
    if (o->no_files) {
        check_settings(conf, &f->errors);
        cluster_access_load(cluster_access, conf, NULL, &f->errors);
        return;
    }
    check_kept(conf, &f->errors);
    generation_check(conf, files, cluster_access, &f->errors);
    if (o->once || o->dry_run || o->check_access)
        cluster_access_refuse_awaited(cluster_access, conf, &f->errors);
    if (!o->check)
        return;
    check_state_folder(conf, &f->errors, &f->warnings);
    check_surroundings(conf, &f->warnings);
    check_secret_fields(conf, &f->warnings);
    check_clusters(conf, cluster_access, &f->warnings);
}

/* No cluster is contacted, and so the kubeconfig and the credentials need not be there. */
static int replay(const struct options *o, struct conf *conf, struct findings *f)
{
    const struct cluster_access_list none = {0};
    struct err err;

    check_settings(conf, &f->errors);
    check_kept(conf, &f->errors);
    check_machine(conf, &none, &f->errors);
    if (!print_findings(f))
        return EXIT_CODE_CONFIG;
    set_log(o, conf);
    if (replay_plan_fit(conf, o->hook, &err) != ERR_OK)
        return complain(&err);
    return run_checked(o, conf, &none);
}

int start_run(const struct options *o)
{
    struct file_set files = {.source = &file_source_disk, .as_root = geteuid() == 0};
    struct findings findings = {.warnings.mark = "warning: "};
    struct cluster_access_list cluster_access = {0};
    int code = EXIT_CODE_CONFIG;

    open_std();
    set_signals();
    struct conf *conf = read_conf(o, &files, &findings.errors);
    if (conf != NULL && o->replay != NULL) {
        file_set_fini(&files);
        code = replay(o, conf, &findings);
        conf_destroy(&conf);
        return code;
    }
    if (conf != NULL)
        check_conf(o, conf, &files, &cluster_access, &findings);
    file_set_fini(&files); /* it has the keys and tokens of kubeconfigs */
    if (print_findings(&findings) && conf != NULL)
        code = run_chosen(o, conf, &cluster_access);
    cluster_access_fini(&cluster_access);
    conf_destroy(&conf);
    return code;
}
