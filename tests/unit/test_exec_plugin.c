/* SPDX-License-Identifier: Apache-2.0 */
/* Exec plugins as real programs behind a real helper: how their output, their end and their stderr are
 * used. */
#include "io/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "helper_rig.h"
#include "loop_until.h"
#include "play_clock.h"
#include "temp_folder.h"

#define V1       "client.authentication.k8s.io/v1"
#define TOKEN    "abcd-secret-1234"
#define HOUR_MS  3600000
#define LOG_SIZE 65536

enum { TRUE, PLUGIN, HOOKS };

struct scene {
    struct helper_rig rig;
    struct exec_plugin *plugin;
    size_t ends;    /* events so far */
    size_t awaited; /* so many of them */
    bool is_called; /* inside of a call of the test: no event may come */
    bool dispose;   /* in the next event */
    bool again;     /* the next event begins another run */
    char token[64]; /* of the last event */
    int64_t expires_ms;
    struct err err;
    int log; /* stderr of this process, while the test runs */
    int stderr_fd;
};

static void on_end(void *arg, const struct exec_credential *credential, const struct err *err)
{
    struct scene *s = arg;

    assert_false(s->is_called);
    s->ends++;
    s->err = *err;
    s->token[0] = '\0';
    assert_int_equal(credential != NULL, err->kind == ERR_OK);
    if (credential != NULL) {
        snprintf(s->token, sizeof(s->token), "%.*s", STR_ARG(buf_str(&credential->token)));
        s->expires_ms = credential->expires ? credential->expires_ms : 0;
    }
    if (s->dispose)
        exec_plugin_dispose(&s->plugin);
    if (s->again)
        exec_plugin_run(s->plugin);
    s->again = false;
}

static void create(struct scene *s, const char *command, const char *hint)
{
    s->plugin = exec_plugin_create(&(struct exec_plugin_params){.loop = s->rig.loop,
                                                                .link = s->rig.link,
                                                                .hook = PLUGIN,
                                                                .cluster = "prod",
                                                                .command = command,
                                                                .api_version = V1,
                                                                .install_hint = hint},
                                   on_end, s);
}

/* A helper with a plugin that is this program. It must be root's alone. */
static void open_program(struct scene *s, const char *const *argv, const char *command,
                         const char *hint)
{
    static const char *const true_argv[] = {"/bin/true", NULL};
    const char *const alone[] = {argv[0], NULL};
    char path[64];
    const char *const env[] = {path, NULL};
    struct helper_hook plugin = {.argv = argv, .env = env, .concurrency = 1};

    plugin.alone = getuid() == 0 ? alone : NULL;
    plugin.kill_signal = SIGKILL;
    const struct helper_hook hooks[HOOKS] = {
        [TRUE] = {.argv = true_argv, .env = env},
        [PLUGIN] = plugin,
    };

    snprintf(path, sizeof(path), "PATH=/bin:%s", temp_folder_path());
    helper_rig_open_with(&s->rig, hooks, HOOKS);
    create(s, command, hint);
}

static void open_script(struct scene *s, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};

    open_program(s, argv, "plug", NULL);
}

static int set_up(void **state)
{
    static struct scene scene;

    scene = (struct scene){.log = memfd_create("log", MFD_CLOEXEC)};
    scene.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(dup2(scene.log, STDERR_FILENO) >= 0);
    log_set_format(LOG_FMT_JOURNAL); /* lines without a time */
    temp_folder_enter(state);
    *state = &scene;
    return 0;
}

static int clean_up(void **state)
{
    struct scene *s = *state;

    exec_plugin_dispose(&s->plugin);
    exec_plugin_dispose(&s->plugin);
    helper_rig_close(&s->rig);
    dup2(s->stderr_fd, STDERR_FILENO);
    close(s->stderr_fd);
    close(s->log);
    return temp_folder_leave(state);
}

static void start(struct scene *s)
{
    s->is_called = true;
    exec_plugin_run(s->plugin);
    s->is_called = false;
}

static bool has_ended(void *arg)
{
    const struct scene *s = arg;

    return s->ends >= s->awaited;
}

static void await_end(struct scene *s, size_t n)
{
    s->awaited = n;
    loop_until(s->rig.loop, has_ended, s);
}

static void run_once(struct scene *s)
{
    start(s);
    await_end(s, s->ends + 1);
}

/* The lines that were logged so far. */
static const char *logged(const struct scene *s)
{
    static char text[LOG_SIZE];
    ssize_t n = pread(s->log, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

static void expect_error(const struct scene *s, enum err_kind kind, const char *text)
{
    assert_int_equal(s->err.kind, kind);
    assert_string_equal(s->err.text, text);
}

#define PRINT(status)                                                                              \
    "printf '%s' '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}" \
    "'"
#define PRINT_TOKEN PRINT("\"token\":\"" TOKEN "\"")
#define MAY_SAY_WHY ": \"exec plugin output\" in the log may say why"

static void test_a_credential(void **state)
{
    struct scene *s = *state;

    open_script(s,
                PRINT("\"token\":\"" TOKEN "\",\"expirationTimestamp\":\"2026-01-31T12:00:00Z\""));
    run_once(s);
    assert_string_equal(s->token, TOKEN);
    assert_int_equal(s->expires_ms, 1769860800000);
    run_once(s);
    assert_string_equal(s->token, TOKEN);
    assert_string_equal(logged(s), "");
}

static void test_stdin_is_empty(void **state)
{
    struct scene *s = *state;

    open_script(s, "cat >&2; " PRINT_TOKEN);
    run_once(s);
    assert_string_equal(s->token, TOKEN);
    assert_string_equal(logged(s), "");
}

/* Its cgroup has the same name. After a reload the plugin of the changed kubeconfig is another exec_plugin, and
 * the program of the old one may still be ending. */
static void test_no_two_runs_have_the_same_name(void **state)
{
    static const char prefix[] = "<6>exec plugin output cluster=\"prod\" line=\"exec-plugin-prod-";
    struct scene *s = *state;
    const char *names[3] = {"", "", ""};
    size_t n = 0;

    open_script(s, "echo $INFORMERD_RUN >&2; " PRINT_TOKEN);
    run_once(s);
    run_once(s);
    exec_plugin_dispose(&s->plugin);
    create(s, "plug", NULL);
    run_once(s);
    for (const char *at = logged(s); *at != '\0'; at = strchr(at, '\n') + 1) {
        assert_int_equal(strncmp(at, prefix, strlen(prefix)), 0);
        names[n++] = at + strlen(prefix);
    }
    assert_int_equal(n, 3);
    assert_int_not_equal(strncmp(names[0], names[1], strcspn(names[0], "\n")), 0);
    assert_int_not_equal(strncmp(names[0], names[2], strcspn(names[0], "\n")), 0);
    assert_int_not_equal(strncmp(names[1], names[2], strcspn(names[1], "\n")), 0);
}

static void test_one_program_at_a_time(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo run >&2; " PRINT_TOKEN);
    start(s);
    start(s);
    start(s);
    await_end(s, 1);
    run_once(s);
    assert_int_equal(s->ends, 2);
    assert_int_equal(count(logged(s), "line=\"run\""), 2);
}

static void test_the_event_may_begin_the_next_run(void **state)
{
    struct scene *s = *state;

    open_script(s, PRINT_TOKEN);
    s->again = true;
    start(s);
    await_end(s, 2);
    assert_string_equal(s->token, TOKEN);
}

static void test_disposed_in_the_event(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo x >&2; " PRINT_TOKEN);
    s->dispose = true;
    run_once(s);
    assert_null(s->plugin);
}

static void test_disposed_while_it_runs(void **state)
{
    struct scene *s = *state;

    open_script(s, "exec sleep 1000");
    start(s);
    exec_plugin_dispose(&s->plugin);
    helper_rig_close(&s->rig); /* kills the program: else this would wait for it */
    open_script(s, "exit 0");
    assert_int_equal(s->ends, 0);
}

static bool has_child(void *arg)
{
    const struct scene *s = arg;

    return helper_rig_children(s->rig.helper) > 0;
}

static bool has_no_child(void *arg)
{
    return !has_child(arg);
}

/* A reload that drops or changes a cluster disposes the plugin, and the helper goes on. */
static void test_disposed_while_it_runs_the_program_is_killed(void **state)
{
    struct scene *s = *state;

    open_script(s, "exec sleep 1000");
    start(s);
    loop_until(s->rig.loop, has_child, s);
    exec_plugin_dispose(&s->plugin);
    loop_until(s->rig.loop, has_no_child, s);
    assert_int_equal(s->ends, 0);
}

static void test_output_that_is_no_credential(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo 'hello, world'");
    run_once(s);
    expect_error(s, ERR_CREDENTIAL, "exec plugin plug: its output is no JSON");
}

static void test_a_bad_end(void **state)
{
    struct scene *s = *state;

    open_script(s, PRINT_TOKEN "; exit 3");
    run_once(s);
    expect_error(s, ERR_CREDENTIAL, "exec plugin plug: has ended with exit status 3" MAY_SAY_WHY);
    assert_string_equal(s->token, "");
}

static void test_a_signal(void **state)
{
    struct scene *s = *state;

    open_script(s, PRINT_TOKEN "; kill -SEGV $$");
    run_once(s);
    expect_error(s, ERR_CREDENTIAL, "exec plugin plug: was ended by signal 11" MAY_SAY_WHY);
}

static bool is_there(void *arg)
{
    return access(arg, F_OK) == 0;
}

/* The processes that it started are killed, too, and its stderr is logged. */
static void test_no_answer_for_a_minute(void **state)
{
    struct scene *s = *state;

    char *script =
        mem_printf("sleep 1000 & echo waiting >&2; mkdir %s/sign; sleep 1000", temp_folder_path());
    char *sign = mem_printf("%s/sign", temp_folder_path());
    open_script(s, script);
    start(s);
    play_clock_pass(EXEC_PLUGIN_TIMEOUT_MS / 2);
    loop_until(s->rig.loop, is_there, sign);
    free(script);
    free(sign);
    assert_int_equal(s->ends, 0);
    play_clock_pass(EXEC_PLUGIN_TIMEOUT_MS / 2);
    await_end(s, 1);
    expect_error(s, ERR_TIMEOUT, "exec plugin plug: was killed, as it had not ended after 60 s");
    assert_string_equal(logged(s), "<6>exec plugin output cluster=\"prod\" line=\"waiting\"\n");
    helper_rig_expect_clean(&s->rig);
}

static void test_more_than_a_mebibyte(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo TOKEN >&2; yes TOKEN");
    run_once(s);
    expect_error(s, ERR_TOO_BIG,
                 "exec plugin plug: prints more than 1 MiB, which is no credential");
    assert_null(strstr(logged(s), "TOKEN"));
    assert_non_null(strstr(logged(s), "stderr of an exec plugin is not logged"));
    helper_rig_expect_clean(&s->rig);
}

/* The process whose number is in the file. */
static bool is_gone(const char *path)
{
    char text[32] = "";
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    assert_int_equal(fclose(f), 0);
    return kill((pid_t)strtol(text, NULL, 10), 0) < 0;
}

/* The last byte comes with the end of the program: it is too late for a kill. */
static void test_a_byte_more_than_a_mebibyte_at_the_end(void **state)
{
    static char sign[] = "sign";
    struct scene *s = *state;
    char *script = mem_printf("cd %s; head -c 1048576 /dev/zero | tr '\\0' x; echo $$ >new; "
                              "mv new sign; printf x",
                              temp_folder_path());

    open_script(s, script);
    start(s);
    loop_until(s->rig.loop, is_there, sign);
    while (!is_gone(sign))
        usleep(1000);
    await_end(s, 1);
    expect_error(s, ERR_TOO_BIG,
                 "exec plugin plug: prints more than 1 MiB, which is no credential");
    free(script);
}

static void test_beside_much_that_is_no_credential_stderr_is_not_logged(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo TOKEN >&2; head -c 70000 /dev/zero | tr '\\0' x");
    run_once(s);
    expect_error(s, ERR_CREDENTIAL, "exec plugin plug: its output is no JSON");
    assert_string_equal(logged(s), "<4>stderr of an exec plugin is not logged, as it may hold "
                                   "secrets cluster=\"prod\"\n");
}

/* Kills the processes whose numbers are in the file. Returns how many. */
static size_t kill_all(const char *path)
{
    FILE *f = fopen(path, "re");
    char text[32];
    size_t n = 0;

    assert_non_null(f);
    for (; fgets(text, sizeof(text), f) != NULL; n++)
        assert_int_equal(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
    assert_int_equal(fclose(f), 0);
    return n;
}

static void test_a_process_that_is_left_behind_is_not_waited_for(void **state)
{
    struct scene *s = *state;
    char *script =
        mem_printf("sleep 1000 & echo $! >>%s/left; %s", temp_folder_path(), PRINT_TOKEN);

    helper_rig_use_cgroups();
    open_script(s, script);
    free(script);
    run_once(s);
    char *first = mem_strdup(s->token);
    run_once(s);
    char *left = mem_printf("%s/left", temp_folder_path());
    size_t killed = kill_all(left);
    free(left);
    assert_int_equal(killed, 2);
    assert_string_equal(first, TOKEN);
    free(first);
    assert_int_equal(count(logged(s), "<4>exec plugin left processes running (logged once per "
                                      "cluster) cluster=\"prod\" processes=1 pid="),
                     1);
    assert_int_equal(count(logged(s), "left processes"), 1);
}

static void test_a_program_that_is_not_there(void **state)
{
    static const char *const argv[] = {"/nonexistent/plug", NULL};
    struct scene *s = *state;

    open_program(s, argv, "/nonexistent/plug", "apt install plug");
    play_clock_stop();
    run_once(s);
    expect_error(s, ERR_CREDENTIAL,
                 "exec plugin /nonexistent/plug: there is no such program, or its interpreter is "
                 "missing: install it");
    run_once(s);
    play_clock_pass(HOUR_MS - 1);
    run_once(s);
    assert_string_equal(logged(s), "<3>exec plugin is not installed cluster=\"prod\" "
                                   "command=\"/nonexistent/plug\" hint=\"apt install plug\"\n");
    play_clock_pass(1);
    loop_turns(s->rig.loop, 1); /* looks at the clock */
    run_once(s);
    assert_int_equal(count(logged(s), "hint="), 2);
}

static void install(const char *name, const char *script, uid_t owner)
{
    FILE *f = fopen(name, "we");

    assert_non_null(f);
    assert_true(fputs(script, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(name, 0755), 0);
    assert_int_equal(chown(name, owner, (gid_t)-1), 0);
}

static void test_a_program_without_a_slash_is_looked_up_each_time(void **state)
{
    static const char *const argv[] = {"plug", NULL};
    struct scene *s = *state;

    open_program(s, argv, "plug", "apt install plug");
    run_once(s);
    expect_error(s, ERR_CREDENTIAL,
                 "exec plugin plug: there is no such program in PATH, or its interpreter is "
                 "missing: install it, or name its whole path in the kubeconfig");
    assert_int_equal(count(logged(s), "hint=\"apt install plug\""), 1);
    install("plug", "#!/bin/sh\n" PRINT_TOKEN, getuid());
    run_once(s);
    assert_string_equal(s->token, TOKEN);
}

static void test_root_does_not_start_a_program_of_another_user(void **state)
{
    static const char *const argv[] = {"plug", NULL};
    struct scene *s = *state;

    if (getuid() != 0)
        skip();
    open_program(s, argv, "plug", NULL);
    install("plug", "#!/bin/sh\n" PRINT_TOKEN, HELPER_RIG_NOBODY);
    run_once(s);
    expect_error(s, ERR_IO,
                 "exec plugin plug: could not be started: trust: Operation not permitted");
    assert_non_null(strstr(logged(s), "line=\"not started: "));
    install("plug", "#!/bin/sh\n" PRINT_TOKEN, 0);
    run_once(s);
    assert_string_equal(s->token, TOKEN);
}

static void test_a_program_that_must_not_be_started(void **state)
{
    static const char *const argv[] = {"/etc/passwd", NULL};
    struct scene *s = *state;

    open_program(s, argv, "/etc/passwd", "no hint");
    run_once(s);
    expect_error(s, ERR_IO,
                 "exec plugin /etc/passwd: could not be started: exec: Permission denied");
    assert_string_equal(logged(s), "");
}

static void test_no_descriptors(void **state)
{
    struct scene *s = *state;
    struct rlimit old;

    open_script(s, PRINT_TOKEN);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    close(next);
    for (int more = 0; more < 6; more++) { /* two pipes, a copy of stderr, /dev/null */
        struct rlimit few = {(rlim_t)(next + more), old.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        run_once(s);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(s->err.kind, ERR_IO);
        assert_non_null(strstr(s->err.text, "exec plugin plug could not be started: "));
        int again = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        close(again);
        assert_int_equal(again, next); /* nothing is left open */
    }
    run_once(s);
    assert_string_equal(s->token, TOKEN);
}

/* ---- stderr */

static void test_the_token_is_masked_on_stderr(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo 'debug: token=" TOKEN ", region=eu'  >&2; " PRINT_TOKEN
                   "; printf 'last " TOKEN "' >&2");
    run_once(s);
    assert_string_equal(
        logged(s), "<6>exec plugin output cluster=\"prod\" line=\"debug: token=***, region=eu\"\n"
                   "<6>exec plugin output cluster=\"prod\" line=\"last ***\"\n");
}

static void test_the_token_of_a_refused_answer_is_masked(void **state)
{
    struct scene *s = *state;

    open_script(s, PRINT("\"token\":\"" TOKEN "\",\"clientKeyData\":\"k\"") "; echo " TOKEN " >&2");
    run_once(s);
    assert_non_null(strstr(s->err.text, "without clientCertificateData"));
    assert_string_equal(logged(s), "<6>exec plugin output cluster=\"prod\" line=\"***\"\n");
}

static void test_the_words_of_stdout_are_masked_if_it_is_no_credential(void **state)
{
    struct scene *s = *state;

    open_script(s, "echo 'ab\\/cd-" TOKEN "'; echo error: ab/cd-" TOKEN " is bad >&2; exit 1");
    run_once(s);
    assert_string_equal(logged(s),
                        "<6>exec plugin output cluster=\"prod\" line=\"error: *** is bad\"\n");
}

/* The second run prints nothing but an error, with the token of the first. */
static void test_the_last_token_is_masked_later(void **state)
{
    struct scene *s = *state;
    char *script = mem_printf("mkdir %s/sign || { echo " TOKEN " has expired; exit 1; } >&2; %s",
                              temp_folder_path(), PRINT_TOKEN);

    open_script(s, script);
    run_once(s);
    assert_string_equal(s->token, TOKEN);
    run_once(s);
    assert_non_null(strstr(logged(s), "line=\"*** has expired\"\n"));
    free(script);
}

/* The line is cut into parts of 4 KiB, the secret is not. */
static void test_a_secret_at_the_cut_of_a_long_line_is_masked(void **state)
{
    struct scene *s = *state;

    open_script(s, "head -c 4090 /dev/zero | tr '\\0' ' ' >&2; echo " TOKEN " >&2; " PRINT_TOKEN);
    run_once(s);
    assert_non_null(strstr(logged(s), "***"));
    assert_null(strstr(logged(s), "abcd"));
    assert_null(strstr(logged(s), "1234"));
}

static void test_a_flood_of_stderr_is_cut(void **state)
{
    struct scene *s = *state;

    open_script(s, "head -c 100000 /dev/zero | tr '\\0' x >&2; " PRINT_TOKEN);
    run_once(s);
    assert_string_equal(s->token, TOKEN);
    assert_int_equal(count(logged(s), "exec plugin output"), 4);
    assert_non_null(strstr(logged(s), "<4>exec plugin printed more than is logged cluster=\"prod\" "
                                      "bytes=83616\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_credential),
        TEST(test_stdin_is_empty),
        TEST(test_no_two_runs_have_the_same_name),
        TEST(test_one_program_at_a_time),
        TEST(test_the_event_may_begin_the_next_run),
        TEST(test_disposed_in_the_event),
        TEST(test_disposed_while_it_runs),
        TEST(test_disposed_while_it_runs_the_program_is_killed),
        TEST(test_output_that_is_no_credential),
        TEST(test_a_bad_end),
        TEST(test_a_signal),
        TEST(test_no_answer_for_a_minute),
        TEST(test_more_than_a_mebibyte),
        TEST(test_a_byte_more_than_a_mebibyte_at_the_end),
        TEST(test_beside_much_that_is_no_credential_stderr_is_not_logged),
        TEST(test_a_process_that_is_left_behind_is_not_waited_for),
        TEST(test_a_program_that_is_not_there),
        TEST(test_a_program_without_a_slash_is_looked_up_each_time),
        TEST(test_root_does_not_start_a_program_of_another_user),
        TEST(test_a_program_that_must_not_be_started),
        TEST(test_no_descriptors),
        TEST(test_the_token_is_masked_on_stderr),
        TEST(test_the_token_of_a_refused_answer_is_masked),
        TEST(test_the_words_of_stdout_are_masked_if_it_is_no_credential),
        TEST(test_the_last_token_is_masked_later),
        TEST(test_a_secret_at_the_cut_of_a_long_line_is_masked),
        TEST(test_a_flood_of_stderr_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
