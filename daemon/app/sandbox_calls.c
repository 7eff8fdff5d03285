/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sandbox.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "app/name_modules.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"

/* Where a system call leaves its result. On other processors main has no filter: there, calls such as mmap and
 * clone have their arguments in other places, and nobody has tried it. */
#if defined(__x86_64__)
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#elif defined(__aarch64__)
#define RESULT(context) (context)->uc_mcontext.regs[0]
#endif

/* Which calls were refused: their numbers + 1, in the order of the first time; 0 = the place is free. */
enum { REFUSED_MAX = 16 };
static _Atomic int refused[REFUSED_MAX];

static void note_refused(int call)
{
    for (size_t i = 0; i < REFUSED_MAX; i++) {
        int is = 0;

        if (atomic_compare_exchange_strong(&refused[i], &is, call + 1) || is == call + 1)
            return;
    }
}

char *sandbox_refused(size_t index)
{
    int call = index < REFUSED_MAX ? atomic_load(&refused[index]) - 1 : -1;

    if (call < 0)
        return NULL;
    char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), call);
    return name != NULL ? name : mem_printf("%d", call);
}

void sandbox_tell(void)
{
    static size_t told;

    for (char *name; (name = sandbox_refused(told)) != NULL; told++) {
        log_warn("the sandbox refused a system call", KV_STR("call", name));
        free(name);
    }
}

#ifdef RESULT

/* Calls that the code of main, libuv, SQLite, mbedTLS and glibc make, with any arguments. Of each family also
 * those calls that another version or another processor uses in its place: libseccomp passes over names that a
 * processor does not have. */
static const char *const allowed[] = {
    /* memory; mmap and mprotect: see add_conditions() */
    "brk",
    "madvise",
    "membarrier",
    "memfd_create",
    "mremap",
    "munmap",
    /* threads */
    "exit",
    "exit_group",
    "futex",
    "futex_requeue",
    "futex_wait",
    "futex_waitv",
    "futex_wake",
    "get_robust_list",
    "rseq",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    /* signals of its own, children that have ended */
    "restart_syscall",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sigaltstack",
    "wait4",
    "waitid",
    /* time */
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "gettimeofday",
    "nanosleep",
    "time",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    /* questions about itself and the machine */
    "getcpu",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrusage",
    "getsid",
    "gettid",
    "getuid",
    "sysinfo",
    "uname",
    /* descriptors and waiting for them */
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd",
    "eventfd2",
    "fcntl",
    "pipe",
    "pipe2",
    "poll",
    "ppoll",
    "pselect6",
    "select",
    /* files: Landlock says which */
    "access",
    "chmod",
    "creat",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fdatasync",
    "flock",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getcwd",
    "getdents",
    "getdents64",
    "lseek",
    "lstat",
    "mkdir",
    "mkdirat",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "stat",
    "statfs",
    "statx",
    "sync_file_range",
    "umask",
    "unlink",
    "unlinkat",
    "utimensat",
    "write",
    "writev",
    /* sockets; socket: see add_conditions() */
    "accept",
    "accept4",
    "bind",
    "connect",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socketpair",
};

/* Nothing in main calls these, and an attacker wants them first: the process ends (SIGSYS), and systemd starts
 * it again. clone: see add_conditions(). */
static const char *const deadly[] = {
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
};

/* Libraries try these first and do without: not worth a word. The arguments of clone3 cannot be looked at, and
 * glibc goes on with clone; libuv goes on with epoll. */
static const char *const missing[] = {"clone3", "io_uring_setup"};

static const unsigned requests[] = {FIONBIO,    FIONREAD, FIOCLEX,      FIONCLEX,
                                    TIOCGWINSZ, TCGETS,   SIOCGIFINDEX, SIOCGIFNAME};

/* Every call that is not in the filter comes here, in the thread that made it: it fails as on a kernel that
 * does not have it. Only what a signal handler may do. */
static void on_refused(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    RESULT((ucontext_t *)context) = -ENOSYS;
    note_refused(info->si_syscall);
}

static bool catch_refused(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

    action.sa_sigaction = on_refused;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0;
}

/* Of an argument that is an int: the kernel does not look at the upper half, where a library may leave
 * anything. */
#define LOW UINT64_C(0xffffffff)

/* Collects the first failure of many calls. */
struct filter {
    scmp_filter_ctx ctx;
    int error; /* 0 or a negative errno */
};

static void add(struct filter *f, uint32_t action, const char *name, unsigned count,
                const struct scmp_arg_cmp *conditions)
{
    int call = seccomp_syscall_resolve_name(name);

    /* A name that is newer than this libseccomp, or not of this processor. */
    if (f->error != 0 || call < 0)
        return;
    f->error = seccomp_rule_add_array(f->ctx, action, call, count, conditions);
}

static void add_names(struct filter *f, uint32_t action, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(f, action, names[i], 0, NULL);
}

/* name is allowed if the argument with this index, less the bits that are not in mask, is value. */
static void allow_if(struct filter *f, const char *name, unsigned argument, uint64_t mask,
                     uint64_t value)
{
    const struct scmp_arg_cmp is = SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value);

    add(f, SCMP_ACT_ALLOW, name, 1, &is);
}

enum {
    TYPE_MASK = 0xf
}; /* of the second argument of socket(): without SOCK_CLOEXEC and SOCK_NONBLOCK */

static void allow_family(struct filter *f, uint64_t family)
{
    static const uint64_t types[] = {SOCK_STREAM, SOCK_DGRAM};

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const struct scmp_arg_cmp is[] = {
            SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW, family),
            SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, TYPE_MASK, types[i]),
        };
        add(f, SCMP_ACT_ALLOW, "socket", ARRAY_LEN(is), is);
    }
}

/* getaddrinfo() asks the kernel which addresses the machine has. */
static void allow_netlink(struct filter *f)
{
    const struct scmp_arg_cmp is[] = {
        SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW, AF_NETLINK),
        SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, TYPE_MASK, SOCK_RAW),
        SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, LOW, NETLINK_ROUTE),
    };

    add(f, SCMP_ACT_ALLOW, "socket", ARRAY_LEN(is), is);
}

/* A thread, in the namespaces of the process. */
static void add_clone(struct filter *f)
{
    const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    const struct scmp_arg_cmp is_process =
        SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, (uint64_t)CLONE_THREAD, 0);

    allow_if(f, "clone", 0, CLONE_THREAD | namespaces, CLONE_THREAD);
    add(f, SCMP_ACT_KILL_PROCESS, "clone", 1, &is_process);
}

static void add_conditions(struct filter *f)
{
    uint64_t pid = (uint64_t)getpid();

    allow_if(f, "mmap", 2, PROT_EXEC, 0);
    allow_if(f, "mprotect", 2, PROT_EXEC, 0);
    add_clone(f);
    allow_family(f, AF_UNIX);
    allow_family(f, AF_INET);
    allow_family(f, AF_INET6);
    allow_netlink(f);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        allow_if(f, "ioctl", 1, LOW, requests[i]);
    /* abort() */
    allow_if(f, "tgkill", 0, LOW, pid);
    allow_if(f, "kill", 0, LOW, pid);
    allow_if(f, "prlimit64", 0, LOW, 0);
    allow_if(f, "prlimit64", 0, LOW, pid);
    allow_if(f, "prctl", 0, LOW, PR_SET_NAME);
    allow_if(f, "prctl", 0, LOW, PR_GET_NAME);
    allow_if(f, "prctl", 0, LOW, PR_SET_VMA); /* glibc names pieces of memory */
}

/* Returns 0 or a negative errno. TSYNC: all threads of the process, or none. */
static int load(void)
{
    struct filter f = {.ctx = seccomp_init(SCMP_ACT_TRAP)};

    if (f.ctx == NULL)
        return -ENOMEM;
    f.error = seccomp_attr_set(f.ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    if (f.error == 0)
        f.error = seccomp_attr_set(f.ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    add_names(&f, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
    add_names(&f, SCMP_ACT_KILL_PROCESS, deadly, ARRAY_LEN(deadly));
    add_names(&f, SCMP_ACT_ERRNO(ENOSYS), missing, ARRAY_LEN(missing));
    add_conditions(&f);
    if (f.error == 0)
        f.error = seccomp_load(f.ctx);
    seccomp_release(f.ctx);
    return f.error;
}

void sandbox_limit_calls(void)
{
    name_modules_load();
    int error = catch_refused() ? load() : -errno;

    if (error != 0)
        log_warn("this kernel does not limit which system calls main may make (seccomp)",
                 KV_STR("err", strerrordesc_np(-error)));
}

#else

void sandbox_limit_calls(void)
{
    log_info("the system calls of main are not limited (seccomp): not on this processor");
}

#endif
