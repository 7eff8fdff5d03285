/* SPDX-License-Identifier: Apache-2.0 */
#include "helper_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "campaign.h"
#include "helper/helper.h"
#include "play_clock.h"

enum { GRACE_MS = 3600000, SLOWNESS = 10, OUTPUT_MAX = 4096, MANY = 1000 };

static void after_event(struct helper_rig *w)
{
    assert_false(w->called);
    loop_stop(w->loop);
    if (w->dispose)
        helper_link_dispose(&w->link);
}

/* A run with its number in the test. */
struct asked {
    struct helper_run run;
    struct list link;
    struct helper_rig *w;
    uint64_t id;
};

static void on_exited(struct helper_run *run, const struct run_end *end)
{
    const struct asked *a = container_of(run, struct asked, run);
    struct helper_rig *w = a->w;

    assert_non_null(w->link);
    w->end = *end;
    w->end_of = a->id;
    w->exited++;
    w->started += end->kind != RUN_END_REFUSED;
    after_event(w);
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct helper_rig *w = arg;

    assert_non_null(w->link);
    assert_int_equal(tag, w->opened);
    assert_int_equal(fd >= 0, error == 0);
    if (fd >= 0)
        close(fd);
    w->opened++;
    after_event(w);
}

static void on_lost(void *arg, const struct err *err)
{
    struct helper_rig *w = arg;

    assert_non_null(w->link);
    w->err = *err;
    w->lost++;
    after_event(w);
}

static void on_changed(void *arg, uint32_t file)
{
    struct helper_rig *w = arg;

    assert_non_null(w->link);
    w->changed++;
    w->changed_file = file;
    after_event(w);
}

/* The file is sealed, and its reader begins at its start. */
static void on_reloaded(void *arg, bool ok, int fd)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    struct helper_rig *w = arg;

    assert_non_null(w->link);
    memset(w->reload_text, 0, sizeof(w->reload_text));
    if (fd >= 0) {
        assert_int_equal(fcntl(fd, F_GET_SEALS) & seals, seals);
        assert_true(read(fd, w->reload_text, sizeof(w->reload_text) - 1) >= 0);
        close(fd);
    }
    w->reload_ok = ok;
    w->reloaded++;
    after_event(w);
}

static const struct helper_link_events events = {.on_opened = on_opened,
                                                 .on_changed = on_changed,
                                                 .on_lost = on_lost,
                                                 .on_reloaded = on_reloaded};

struct helper_run *helper_rig_asked(struct helper_rig *w, uint64_t id)
{
    list_each (pos, tmp, &w->asked)
        if (list_entry(pos, struct asked, link)->id == id)
            return &list_entry(pos, struct asked, link)->run;
    struct asked *a = MEM_NEW(struct asked, .run.on_exited = on_exited, .w = w, .id = id);
    list_init(&a->link);
    list_append(&w->asked, &a->link);
    return &a->run;
}

/* The tree stays until the end of the test program, so no helper is to remove it. */
static struct cgroup_tree tree;
static const struct cgroup_tree *next_tree;

static void remove_tree(void)
{
    rmdir(tree.path);
    cgroup_tree_close(&tree);
}

const struct cgroup_tree *helper_rig_tree(void)
{
    struct err err;

    if (tree.path == NULL && cgroup_tree_prepare(&tree, &err) != ERR_OK) {
        print_message("no cgroups: %s\n", err.text);
        skip();
    } else if (tree.is_ours) {
        tree.is_ours = false;
        atexit(remove_tree);
    }
    return &tree;
}

void helper_rig_use_cgroups(void)
{
    next_tree = helper_rig_tree();
}

void helper_rig_open_params(struct helper_rig *w, const struct helper_params *params,
                            const struct helper_reload *reload)
{
    int fd;

    alarm(PATIENCE_S);
    play_clock_slow(SLOWNESS); /* so that a slow process meets no timeout of the helper */
    memset(w, 0, sizeof(*w));
    list_init(&w->asked);
    struct helper_params with = *params;
    with.cgroups = next_tree;
    next_tree = NULL;
    w->fds = HELPER_RIG_FDS + (with.cgroups != NULL ? 2 : 0);
    assert_int_equal(helper_start(&with, reload, &fd, &w->helper, NULL), ERR_OK);
    w->loop = loop_create();
    w->link = helper_link_create(w->loop, fd, &events, w);
}

static void open_with(struct helper_rig *w, const struct helper_hook *hooks, size_t count,
                      const char *path)
{
    const struct helper_file file = {.path = path};
    struct helper_hook *many = test_calloc(count, sizeof(*many));
    const struct helper_params params = {
        .hooks = many,
        .hook_count = count,
        .files = &file,
        .file_count = 1,
        .shared_runs = MANY,
    };

    memcpy(many, hooks, count * sizeof(*many));
    for (size_t i = 0; i < count; i++)
        many[i].concurrency = many[i].concurrency > 0 ? many[i].concurrency : MANY;
    helper_rig_open_params(w, &params, NULL);
    test_free(many);
}

void helper_rig_open_with(struct helper_rig *w, const struct helper_hook *hooks, size_t count)
{
    open_with(w, hooks, count, "/proc/version"); /* it never changes */
}

static void open_shells(struct helper_rig *w, const char *path, bool kills_left)
{
    static const char *const true_argv[] = {"/bin/true", NULL};
    static const char *const shell_argv[] = {"/bin/sh", "-c", "eval \"$INFORMERD_SCRIPT\"", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct helper_hook hooks[] = {
        [HELPER_RIG_TRUE] = {.argv = true_argv,  .kill_grace_ms = GRACE_MS},
        [HELPER_RIG_SHELL] = {.argv = shell_argv, .kill_grace_ms = GRACE_MS},
        [HELPER_RIG_AS_NOBODY] = {.argv = shell_argv,
                             .uid = HELPER_RIG_NOBODY,
                             .gid = HELPER_RIG_NOBODY},
        [HELPER_RIG_SHORT_GRACE] = {.argv = shell_argv,                  .kill_grace_ms = 50                         },
    };

    hooks[HELPER_RIG_AS_NOBODY].change_user = getuid() == 0;
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        hooks[i].env = env;
        hooks[i].kill_signal = SIGTERM;
        hooks[i].kills_left = kills_left;
    }
    open_with(w, hooks, ARRAY_LEN(hooks), path);
}

void helper_rig_open_file(struct helper_rig *w, const char *path)
{
    open_shells(w, path, false);
}

void helper_rig_open_leave(struct helper_rig *w, bool kills_left)
{
    open_shells(w, "/proc/version", kills_left);
}

void helper_rig_open(struct helper_rig *w)
{
    helper_rig_open_file(w, "/proc/version");
}

int helper_rig_wait(struct helper_rig *w)
{
    int status;

    assert_int_equal(waitpid(w->helper, &status, 0), w->helper);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void helper_rig_close(struct helper_rig *w)
{
    helper_link_dispose(&w->link);
    helper_link_dispose(&w->link);
    list_each (pos, tmp, &w->asked)
        free(list_entry(pos, struct asked, link));
    loop_destroy(&w->loop); /* panics if a handle is left */
    if (w->helper > 0)
        assert_int_equal(helper_rig_wait(w), 0);
    alarm(0);
    play_clock_go();
}

int helper_rig_run_with(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook, int in,
                        const char *script)
{
    struct buf env = {0};
    int out[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    int error = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
    assert_true(error >= 0);
    buf_printf(&env, "INFORMERD_SCRIPT=%s", script);
    buf_putc(&env, '\0');
    buf_printf(&env, "INFORMERD_RUN=run-%llu", (unsigned long long)id);
    buf_putc(&env, '\0');
    w->called = true;
    helper_link_run(w->link, helper_rig_asked(w, id), hook, RUN_PROGRAM_COMMAND, buf_str(&env),
                    (int[]){in, out[1], error});
    w->called = false;
    buf_free(&env);
    return out[0];
}

int helper_rig_run(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook, const char *script)
{
    return helper_rig_run_with(w, id, hook, open("/dev/null", O_RDONLY | O_CLOEXEC), script);
}

const char *helper_rig_read(int fd, bool one_line)
{
    static char text[OUTPUT_MAX];
    size_t n = 0;

    while (n < sizeof(text) - 1 && read(fd, text + n, 1) == 1)
        if (text[n++] == '\n' && one_line)
            break;
    text[n] = '\0';
    return text;
}

void helper_rig_expect_line(int fd, const char *line)
{
    assert_string_equal(helper_rig_read(fd, true), line);
}

void helper_rig_expect_eof(int fd)
{
    assert_string_equal(helper_rig_read(fd, false), "");
    close(fd);
}

static char *proc_path(pid_t pid, const char *file)
{
    return mem_printf("/proc/%d/%s", (int)pid, file);
}

size_t helper_rig_fds(pid_t pid)
{
    char *path = proc_path(pid, "fd");
    DIR *dir = opendir(path);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        n++;
    closedir(dir);
    free(path);
    return n - 2; /* "." and ".." */
}

static size_t watches_of(const char *fdinfo)
{
    FILE *f = fopen(fdinfo, "re");
    char line[256];
    size_t n = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        n += strncmp(line, "inotify ", 8) == 0;
    if (f != NULL)
        fclose(f);
    return n;
}

size_t helper_rig_watches(pid_t pid)
{
    enum { FDS = 64 };
    size_t n = 0;

    for (int fd = 0; fd < FDS; fd++) {
        char *path = mem_printf("/proc/%d/fdinfo/%d", (int)pid, fd);
        n += watches_of(path);
        free(path);
    }
    return n;
}

static pid_t parent_of(pid_t pid)
{
    char *path = proc_path(pid, "status");
    FILE *f = fopen(path, "re");
    char line[256];
    pid_t parent = 0;

    free(path);
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "PPid:", 5) == 0)
            parent = (pid_t)strtol(line + 5, NULL, 10);
    if (f != NULL)
        fclose(f);
    return parent;
}

size_t helper_rig_children(pid_t pid)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    size_t n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);

        n += other > 0 && parent_of(other) == pid;
    }
    closedir(dir);
    return n;
}

void helper_rig_expect_clean(struct helper_rig *w)
{
    uint64_t id = UINT64_MAX / 2;

    /* One run at least: a helper that has just begun may still have descriptors of this process. And each
     * end of a program has the helper look for more. */
    do {
        size_t before = w->exited;

        close(helper_rig_run(w, id++, 0, ""));
        HELPER_RIG_AWAIT(w, w->exited > before);
    } while (helper_rig_children(w->helper) > 0);
    assert_int_equal(helper_rig_fds(w->helper), w->fds);
}

size_t helper_rig_memory(pid_t pid)
{
    char *path = proc_path(pid, "smaps_rollup");
    FILE *f = fopen(path, "re");
    char line[256];
    size_t n = 0;

    free(path);
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "Private_Dirty:", 14) == 0)
            n = strtoul(line + 14, NULL, 10);
    fclose(f);
    assert_true(n > 0);
    return n;
}

pid_t helper_rig_idle_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    return pid;
}
