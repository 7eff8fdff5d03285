/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that cannot be started: the reason is reported, and nothing is left of the attempt.
 * Programs that are replaced or deleted while they run. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "helper_rig.h"

enum { BIG_ARGUMENT = 256 * 1024 };

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", NULL};

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Hook 0 works, hook 1 does not. */
static void open_pair(struct helper_rig *w, struct helper_hook bad)
{
    const struct helper_hook hooks[] = {
        {.argv = ARGV("/bin/true"), .env = plain_env},
        bad
    };

    helper_rig_open_with(w, hooks, ARRAY_LEN(hooks));
}

static void expect_not_started(struct helper_rig *w, const char *stage, int error)
{
    size_t before = w->exited;

    helper_rig_expect_eof(helper_rig_run(w, 1, 1, ""));
    HELPER_RIG_AWAIT(w, w->exited > before);
    assert_int_equal(w->end_of, 1);
    assert_int_equal(w->end.kind, RUN_END_REFUSED);
    assert_int_equal(w->end.value, error);
    assert_string_equal(run_stage_name(w->end.stage), stage);
    assert_int_equal(w->end.left, 0);
    helper_rig_expect_clean(w);
    close(helper_rig_run(w, 2, 0, "")); /* others are not affected */
    HELPER_RIG_AWAIT(w, w->exited > before + 1 && w->end_of == 2);
    assert_true(w->end.kind == RUN_END_EXITED && w->end.value == 0);
}

static void test_programs_that_are_none(void **state)
{
    char text[] = "/tmp/informerd-test-XXXXXX";
    char script[] = "/tmp/informerd-test-XXXXXX";
    int fds[] = {mkstemp(text), mkstemp(script)};
    const struct {
        const char *path;
        int error;
    } bad[] = {
        {"/no/such/program", ENOENT },
        {"/etc/passwd",      EACCES },
        {"/tmp",             EACCES },
        {text,               ENOEXEC},
        {script,             ENOENT }, /* its interpreter */
    };

    (void)state;
    assert_true(fds[0] >= 0 && fds[1] >= 0);
    assert_int_equal(dprintf(fds[0], "true\n"), 5);
    assert_int_equal(dprintf(fds[1], "#!/no/such/shell\n"), 17);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_int_equal(fchmod(fds[i], 0755), 0);
        close(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct helper_rig w;

        open_pair(&w, (struct helper_hook){.argv = ARGV(bad[i].path), .env = plain_env});
        expect_not_started(&w, "exec", bad[i].error);
        helper_rig_close(&w);
    }
    unlink(text);
    unlink(script);
}

static void test_arguments_too_big(void **state)
{
    char *big = mem_printf("%*d", BIG_ARGUMENT, 0);
    struct helper_rig w;

    (void)state;
    open_pair(&w, (struct helper_hook){.argv = ARGV("/bin/true", big), .env = plain_env});
    expect_not_started(&w, "exec", E2BIG);
    helper_rig_close(&w);
    free(big);
}

/* test_helper_link has the other cases. Here the helper's table of descriptors is full. */
static void test_no_descriptors(void **state)
{
    const struct rlimit few = {HELPER_RIG_FDS, 4096};
    const struct rlimit many = {1024, 4096};
    struct helper_rig w;

    (void)state;
    open_pair(&w, (struct helper_hook){.argv = ARGV("/bin/true"), .env = plain_env});
    close(helper_rig_run(&w, 1, 0, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &few, NULL), 0);
    helper_rig_expect_eof(helper_rig_run(&w, 2, 0, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    assert_true(w.end.kind == RUN_END_REFUSED && w.end.value == EMFILE);
    assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &many, NULL), 0);
    helper_rig_expect_clean(&w);
    close(helper_rig_run(&w, 3, 0, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 3);
    assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
    helper_rig_close(&w);
}

/* Sets the RLIMIT_NPROC of a process; returns the soft limit that it had before. */
static rlim_t limit_processes(pid_t pid, rlim_t n)
{
    struct rlimit limit;

    assert_int_equal(prlimit(pid, RLIMIT_NPROC, NULL, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
    assert_int_equal(prlimit(pid, RLIMIT_NPROC, &limit, NULL), 0);
    return before;
}

/* The hook's user has too many processes: it has one, and may have none. */
static void test_user_has_too_many_processes(void **state)
{
    struct helper_hook hook = {.argv = ARGV("/bin/sh", "-c", "echo ready; read x"),
                               .env = plain_env};
    struct helper_rig w;
    int in[2];

    (void)state;
    if (getuid() != 0)
        skip(); /* needs another user */
    hook.change_user = true;
    hook.uid = hook.gid = HELPER_RIG_NOBODY;
    open_pair(&w, hook);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    int out = helper_rig_run_with(&w, 3, 1, in[0], "");
    helper_rig_expect_line(out, "ready\n");
    limit_processes(w.helper, 0);
    helper_rig_expect_eof(helper_rig_run(&w, 1, 1, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end_of == 1 && w.end.kind == RUN_END_REFUSED && w.end.value == EAGAIN);
    assert_string_equal(run_stage_name(w.end.stage), "exec");
    assert_int_equal(helper_rig_children(w.helper), 1);
    assert_int_equal(helper_rig_fds(w.helper), HELPER_RIG_FDS + 1);
    assert_int_equal(write(in[1], "go\n", 3), 3);
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    assert_true(w.end_of == 3 && w.end.kind == RUN_END_EXITED && w.end.value == 0);
    helper_rig_expect_eof(out);
    close(in[1]);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

/* The user of the helper has too many processes: the helper and one more, and two are allowed. */
static void test_helper_has_too_many_processes(void **state)
{
    uid_t lonely = (uid_t)(100000 + getpid()); /* nobody else runs as this user */
    struct helper_rig w;

    (void)state;
    if (getuid() != 0)
        skip(); /* needs another user */
    rlim_t before = limit_processes(getpid(), 2);
    assert_int_equal(setresuid(lonely, lonely, 0), 0);
    open_pair(&w, (struct helper_hook){.argv = ARGV("/bin/true"), .env = plain_env});
    assert_int_equal(setresuid(lonely, 0, 0), 0);
    pid_t other = helper_rig_idle_child(); /* root may exceed the limit */
    assert_int_equal(setresuid(0, 0, 0), 0);
    limit_processes(getpid(), before);
    helper_rig_expect_eof(helper_rig_run(&w, 1, 1, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end.kind == RUN_END_REFUSED && w.end.value == EAGAIN);
    assert_string_equal(run_stage_name(w.end.stage), "fork");
    assert_int_equal(helper_rig_children(w.helper), 0);
    assert_int_equal(helper_rig_fds(w.helper), HELPER_RIG_FDS);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    close(helper_rig_run(&w, 2, 0, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
    helper_rig_close(&w);
}

/* Such a run must never become root's instead: -1 means "no change" to the kernel. */
static void test_users_that_are_none(void **state)
{
    static const struct {
        uid_t uid;
        gid_t gid;
        const char *stage;
    } bad[] = {
        {(uid_t)-1,         HELPER_RIG_NOBODY, "setuid"},
        {HELPER_RIG_NOBODY, (gid_t)-1,         "setgid"},
    };

    (void)state;
    if (getuid() != 0)
        skip(); /* the helper may not change users at all */
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct helper_hook hook = {.argv = ARGV("/bin/true"), .env = plain_env};
        struct helper_rig w;

        hook.change_user = true;
        hook.uid = bad[i].uid;
        hook.gid = bad[i].gid;
        open_pair(&w, hook);
        expect_not_started(&w, bad[i].stage, EINVAL);
        helper_rig_close(&w);
    }
}

/* ---- A program runs on without its file */

static void write_program(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

struct program {
    char dir[32];
    char *path, *next;
};

static void make_program(struct program *p, const char *text)
{
    *p = (struct program){.dir = "/tmp/informerd-test-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
    p->path = mem_printf("%s/program", p->dir);
    p->next = mem_printf("%s/next", p->dir);
    write_program(p->path, text);
}

static void replace_program(struct program *p, const char *text)
{
    write_program(p->next, text);
    assert_int_equal(rename(p->next, p->path), 0);
}

/* Removes the program's file and its folder. */
static void remove_program(struct program *p)
{
    assert_int_equal(unlink(p->path), 0);
    assert_int_equal(rmdir(p->dir), 0);
    free(p->path);
    free(p->next);
}

static void expect_end(struct helper_rig *w, uint64_t run, enum run_end_kind how, int value)
{
    size_t before = w->exited;

    HELPER_RIG_AWAIT(w, w->exited > before);
    assert_true(w->end_of == run && w->end.kind == how && w->end.value == value);
}

static void test_program_is_replaced_and_deleted_while_running(void **state)
{
    struct helper_rig w;
    struct program p;
    int in[2];

    (void)state;
    make_program(&p, "#!/bin/sh\necho old; read x; echo still $x\n");
    open_pair(&w, (struct helper_hook){.argv = ARGV(p.path), .env = plain_env});
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    int out = helper_rig_run_with(&w, 10, 1, in[0], "");
    helper_rig_expect_line(out, "old\n");
    replace_program(&p, "#!/bin/sh\necho new\nexit 1\n");
    int next = helper_rig_run(&w, 11, 1, "");
    expect_end(&w, 11, RUN_END_EXITED, 1);
    helper_rig_expect_line(next, "new\n");
    helper_rig_expect_eof(next);
    remove_program(&p);
    helper_rig_expect_eof(helper_rig_run(&w, 12, 1, ""));
    expect_end(&w, 12, RUN_END_REFUSED, ENOENT);
    assert_int_equal(write(in[1], "here\n", 5), 5);
    expect_end(&w, 10, RUN_END_EXITED, 0);
    helper_rig_expect_line(out, "still here\n");
    helper_rig_expect_eof(out);
    close(in[1]);
    helper_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_that_are_none),
        cmocka_unit_test(test_arguments_too_big),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_user_has_too_many_processes),
        cmocka_unit_test(test_helper_has_too_many_processes),
        cmocka_unit_test(test_users_that_are_none),
        cmocka_unit_test(test_program_is_replaced_and_deleted_while_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
