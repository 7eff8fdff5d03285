/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/compiler.h"
#include "helper/capability_sets.h"
#include "helper/cgroup_file.h"
#include "helper/fds.h"
#include "helper/path_trust.h"
#include "helper/program.h"

/* STATUS_FD: the place of the status pipe in the child, right above the descriptors of a program.
 * NOT_ENTERED: the exit code after a report, as of a shell; nobody looks at it. */
enum { STATUS_FD = 3, NOT_ENTERED = 127 };

/* The child uses this and spec. */
struct start {
    const struct child_spec *spec;
    pid_t parent;
    int status_fd;
    int cgroup_fd;          /* the child is to enter this cgroup; -1 = it is in the right one */
    char program[PATH_MAX]; /* the path of argv[0], once find_program() has found it */
};

static int result(int rc)
{
    return rc < 0 ? errno : 0;
}

/* A function of the helper keeps the user of the helper: it reads and writes files for which the
 * hook's user may have no rights. */
static bool changes_user(const struct start *s)
{
    return s->spec->argv != NULL && s->spec->hook->change_user;
}

static int set_group(struct start *s)
{
    return s->spec->shares_group ? 0 : result(setpgid(0, 0));
}

/* Before the program can fork. */
static int enter_cgroup(struct start *s)
{
    return s->cgroup_fd >= 0 ? cgroup_file_write(s->cgroup_fd, "cgroup.procs", "0") : 0;
}

/* Signals that the helper ignores would be ignored in the program as well. They stay blocked until
 * enter_program(), so no signal is lost or ends the child in the middle of a step. */
static int set_signals(struct start *s)
{
    (void)s;
    for (int n = 1; n < NSIG; n++) {
        struct sigaction action = {.sa_handler = SIG_DFL};

        sigaction(n, &action, NULL); /* fails for SIGKILL and the like, which need no change */
    }
    return 0;
}

/* All descriptors of spec are above 2, so no dup2() closes one that is still needed. The status
 * pipe moves after them: one of them may be 3. The rest is closed: sockets and the files of other
 * runs are no business of the program. */
static int set_descriptors(struct start *s)
{
    for (int n = 0; n < WIRE_RUN_FDS; n++)
        if (dup2(s->spec->fds[n], n) < 0)
            return errno;
    if (s->status_fd != STATUS_FD && dup3(s->status_fd, STATUS_FD, O_CLOEXEC) < 0)
        return errno;
    return fds_close_from(STATUS_FD + 1);
}

static int set_limits(struct start *s)
{
    struct rlimit limit;

    umask(s->spec->hook->umask);
    if (s->spec->nofile_soft == 0)
        return 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return errno;
    limit.rlim_cur = s->spec->nofile_soft < limit.rlim_max ? s->spec->nofile_soft : limit.rlim_max;
    return result(setrlimit(RLIMIT_NOFILE, &limit));
}

/* setresuid() and setresgid() take this number for "leave it as it is", and it is root here. */
static int check_id(uint32_t id)
{
    return id == UINT32_MAX ? EINVAL : 0;
}

/* Not before the fork: a folder of PATH may be on a file system that hangs. */
static int find_program(struct start *s)
{
    if (s->spec->argv == NULL ||
        program_find(s->spec->argv[0], s->spec->env, s->program, sizeof(s->program)))
        return 0;
    return ENOENT;
}

/* Checked at every start of a program, because somebody may have got hold of the files since
 * informerd started (docs/design.md "Trusted files"). The reason goes to the stderr of the program,
 * so that it is logged with the run. */
static int check_trust(struct start *s)
{
    const char *const *path = s->spec->hook->alone;
    struct err err;

    if (s->spec->argv == NULL || path == NULL)
        return 0;
    for (; *path != NULL; path++)
        if (path_trust_check(strchr(*path, '/') != NULL ? *path : s->program, NULL, &err) !=
            ERR_OK) {
            dprintf(STDERR_FILENO, "not started: %s\n", err.text);
            return err.code;
        }
    return 0;
}

/* Is the descriptor a pipe without a name? A FIFO with a name is on the file system of its folder,
 * and may be somebody else's. */
static bool is_pipe(int fd)
{
    struct statfs fs;
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == PIPEFS_MAGIC;
}

/* The pipes belong to the user of main. Without this change of their mode a hook of another user
 * could not open /dev/stderr by name. If the helper has no right to change the mode, the hook can
 * still write to the open descriptors, so the error does not count. Main may be broken into:
 * nothing but pipes that it sends gets another mode. */
static int open_output(struct start *s)
{
    for (int n = STDOUT_FILENO; changes_user(s) && n <= STDERR_FILENO; n++)
        if (is_pipe(n))
            (void)fchmod(n, 0622);
    return 0;
}

/* After the checks, which need memory. Before the change of the user, as only the helper may raise a
 * hard limit. */
static int set_rlimits(struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    for (size_t i = 0; s->spec->argv != NULL && i < hook->rlimit_count; i++) {
        const struct helper_rlimit *r = &hook->rlimits[i];
        const struct rlimit limit = {.rlim_cur = r->soft, .rlim_max = r->hard};

        if (setrlimit((__rlimit_resource_t)r->resource, &limit) < 0)
            return errno;
    }
    return 0;
}

static int set_groups(struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    return changes_user(s) ? result(setgroups(hook->group_count, hook->groups)) : 0;
}

static int set_gid(struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    if (!changes_user(s))
        return 0;
    int error = check_id(hook->gid);
    return error != 0 ? error : result(setresgid(hook->gid, hook->gid, hook->gid));
}

/* A change from root to another user would take all capabilities away. The exec ends this
 * setting. */
static int keep_capabilities(struct start *s)
{
    bool needs = changes_user(s) && s->spec->hook->capabilities != 0;

    return needs ? result(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)) : 0;
}

static int set_uid(struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    if (!changes_user(s))
        return 0;
    int error = check_id(hook->uid);
    return error != 0 ? error : result(setresuid(hook->uid, hook->uid, hook->uid));
}

/* A program whose hook names no capabilities starts as the helper did, which has lowered its own
 * since. The bounding set stays as it is: no_new_privileges keeps programs from getting more. */
static int set_capabilities(struct start *s)
{
    const struct child_spec *spec = s->spec;

    if (spec->argv == NULL)
        return capability_sets_raise(spec->work_needs);
    if (spec->hook->capabilities != 0)
        return capability_sets_become(spec->hook->capabilities);
    return capability_sets_raise(CAPABILITY_ALL);
}

/* The program is killed when the helper ends, whatever ends the helper. A change of the user clears
 * this setting, so it comes after set_uid(). */
static int set_death_signal(struct start *s)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return errno;
    return getppid() != s->parent ? ESRCH : 0; /* the parent died before the setting was made */
}

static int set_folder(struct start *s)
{
    (void)s;
    return result(chdir("/"));
}

static int set_no_new_privileges(struct start *s)
{
    bool wanted = s->spec->argv != NULL && s->spec->hook->no_new_privileges;

    return wanted ? result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) : 0;
}

/* execve() does not write to the strings; its type is older than const. */
static char *const *exec_strings(const char *const *strings)
{
    char *const *out;

    memcpy(&out, &strings, sizeof(out));
    return out;
}

/* Does nothing for work: be_child() calls that. Unblocks the signals, which a program must not
 * inherit blocked. */
static int enter_program(struct start *s)
{
    const char *const *argv = s->spec->argv;
    sigset_t none;

    if (argv == NULL)
        return 0;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    return result(execve(s->program, exec_strings(argv), exec_strings(s->spec->env)));
}

/* The order matters. The group comes first: a kill of the run then finds the child at any later
 * step. "cgroup" comes before "descriptors", which closes its folder, and "descriptors" before "trust",
 * which writes to the program's stderr. Checks, modes and limits come before the change of user, as they
 * need the rights of the helper; groups and gid come before the uid, which gives up the right to set them;
 * the change of the uid lowers the capabilities,
 * so they are set behind it. "no_new_privileges" only counts for "exec", which is last. */
static const struct {
    enum run_stage stage;
    int (*run)(struct start *s); /* 0 or an errno */
} steps[] = {
    {RUN_STAGE_SETPGID,           set_group            },
    {RUN_STAGE_CGROUP,            enter_cgroup         },
    {RUN_STAGE_SIGNALS,           set_signals          },
    {RUN_STAGE_DESCRIPTORS,       set_descriptors      },
    {RUN_STAGE_LIMITS,            set_limits           },
    {RUN_STAGE_EXEC,              find_program         },
    {RUN_STAGE_TRUST,             check_trust          },
    {RUN_STAGE_OUTPUT,            open_output          },
    {RUN_STAGE_LIMITS,            set_rlimits          },
    {RUN_STAGE_SETGROUPS,         set_groups           },
    {RUN_STAGE_SETGID,            set_gid              },
    {RUN_STAGE_CAPABILITIES,      keep_capabilities    },
    {RUN_STAGE_SETUID,            set_uid              },
    {RUN_STAGE_CAPABILITIES,      set_capabilities     },
    {RUN_STAGE_PDEATHSIG,         set_death_signal     },
    {RUN_STAGE_CHDIR,             set_folder           },
    {RUN_STAGE_NO_NEW_PRIVILEGES, set_no_new_privileges},
    {RUN_STAGE_EXEC,              enter_program        },
};

/* The child after the fork: runs the steps, then the work. The report is smaller than PIPE_BUF, so
 * the pipe has all of it or nothing. */
NORETURN static void be_child(struct start *s)
{
    struct run_end report = {.program = s->spec->program};
    int error = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps) && error == 0; i++) {
        error = steps[i].run(s); /* "exec" of a program returns only if it fails */
        if (error != 0)
            report = run_end_refused(s->spec->program, steps[i].stage, error);
        else if (steps[i].run == set_descriptors)
            s->status_fd = STATUS_FD; /* set_descriptors() has moved it there */
    }
    if (error == 0)
        s->spec->work(s->spec, &report);
    ssize_t n = write(s->status_fd, &report, sizeof(report));
    (void)n; /* without a reader the helper is gone, and nobody needs the report */
    _exit(NOT_ENTERED);
}

/* Forks a child, in the cgroup of the run if the kernel can do that; else s says that the child is to
 * enter it. The helper has one thread, and no handler has to run in the child, so a raw clone3() will do. Not
 * fork(): its pthread_atfork() handlers would run, and libuv's close descriptors by number. */
static pid_t fork_child(struct start *s)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};

    s->cgroup_fd = -1;
    if (s->spec->cgroup == NULL || s->spec->cgroup->fd < 0)
        return _Fork();
    args.cgroup = (uint64_t)s->spec->cgroup->fd;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    /* Linux before 5.7, or a sandbox that does not know the call. */
    if (pid >= 0 || (errno != ENOSYS && errno != EINVAL && errno != E2BIG && errno != EPERM))
        return pid;
    s->cgroup_fd = s->spec->cgroup->fd;
    return _Fork();
}

bool child_start(const struct child_spec *spec, struct child *out, struct run_end *why)
{
    int ends[2];

    /* A successful exec closes the pipe, which says that the program was entered. Nonblocking, so
     * that child_end() never waits (docs/decisions.md "Exec errors are read when the child is
     * reaped"). */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        *why = run_end_refused(spec->program, RUN_STAGE_PIPE, errno);
        return false;
    }
    struct start start = {.spec = spec, .parent = getpid(), .status_fd = ends[1]};
    pid_t pid = fork_child(&start);
    int error = errno;
    if (pid == 0)
        be_child(&start);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        *why = run_end_refused(spec->program, RUN_STAGE_FORK, error);
        return false;
    }
    /* The child does so, too: whichever process is first, runs_kill() finds the group. */
    if (!spec->shares_group)
        setpgid(pid, pid);
    *out = (struct child){pid, ends[0], spec->program};
    return true;
}

struct run_end child_end(struct child *c, const siginfo_t *info)
{
    struct run_end end;
    ssize_t n = read(c->status_fd, &end, sizeof(end));

    close(c->status_fd);
    c->status_fd = -1;
    if (n != (ssize_t)sizeof(end))
        end = (struct run_end){.program = c->program,
                               .kind =
                                   info->si_code == CLD_EXITED ? RUN_END_EXITED : RUN_END_SIGNALED,
                               .value = info->si_status};
    return end;
}
