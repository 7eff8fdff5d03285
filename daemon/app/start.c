/* SPDX-License-Identifier: Apache-2.0 */
#include "app/start.h"

#include <errno.h>
#include <fcntl.h>
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
#include "app/exec_plugins.h"
#include "app/identity.h"
#include "app/rbac.h"
#include "base/log.h"
#include "conf/conf_print.h"
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
 * does so only where nobody else could have put a link. If the folder is not right, folder_open()
 * will say so. */
static void prepare_state(const struct conf *conf, const struct identity *id)
{
    const char *path = conf_state_folder(conf);
    struct err err;

    if (path == NULL)
        return;
    if (path_trust_check(path, NULL, &err) != ERR_OK ||
        folder_prepare(path, id->uid, id->gid, &err) != ERR_OK)
        log_debug("state_dir is not prepared", KV_ERR(&err));
}

static enum err_kind drop_privileges(const struct conf *conf, bool with_state, struct err *err)
{
    struct identity id;

    if (geteuid() != 0)
        return ERR_OK;
    if (identity_find(conf->user.v, "", &id, err) != ERR_OK)
        return err->kind;
    if (with_state)
        prepare_state(conf, &id);
    enum err_kind kind = identity_become(&id, err);
    identity_fini(&id);
    return kind;
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

/* The group of the control socket is the main group of the user that main becomes; -1 leaves it as
 * it is. */
static gid_t control_group(const struct conf *conf)
{
    struct identity id;
    struct err err;
    gid_t group = (gid_t)-1;

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

static uint64_t once_ms(const struct options *o, const struct conf *conf)
{
    if (!o->once)
        return 0;
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
    int code = daemon_run(p);
    folder_close(&folder);
    return code;
}

/* Forks the helper, and releases its parameters. */
static enum err_kind fork_helper(struct helper_params *helper, int *fd, pid_t *pid, struct err *err)
{
    /* Before the fork: the helper passes the old limit on to programs. */
    helper->nofile_soft = raise_descriptors();
    enum err_kind kind = helper_start(helper, fd, pid, err);
    build_helper_fini(helper);
    return kind;
}

/* Starts the helper, then the daemon. The order matters: users are looked up and the socket is
 * bound with the rights of the start; the helper is forked before there are threads, and keeps
 * these rights; libuv's threads start while no limit of processes stops them
 * (docs/decisions.md "Worker threads start before root's rights are dropped"); then main drops the
 * rights, before it opens the state or a connection. */
static int start_daemon(const struct options *o, const struct conf *conf,
                        const struct cluster_access_list *cluster_access, const char *node_name)
{
    struct helper_params helper = {0};
    struct daemon_params p = {
        .conf = conf,
        .cluster_access = cluster_access,
        .node_name = node_name,
        .started_uid = geteuid(),
        .dry_run = o->dry_run,
        .once_ms = once_ms(o, conf),
    };
    struct err err = {0};
    pid_t pid;

    if (build_helper(conf, cluster_access, node_name, &helper, &err) != ERR_OK ||
        bind_control(o, conf, &p.control_fd, &err) != ERR_OK) {
        build_helper_fini(&helper);
        return complain(&err);
    }
    if (fork_helper(&helper, &p.helper_fd, &pid, &err) != ERR_OK)
        return complain(&err);
    loop_start_workers();
    if (drop_privileges(conf, true, &err) != ERR_OK)
        return complain(&err);
    int code = run_with_state(o, &p, &err);
    wait_for_helper(pid);
    return code;
}

/* The same processes and rights as for the daemon, but neither control socket nor state: a daemon that
 * runs is not disturbed. The report says everything, so main logs only on demand. */
static int check_access(const struct options *o, const struct conf *conf,
                        const struct cluster_access_list *cluster_access, const char *node_name)
{
    struct helper_params helper = {0};
    struct check_access_params p = {
        .conf = conf, .cluster_access = cluster_access, .node_name = node_name};
    struct err err = {0};
    pid_t pid;

    if (build_helper(conf, cluster_access, node_name, &helper, &err) != ERR_OK) {
        build_helper_fini(&helper);
        return complain(&err);
    }
    if (fork_helper(&helper, &p.helper_fd, &pid, &err) != ERR_OK)
        return complain(&err);
    loop_start_workers();
    /* Reads credentials, perhaps as root. */
    p.nodes = check_access_nodes(cluster_access);
    int code = EXIT_CODE_FAILED;
    if (drop_privileges(conf, false, &err) != ERR_OK) {
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

/* Logs each problem that may be mended while informerd runs as a line of its own
 * (docs/decisions.md "A missing program is a warning at a start"). */
static void warn_surroundings(const struct conf *conf)
{
    struct problems p = {0};
    struct buf text = {0};

    check_surroundings(conf, &p);
    problems_put(&p, &text);
    for (const char *line = text.data, *end; line < text.data + text.len; line = end + 1) {
        end = memchr(line, '\n', text.len - (size_t)(line - text.data));
        log_warn("a hook cannot run now", KV_VIEW("problem", str_of(line, (size_t)(end - line))));
    }
    buf_free(&text);
    problems_free(&p);
}

/* Options of the command line win over the configuration. */
static int run_checked(const struct options *o, const struct conf *conf,
                       const struct cluster_access_list *cluster_access)
{
    log_set_level((enum log_level)(o->log_level >= 0 ? o->log_level : conf->log.level.v));
    log_set_format((enum log_format)(o->log_format >= 0 ? o->log_format : conf->log.format.v));
    if (!o->check_access) {
        warn_surroundings(conf);
        cluster_access_warn(cluster_access, conf);
    }
    char *node_name = cluster_access_node_name(cluster_access, conf);
    int code = o->check_access ? check_access(o, conf, cluster_access, node_name)
                               : start_daemon(o, conf, cluster_access, node_name);
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

int start_run(const struct options *o)
{
    struct problems problems = {0};
    struct cluster_access_list cluster_access = {0};
    int code = EXIT_CODE_CONFIG;

    open_std();
    set_signals();
    struct conf *conf = conf_read(o->config, &problems);
    if (conf != NULL) {
        check_settings(conf, &problems);
        cluster_access_load(&cluster_access, conf, &problems);
        check_credentials(&cluster_access, &problems);
        exec_plugins_check(conf, &cluster_access, &problems);
        /* A start only warns of these problems. */
        if (o->check) {
            check_surroundings(conf, &problems);
            exec_plugins_check_installed(conf, &cluster_access, &problems);
        }
    }
    /* All problems are printed in one go, and nothing starts with one. */
    if (!print_problems(&problems) && conf != NULL)
        code = run_chosen(o, conf, &cluster_access);
    cluster_access_fini(&cluster_access);
    conf_destroy(&conf);
    return code;
}
