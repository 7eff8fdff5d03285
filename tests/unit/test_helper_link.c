/* SPDX-License-Identifier: Apache-2.0 */
/* Main's link with a real helper and real programs, and with a helper that talks nonsense. */
#include "io/helper_link.h"

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

#include "base/mem.h"
#include "base/memfile.h"
#include "campaign.h"
#include "helper_rig.h"
#include "io/loop.h"
#include "temp_folder.h"

/* ---- The document */

static void test_document_can_be_read_twice(void **state)
{
    struct helper_rig w;
    int doc;

    (void)state;
    helper_rig_open(&w);
    for (enum helper_rig_hook hook = HELPER_RIG_SHELL; hook <= HELPER_RIG_AS_NOBODY; hook++) {
        assert_int_equal(memfile_create("doc", str_c("{\"a\":1}\n"), &doc, NULL), ERR_OK);
        int out = helper_rig_run_with(
            &w, hook, hook, doc,
            "cat; cat /dev/stdin; cat </dev/stdin; head -c 3 /proc/self/fd/0; id -u");
        char *expected = mem_printf(
            "{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n{\"a%u\n",
            hook == HELPER_RIG_AS_NOBODY && getuid() == 0 ? HELPER_RIG_NOBODY : getuid());
        assert_string_equal(helper_rig_read(out, false), expected);
        close(out);
        free(expected);
        HELPER_RIG_AWAIT(&w, w.exited == hook);
        assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
    }
    helper_rig_close(&w);
}

/* ---- Groups of processes */

static void test_failure_takes_its_group_along(void **state)
{
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    int out =
        helper_rig_run(&w, 1, HELPER_RIG_SHELL, "sleep 1000 & sleep 1000 & echo ready; exit 3");
    helper_rig_expect_line(out, "ready\n");
    helper_rig_expect_eof(out);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 3 && w.end_of == 1);

    out =
        helper_rig_run(&w, 2, HELPER_RIG_SHELL,
                       "trap 'exit 0' TERM; sh -c 'trap \"\" TERM; echo ready; sleep 1000' & wait");
    helper_rig_expect_line(out, "ready\n");
    /* the program ends well, but only because of the signal */
    helper_link_kill(w.link, helper_rig_asked(&w, 2), SIGTERM);
    helper_rig_expect_eof(out);
    HELPER_RIG_AWAIT(&w, w.exited == 2);
    assert_true(w.end.kind == RUN_END_EXITED && w.end.value == 0);
    helper_rig_close(&w);
}

static void test_success_leaves_its_group(void **state)
{
    struct helper_rig w;
    int in[2];

    (void)state;
    helper_rig_open(&w);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    int out = helper_rig_run_with(&w, 1, HELPER_RIG_SHELL, in[0],
                                  "exec 3<&0; (read x <&3; echo alive $x) & exit 0");
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_int_equal(write(in[1], "yes\n", 4), 4);
    helper_rig_expect_line(out, "alive yes\n");
    helper_rig_expect_eof(out);
    close(in[1]);
    helper_rig_close(&w);
}

/* ---- The end of the helper, the end of main */

static void test_programs_die_with_the_helper(void **state)
{
    struct helper_rig w;

    (void)state;
    for (enum helper_rig_hook hook = HELPER_RIG_SHELL; hook <= HELPER_RIG_AS_NOBODY; hook++) {
        helper_rig_open(&w);
        int out = helper_rig_run(&w, 1, hook, "echo ready; exec sleep 1000");
        helper_rig_expect_line(out, "ready\n");
        kill(w.helper, SIGKILL);
        helper_rig_expect_eof(out);
        HELPER_RIG_AWAIT(&w, w.lost == 1);
        assert_int_equal(w.err.kind, ERR_CLOSED);
        helper_rig_expect_eof(helper_rig_run(&w, 2, HELPER_RIG_SHELL, "echo never"));
        helper_link_kill(w.link, helper_rig_asked(&w, 1), SIGTERM);
        helper_link_open(w.link, 0, 0);
        loop_run(w.loop);
        assert_true(w.lost == 1 && w.exited == 0 && w.opened == 0);
        assert_int_equal(helper_rig_wait(&w), -SIGKILL);
        w.helper = 0;
        helper_rig_close(&w);
    }
}

static void test_end_of_main_ends_all(void **state)
{
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    int polite = helper_rig_run(&w, 1, HELPER_RIG_SHELL,
                                "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait");
    int deaf =
        helper_rig_run(&w, 2, HELPER_RIG_SHORT_GRACE, "trap '' TERM; echo ready; exec sleep 1000");
    helper_rig_expect_line(polite, "ready\n");
    helper_rig_expect_line(deaf, "ready\n");
    kill(w.helper, SIGINT); /* from a terminal, or by mistake: only main decides when runs end */
    kill(w.helper, SIGTERM);
    kill(w.helper, SIGHUP);
    int third = helper_rig_run(&w, 3, HELPER_RIG_TRUE, "");
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    helper_rig_expect_eof(third);
    helper_rig_close(&w);
    helper_rig_expect_line(polite, "bye\n");
    helper_rig_expect_eof(polite);
    helper_rig_expect_eof(deaf);
}

/* ---- Many runs */

static void test_64_at_a_time(void **state)
{
    enum { N = 64 };
    int in[N][2];
    int out[N];
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    for (int i = 0; i < N; i++) {
        assert_int_equal(pipe2(in[i], O_CLOEXEC), 0);
        out[i] = helper_rig_run_with(&w, (uint64_t)i, HELPER_RIG_SHELL, in[i][0],
                                     "echo ready; read x; echo got $x");
    }
    for (int i = 0; i < N; i++)
        helper_rig_expect_line(out[i], "ready\n");
    close(helper_rig_run(&w, N, HELPER_RIG_TRUE, ""));
    HELPER_RIG_AWAIT(&w, w.exited > 0);
    assert_int_equal(w.end_of, N); /* no other program has ended */
    for (int i = N - 1; i >= 0; i--) {
        char *line = mem_printf("got %d\n", i);

        assert_int_equal(dprintf(in[i][1], "%d\n", i), strlen(line) - 4);
        helper_rig_expect_line(out[i], line);
        close(in[i][1]);
        close(out[i]);
        free(line);
    }
    HELPER_RIG_AWAIT(&w, w.exited == N + 1);
    helper_rig_close(&w);
}

static void run_many(struct helper_rig *w, size_t n)
{
    enum { AT_ONCE = 16 };
    size_t before = w->exited;

    for (size_t i = 0; i < n; i++) {
        HELPER_RIG_AWAIT(w, i - (w->exited - before) < AT_ONCE);
        close(helper_rig_run(w, i, HELPER_RIG_TRUE, ""));
        assert_int_equal(w->end.value, 0);
    }
    HELPER_RIG_AWAIT(w, w->exited == before + n && w->started == w->exited);
}

/* No descriptor, zombie or memory is lost: the first hundred runs need as much as the others. */
static void test_many_runs_leave_nothing(void **state)
{
    const size_t many = campaign_size(400, 2000);
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    run_many(&w, 100);
    size_t ours = helper_rig_fds(getpid());
    size_t its = helper_rig_fds(w.helper);
    size_t memory = helper_rig_memory(w.helper);
    run_many(&w, many);
    assert_int_equal(helper_rig_fds(getpid()), ours);
    assert_int_equal(helper_rig_fds(w.helper), its);
    assert_int_equal(helper_rig_children(w.helper), 0);
#ifndef __SANITIZE_ADDRESS__ /* the allocator keeps freed memory */
    assert_in_range(helper_rig_memory(w.helper), 1, memory + 32);
#endif
    (void)memory;
    helper_rig_close(&w);
}

/* Main does not block, and no message is lost, when the helper does not read. */
static void test_a_slow_helper(void **state)
{
    enum { N = 300 };
    struct helper_rig w;
    int status;

    (void)state;
    helper_rig_open(&w);
    char *env = mem_printf("INFORMERD_A=%*d", 8000, 0);
    kill(w.helper, SIGSTOP);
    assert_int_equal(waitpid(w.helper, &status, WUNTRACED), w.helper);
    for (uint64_t i = 0; i < N; i++) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        int fds[3] = {null_fd, fcntl(null_fd, F_DUPFD_CLOEXEC, 3),
                      fcntl(null_fd, F_DUPFD_CLOEXEC, 3)};

        helper_link_run(w.link, helper_rig_asked(&w, i), HELPER_RIG_TRUE, RUN_PROGRAM_COMMAND,
                        str_of(env, strlen(env) + 1), fds);
    }
    helper_link_kill(w.link, helper_rig_asked(&w, 12345), SIGTERM);
    kill(w.helper, SIGCONT);
    HELPER_RIG_AWAIT(&w, w.exited == N);
    assert_int_equal(w.started, N);
    free(env);
    helper_rig_close(&w);
}

/* The helper does not block either when main does not read: it answers everything later. */
static void test_a_slow_main(void **state)
{
    enum { N = 5000 };
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    for (uint64_t tag = 0; tag < N; tag++)
        helper_link_open(w.link, 0, tag);
    HELPER_RIG_AWAIT(&w, w.opened == N);
    helper_rig_close(&w);
}

static void test_too_big_an_environment(void **state)
{
    char *script = mem_printf("%*d", HELPER_LINK_ENV_MAX, 0);
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    helper_rig_expect_eof(helper_rig_run(&w, 9, HELPER_RIG_SHELL, script));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end_of == 9 && w.end.kind == RUN_END_REFUSED && w.end.value == E2BIG);
    assert_string_equal(run_stage_name(w.end.stage), "send");
    close(helper_rig_run(&w, 9, HELPER_RIG_SHELL, script));
    helper_link_dispose(&w.link); /* before on_exited() was called */
    free(script);
    helper_rig_close(&w);
    assert_int_equal(w.exited, 1);
}

static void test_helper_without_descriptors(void **state)
{
    struct helper_rig w;

    (void)state;
    helper_rig_open(&w);
    close(helper_rig_run(&w, 1, HELPER_RIG_TRUE, ""));
    HELPER_RIG_AWAIT(&w, w.exited == 1); /* the helper has descriptors 0 to 5 of its own */
    for (rlim_t n = 6; n <= 10; n++) {
        const char *const stages[] = {"receive", "receive", "receive", "pipe", "pipe"};
        struct rlimit limit = {n, 4096};

        assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &limit, NULL), 0);
        close(helper_rig_run(&w, n, HELPER_RIG_TRUE, ""));
        HELPER_RIG_AWAIT(&w, w.exited == n - 4);
        assert_true(w.end.kind == RUN_END_REFUSED && w.end.value == EMFILE);
        assert_string_equal(run_stage_name(w.end.stage), stages[n - 6]);
    }
    helper_rig_close(&w);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Only files that were opened once are watched. */
static void test_a_changed_file(void **state)
{
    struct helper_rig w;

    (void)state;
    write_file("credential", "1");
    char *path = mem_printf("%s/credential", temp_folder_path());
    helper_rig_open_file(&w, path);
    write_file("credential", "2");
    helper_link_open(w.link, 0, 0);
    HELPER_RIG_AWAIT(&w, w.opened == 1);
    write_file("credential", "3");
    HELPER_RIG_AWAIT(&w, w.changed == 1);
    assert_int_equal(w.changed_file, 0);
    w.dispose = true;
    write_file("credential", "4");
    HELPER_RIG_AWAIT(&w, w.link == NULL);
    helper_rig_close(&w);
    free(path);
}

static void test_dispose_from_any_event(void **state)
{
    struct helper_rig w;

    (void)state;
    for (int event = 0; event < 3; event++) {
        int out[3];

        helper_rig_open(&w);
        for (uint64_t id = 0; id < 3; id++)
            out[id] = helper_rig_run(&w, id, HELPER_RIG_SHELL, "echo ready; exec sleep 1000");
        for (int i = 0; i < 3; i++) {
            helper_rig_expect_line(out[i], "ready\n");
            close(out[i]);
            if (event == 0)
                helper_link_kill(w.link, helper_rig_asked(&w, (uint64_t)i), SIGKILL);
            if (event == 1)
                helper_link_open(w.link, 0, (uint64_t)i);
        }
        w.dispose = true;
        if (event == 2)
            kill(w.helper, SIGKILL);
        HELPER_RIG_AWAIT(&w, w.link == NULL);
        loop_run(w.loop);
        assert_int_equal(w.exited + w.opened + w.lost, 1);
        assert_int_equal(helper_rig_wait(&w), event == 2 ? -SIGKILL : 0);
        w.helper = 0;
        helper_rig_close(&w);
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
        cmocka_unit_test(test_many_runs_leave_nothing),
        cmocka_unit_test(test_a_slow_helper),
        cmocka_unit_test(test_a_slow_main),
        cmocka_unit_test(test_too_big_an_environment),
        cmocka_unit_test(test_helper_without_descriptors),
        cmocka_unit_test_setup_teardown(test_a_changed_file, temp_folder_enter, temp_folder_leave),
        cmocka_unit_test(test_dispose_from_any_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
