/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that a run leaves behind: where runs have cgroups, killed after a bad end wherever they went,
 * reported and spared after a good end; reaped in any case. Without cgroups its process group is
 * killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "helper/cgroup_file.h"
#include "helper_rig.h"
#include "loop_until.h"

/* A rig whose runs have cgroups. */
static void open_rig(struct helper_rig *w)
{
    helper_rig_use_cgroups();
    helper_rig_open(w);
}

/* Every process that inherited stdout is gone. A shell may have reported that a process it waited
 * for was killed. */
static void expect_all_gone(int out)
{
    struct pollfd p = {.fd = out, .events = POLLIN};

    assert_int_equal(poll(&p, 1, 0), 1);
    assert_int_equal(p.revents & POLLHUP, POLLHUP);
    close(out);
}

/* The writing end of the stdin of a run that is up: the run has said "ready". */
static int start_ready(struct helper_rig *w, uint64_t id, const char *script, int *out)
{
    int in[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    *out = helper_rig_run_with(w, id, HELPER_RIG_SHELL, in[0], script);
    helper_rig_expect_line(*out, "ready\n");
    return in[1];
}

/* Ways to escape: out of the process group; out of the family as well; so and deaf to signals; by a
 * child with an empty environment, and one that has lost its parent, too; several sessions deep. */
static const char *const ways_out[] = {
    "setsid sh -c 'echo ready; exec sleep 1000' &",
    "(setsid sh -c 'echo ready; exec sleep 1000' &)",
    "(setsid sh -c 'trap \"\" TERM HUP INT; echo ready; sleep 1000; sleep 1000' &)",
    "setsid sh -c 'env -i sh -c \"echo ready; sleep 1000; :\" & wait' &",
    "(env -i setsid sh -c 'echo ready; sleep 1000; :' &)",
    ("(setsid sh -c 'setsid sh -c \"(setsid sh -c \\\"echo ready; sleep 1000\\\" &) ; sleep "
     "1000\"' "
     "&)"),
};

static void test_failure_reaches_processes_that_escaped(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(ways_out); i++) {
        char *script = mem_printf("%s\nread x; exit 3", ways_out[i]);
        int out;
        int in = start_ready(&w, i, script, &out);

        close(in);
        HELPER_RIG_AWAIT(&w, w.exited == i + 1);
        expect_all_gone(out);
        assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 3 && w.end_of == i);
        assert_true(w.end.left == 0 && w.end.left_pid == 0);
        free(script);
    }
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

static void test_kill_reaches_processes_that_escaped(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(ways_out); i++) {
        char *script = mem_printf("trap 'exit 0' TERM; %s\nread x; sleep 1000", ways_out[i]);
        int out;
        int in = start_ready(&w, i, script, &out);

        helper_link_kill(w.link, helper_rig_asked(&w, i),
                         i % 2 == 0
                             ? SIGTERM
                             : SIGKILL); /* the good end of the program does not count any more */
        HELPER_RIG_AWAIT(&w, w.exited == i + 1);
        expect_all_gone(out);
        assert_int_equal(w.end.kind, i % 2 == 0 ? RUN_END_EXITED : RUN_END_SIGNALED);
        assert_int_equal(w.end.left, 0);
        close(in);
        free(script);
    }
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* Each new process is in a session of its own, and comes while others are being killed. */
static void test_escaping_goes_on_while_being_killed(void **state)
{
    struct helper_rig w;
    int out;

    (void)state;
    open_rig(&w);
    int in = start_ready(&w, 1,
                         "(setsid sh -c 'i=0; while [ $i -lt 300 ]; do (setsid sleep 1000 &);"
                         " i=$((i+1)); [ $i = 20 ] && echo ready; done; sleep 1000' &) ;"
                         "read x; exit 1",
                         &out);
    close(in);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    expect_all_gone(out);
    assert_int_equal(w.end.left, 0);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* The program itself goes to another group: into its helper's; into one that a child of it leads;
 * or out of all by a session of its own. It ignores signals other than SIGKILL, as no other signal
 * reaches it for certain. */
/* NOLINTBEGIN(bugprone-suspicious-missing-comma): they are too long for a line */
static const char *const own_ways_out[] = {
    "exec perl -e '$SIG{TERM} = \"IGNORE\"; setpgrp(0, getpgrp(getppid())) or die;"
    " $| = 1; print \"ready\\n\"; sleep 1000 while 1'",
    "exec perl -e '$SIG{TERM} = \"IGNORE\"; my $c = fork() // die; if ($c == 0) { sleep 1000; exit "
    "}"
    " setpgrp($c, $c); setpgrp(0, $c) or die; $| = 1; print \"ready\\n\"; sleep 1000 while 1'",
    "exec perl -MPOSIX -e '$SIG{TERM} = \"IGNORE\"; setpgrp(0, getpgrp(getppid())) or die;"
    " POSIX::setsid() > 0 or die; $| = 1; print \"ready\\n\"; sleep 1000 while 1'",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

static void test_kill_reaches_a_program_that_left_its_group(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(own_ways_out); i++) {
        int out;
        int in = start_ready(&w, i, own_ways_out[i], &out);

        helper_link_kill(w.link, helper_rig_asked(&w, i), SIGTERM);
        helper_link_kill(w.link, helper_rig_asked(&w, i), SIGKILL);
        HELPER_RIG_AWAIT(&w, w.exited == i + 1);
        expect_all_gone(out);
        assert_true(w.end.kind == RUN_END_SIGNALED && w.end.value == SIGKILL);
        close(in);
    }
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* A program that gets the kill signal may end well: the signal comes once, whichever group the
 * program is in. */
static void test_kill_signal_reaches_a_program_that_left_its_group(void **state)
{
    static const char *const go[] = {"0, 0", "0, getpgrp(getppid())"};
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(go); i++) {
        char *script =
            mem_printf("exec perl -e '$SIG{TERM} = sub { $n++ }; setpgrp(%s) or die; $| = 1;"
                       " print \"ready\\n\"; <STDIN>; print \"$n\\n\"'",
                       go[i]);
        int out;
        int in = start_ready(&w, i, script, &out);

        helper_link_kill(w.link, helper_rig_asked(&w, i), SIGTERM);
        /* once this run has ended, the kill signal was sent */
        close(helper_rig_run(&w, 100, HELPER_RIG_TRUE, ""));
        HELPER_RIG_AWAIT(&w, w.exited == 2 * i + 1);
        close(in);
        HELPER_RIG_AWAIT(&w, w.exited == 2 * i + 2);
        helper_rig_expect_line(out, "1\n");
        close(out);
        free(script);
    }
    helper_rig_close(&w);
}

/* A run that leaves a process behind: the script has its stdin and stdout, and the run ends when
 * the script closes descriptor 6. */
#define LEAVE(how, script) \
    "exec 3>&1 4<&0; x=$( (" how " sh -c 'exec 6>&1 >&3; " script "' <&4 & ) ); exit 0"

static void test_success_reports_processes_that_are_left(void **state)
{
    static const struct {
        const char *script;
        unsigned left;
    } runs[] = {
        {LEAVE("",                             "exec 6>&-; read x; echo alive $x"), 1},
        {LEAVE("setsid",                                    "exec 6>&-; read x; echo alive $x"),                                                          1},
        {LEAVE("env -i",                                   "exec 6>&-; read x; echo alive $x"),             1}, /* in its group */
        {LEAVE("env -i setsid","exec 6>&-; read x; echo alive $x"),1},
        {LEAVE("setsid",                "exec 5<&0; (exec 6>&-; read y; echo alive $y) <&5 & exec 6>&-; wait"),                                                  2},
        {"true & wait; exit 0",                                    0                                                         },
    };
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        int in[2];

        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        int out = helper_rig_run_with(&w, i, HELPER_RIG_SHELL, in[0], runs[i].script);
        HELPER_RIG_AWAIT(&w, w.exited == i + 1);
        assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
        assert_int_equal(w.end.left, runs[i].left);
        assert_string_equal(w.end.left_comm, runs[i].left > 0 ? "sh" : "");
        assert_int_equal(w.end.left_pid > 0 && kill(w.end.left_pid, 0) == 0, runs[i].left > 0);
        if (i + 1 < ARRAY_LEN(runs)) {
            assert_int_equal(write(in[1], "yes\n", 4), 4);
            helper_rig_expect_line(out, "alive yes\n");
        }
        close(in[1]);
        helper_rig_expect_eof(out);
    }
    w.exited = 0;
    helper_rig_expect_clean(&w); /* reaped, too */
    helper_rig_close(&w);
}

static void clear(struct helper_rig *w, uint64_t id, const char *env)
{
    size_t before = w->exited;

    helper_link_clear(w->link, helper_rig_asked(w, id), str_of(env, strlen(env) + 1));
    HELPER_RIG_AWAIT(w, w->exited > before);
    assert_true(w->end_of == id && w->end.left == 0);
}

/* Processes that a successful run left are killed when the run is cleared, because its success does
 * not count any more; those of another run stay. */
static void test_spared_processes_are_cleared(void **state)
{
    static const char *const how[] = {"", "setsid"};
    struct helper_rig w;
    int other;

    (void)state;
    open_rig(&w);
    int in = start_ready(&w, 100, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"),
                         &other);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        char *script =
            mem_printf("%s sh -c 'trap \"\" TERM; (sleep 1000); sleep 1000' & exit 0", how[i]);
        int out = helper_rig_run(&w, 1, HELPER_RIG_SHELL, script);

        HELPER_RIG_AWAIT(&w, w.exited == 2 + 2 * i);
        assert_int_equal(w.end_of, 1);
        clear(&w, 1, "INFORMERD_RUN=run-1");
        assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
        expect_all_gone(out);
        free(script);
    }
    assert_int_equal(write(in, "yes\n", 4), 4);
    helper_rig_expect_line(other, "alive yes\n");
    close(in);
    helper_rig_expect_eof(other);
    helper_rig_close(&w);
}

static void test_nothing_to_clear(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    clear(&w, 2, "INFORMERD_RUN=run-2");
    assert_int_equal(w.end.kind, RUN_END_EXITED);
    clear(&w, 3, "INFORMERD_HOOK=h"); /* names no run */
    assert_int_equal(w.end.kind, RUN_END_EXITED);
    clear(&w, 4, "LD_PRELOAD=x");
    assert_true(w.end.kind == RUN_END_REFUSED && w.end.value == EINVAL);
    helper_rig_close(&w);
}

/* The failure or success of another run does not touch the process. */
static void test_runs_do_not_touch_each_other(void **state)
{
    struct helper_rig w;
    int out[2];
    int in[2];

    (void)state;
    open_rig(&w);
    in[0] = start_ready(&w, 1, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"),
                        &out[0]);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_int_equal(w.end.left, 1);
    in[1] = start_ready(&w, 2, /* this run goes on */
                        "exec 4<&0; (setsid sh -c 'echo ready; read x; echo alive $x' <&4 &); wait;"
                        " while [ ! -e /proc/self/none ]; do sleep 1000; done",
                        &out[1]);
    close(helper_rig_run(&w, 10, HELPER_RIG_SHELL, "exit 1"));
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    close(helper_rig_run(&w, 11, HELPER_RIG_SHELL, "sleep 1000"));
    helper_link_kill(w.link, helper_rig_asked(&w, 11), SIGKILL);
    HELPER_RIG_AWAIT(&w, w.exited == 3);
    close(helper_rig_run(&w, 12, HELPER_RIG_TRUE, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 4);
    assert_true(w.end.value == 0 && w.end.left == 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(write(in[i], "yes\n", 4), 4);
        helper_rig_expect_line(out[i], "alive yes\n");
        close(in[i]);
    }
    helper_rig_expect_eof(out[0]);
    helper_rig_close(&w);
    helper_rig_expect_eof(out[1]);
}

static void test_end_of_main_reaches_processes_that_escaped(void **state)
{
    struct helper_rig w;
    int out[ARRAY_LEN(ways_out) + 1];
    int in[ARRAY_LEN(ways_out) + 1];
    size_t n = 0;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1),
                     0); /* the test reaps processes that outlive the helper */
    open_rig(&w);
    for (; n < ARRAY_LEN(ways_out); n++) {
        char *script = mem_printf("%s\nread x; sleep 1000", ways_out[n]);

        in[n] = start_ready(&w, n, script, &out[n]);
        free(script);
    }
    in[n] = start_ready(&w, n, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"),
                        &out[n]);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    helper_rig_close(&w);
    for (size_t i = 0; i < n; i++) {
        expect_all_gone(out[i]);
        close(in[i]);
    }
    assert_int_equal(write(in[n], "yes\n", 4), 4); /* a process that a successful run left stays */
    helper_rig_expect_line(out[n], "alive yes\n");
    close(in[n]);
    helper_rig_expect_eof(out[n]);
    assert_true(wait(NULL) > 0);
}

/* A process that ignores the kill signal gets SIGKILL after the grace, in whatever group it is. */
static void test_end_of_main_reaches_a_program_that_left_its_group(void **state)
{
    struct helper_rig w;
    int out[ARRAY_LEN(own_ways_out)];

    (void)state;
    open_rig(&w);
    for (size_t i = 0; i < ARRAY_LEN(own_ways_out); i++) {
        out[i] = helper_rig_run(&w, i, HELPER_RIG_SHORT_GRACE, own_ways_out[i]);
        helper_rig_expect_line(out[i], "ready\n");
    }
    helper_rig_close(&w);
    for (size_t i = 0; i < ARRAY_LEN(own_ways_out); i++)
        expect_all_gone(out[i]);
}

/* leave = "kill": the run ends well, and not before its processes are gone. */
static void test_a_good_run_can_have_its_processes_killed(void **state)
{
    struct helper_rig w;
    int out;

    (void)state;
    helper_rig_use_cgroups();
    helper_rig_open_leave(&w, true);
    int in =
        start_ready(&w, 1, LEAVE("env -i setsid", "echo ready; exec 6>&-; sleep 1000; :"), &out);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    expect_all_gone(out);
    assert_true(run_end_is_good(&w.end));
    assert_int_equal(w.end.left, 0);
    assert_true(w.end.cleared >= 1);
    close(in);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* The cgroup of a run, with or without processes. */
static bool has_cgroup(uint64_t id)
{
    char *path = mem_printf("%s/run-run-%llu", helper_rig_tree()->path, (unsigned long long)id);
    bool has = access(path, F_OK) == 0;

    free(path);
    return has;
}

/* A callback of loop_until(). */
static bool is_cgroup_gone(void *arg)
{
    const uint64_t *id = arg;

    return !has_cgroup(*id);
}

/* A callback of loop_until(). */
static bool has_no_watch(void *arg)
{
    const pid_t *pid = arg;

    return helper_rig_watches(*pid) == 0;
}

static void test_a_cgroup_goes_with_its_last_process(void **state)
{
    struct helper_rig w;
    int out;

    (void)state;
    open_rig(&w);
    close(helper_rig_run(&w, 1, HELPER_RIG_TRUE, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    loop_until(w.loop, is_cgroup_gone, &(uint64_t){1});
    int in =
        start_ready(&w, 2, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"), &out);
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    assert_true(has_cgroup(2));
    close(in);
    assert_string_equal(helper_rig_read(out, false), "alive\n");
    close(out);
    loop_until(w.loop, is_cgroup_gone, &(uint64_t){2});
    helper_rig_close(&w);
}

/* The helper gets no SIGCHLD for the end of this process. And the kernel may count a child to its cgroup
 * for a moment after the helper has reaped it (Linux 6.18). */
static void test_a_cgroup_goes_with_a_process_that_is_no_child(void **state)
{
    struct helper_rig w;
    pid_t pid = helper_rig_idle_child();
    int out;

    (void)state;
    open_rig(&w);
    int in = start_ready(&w, 1, "echo ready; read x; :", &out);
    char *number = mem_printf("%d", (int)pid);
    assert_int_equal(cgroup_file_write(helper_rig_tree()->fd, "run-run-1/cgroup.procs", number), 0);
    close(in);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end.left == 1 && w.end.left_pid == pid);
    assert_true(has_cgroup(1));
    assert_int_equal(helper_rig_watches(w.helper), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    loop_until(w.loop, is_cgroup_gone, &(uint64_t){1});
    loop_until(w.loop, has_no_watch, &w.helper);
    close(out);
    free(number);
    helper_rig_close(&w);
}

/* A child of the test that ends a moment after the other end of its pipe was closed. */
static pid_t late_child(int fd, int other_end)
{
    enum { MOMENT_US = 100000 };
    pid_t pid = fork();

    if (pid == 0) {
        close(other_end);
        (void)!read(fd, &pid, 1);
        usleep(MOMENT_US);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* A process in a cgroup below that of its run is not among the processes of the run, but counts for it, as
 * does one that has ended and that the kernel has not removed yet. */
static void test_the_end_of_the_helper_waits_for_processes_that_are_ending(void **state)
{
    static const char below[] = "run-run-1/below";
    struct helper_rig w;
    int end[2];
    int out;

    (void)state;
    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    pid_t pid = late_child(end[0], end[1]); /* before the socket to the helper exists */
    open_rig(&w);
    char *number = mem_printf("%d", (int)pid);
    int in = start_ready(&w, 1, "echo ready; read x; :", &out);
    assert_int_equal(mkdirat(helper_rig_tree()->fd, below, 0755), 0);
    assert_int_equal(
        cgroup_file_write(helper_rig_tree()->fd, "run-run-1/below/cgroup.procs", number), 0);
    close(in);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(has_cgroup(1));
    close(end[1]);
    helper_rig_close(&w);
    assert_false(has_cgroup(1));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(end[0]);
    close(out);
    free(number);
}

/* The child uses more than its parent, which does not wait for it. */
static void test_the_time_of_all_processes_counts(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w);
    close(helper_rig_run(
        &w, 1, HELPER_RIG_SHELL,
        "mkfifo_dir=$(mktemp -d); mkfifo $mkfifo_dir/f;"
        "(setsid sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo >$0/f'"
        " $mkfifo_dir &); read x <$mkfifo_dir/f; rm -r $mkfifo_dir"));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(run_end_is_good(&w.end));
    assert_true(w.end.cpu_us > 20000);
    helper_rig_close(&w);
}

/* A helper that is killed cannot end its runs: the next one kills their processes, and spares those that a
 * good run has left. */
static void test_a_crash_leaves_no_process_of_a_run(void **state)
{
    struct helper_rig w;
    int in[2];
    int out[2];

    (void)state;
    open_rig(&w);
    in[0] = start_ready(&w, 1, "(setsid sh -c 'echo ready; sleep 1000; :' &) ; read x", &out[0]);
    in[1] = start_ready(&w, 2, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"),
                        &out[1]);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    kill(w.helper, SIGKILL);
    assert_int_equal(helper_rig_wait(&w), -SIGKILL);
    w.helper = 0;
    helper_rig_close(&w);
    open_rig(&w);
    helper_rig_expect_eof(out[0]);
    assert_int_equal(write(in[1], "yes\n", 4), 4);
    helper_rig_expect_line(out[1], "alive yes\n");
    helper_rig_close(&w);
    open_rig(&w); /* removes cgroups that have become empty */
    helper_rig_expect_clean(&w);
    assert_false(has_cgroup(1));
    for (size_t i = 0; i < 2; i++)
        close(in[i]);
    close(out[1]);
    helper_rig_close(&w);
}

/* Without a cgroup. */
static void test_the_group_of_a_run_is_killed(void **state)
{
    struct helper_rig w;
    int out;

    (void)state;
    helper_rig_open(&w);
    int in = start_ready(
        &w, 1, "(trap '' TERM; echo ready; (sleep 1000); sleep 1000) & read x; exit 3", &out);
    close(in);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    expect_all_gone(out);
    assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 3);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* Without a cgroup nobody knows of which run a process is that has left its group. It is reaped at
 * least. */
static void test_a_process_that_has_left_its_group_is_left_alone(void **state)
{
    struct helper_rig w;
    int out;

    (void)state;
    helper_rig_open(&w);
    int in =
        start_ready(&w, 1, LEAVE("setsid", "echo ready; exec 6>&-; read x; echo alive $x"), &out);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(run_end_is_good(&w.end) && w.end.left == 0);
    assert_int_equal(write(in, "yes\n", 4), 4);
    helper_rig_expect_line(out, "alive yes\n");
    close(in);
    helper_rig_expect_eof(out);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_reaches_processes_that_escaped),
        cmocka_unit_test(test_kill_reaches_processes_that_escaped),
        cmocka_unit_test(test_escaping_goes_on_while_being_killed),
        cmocka_unit_test(test_kill_reaches_a_program_that_left_its_group),
        cmocka_unit_test(test_kill_signal_reaches_a_program_that_left_its_group),
        cmocka_unit_test(test_success_reports_processes_that_are_left),
        cmocka_unit_test(test_spared_processes_are_cleared),
        cmocka_unit_test(test_nothing_to_clear),
        cmocka_unit_test(test_runs_do_not_touch_each_other),
        cmocka_unit_test(test_end_of_main_reaches_processes_that_escaped),
        cmocka_unit_test(test_end_of_main_reaches_a_program_that_left_its_group),
        cmocka_unit_test(test_a_good_run_can_have_its_processes_killed),
        cmocka_unit_test(test_a_cgroup_goes_with_its_last_process),
        cmocka_unit_test(test_a_cgroup_goes_with_a_process_that_is_no_child),
        cmocka_unit_test(test_the_end_of_the_helper_waits_for_processes_that_are_ending),
        cmocka_unit_test(test_the_time_of_all_processes_counts),
        cmocka_unit_test(test_a_crash_leaves_no_process_of_a_run),
        cmocka_unit_test(test_the_group_of_a_run_is_killed),
        cmocka_unit_test(test_a_process_that_has_left_its_group_is_left_alone),
    };

    /* In a process namespace that was entered from outside (./dev debian13) the group has no
     * number, and no program can go to it. */
    if (getpgrp() == 0)
        setpgid(0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
