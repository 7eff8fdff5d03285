/* SPDX-License-Identifier: Apache-2.0 */
/* The helper as a process: the surroundings of a program, its end, its group, and a broken main. */
#include "helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/str.h"
#include "base/wire.h"
#include "helper/fds.h"

enum { OUTPUT_MAX = 64 * 1024, NOBODY = 65534, MANY = 1000 };

/* Main's end of the link, and the pipe that the last program writes to. */
struct peer {
    int fd;
    pid_t pid;
    int out;
};

static const char *const plain_env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HOOK(...)                                    \
    ((struct helper_hook){.name = "h",               \
                          .argv = ARGV(__VA_ARGS__), \
                          .env = plain_env,          \
                          .umask = 022,              \
                          .concurrency = MANY,       \
                          .kill_grace_ms = 3600000,  \
                          .kill_signal = SIGTERM})
#define SHELL(script) HOOK("/bin/sh", "-c", script)

static struct peer start(const struct helper_hook *hook)
{
    static const struct helper_file files[] = {
        {.path = "/etc/passwd"}, {.path = "/"}, {.path = "/dev/zero"}, {.path = "/no/such/file"}};
    const struct helper_params params = {.hooks = hook,
                                         .hook_count = 1,
                                         .files = files,
                                         .file_count = ARRAY_LEN(files),
                                         .nofile_soft = 300,
                                         .shared_runs = MANY};
    struct peer p = {.out = -1};

    assert_int_equal(helper_start(&params, NULL, &p.fd, &p.pid, NULL), ERR_OK);
    return p;
}

static int exit_code(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void stop(struct peer *p)
{
    close(p->fd);
    assert_int_equal(exit_code(p->pid), 0);
    if (p->out >= 0)
        close(p->out);
}

static void send_bytes(const struct peer *p, const void *bytes, size_t n, const int *fds,
                       size_t fd_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {0};
    char *copy = malloc(n + 1);
    struct iovec iov = {copy, n};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    if (fd_count > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        *c = (struct cmsghdr){CMSG_LEN(fd_count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    assert_int_equal(sendmsg(p->fd, &msg, MSG_NOSIGNAL), n);
    free(copy);
}

struct head {
    uint32_t type;
    uint32_t number;
    uint64_t id;
    uint32_t program;
    uint32_t unused;
};

static void send_head(const struct peer *p, uint32_t type, uint32_t number, uint64_t id)
{
    struct head head = {type, number, id, 0, 0};

    send_bytes(p, &head, sizeof(head), NULL, 0);
}

static void send_run(const struct peer *p, uint64_t id, struct str env, const int fds[3])
{
    char *bytes = malloc(sizeof(struct head) + env.n);

    assert_non_null(bytes);
    memcpy(bytes, &(struct head){WIRE_RUN, 0, id, 0, 0}, sizeof(struct head));
    if (env.n > 0)
        memcpy(bytes + sizeof(struct head), env.p, env.n);
    send_bytes(p, bytes, sizeof(struct head) + env.n, fds, 3);
    free(bytes);
}

/* Asks for a run with stdout and stderr in p->out; returns the other end of its stdin. */
static int ask_run(struct peer *p, uint64_t id, struct str env)
{
    int in[2];
    int out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    send_run(p, id, env, (int[]){in[0], out[1], out[1]});
    close(in[0]);
    close(out[1]);
    if (p->out >= 0)
        close(p->out);
    p->out = out[0];
    return in[1];
}

static struct wire_reply next_reply(const struct peer *p)
{
    struct wire_reply r;

    assert_int_equal(recv(p->fd, &r, sizeof(r), 0), sizeof(r));
    return r;
}

static struct wire_reply wait_end(const struct peer *p)
{
    struct wire_reply r = next_reply(p);

    assert_int_equal(r.type, WIRE_EXITED);
    return r;
}

/* All bytes up to the end, or up to the first newline. */
static const char *read_out(const struct peer *p, bool one_line)
{
    static char text[OUTPUT_MAX];
    size_t n = 0;

    while (n < sizeof(text) - 1 && read(p->out, text + n, 1) == 1)
        if (text[n++] == '\n' && one_line)
            break;
    text[n] = '\0';
    return text;
}

/* One run of a hook from its start to its end: the end, and all bytes it wrote. */
static struct wire_reply run_hook(const struct helper_hook *hook, struct str env, char *out)
{
    struct peer p = start(hook);

    close(ask_run(&p, 1, env));
    snprintf(out, OUTPUT_MAX, "%s", read_out(&p, false));
    struct wire_reply r = wait_end(&p);
    assert_int_equal(r.id, 1);
    stop(&p);
    return r;
}

static void expect_output(const struct helper_hook *hook, struct str env, const char *expected)
{
    char out[OUTPUT_MAX];
    struct wire_reply r = run_hook(hook, env, out);

    assert_string_equal(out, expected);
    assert_int_equal(r.end.kind, RUN_END_EXITED);
    assert_int_equal(r.end.value, 0);
    assert_int_equal(r.end.stage, RUN_STAGE_NONE);
}

/* ---- The surroundings of a program */

static void test_environment_is_exact(void **state)
{
    const char *const fixed[] = {"PATH=/bin", "INFORMERD_HOOK=fake", "A=1 2", NULL};
    struct helper_hook hook = HOOK("/usr/bin/env");

    (void)state;
    hook.env = fixed;
    expect_output(&hook, str_of("INFORMERD_HOOK=h\0INFORMERD_RUN=7\n8", 35),
                  "PATH=/bin\nA=1 2\nINFORMERD_HOOK=h\nINFORMERD_RUN=7\n8\n");
}

static void test_environment_of_others_is_refused(void **state)
{
    struct helper_hook hook = HOOK("/usr/bin/env");
    char out[OUTPUT_MAX];
    struct wire_reply r = run_hook(&hook, str_of("LD_PRELOAD=/x", 14), out);

    (void)state;
    assert_string_equal(out, "");
    assert_int_equal(r.end.kind, RUN_END_REFUSED);
    assert_int_equal(r.end.value, EINVAL);
    assert_int_equal(r.end.stage, RUN_STAGE_ENVIRONMENT);
}

static void test_only_three_descriptors(void **state)
{
    struct helper_hook hook = HOOK("/bin/ls", "/proc/self/fd");
    int leak = open("/dev/null", O_RDONLY); /* without CLOEXEC on purpose */

    (void)state;
    expect_output(&hook, str_c(""), "0\n1\n2\n3\n"); /* 3 is the folder that ls reads */
    close(leak);
}

/* The set of signals behind this word, without 32 and 33, which are glibc's own: its sigaction() refuses
 * them, and its posix_spawn(), by which ninja starts the tests of a package, leaves them ignored. */
static uint64_t signals(const char *text, const char *word)
{
    const char *found = strstr(text, word);

    assert_non_null(found);
    return strtoull(found + strlen(word), NULL, 16) & ~((uint64_t)3 << 31);
}

static void test_signals_are_fresh(void **state)
{
    struct helper_hook hook = HOOK("/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status");
    sigset_t blocked;

    (void)state;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    struct peer p = start(&hook);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    close(ask_run(&p, 1, str_c("")));
    const char *text = read_out(&p, false);
    assert_int_equal(signals(text, "SigBlk:\t"), 0);
    assert_int_equal(signals(text, "SigIgn:\t"), 0);
    assert_int_equal(wait_end(&p).end.value, 0);
    stop(&p);
}

static void test_surroundings(void **state)
{
    struct helper_hook hook =
        SHELL("umask; pwd; ulimit -n; read pid x y z pgrp rest </proc/self/stat; "
              "[ $$ = $pgrp ] && echo leads");

    (void)state;
    hook.umask = 027;
    expect_output(&hook, str_c(""), "0027\n/\n300\nleads\n");
}

static void test_user_and_groups(void **state)
{
    struct helper_hook hook = SHELL("id -u; id -g; id -G; umask; grep CapEff /proc/self/status");
    const gid_t groups[] = {NOBODY, 7};

    (void)state;
    if (getuid() != 0)
        skip();
    hook.change_user = true;
    hook.uid = NOBODY;
    hook.gid = NOBODY;
    hook.groups = groups;
    hook.group_count = 2;
    expect_output(&hook, str_c(""), "65534\n65534\n65534 7\n0022\nCapEff:\t0000000000000000\n");
    hook.group_count = 0;
    expect_output(&hook, str_c(""), "65534\n65534\n65534\n0022\nCapEff:\t0000000000000000\n");
}

static void test_user_cannot_be_changed(void **state)
{
    struct helper_hook hook = HOOK("/bin/true");
    int status;

    (void)state;
    hook.change_user = true;
    fflush(NULL);
    pid_t pid = fork(); /* here the helper has no privileges */
    if (pid == 0) {
        if (getuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(2);
        struct peer p = start(&hook);
        close(ask_run(&p, 1, str_c("")));
        struct wire_reply r = wait_end(&p);
        bool good = r.end.kind == RUN_END_REFUSED && r.end.value == EPERM;
        _exit(good && r.end.stage == RUN_STAGE_SETGROUPS ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Main could name any FIFO that it can read; it must not gain the right to write to root's
 * FIFOs. */
static void test_only_pipes_change_their_mode(void **state)
{
    char folder[] = "/tmp/helper-XXXXXX";
    char path[64];
    struct helper_hook hook = HOOK("/bin/true");
    struct stat st;
    int out[2];

    (void)state;
    if (getuid() != 0)
        skip();
    hook.change_user = true;
    hook.uid = NOBODY;
    hook.gid = NOBODY;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0644), 0);
    int fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fifo >= 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct peer p = start(&hook);
    send_run(&p, 1, str_c(""), (int[]){fifo, fifo, out[1]});
    assert_int_equal(wait_end(&p).end.kind, RUN_END_EXITED);
    assert_int_equal(fstat(fifo, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(fstat(out[1], &st), 0);
    assert_int_equal(st.st_mode & 07777, 0622);
    stop(&p);
    close(fifo);
    close(out[0]);
    close(out[1]);
    unlink(path);
    rmdir(folder);
}

/* A broken main asks for run after run. */
static void test_more_runs_than_configured_are_refused(void **state)
{
    struct helper_hook hook = SHELL("read x");
    int in[4];

    (void)state;
    hook.concurrency = 3;
    struct peer p = start(&hook);
    for (uint64_t i = 0; i < 4; i++)
        in[i] = ask_run(&p, i, str_c(""));
    struct wire_reply r = wait_end(&p);
    assert_int_equal(r.id, 3);
    assert_int_equal(r.end.kind, RUN_END_REFUSED);
    assert_int_equal(r.end.value, EBUSY);
    assert_int_equal(r.end.stage, RUN_STAGE_CONCURRENCY);
    close(in[1]);
    assert_int_equal(wait_end(&p).id, 1);
    close(in[3]);
    in[3] = ask_run(&p, 4, str_c("")); /* the slot is free once the end is reported */
    close(in[3]);
    assert_int_equal(wait_end(&p).id, 4);
    close(in[0]);
    assert_int_equal(wait_end(&p).id, 0);
    close(in[2]);
    assert_int_equal(wait_end(&p).id, 2);
    stop(&p);
}

/* Asks for a program of the hook. Returns the exit code of the helper: 1 = the hook has no such
 * program. */
static int code_after(const struct helper_hook *hook, enum run_program program)
{
    const struct head head = {WIRE_RUN, 0, 1, program, 0};
    struct peer p = start(hook);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    send_bytes(&p, &head, sizeof(head), (int[]){null, null, null}, 3);
    close(null);
    struct wire_reply r;
    ssize_t n = recv(p.fd, &r, sizeof(r), 0);
    assert_true(n == 0 || n == (ssize_t)sizeof(r));
    close(p.fd);
    return exit_code(p.pid);
}

static void test_only_programs_that_the_hook_has_can_be_asked_for(void **state)
{
    static const struct helper_content contents[] = {{.path = "/bin/true"}, {0}};
    static const struct helper_output output = {.path = "/no/such/folder/f"};
    struct helper_hook bare = HOOK("/bin/true");
    struct helper_hook whole = HOOK("/bin/true");
    struct helper_hook gone = {
        .kind = HELPER_GONE, .name = "gone", .env = plain_env, .concurrency = 1};
    struct helper_hook textfile = gone;

    (void)state;
    textfile.kind = HELPER_TEXTFILE;
    whole.apply = whole.argv;
    whole.contents = contents;
    whole.output = textfile.output = &output;
    const struct helper_hook *const hooks[] = {&bare, &whole, &gone, &textfile};
    static const struct {
        enum run_program program;
        int codes[4]; /* of the hooks */
    } table[] = {
        {RUN_PROGRAM_COMMAND,     {0, 0, 1, 1}},
        {RUN_PROGRAM_OUTPUT,      {1, 0, 1, 0}},
        {RUN_PROGRAM_REMOVE,      {1, 0, 1, 0}},
        {RUN_PROGRAM_FILES,       {1, 0, 1, 0}},
        {RUN_PROGRAM_APPLY,       {1, 0, 1, 1}},
        {RUN_PROGRAM_FINGERPRINT, {1, 0, 1, 1}},
        {RUN_PROGRAM_SWEEP,       {1, 0, 0, 1}},
        {RUN_PROGRAM_CHECK,       {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t k = 0; k < ARRAY_LEN(hooks); k++)
            assert_int_equal(code_after(hooks[k], table[i].program), table[i].codes[k]);
}

/* A helper whose log goes to the memory file *log. */
static struct peer start_with_log(const struct helper_hook *hook, int *log)
{
    int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

    *log = memfd_create("log", MFD_CLOEXEC);
    assert_true(*log >= 0 && dup2(*log, STDERR_FILENO) >= 0);
    struct peer p = start(hook);
    dup2(before, STDERR_FILENO);
    close(before);
    return p;
}

static void test_the_log_names_the_hook_of_a_refused_run(void **state)
{
    static const char env[] = "INFORMERD_RUN=run-1";
    struct helper_hook hook = SHELL("read x");
    char log[1024] = "";
    int log_fd;

    (void)state;
    hook.concurrency = 1;
    hook.name = "sync";
    struct peer p = start_with_log(&hook, &log_fd);
    int in = ask_run(&p, 0, str_c(""));
    close(ask_run(&p, 1, str_of(env, sizeof(env))));
    assert_int_equal(wait_end(&p).id, 1);
    assert_true(pread(log_fd, log, sizeof(log) - 1, 0) > 0);
    assert_non_null(strstr(log, "more runs at a time than the configuration allows hook=\"sync\" "
                                "run=\"run-1\""));
    close(in);
    assert_int_equal(wait_end(&p).id, 0);
    stop(&p);
    close(log_fd);
}

/* A file with one stray file. */
static int make_stray(void)
{
    static const char path[] = "/nonexistent/stray";
    const struct wire_stray stray = {.length = sizeof(path) - 1};
    int fd = memfd_create("strays", MFD_CLOEXEC);

    assert_int_equal(write(fd, &stray, sizeof(stray)), sizeof(stray));
    assert_int_equal(write(fd, path, stray.length), stray.length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void ask_sweep(const struct peer *p, uint64_t id, int answers)
{
    const struct head head = {WIRE_RUN, 0, id, RUN_PROGRAM_SWEEP, 0};
    int strays = make_stray();

    send_bytes(p, &head, sizeof(head), (int[]){strays, answers, answers}, 3);
    close(strays);
}

/* Main does not wait for a removal that hangs, and asks for the next one. That is no fault of main. The
 * first one hangs here because nobody reads its answer. */
static void test_a_removal_waits_for_the_one_before(void **state)
{
    static const struct helper_hook hook = {
        .kind = HELPER_GONE, .name = "gone", .env = plain_env, .concurrency = 1};
    char log[1024] = "";
    char bytes[4096] = "";
    int ends[2];
    int log_fd;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(ends[1], bytes, sizeof(bytes)) > 0)
        continue;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    struct peer p = start_with_log(&hook, &log_fd);
    ask_sweep(&p, 0, ends[1]);
    ask_sweep(&p, 1, ends[1]);
    struct wire_reply r = wait_end(&p);
    assert_int_equal(r.id, 1);
    assert_int_equal(r.end.stage, RUN_STAGE_CONCURRENCY);
    assert_true(pread(log_fd, log, sizeof(log) - 1, 0) > 0);
    assert_non_null(strstr(log,
                           "warn  helper: obsolete files are not removed yet: the removal before "
                           "has not ended hook=\"gone\""));
    assert_null(strstr(log, "refused"));
    while (read(ends[0], bytes, sizeof(bytes)) > 0)
        continue;
    assert_int_equal(wait_end(&p).id, 0);
    close(ends[0]);
    close(ends[1]);
    stop(&p);
    close(log_fd);
}

/* ---- How programs end */

static void test_exit_codes(void **state)
{
    static const int codes[] = {0, 1, 2, 100, 126, 127, 255};
    struct helper_hook hook = SHELL("exit $INFORMERD_CODE");
    struct peer p = start(&hook);
    char env[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        int n = snprintf(env, sizeof(env), "INFORMERD_CODE=%d", codes[i]);
        close(ask_run(&p, i, str_of(env, (size_t)n + 1)));
        struct wire_reply r = next_reply(&p);
        assert_true(r.type == WIRE_EXITED && r.id == i && r.end.kind == RUN_END_EXITED);
        assert_int_equal(r.end.value, codes[i]);
        assert_true(r.end.cpu_us > 0);
    }
    stop(&p);
}

static void test_signals(void **state)
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGABRT};
    struct helper_hook hook = SHELL("ulimit -c 0; echo ready; read x");
    struct peer p = start(&hook);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        int in = ask_run(&p, i, str_c(""));
        assert_string_equal(read_out(&p, true), "ready\n");
        send_head(&p, WIRE_KILL, (uint32_t)signals[i], i);
        struct wire_reply r = wait_end(&p);
        assert_int_equal(r.end.kind, RUN_END_SIGNALED);
        assert_int_equal(r.end.value, signals[i]);
        send_head(&p, WIRE_KILL, SIGTERM, i); /* too late: nothing is killed */
        close(in);
    }
    stop(&p);
}

static void expect_not_started(const char *program, int error)
{
    struct helper_hook hook = HOOK(program);
    char out[OUTPUT_MAX];
    struct wire_reply r = run_hook(&hook, str_c(""), out);

    assert_string_equal(out, "");
    assert_int_equal(r.end.kind, RUN_END_REFUSED);
    assert_int_equal(r.end.value, error);
    assert_int_equal(r.end.stage, RUN_STAGE_EXEC);
}

static void test_programs_that_cannot_be_entered(void **state)
{
    char path[] = "/tmp/informerd-test-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    expect_not_started("/no/such/program", ENOENT);
    expect_not_started("/etc/passwd", EACCES);
    expect_not_started("/etc/passwd/x", ENOTDIR);
    expect_not_started("/", EACCES);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0755), 0);
    assert_int_equal(write(fd, "garbage", 7), 7);
    close(fd);
    expect_not_started(path, ENOEXEC);
    unlink(path);
}

static void test_environment_too_big_for_exec(void **state)
{
    struct helper_hook hook = HOOK("/bin/true");
    char *env = malloc(WIRE_ENV_MAX);
    char out[OUTPUT_MAX];

    (void)state;
    assert_non_null(env);
    memset(env, 'x', WIRE_ENV_MAX);
    memcpy(env, "INFORMERD_A=", 12);
    env[WIRE_ENV_MAX - 1] = '\0';
    struct wire_reply r =
        run_hook(&hook, str_of(env, WIRE_ENV_MAX), out); /* the kernel has the same limit */
    assert_int_equal(r.end.kind, RUN_END_EXITED);
    assert_int_equal(r.end.value, 0);
    free(env);
}

/* ---- Files */

static int recv_fd(const struct peer *p, struct wire_reply *r)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = {r, sizeof(*r)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    int fd = -1;

    do { /* others write to /dev and /etc, too */
        msg.msg_controllen = sizeof(control);
        assert_int_equal(recvmsg(p->fd, &msg, MSG_CMSG_CLOEXEC), sizeof(*r));
    } while (r->type == WIRE_CHANGED);
    assert_int_equal(r->type, WIRE_OPENED);
    if (CMSG_FIRSTHDR(&msg) != NULL)
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return fd;
}

static void test_files(void **state)
{
    static const int errors[] = {0, EISDIR, EINVAL, ENOENT};
    struct helper_hook hook = HOOK("/bin/true");
    struct peer p = start(&hook);
    struct wire_reply r;
    char text[5] = "";

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        send_head(&p, WIRE_OPEN, i, 100 + i);
        int fd = recv_fd(&p, &r);
        assert_int_equal(r.id, 100 + i);
        assert_int_equal(r.error, errors[i]);
        assert_int_equal(fd >= 0, errors[i] == 0);
        if (fd < 0)
            continue;
        assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
        assert_int_equal(read(fd, text, 4), 4);
        assert_string_equal(text, "root");
        close(fd);
    }
    stop(&p);
}

/* Linux before 5.9 has no close_range(). */
static void test_without_close_range(void **state)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {ARRAY_LEN(code), code};
    int status;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
            _exit(2);
        for (int fd = 3; fd < 50; fd++)
            dup2(0, fd);
        _exit(fds_close_from(4) == 0 && fcntl(3, F_GETFD) == 0 && dup(0) == 4 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_is_exact),
        cmocka_unit_test(test_environment_of_others_is_refused),
        cmocka_unit_test(test_only_three_descriptors),
        cmocka_unit_test(test_signals_are_fresh),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_user_and_groups),
        cmocka_unit_test(test_user_cannot_be_changed),
        cmocka_unit_test(test_only_pipes_change_their_mode),
        cmocka_unit_test(test_more_runs_than_configured_are_refused),
        cmocka_unit_test(test_only_programs_that_the_hook_has_can_be_asked_for),
        cmocka_unit_test(test_the_log_names_the_hook_of_a_refused_run),
        cmocka_unit_test(test_a_removal_waits_for_the_one_before),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_programs_that_cannot_be_entered),
        cmocka_unit_test(test_environment_too_big_for_exec),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_without_close_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
