/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/run_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/capability.h"
#include "base/log.h"
#include "base/mem.h"
#include "helper/capability_sets.h"
#include "helper/cgroup_file.h"
#include "helper/clock.h"

enum {
    PATH_SIZE = 64,
    DECIMAL = 10,
    PERIOD_US = 100000,
    PERCENT = 100,
    DEPTH_MAX = 8,          /* of cgroups that a run has made below its own */
    REMAINS_WAIT_MS = 1000, /* for the processes of all runs to end, at the start and at the end */
    REMAINS_RETRY_MS = 5
};

/* The mark of a cgroup whose processes are those of a good run, for a later start. */
static const char kept_mark[] = "user.informerd.kept";

/* When the file cannot be read, for want of descriptors for example, processes are rather looked for in
 * vain than forgotten. ENODEV: the cgroup was removed after it was opened. */
static bool is_populated(int fd)
{
    struct buf text = {0};
    int error = cgroup_file_read(fd, "cgroup.events", &text);
    bool is = error == 0 ? cgroup_file_value(buf_cstr(&text), "populated") > 0
                         : error != ENOENT && error != ENODEV;

    buf_free(&text);
    return is;
}

static void kill_all(int fd)
{
    cgroup_file_write(fd, "cgroup.kill", "1");
}

/* ---- Folders */

static bool begins_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Calls back for each cgroup in the folder whose name begins with prefix. */
static void each_cgroup(int folder, const char *prefix,
                        void call(void *arg, int folder, const char *name), void *arg)
{
    int fd = cgroup_file_folder(folder, ".");
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    /* Only one thread reads this stream. */
    while ((entry = readdir(dir)) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            begins_with(entry->d_name, prefix))
            call(arg, folder, entry->d_name);
    closedir(dir);
}

/* Removes a cgroup without processes, and those below it, which hooks with the rights of root can make.
 * depth: so many levels of them. False: it stays, with errno set. */
static bool remove_cgroup(int parent, const char *name, int depth);

/* A callback of each_cgroup(). */
static void remove_below(void *arg, int folder, const char *name)
{
    const int *depth = arg;

    (void)remove_cgroup(folder, name, *depth - 1);
}

static bool remove_cgroup(int parent, const char *name, int depth) /* NOLINT(misc-no-recursion) */
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    int error = errno;
    int fd = error == EBUSY && depth > 0 ? cgroup_file_folder(parent, name) : -1;
    if (fd >= 0) {
        if (!is_populated(fd))
            each_cgroup(fd, "", remove_below, &depth);
        close(fd);
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
            return true;
    }
    errno = error;
    return false;
}

/* ---- Cgroups that are kept */

/* The kernel notifies cgroup.events when the last process in the cgroup, or below it, has ended. The SIGCHLD
 * of that process would not do: it may not be a child of the helper, and the kernel may count it to the
 * cgroup for a moment after it was reaped (Linux 6.18). */
static int watch(const struct run_cgroups *g, const char *name)
{
    if (g->watch_fd < 0)
        return -1;
    char *path = mem_printf("%s/%s/cgroup.events", g->tree->path, name);
    int wd = inotify_add_watch(g->watch_fd, path, IN_MODIFY);
    if (wd < 0)
        log_debug("helper: a cgroup cannot be watched", KV_STR("path", path),
                  KV_STR("err", strerrordesc_np(errno)));
    free(path);
    return wd;
}

/* A watch does not end by itself when its cgroup is removed (Linux 6.18). */
static void free_kept(const struct run_cgroups *g, struct run_cgroup_kept *k)
{
    if (k->watch >= 0)
        inotify_rm_watch(g->watch_fd, k->watch);
    free(k->name);
}

/* Keeps a cgroup that could not be removed; takes the name. Its last process may have ended before it was
 * watched, so it is tried once more. */
static void keep(struct run_cgroups *g, char *name)
{
    struct run_cgroup_kept k = {.name = name, .watch = watch(g, name)};

    if (remove_cgroup(g->fd, name, DEPTH_MAX)) {
        free_kept(g, &k);
        return;
    }
    g->kept = mem_grow(g->kept, g->kept_count, sizeof(*g->kept));
    g->kept[g->kept_count++] = k;
}

/* The last one takes the place of the one that goes. */
static void drop_kept(struct run_cgroups *g, size_t i)
{
    free_kept(g, &g->kept[i]);
    g->kept[i] = g->kept[--g->kept_count];
}

static void forget_kept(struct run_cgroups *g, const char *name)
{
    for (size_t i = g->kept_count; i-- > 0;)
        if (strcmp(g->kept[i].name, name) == 0)
            drop_kept(g, i);
}

/* Which cgroups the events are of does not matter: all are tried. */
static void drain_watches(const struct run_cgroups *g)
{
    char events[4096];

    while (g->watch_fd >= 0 && read(g->watch_fd, events, sizeof(events)) > 0)
        continue;
}

void run_cgroups_tidy(struct run_cgroups *g)
{
    drain_watches(g);
    for (size_t i = g->kept_count; i-- > 0;)
        if (remove_cgroup(g->fd, g->kept[i].name, DEPTH_MAX))
            drop_kept(g, i);
}

static bool lists_no_process(int tree, const char *name)
{
    struct buf text = {0};
    int fd = cgroup_file_folder(tree, name);
    bool is = fd >= 0 && cgroup_file_read(fd, "cgroup.procs", &text) == 0 && text.len == 0;

    buf_free(&text);
    if (fd >= 0)
        close(fd);
    return is;
}

/* Has one of the cgroups only processes that have ended, but are counted a moment longer? */
static bool is_one_ending(const struct run_cgroups *g)
{
    for (size_t i = 0; i < g->kept_count; i++)
        if (lists_no_process(g->fd, g->kept[i].name))
            return true;
    return false;
}

/* There is no later time to remove them. */
static void tidy_at_end(struct run_cgroups *g)
{
    uint64_t deadline_ms = clock_now_ms() + REMAINS_WAIT_MS;

    run_cgroups_tidy(g);
    while (is_one_ending(g) && clock_now_ms() < deadline_ms) {
        poll(NULL, 0, REMAINS_RETRY_MS);
        run_cgroups_tidy(g);
    }
}

/* ---- The remains of an earlier informerd */

/* The argument of the callbacks that end remains. */
struct remains {
    struct run_cgroups *g;
    uint64_t deadline_ms; /* for processes that were killed, of all runs together */
};

/* Ends the cgroup of a run of an earlier informerd: a good run may keep its processes. If the processes do
 * not end in time, the cgroup is removed later. */
static void end_remains(void *arg, int tree, const char *name)
{
    const struct remains *r = arg;
    struct run_cgroup c = {.name = mem_strdup(name), .fd = cgroup_file_folder(tree, name)};
    char mark;

    while (c.fd >= 0 && fgetxattr(c.fd, kept_mark, &mark, 1) < 0 && is_populated(c.fd)) {
        run_cgroup_kill(&c);
        if (clock_now_ms() >= r->deadline_ms)
            break;
        poll(NULL, 0, REMAINS_RETRY_MS);
    }
    if (c.fd >= 0)
        close(c.fd);
    if (!remove_cgroup(tree, name, DEPTH_MAX) && tree == r->g->fd)
        keep(r->g, c.name);
    else
        free(c.name);
}

/* A tree beside this one that nobody has locked is one of an informerd that was killed. Its name ends with
 * a process id: others are not ours. */
static void end_tree(void *arg, int folder, const char *name)
{
    const char *pid = name + strlen(CGROUP_TREE_PREFIX);
    int fd = pid[strspn(pid, "0123456789")] == '\0' ? cgroup_tree_open(folder, name) : -1;

    if (fd < 0)
        return;
    each_cgroup(fd, CGROUP_TREE_RUN, end_remains, arg);
    unlinkat(fd, CGROUP_TREE_DAEMON, AT_REMOVEDIR);
    unlinkat(folder, name, AT_REMOVEDIR);
    close(fd);
}

void run_cgroups_open(struct run_cgroups *g, const struct cgroup_tree *tree, int fd)
{
    struct remains r = {.g = g, .deadline_ms = clock_now_ms() + REMAINS_WAIT_MS};

    *g = (struct run_cgroups){.tree = tree, .fd = fd, .watch_fd = -1};
    if (tree == NULL)
        return;
    g->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    each_cgroup(fd, CGROUP_TREE_RUN, end_remains, &r);
    int parent = tree->is_ours ? cgroup_file_folder(fd, "..") : -1;
    if (parent >= 0) {
        each_cgroup(parent, CGROUP_TREE_PREFIX, end_tree, &r);
        close(parent);
    }
}

/* ---- The tree */

/* Makes or removes the tree. Its folder may be in one that nobody may write (mode 0555) but root by a
 * capability, which the helper has in effect only while hooks need it. Returns 0 or an errno. */
static int change_tree(const struct cgroup_tree *tree, bool is_made)
{
    struct capability_sets before;
    int error = capability_sets_read(&before);

    if (error != 0)
        return error;
    error = capability_sets_raise(CAPABILITY_BIT(CAP_DAC_OVERRIDE));
    if (error == 0 && (is_made ? mkdir(tree->path, 0755) : rmdir(tree->path)) < 0)
        error = errno;
    int lowered = capability_sets_write(&before);
    return error != 0 ? error : lowered;
}

void run_cgroups_close(struct run_cgroups *g)
{
    if (g->tree == NULL)
        return;
    tidy_at_end(g);
    /* fails if a run has left processes, or if main is in it */
    int error = g->tree->is_ours ? change_tree(g->tree, false) : 0;
    if (error != 0)
        log_debug("helper: the cgroup stays", KV_STR("path", g->tree->path),
                  KV_STR("err", strerror(error)));
    while (g->kept_count > 0)
        drop_kept(g, g->kept_count - 1);
    free(g->kept);
    if (g->watch_fd >= 0)
        close(g->watch_fd);
    close(g->fd);
    *g = (struct run_cgroups){.fd = -1, .watch_fd = -1};
}

/* ---- The cgroup of one run */

/* The name of the folder. Main makes the name of the run, and may be broken into: a slash must not lead
 * out of the tree. */
static char *folder_name(const char *run)
{
    char *name = mem_printf(CGROUP_TREE_RUN "%s", run);

    for (char *c = name; *c != '\0'; c++)
        if (*c == '/' || *c == '\n')
            *c = '_';
    return name;
}

/* Somebody who removes empty cgroups may have removed the tree: it is made again. */
static int make_tree(struct run_cgroups *g)
{
    int error = g->tree->is_ours ? change_tree(g->tree, true) : ENOENT;

    if (error != 0 && error != EEXIST)
        return error;
    int fd = cgroup_tree_open(AT_FDCWD, g->tree->path);
    if (fd < 0)
        return errno;
    cgroup_tree_enable(fd);
    close(g->fd);
    g->fd = fd;
    return 0;
}

static int make_folder(struct run_cgroups *g, const char *name)
{
    int error = mkdirat(g->fd, name, 0755) < 0 ? errno : 0;

    if (error == ENOENT && (error = make_tree(g)) == 0)
        error = mkdirat(g->fd, name, 0755) < 0 ? errno : 0;
    return error == EEXIST ? 0 : error;
}

/* The log says once of each limit that it has no effect here. */
static void tell_no_effect(struct run_cgroups *g, unsigned bit, const char *file, const char *hook,
                           int error)
{
    if ((g->told & bit) != 0)
        return;
    g->told |= bit;
    log_warn("helper: a limit of runs has no effect: the cgroup lacks its controller",
             KV_STR("hook", hook), KV_STR("file", file), KV_STR("err", strerror(error)));
}

static void set_limits(struct run_cgroups *g, int fd, const char *hook, const struct run_limits *l)
{
    const struct {
        const char *file;
        uint64_t value; /* 0: the file stays as it is */
        uint64_t period;
    } files[] = {
        {"memory.max", l->memory_max,                    0        },
        {"pids.max",   l->pids_max,                      0        },
        {"cpu.max",    l->cpu_max * PERIOD_US / PERCENT, PERIOD_US},
        {"cpu.weight", l->cpu_weight,                    0        },
    };
    char text[PATH_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (files[i].value == 0)
            continue;
        int n = snprintf(text, sizeof(text), "%" PRIu64, files[i].value);
        if (files[i].period > 0)
            snprintf(text + n, sizeof(text) - (size_t)n, " %" PRIu64, files[i].period);
        int error = cgroup_file_write(fd, files[i].file, text);
        if (error != 0)
            tell_no_effect(g, 1U << i, files[i].file, hook, error);
    }
    /* A run that lacks memory is killed as a whole: a part of it would go on without the rest. */
    if (l->memory_max > 0)
        cgroup_file_write(fd, "memory.oom.group", "1");
}

static uint64_t value_of(int fd, const char *file, const char *name, struct buf *text)
{
    return cgroup_file_read(fd, file, text) == 0 ? cgroup_file_value(buf_cstr(text), name) : 0;
}

/* Notes the figures from before the program; the name is for the caller to fill in. */
static struct run_cgroup begin(int fd)
{
    struct buf text = {0};

    fremovexattr(fd, kept_mark);
    const struct run_cgroup c = {
        .fd = fd,
        .cpu_before_us = value_of(fd, "cpu.stat", "usage_usec", &text),
        .ooms_before = value_of(fd, "memory.events", "oom_kill", &text),
        .pids_before = value_of(fd, "pids.events", "max", &text),
    };
    buf_free(&text);
    return c;
}

int run_cgroup_make(struct run_cgroups *g, const char *run, const char *hook,
                    const struct run_limits *limits, struct run_cgroup *out)
{
    *out = RUN_CGROUP_NONE;
    if (g->tree == NULL || run == NULL)
        return 0;
    char *name = folder_name(run);
    int error = make_folder(g, name);
    int fd = error == 0 ? cgroup_file_folder(g->fd, name) : -1;
    if (fd < 0) {
        error = error == 0 ? errno : error;
        unlinkat(g->fd, name, AT_REMOVEDIR);
        free(name);
        return error;
    }
    forget_kept(g, name);
    run_cgroups_tidy(g);
    set_limits(g, fd, hook, limits);
    *out = begin(fd);
    out->name = name;
    return 0;
}

bool run_cgroup_find(struct run_cgroups *g, const char *run, struct run_cgroup *out)
{
    *out = RUN_CGROUP_NONE;
    if (g->tree == NULL || run == NULL)
        return false;
    char *name = folder_name(run);
    int fd = cgroup_file_folder(g->fd, name);
    if (fd < 0) {
        free(name);
        return false;
    }
    forget_kept(g, name);
    *out = begin(fd);
    out->name = name;
    return true;
}

/* Is the process in the cgroup of this name? */
static bool is_in(pid_t pid, const char *name)
{
    struct buf text = {0};
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    int error = cgroup_file_read(AT_FDCWD, path, &text);
    char *cgroup = error == 0 ? cgroup_tree_parse(buf_cstr(&text)) : NULL;
    const char *last = cgroup != NULL ? strrchr(cgroup, '/') : NULL;
    bool is = last != NULL && strcmp(last + 1, name) == 0;
    free(cgroup);
    buf_free(&text);
    return is;
}

/* The descriptor is opened before the look at its cgroup, so that it stands for this process: its number
 * could be another's by now. */
static void kill_one(const struct run_cgroup *c, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return;
    if (is_in(pid, c->name))
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    close(fd);
}

/* The file may have been cut within a line. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

/* cgroup.kill does not reach a process whose first thread has ended before the others (Linux 6.18): the
 * kernel sends the signal to that thread. A signal to the process ends all of it. */
static void kill_listed(const struct run_cgroup *c)
{
    struct buf text = {0};

    if (cgroup_file_read(c->fd, "cgroup.procs", &text) == 0)
        for (const char *line = buf_cstr(&text); *line != '\0'; line = next_line(line))
            kill_one(c, (pid_t)strtol(line, NULL, DECIMAL));
    buf_free(&text);
}

void run_cgroup_kill(const struct run_cgroup *c)
{
    if (c->fd < 0)
        return;
    kill_all(c->fd);
    if (is_populated(c->fd))
        kill_listed(c);
}

bool run_cgroup_is_populated(const struct run_cgroup *c)
{
    return c->fd >= 0 && is_populated(c->fd);
}

/* The name of a process; characters that are not printable become '?'. */
static void read_comm(pid_t pid, char out[RUN_END_COMM_SIZE])
{
    struct buf text = {0};
    char path[PATH_SIZE];
    size_t n = 0;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    const char *name = cgroup_file_read(AT_FDCWD, path, &text) == 0 ? buf_cstr(&text) : "";
    for (; name[n] != '\0' && name[n] != '\n' && n < RUN_END_COMM_SIZE - 1; n++) {
        out[n] = '?';
        if (name[n] >= ' ' && name[n] <= '~')
            out[n] = name[n];
    }
    memset(out + n, 0, RUN_END_COMM_SIZE - n);
    buf_free(&text);
}

/* The file has a line for each process that has not ended. */
void run_cgroup_tell_left(const struct run_cgroup *c, struct run_end *end)
{
    struct buf text = {0};

    end->left = 0;
    end->left_pid = 0;
    memset(end->left_comm, 0, sizeof(end->left_comm));
    if (run_cgroup_is_populated(c) && cgroup_file_read(c->fd, "cgroup.procs", &text) == 0) {
        for (const char *line = buf_cstr(&text); *line != '\0'; line = next_line(line))
            end->left++;
        end->left_pid = (int32_t)strtol(buf_cstr(&text), NULL, DECIMAL);
    }
    if (end->left_pid > 0)
        read_comm(end->left_pid, end->left_comm);
    else
        end->left = 0; /* a process of another pid namespace has no number here */
    buf_free(&text);
}

void run_cgroup_tell_usage(const struct run_cgroup *c, struct run_end *end)
{
    struct buf text = {0};

    if (c->fd < 0)
        return;
    uint64_t used_us = value_of(c->fd, "cpu.stat", "usage_usec", &text);
    if (used_us >
        c->cpu_before_us) /* else the file could not be read: the time of wait4(2) stays */
        end->cpu_us = used_us - c->cpu_before_us;
    if (cgroup_file_read(c->fd, "memory.peak", &text) == 0)
        end->memory_peak = strtoull(buf_cstr(&text), NULL, DECIMAL);
    if (value_of(c->fd, "memory.events", "oom_kill", &text) > c->ooms_before)
        end->limit = RUN_LIMIT_MEMORY;
    else if (value_of(c->fd, "pids.events", "max", &text) > c->pids_before)
        end->limit = RUN_LIMIT_PIDS;
    buf_free(&text);
}

void run_cgroup_leave(struct run_cgroups *g, struct run_cgroup *c, bool is_spared)
{
    if (c->fd < 0)
        return;
    if (!remove_cgroup(g->fd, c->name, DEPTH_MAX)) {
        if (is_spared)
            fsetxattr(c->fd, kept_mark, "1", 1, 0);
        keep(g, c->name);
    } else {
        free(c->name);
    }
    close(c->fd);
    *c = RUN_CGROUP_NONE;
}
