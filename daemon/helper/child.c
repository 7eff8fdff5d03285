/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compiler.h"
#include "helper/fds.h"
#include "helper/path_trust.h"

enum { STATUS_FD = 3, NOT_ENTERED = 127 };

/* What the child needs besides spec; filled before the fork. */
struct start {
    const struct child_spec *spec;
    pid_t parent;
    int status_fd;
};

static int result(int rc)
{
    return rc < 0 ? errno : 0;
}

/* Work stays who the helper is. */
static bool changes_user(const struct start *s)
{
    return s->spec->argv != NULL && s->spec->hook->change_user;
}

static int set_group(const struct start *s)
{
    return s->spec->shares_group ? 0 : result(setpgid(0, 0));
}

/* Signals stay blocked until the exec. */
static int set_signals(const struct start *s)
{
    (void)s;
    for (int n = 1; n < NSIG; n++) {
        struct sigaction action = {.sa_handler = SIG_DFL};

        sigaction(n, &action, NULL); /* some cannot be changed, and need not be */
    }
    return 0;
}

static int set_descriptors(const struct start *s)
{
    for (int n = 0; n < WIRE_RUN_FDS; n++)
        if (dup2(s->spec->fds[n], n) < 0)
            return errno;
    if (s->status_fd != STATUS_FD && dup3(s->status_fd, STATUS_FD, O_CLOEXEC) < 0)
        return errno;
    return fds_close_from(STATUS_FD + 1);
}

static int set_limits(const struct start *s)
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

/* To the kernel this number means "leave it as it is", which is root. */
static int check_id(uint32_t id)
{
    return id == UINT32_MAX ? EINVAL : 0;
}

/* Somebody may have got hold of them since the start. The reason goes where the program's own words
 * would. */
static int check_trust(const struct start *s)
{
    const char *const *path = s->spec->hook->alone;
    struct err err;

    if (s->spec->argv == NULL || path == NULL)
        return 0;
    for (; *path != NULL; path++)
        if (path_trust_check(*path, NULL, &err) != ERR_OK) {
            dprintf(STDERR_FILENO, "not started: %s\n", err.text);
            return err.code;
        }
    return 0;
}

/* A FIFO with a name lies on the file system of its folder, and is somebody's. */
static bool is_pipe(int fd)
{
    struct statfs fs;
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == PIPEFS_MAGIC;
}

/* The pipes are main's: without this a hook of another user could not open /dev/stderr by name. Where
 * we lack the right to change it, it still can write to what it has. Main may be broken, so nothing
 * else that it sends has its mode changed. */
static int open_output(const struct start *s)
{
    for (int n = STDOUT_FILENO; changes_user(s) && n <= STDERR_FILENO; n++)
        if (is_pipe(n))
            (void)fchmod(n, 0622);
    return 0;
}

static int set_groups(const struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    return changes_user(s) ? result(setgroups(hook->group_count, hook->groups)) : 0;
}

static int set_gid(const struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    if (!changes_user(s))
        return 0;
    int error = check_id(hook->gid);
    return error != 0 ? error : result(setresgid(hook->gid, hook->gid, hook->gid));
}

static int set_uid(const struct start *s)
{
    const struct helper_hook *hook = s->spec->hook;

    if (!changes_user(s))
        return 0;
    int error = check_id(hook->uid);
    return error != 0 ? error : result(setresuid(hook->uid, hook->uid, hook->uid));
}

/* After the change of user, which clears it. */
static int set_death_signal(const struct start *s)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return errno;
    return getppid() != s->parent ? ESRCH : 0; /* it died before that */
}

static int set_folder(const struct start *s)
{
    (void)s;
    return result(chdir("/"));
}

/* execve() promises not to write to the strings; its type is older than const. */
static char *const *exec_strings(const char *const *strings)
{
    char *const *out;

    memcpy(&out, &strings, sizeof(out));
    return out;
}

static int enter_program(const struct start *s)
{
    const char *const *argv = s->spec->argv;
    sigset_t none;

    if (argv == NULL)
        return 0;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    return result(execve(argv[0], exec_strings(argv), exec_strings(s->spec->env)));
}

static const struct {
    const char *stage;
    int (*run)(const struct start *s); /* 0 or an errno */
} steps[] = {
    {"setpgid",     set_group       },
    {"signals",     set_signals     },
    {"descriptors", set_descriptors },
    {"limits",      set_limits      },
    {"trust",       check_trust     },
    {"output",      open_output     },
    {"setgroups",   set_groups      },
    {"setgid",      set_gid         },
    {"setuid",      set_uid         },
    {"pdeathsig",   set_death_signal},
    {"chdir",       set_folder      },
    {"exec",        enter_program   },
};

struct child_report child_refusal(const char *stage, int error)
{
    struct child_report report = {.how = WIRE_HOW_NOT_STARTED, .value = error};

    strncpy(report.stage, stage, sizeof(report.stage) - 1);
    return report;
}

NORETURN static void be_child(struct start *s)
{
    struct child_report report = {.how = WIRE_HOW_EXITED};
    int error = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps) && error == 0; i++) {
        error = steps[i].run(s); /* of a program the last returns only to fail */
        if (error != 0)
            report = child_refusal(steps[i].stage, error);
        else if (steps[i].run == set_descriptors)
            s->status_fd = STATUS_FD;
    }
    if (error == 0)
        s->spec->work(s->spec, &report);
    ssize_t n = write(s->status_fd, &report, sizeof(report));
    (void)n; /* a reader that is gone needs no answer */
    _exit(NOT_ENTERED);
}

bool child_start(const struct child_spec *spec, struct child *out, struct child_report *why)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        *why = child_refusal("pipe", errno);
        return false;
    }
    struct start start = {spec, getpid(), ends[1]};
    /* Unlike fork(), runs no handlers: libuv's would close descriptors by number. */
    pid_t pid = _Fork();
    int error = errno;
    if (pid == 0)
        be_child(&start);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        *why = child_refusal("fork", error);
        return false;
    }
    if (!spec->shares_group)
        setpgid(pid, pid); /* the child does so too: whoever is first, a kill finds the group */
    *out = (struct child){pid, ends[0]};
    return true;
}

bool child_reported(struct child *c, struct child_report *out)
{
    ssize_t n = read(c->status_fd, out, sizeof(*out));

    close(c->status_fd);
    c->status_fd = -1;
    return n == (ssize_t)sizeof(*out);
}
