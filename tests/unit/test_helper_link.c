/* SPDX-License-Identifier: Apache-2.0 */
/* Main's link with a real helper and real programs, and with a helper that talks nonsense. */
#include "io/helper_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "helper/helper.h"
#include "io/loop.h"
#include "io/memfile.h"

enum { PATIENCE_S = 100, OUTPUT_MAX = 4096, NOBODY = 65534 };
enum hook_number { TRUE, SHELL, AS_NOBODY, SHORT_GRACE };

struct world {
    struct loop *loop;
    struct helper_link *link;
    pid_t helper;
    size_t started, exited, opened, lost; /* events so far */
    struct helper_link_exit end;          /* the last one */
    struct err err;                       /* of on_lost */
    bool dispose;                         /* from inside the next event */
    bool called;                          /* by a function of ours: no event may come now */
};

static void after_event(struct world *w)
{
    assert_false(w->called);
    loop_stop(w->loop);
    if (w->dispose)
        helper_link_dispose(&w->link);
}

static void on_started(void *arg, uint64_t run, pid_t pid)
{
    struct world *w = arg;

    (void)run;
    assert_non_null(w->link);
    assert_true(pid > 0);
    w->started++;
    after_event(w);
}

static void on_exited(void *arg, const struct helper_link_exit *end)
{
    struct world *w = arg;

    assert_non_null(w->link);
    w->end = *end;
    w->exited++;
    after_event(w);
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct world *w = arg;

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
    struct world *w = arg;

    assert_non_null(w->link);
    w->err = *err;
    w->lost++;
    after_event(w);
}

static const struct helper_link_events events = {on_started, on_exited, on_opened, on_lost};

#define AWAIT(w, condition) \
    while (!(condition))    \
    loop_run((w)->loop)

/* Each test has a helper of its own with these hooks; the script of a shell is its input. */
static void open_world(struct world *w)
{
    static const char *const true_argv[] = {"/bin/true", NULL};
    static const char *const shell_argv[] = {"/bin/sh", "-c", "eval \"$INFORMERD_SCRIPT\"", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    static const char *const file = "/etc/passwd";
    struct helper_hook hooks[] = {
        [TRUE] = {.argv = true_argv,  .kill_grace_ms = 60000},
        [SHELL] = {.argv = shell_argv, .kill_grace_ms = 60000},
        [AS_NOBODY] = {.argv = shell_argv, .uid = NOBODY,          .gid = NOBODY},
        [SHORT_GRACE] = {.argv = shell_argv,                  .kill_grace_ms = 50                      },
    };
    const struct helper_params params = {hooks, ARRAY_LEN(hooks), &file, 1, 0};
    int fd;

    alarm(PATIENCE_S);
    memset(w, 0, sizeof(*w));
    hooks[AS_NOBODY].change_user = getuid() == 0;
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        hooks[i].env = env;
        hooks[i].kill_signal = SIGTERM;
    }
    assert_int_equal(helper_start(&params, &fd, &w->helper, NULL), ERR_OK);
    w->loop = loop_create();
    w->link = helper_link_create(w->loop, fd, &events, w);
}

static int wait_helper(struct world *w)
{
    int status;

    assert_int_equal(waitpid(w->helper, &status, 0), w->helper);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void close_world(struct world *w)
{
    helper_link_dispose(&w->link);
    helper_link_dispose(&w->link);
    loop_destroy(&w->loop); /* panics if a handle is left */
    if (w->helper > 0)
        assert_int_equal(wait_helper(w), 0);
    alarm(0);
}

/* Runs a script; takes in, returns the reading end of its output. */
static int run_with(struct world *w, uint64_t id, enum hook_number hook, int in, const char *script)
{
    char *env = mem_printf("INFORMERD_SCRIPT=%s", script);
    int out[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    int error = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
    assert_true(error >= 0);
    w->called = true;
    helper_link_run(w->link, id, hook, str_of(env, strlen(env) + 1), (int[]){in, out[1], error});
    w->called = false;
    free(env);
    return out[0];
}

static int run_script(struct world *w, uint64_t id, enum hook_number hook, const char *script)
{
    return run_with(w, id, hook, open("/dev/null", O_RDONLY | O_CLOEXEC), script);
}

static const char *read_out(int fd, bool one_line)
{
    static char text[OUTPUT_MAX];
    size_t n = 0;

    while (n < sizeof(text) - 1 && read(fd, text + n, 1) == 1)
        if (text[n++] == '\n' && one_line)
            break;
    text[n] = '\0';
    return text;
}

static void expect_line(int fd, const char *line)
{
    assert_string_equal(read_out(fd, true), line);
}

/* Whoever held the other end is gone. */
static void expect_eof(int fd)
{
    assert_string_equal(read_out(fd, false), "");
    close(fd);
}

static size_t count_fds(pid_t pid)
{
    char *path = mem_printf("/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        n++;
    closedir(dir);
    free(path);
    return n;
}

/* ---- The document */

static void test_document_can_be_read_twice(void **state)
{
    struct world w;
    int doc;

    (void)state;
    open_world(&w);
    for (enum hook_number hook = SHELL; hook <= AS_NOBODY; hook++) {
        assert_int_equal(memfile_create("doc", str_c("{\"a\":1}\n"), &doc, NULL), ERR_OK);
        int out =
            run_with(&w, hook, hook, doc,
                     "cat; cat /dev/stdin; cat </dev/stdin; head -c 3 /proc/self/fd/0; id -u");
        char *expected = mem_printf("{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n{\"a%u\n",
                                    hook == AS_NOBODY && getuid() == 0 ? NOBODY : getuid());
        assert_string_equal(read_out(out, false), expected);
        close(out);
        free(expected);
        AWAIT(&w, w.exited == hook);
        assert_true(w.end.how == HELPER_LINK_EXITED && w.end.value == 0);
    }
    close_world(&w);
}

/* ---- Groups of processes */

static void test_failure_takes_its_group_along(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    int out = run_script(&w, 1, SHELL, "sleep 1000 & sleep 1000 & echo ready; exit 3");
    expect_line(out, "ready\n");
    expect_eof(out);
    AWAIT(&w, w.exited == 1);
    assert_true(w.end.how == HELPER_LINK_EXITED && w.end.value == 3 && w.end.run == 1);

    out = run_script(&w, 2, SHELL,
                     "trap 'exit 0' TERM; sh -c 'trap \"\" TERM; echo ready; sleep 1000' & wait");
    expect_line(out, "ready\n");
    helper_link_kill(w.link, 2, SIGTERM); /* a good end, but only because of that */
    expect_eof(out);
    AWAIT(&w, w.exited == 2);
    assert_true(w.end.how == HELPER_LINK_EXITED && w.end.value == 0);
    close_world(&w);
}

static void test_success_leaves_its_group(void **state)
{
    struct world w;
    int in[2];

    (void)state;
    open_world(&w);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    int out = run_with(&w, 1, SHELL, in[0], "exec 3<&0; (read x <&3; echo alive $x) & exit 0");
    AWAIT(&w, w.exited == 1);
    assert_int_equal(write(in[1], "yes\n", 4), 4);
    expect_line(out, "alive yes\n");
    expect_eof(out);
    close(in[1]);
    close_world(&w);
}

/* ---- The end of the helper, the end of main */

static void test_programs_die_with_the_helper(void **state)
{
    struct world w;

    (void)state;
    for (enum hook_number hook = SHELL; hook <= AS_NOBODY; hook++) {
        open_world(&w);
        int out = run_script(&w, 1, hook, "echo ready; exec sleep 1000");
        expect_line(out, "ready\n");
        kill(w.helper, SIGKILL);
        expect_eof(out);
        AWAIT(&w, w.lost == 1);
        assert_int_equal(w.err.kind, ERR_CLOSED);
        expect_eof(run_script(&w, 2, SHELL, "echo never"));
        helper_link_kill(w.link, 1, SIGTERM);
        helper_link_open(w.link, 0, 0);
        loop_run(w.loop);
        assert_true(w.lost == 1 && w.exited == 0 && w.opened == 0);
        assert_int_equal(wait_helper(&w), -SIGKILL);
        w.helper = 0;
        close_world(&w);
    }
}

static void test_end_of_main_ends_all(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    int polite =
        run_script(&w, 1, SHELL, "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait");
    int deaf = run_script(&w, 2, SHORT_GRACE, "trap '' TERM; echo ready; exec sleep 1000");
    expect_line(polite, "ready\n");
    expect_line(deaf, "ready\n");
    kill(w.helper, SIGINT); /* of a terminal, or by mistake: main decides */
    kill(w.helper, SIGTERM);
    kill(w.helper, SIGHUP);
    int third = run_script(&w, 3, TRUE, "");
    AWAIT(&w, w.exited == 1);
    expect_eof(third);
    close_world(&w);
    expect_line(polite, "bye\n");
    expect_eof(polite);
    expect_eof(deaf);
}

/* ---- Many */

static void test_64_at_a_time(void **state)
{
    enum { N = 64 };
    int in[N][2];
    int out[N];
    struct world w;

    (void)state;
    open_world(&w);
    for (int i = 0; i < N; i++) {
        assert_int_equal(pipe2(in[i], O_CLOEXEC), 0);
        out[i] = run_with(&w, (uint64_t)i, SHELL, in[i][0], "read x; echo got $x");
    }
    AWAIT(&w, w.started == N);
    assert_int_equal(w.exited, 0);
    for (int i = N - 1; i >= 0; i--) {
        char *line = mem_printf("got %d\n", i);

        assert_int_equal(dprintf(in[i][1], "%d\n", i), strlen(line) - 4);
        expect_line(out[i], line);
        close(in[i][1]);
        close(out[i]);
        free(line);
    }
    AWAIT(&w, w.exited == N);
    close_world(&w);
}

static void test_2000_runs_leave_nothing(void **state)
{
    enum { N = 2000, AT_ONCE = 16 };
    struct world w;

    (void)state;
    open_world(&w);
    close(run_script(&w, N, TRUE, ""));
    AWAIT(&w, w.exited == 1);
    size_t ours = count_fds(getpid());
    size_t its = count_fds(w.helper);
    for (size_t i = 0; i < N; i++) {
        AWAIT(&w, i - (w.exited - 1) < AT_ONCE);
        close(run_script(&w, i, TRUE, ""));
        assert_int_equal(w.end.value, 0);
    }
    AWAIT(&w, w.exited == N + 1 && w.started == N + 1);
    assert_int_equal(count_fds(getpid()), ours);
    assert_int_equal(count_fds(w.helper), its);
    char *path = mem_printf("/proc/%d/task/%d/children", (int)w.helper, (int)w.helper);
    expect_eof(open(path, O_RDONLY | O_CLOEXEC)); /* no zombie either */
    free(path);
    close_world(&w);
}

/* Nothing blocks and nothing is lost when the helper does not read. */
static void test_a_slow_helper(void **state)
{
    enum { N = 300 };
    struct world w;
    int status;

    (void)state;
    open_world(&w);
    char *env = mem_printf("INFORMERD_A=%*d", 8000, 0);
    kill(w.helper, SIGSTOP);
    assert_int_equal(waitpid(w.helper, &status, WUNTRACED), w.helper);
    for (uint64_t i = 0; i < N; i++) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        int fds[3] = {null_fd, fcntl(null_fd, F_DUPFD_CLOEXEC, 3),
                      fcntl(null_fd, F_DUPFD_CLOEXEC, 3)};

        helper_link_run(w.link, i, TRUE, str_of(env, strlen(env) + 1), fds);
    }
    helper_link_kill(w.link, 12345, SIGTERM);
    kill(w.helper, SIGCONT);
    AWAIT(&w, w.exited == N);
    assert_int_equal(w.started, N);
    free(env);
    close_world(&w);
}

/* The helper does not block either when main does not read: it answers all later. */
static void test_a_slow_main(void **state)
{
    enum { N = 5000 };
    struct world w;

    (void)state;
    open_world(&w);
    for (uint64_t tag = 0; tag < N; tag++)
        helper_link_open(w.link, 0, tag);
    AWAIT(&w, w.opened == N);
    close_world(&w);
}

static void test_too_big_an_environment(void **state)
{
    char *script = mem_printf("%*d", HELPER_LINK_ENV_MAX, 0);
    struct world w;

    (void)state;
    open_world(&w);
    expect_eof(run_script(&w, 9, SHELL, script));
    AWAIT(&w, w.exited == 1);
    assert_true(w.end.run == 9 && w.end.how == HELPER_LINK_NOT_STARTED && w.end.value == E2BIG);
    assert_string_equal(w.end.stage, "send");
    close(run_script(&w, 9, SHELL, script));
    helper_link_dispose(&w.link); /* before it could be told */
    free(script);
    close_world(&w);
    assert_int_equal(w.exited, 1);
}

static void test_helper_without_descriptors(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    close(run_script(&w, 1, TRUE, ""));
    AWAIT(&w, w.exited == 1); /* it has all of its own now: 0 to 4 */
    for (rlim_t n = 5; n <= 9; n++) {
        const char *const stages[] = {"receive", "receive", "receive", "pipe", "pipe"};
        struct rlimit limit = {n, 4096};

        assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &limit, NULL), 0);
        close(run_script(&w, n, TRUE, ""));
        AWAIT(&w, w.exited == n - 3);
        assert_true(w.end.how == HELPER_LINK_NOT_STARTED && w.end.value == EMFILE);
        assert_string_equal(w.end.stage, stages[n - 5]);
    }
    close_world(&w);
}

static void test_dispose_from_any_event(void **state)
{
    struct world w;

    (void)state;
    for (int event = 0; event < 4; event++) {
        open_world(&w);
        for (uint64_t id = 0; id < 3; id++)
            if (event == 2)
                helper_link_open(w.link, 0, id);
            else
                close(run_script(&w, id, SHELL, "exec sleep 1000"));
        if (event == 1 || event == 3)
            AWAIT(&w, w.started == 3);
        w.dispose = true;
        if (event == 1)
            helper_link_kill(w.link, 1, SIGKILL);
        if (event == 3)
            kill(w.helper, SIGKILL);
        AWAIT(&w, w.link == NULL);
        loop_run(w.loop);
        assert_int_equal(w.started + w.exited + w.opened + w.lost, event % 2 == 0 ? 1 : 4);
        assert_int_equal(wait_helper(&w), event == 3 ? -SIGKILL : 0);
        w.helper = 0;
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_can_be_read_twice),
        cmocka_unit_test(test_failure_takes_its_group_along),
        cmocka_unit_test(test_success_leaves_its_group),
        cmocka_unit_test(test_programs_die_with_the_helper),
        cmocka_unit_test(test_end_of_main_ends_all),
        cmocka_unit_test(test_64_at_a_time),
        cmocka_unit_test(test_2000_runs_leave_nothing),
        cmocka_unit_test(test_a_slow_helper),
        cmocka_unit_test(test_a_slow_main),
        cmocka_unit_test(test_too_big_an_environment),
        cmocka_unit_test(test_helper_without_descriptors),
        cmocka_unit_test(test_dispose_from_any_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
