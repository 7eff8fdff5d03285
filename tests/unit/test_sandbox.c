/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each attempt runs twice, in a process of its own: with the sandbox of main and without. A row of these tables
 * passes only if both ends are as they must be, so none can pass without the sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/sandbox.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "temp_folder.h"

static char around[64];  /* may be written, so that the state can be made anew */
static char state[64];   /* is in there */
static char outside[64]; /* may not be read */
static char secret[80];  /* a file in there */

/* How an attempt ended. */
struct end {
    int signal;       /* that killed the process; 0 = it has ended */
    int error;        /* errno of the attempt; 0 = it worked */
    char refused[32]; /* the first call that the sandbox has noted; "" = none */
};

typedef int attempt_fn(void);

static int outcome(long result)
{
    return result < 0 ? errno : 0;
}

static void enter_sandbox(void)
{
    char *socket = mem_printf("%s/control.sock", state);
    const struct sandbox_files files = {.state_dir = state, .socket = socket};

    sandbox_limit_files(&files);
    sandbox_limit_calls();
    free(socket);
}

/* The work of the child: the parent reads how it ended. */
static void NORETURN attempt_here(attempt_fn *attempt, bool in_sandbox, int out)
{
    struct end end = {0};

    if (in_sandbox)
        enter_sandbox();
    end.error = attempt();
    char *name = sandbox_refused(0);
    if (name != NULL)
        snprintf(end.refused, sizeof(end.refused), "%s", name);
    _exit(write(out, &end, sizeof(end)) == sizeof(end) ? 0 : 1);
}

static struct end try(attempt_fn *attempt, bool in_sandbox)
{
    struct end end = {0};
    int fds[2];
    int status = 0;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        attempt_here(attempt, in_sandbox, fds[1]);
    close(fds[1]);
    ssize_t n = read(fds[0], &end, sizeof(end));
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(n == 0 || n == sizeof(end)); /* 0: killed, or another program by now */
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return end;
}

/* ---- Calls that end the process */

static char word[] = "true";
static char *words[] = {word, NULL};
static char *no_words[] = {NULL};

static int attempt_execve(void)
{
    return outcome(execve("/bin/true", words, no_words));
}

static int attempt_execveat(void)
{
    int fd = open("/bin/true", O_PATH | O_CLOEXEC);

    return outcome(syscall(SYS_execveat, fd, "", words, no_words, AT_EMPTY_PATH));
}

static int reap(pid_t pid)
{
    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : errno;
}

static int attempt_fork(void)
{
    return reap(fork());
}

static int attempt_raw_fork(void)
{
#ifdef SYS_fork
    return reap((pid_t)syscall(SYS_fork));
#else
    return reap(fork());
#endif
}

static int attempt_vfork(void)
{
    pid_t pid = vfork(); /* NOLINT: this is the call to be tried */

    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : errno;
}

static int attempt_clone(void)
{
    return reap((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int attempt_ptrace(void)
{
    return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int copy_memory(long call)
{
    char from = 'x';
    char to = 0;
    struct iovec local = {&to, 1};
    struct iovec remote = {&from, 1};

    return outcome(syscall(call, getpid(), &local, 1, &remote, 1, 0));
}

static int attempt_process_vm_readv(void)
{
    return copy_memory(SYS_process_vm_readv);
}

static int attempt_process_vm_writev(void)
{
    return copy_memory(SYS_process_vm_writev);
}

static void a_new_program_process_or_tracer_ends_main(void **unused)
{
    static const struct {
        const char *name;
        attempt_fn *fn;
    } rows[] = {
        {"execve",            attempt_execve           },
        {"execveat",          attempt_execveat         },
        {"fork()",            attempt_fork             },
        {"fork",              attempt_raw_fork         },
        {"vfork",             attempt_vfork            },
        {"clone",             attempt_clone            },
        {"ptrace",            attempt_ptrace           },
        {"process_vm_readv",  attempt_process_vm_readv },
        {"process_vm_writev", attempt_process_vm_writev},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct end without = try(rows[i].fn, false);
        struct end with = try(rows[i].fn, true);

        if (without.signal != 0 || without.error != 0 || with.signal != SIGSYS)
            fail_msg("%s: without the sandbox signal %d, errno %d; in it signal %d, errno %d",
                     rows[i].name, without.signal, without.error, with.signal, with.error);
    }
}

/* ---- Calls that fail, and are noted */

/* By name: with arguments that make no sense to any of them, so that they do nothing without a sandbox, either.
 * A name that this processor or this libseccomp does not have is passed over. */
static const char *const refused_calls[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "capset",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "fanotify_mark",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "inotify_init1",
    "io_setup",
    "io_uring_enter",
    "io_uring_register",
    "ioperm",
    "iopl",
    "ioprio_set",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "landlock_create_ruleset",
    "landlock_restrict_self",
    "lchown",
    "link",
    "linkat",
    "mbind",
    "memfd_secret",
    "migrate_pages",
    "mknod",
    "mknodat",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "mq_open",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "personality",
    "pidfd_getfd",
    "pidfd_open",
    "pidfd_send_signal",
    "pivot_root",
    "pkey_mprotect",
    "process_madvise",
    "quotactl",
    "reboot",
    "remap_file_pages",
    "request_key",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "sched_setattr",
    "sched_setscheduler",
    "seccomp",
    "semget",
    "set_mempolicy",
    "setdomainname",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "sethostname",
    "setns",
    "setpriority",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setrlimit",
    "settimeofday",
    "setuid",
    "setxattr",
    "shmat",
    "shmget",
    "swapoff",
    "swapon",
    "symlink",
    "symlinkat",
    "syslog",
    "tkill",
    "umount2",
    "unshare",
    "userfaultfd",
    "vmsplice",
};

static int call_number;

static int attempt_call(void)
{
    return outcome(syscall(call_number, -1L, -1L, -1L, -1L, -1L, -1L));
}

static void expect_refused(const char *what, const char *call, attempt_fn *fn)
{
    struct end without = try(fn, false);
    struct end with = try(fn, true);

    if (without.signal != 0 || without.refused[0] != '\0' || with.signal != 0 ||
        with.error != ENOSYS || strcmp(with.refused, call) != 0)
        fail_msg(
            "%s: without the sandbox signal %d, noted \"%s\"; in it signal %d, errno %d, noted "
            "\"%s\"",
            what, without.signal, without.refused, with.signal, with.error, with.refused);
}

static void calls_that_main_does_not_need_fail_and_are_noted(void **unused)
{
    size_t tried = 0;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(refused_calls); i++) {
        call_number = seccomp_syscall_resolve_name(refused_calls[i]);
        if (call_number < 0)
            continue;
        expect_refused(refused_calls[i], refused_calls[i], attempt_call);
        tried++;
    }
    assert_true(tried >= 80);
}

/* ---- Calls that depend on their arguments */

static int attempt_clone_into_namespace(void)
{
    return outcome(
        syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_NEWUSER, 0, 0, 0, 0));
}

static int attempt_kill(void)
{
    return outcome(kill(getppid(), 0));
}

static int attempt_tgkill(void)
{
    return outcome(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int map(int protection, int flags, int fd)
{
    return mmap(NULL, 4096, protection, flags, fd, 0) == MAP_FAILED ? errno : 0;
}

static int attempt_mmap_exec(void)
{
    return map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int attempt_mmap_write_exec(void)
{
    return map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int attempt_mmap_file_exec(void)
{
    return map(PROT_READ | PROT_EXEC, MAP_PRIVATE, open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int attempt_mprotect_exec(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return outcome(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static int attempt_packet(void)
{
    return outcome(socket(AF_PACKET, SOCK_RAW, 0));
}

static int attempt_alg(void)
{
    return outcome(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static int attempt_vsock(void)
{
    return outcome(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static int attempt_raw(void)
{
    return outcome(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static int attempt_raw6(void)
{
    return outcome(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
}

static int attempt_netfilter(void)
{
    return outcome(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
}

static int attempt_tiocsti(void)
{
    return outcome(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int attempt_prctl(void)
{
    return outcome(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static int attempt_prlimit(void)
{
    struct rlimit limit;

    return outcome(prlimit(getppid(), RLIMIT_CORE, NULL, &limit));
}

static void arguments_decide_about_some_calls(void **unused)
{
    static const struct {
        const char *what;
        const char *call;
        attempt_fn *fn;
    } rows[] = {
        {"a thread in a namespace",                 "clone",     attempt_clone_into_namespace},
        {"a signal to another process",             "kill",      attempt_kill                },
        {"a signal to a thread of another process", "tgkill",    attempt_tgkill              },
        {"memory for code",                         "mmap",      attempt_mmap_exec           },
        {"memory for code that can be written",     "mmap",      attempt_mmap_write_exec     },
        {"code from a file",                        "mmap",      attempt_mmap_file_exec      },
        {"memory becomes code",                     "mprotect",  attempt_mprotect_exec       },
        {"AF_PACKET",                               "socket",    attempt_packet              },
        {"AF_ALG",                                  "socket",    attempt_alg                 },
        {"AF_VSOCK",                                "socket",    attempt_vsock               },
        {"a raw socket",                            "socket",    attempt_raw                 },
        {"a raw socket of IPv6",                    "socket",    attempt_raw6                },
        {"NETLINK_NETFILTER",                       "socket",    attempt_netfilter           },
        {"typing into the terminal",                "ioctl",     attempt_tiocsti             },
        {"an attribute of the process",             "prctl",     attempt_prctl               },
        {"limits of another process",               "prlimit64", attempt_prlimit             },
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        expect_refused(rows[i].what, rows[i].call, rows[i].fn);
}

/* ---- Calls that libraries try first */

static int attempt_clone3(void)
{
    struct clone_args args = {.exit_signal = SIGCHLD};

    return reap((pid_t)syscall(SYS_clone3, &args, sizeof(args)));
}

static int attempt_io_uring_setup(void)
{
    return outcome(syscall(SYS_io_uring_setup, 0, NULL));
}

static void calls_that_libraries_do_without_fail_in_silence(void **unused)
{
    attempt_fn *const fns[] = {attempt_clone3, attempt_io_uring_setup};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(fns); i++) {
        struct end with = try(fns[i], true);

        if (try(fns[i], false).error == ENOSYS)
            continue; /* this kernel does not have it */
        assert_int_equal(with.signal, 0);
        assert_int_equal(with.error, ENOSYS);
        assert_string_equal(with.refused, "");
    }
}

/* ---- Files */

static int open_and_close(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* A path that is good until the third call from now. */
static const char *in(const char *folder, const char *name)
{
    static char paths[3][PATH_MAX];
    static size_t at;

    at = (at + 1) % ARRAY_LEN(paths);
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", folder, name);
    return paths[at];
}

static int attempt_read_outside(void)
{
    return open_and_close(secret, O_RDONLY);
}

static int attempt_read_outside_by_proc(void)
{
    return open_and_close(in("/proc/self/root", secret), O_RDONLY);
}

static int attempt_read_outside_by_link(void)
{
    return open_and_close(in(state, "link"), O_RDONLY);
}

static int attempt_list_outside(void)
{
    return open_and_close(outside, O_RDONLY | O_DIRECTORY);
}

static int attempt_write_outside(void)
{
    return open_and_close(secret, O_WRONLY);
}

static int attempt_create_outside(void)
{
    return open_and_close(in(outside, "new"), O_WRONLY | O_CREAT);
}

static int attempt_mkdir_outside(void)
{
    return outcome(mkdir(in(outside, "folder"), 0700));
}

static int attempt_unlink_outside(void)
{
    return outcome(unlink(in(outside, "victim")));
}

static int attempt_rename_out(void)
{
    return outcome(rename(in(state, "file"), in(outside, "taken")));
}

static int attempt_write_etc(void)
{
    return open_and_close("/etc/hosts", O_WRONLY);
}

static int attempt_own_memory(void)
{
    return open_and_close("/proc/self/mem", O_RDWR);
}

static int attempt_socket_of_no_file(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", outside);
    return outcome(bind(fd, (const struct sockaddr *)&at, sizeof(at)));
}

static void put_file(const char *path)
{
    assert_int_equal(open_and_close(path, O_WRONLY | O_CREAT), 0);
}

/* Without the sandbox the attempts change the folders. */
static void make_files(void)
{
    put_file(secret);
    put_file(in(outside, "victim"));
    put_file(in(state, "file"));
    unlink(in(outside, "new"));
    unlink(in(outside, "taken"));
    unlink(in(outside, "s"));
    rmdir(in(outside, "folder"));
    unlink(in(state, "link"));
    assert_int_equal(symlink(secret, in(state, "link")), 0);
}

static void files_outside_cannot_be_opened(void **unused)
{
    static const struct {
        const char *name;
        attempt_fn *fn;
    } rows[] = {
        {"read",                        attempt_read_outside        },
        {"read by /proc/self/root",     attempt_read_outside_by_proc},
        {"read by a link in the state", attempt_read_outside_by_link},
        {"list the folder",             attempt_list_outside        },
        {"write",                       attempt_write_outside       },
        {"create",                      attempt_create_outside      },
        {"mkdir",                       attempt_mkdir_outside       },
        {"unlink",                      attempt_unlink_outside      },
        {"rename out of the state",     attempt_rename_out          },
        {"a socket",                    attempt_socket_of_no_file   },
        {"write to /etc",               attempt_write_etc           },
        {"write to its own code",       attempt_own_memory          },
    };

    (void)unused;
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        make_files();
        struct end with = try(rows[i].fn, true);
        struct end without = try(rows[i].fn, false);

        /* An ordinary user may not write to /etc in any case. */
        bool could = without.error == 0 || (rows[i].fn == attempt_write_etc && geteuid() != 0);
        if (!could || with.signal != 0 || (with.error != EACCES && with.error != EXDEV))
            fail_msg("%s: without the sandbox errno %d; in it signal %d, errno %d", rows[i].name,
                     without.error, with.signal, with.error);
    }
}

/* ---- What main goes on doing */

static void *set_flag(void *flag)
{
    *(int *)flag = 1;
    return NULL;
}

static int use_thread(void)
{
    pthread_t thread;
    int flag = 0;
    int error = pthread_create(&thread, NULL, set_flag, &flag);

    if (error == 0)
        error = pthread_join(thread, NULL);
    return error != 0 ? error : flag == 1 ? 0 : EINVAL;
}

static int use_state(void)
{
    struct statfs fs;
    int fd = open(in(state, "db"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || pwrite(fd, "x", 1, 0) != 1 || fdatasync(fd) != 0 || ftruncate(fd, 0) != 0)
        return errno;
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
        return errno;
    if (rename(in(state, "db"), in(state, "aside")) != 0 || unlink(in(state, "aside")) != 0)
        return errno;
    return outcome(statfs(state, &fs));
}

static int use_names(void)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int error = getaddrinfo("localhost", NULL, &hints, &found);

    if (error != 0)
        return error == EAI_SYSTEM ? errno : EINVAL;
    freeaddrinfo(found);
    return 0;
}

static int use_sockets(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(server, (struct sockaddr *)&at, size) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&at, &size) != 0)
        return errno;
    return outcome(connect(client, (struct sockaddr *)&at, size));
}

static int use_memory_file(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, 0444) != 0)
        return errno;
    return outcome(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
}

static int use_files_of_the_machine(void)
{
    static const char *const paths[] = {"/etc/passwd",       "/etc/nsswitch.conf",
                                        "/proc/self/status", "/proc/self/statm",
                                        "/dev/urandom",      "/dev/null"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (open_and_close(paths[i], O_RDONLY) != 0)
            return errno;
    return open_and_close("/dev/null", O_WRONLY);
}

static int use_own_signal(void)
{
    return outcome(kill(getpid(), 0));
}

static void main_does_its_work_in_the_sandbox(void **unused)
{
    static const struct {
        const char *name;
        attempt_fn *fn;
    } rows[] = {
        {"a thread",             use_thread              },
        {"the state",            use_state               },
        {"names",                use_names               },
        {"sockets",              use_sockets             },
        {"a memory file",        use_memory_file         },
        {"files of the machine", use_files_of_the_machine},
        {"a signal to itself",   use_own_signal          },
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct end with = try(rows[i].fn, true);

        if (with.signal != 0 || with.error != 0 || with.refused[0] != '\0')
            fail_msg("%s: signal %d, errno %d, refused \"%s\"", rows[i].name, with.signal,
                     with.error, with.refused);
    }
}

static int attempt_abort(void)
{
    abort();
}

static void a_bug_still_aborts_main(void **unused)
{
    (void)unused;
    assert_int_equal(try(attempt_abort, true).signal, SIGABRT);
}

/* ---- Threads that were there before */

static pthread_barrier_t entered;

static void *call_after(void *result)
{
    pthread_barrier_wait(&entered);
    *(int *)result = outcome(unshare(CLONE_FS));
    return NULL;
}

static int attempt_in_older_thread(void)
{
    pthread_t thread;
    int result = 0;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (pthread_barrier_init(&entered, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, call_after, &result) != 0)
        return EAGAIN;
    sandbox_limit_calls();
    pthread_barrier_wait(&entered);
    pthread_join(thread, NULL);
    return result;
}

static void threads_from_before_are_limited_too(void **unused)
{
    struct end end = try(attempt_in_older_thread, false);

    (void)unused;
    assert_int_equal(end.signal, 0);
    assert_int_equal(end.error, ENOSYS);
    assert_string_equal(end.refused, "unshare");
}

/* Processes are killed here as they should be. */
static int make_folders(void **unused)
{
    int error = temp_folder_enter(unused);
    struct rlimit core;

    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
    core.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
    snprintf(around, sizeof(around), "%s/lib", temp_folder_path());
    snprintf(state, sizeof(state), "%s/lib/state", temp_folder_path());
    snprintf(outside, sizeof(outside), "%s/outside", temp_folder_path());
    snprintf(secret, sizeof(secret), "%s/outside/secret", temp_folder_path());
    return error != 0 || mkdir(around, 0700) != 0 || mkdir(state, 0700) != 0 ||
           mkdir(outside, 0700) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_program_process_or_tracer_ends_main),
        cmocka_unit_test(calls_that_main_does_not_need_fail_and_are_noted),
        cmocka_unit_test(arguments_decide_about_some_calls),
        cmocka_unit_test(calls_that_libraries_do_without_fail_in_silence),
        cmocka_unit_test(files_outside_cannot_be_opened),
        cmocka_unit_test(main_does_its_work_in_the_sandbox),
        cmocka_unit_test(a_bug_still_aborts_main),
        cmocka_unit_test(threads_from_before_are_limited_too),
    };

    return cmocka_run_group_tests(tests, make_folders, temp_folder_leave);
}
