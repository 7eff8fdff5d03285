/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim - a library to preload (LD_PRELOAD) into informerd: it notes which system calls are made at which
 * place, has chosen ones fail, hang, or end the process, and shifts the clocks.
 *
 * A file that FAULTS_FILE names and all processes of the daemon share is all that it has: the test writes
 * the rules into it and reads the places from it (tests/faults/shim.py has the same layout). Programs of
 * hooks have an environment of their own, so they are never touched. A place is the call, the return address
 * of its caller, which may be in libuv or SQLite, and the innermost return address in informerd.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Without the headers' own versions of these names, which the macros below define anew. */
/* NOLINTBEGIN */

enum { RULES = 8, PLACES = 4096, PATH_SIZE = 96, DEPTH = 24, NAME_SIZE = 16 };

/* The roles: which process makes the call. */
enum role { ROLE_START = 'S', ROLE_MAIN = 'M', ROLE_HELPER = 'H', ROLE_CHILD = 'C' };

/* Results of a rule that are no errno. */
enum { HANG = -1, SHORT = -2, KILL = -3 };

struct rule {
    _Atomic uint32_t on;
    uint32_t role;        /* 0: any */
    char call[NAME_SIZE]; /* "": any */
    char path[PATH_SIZE]; /* "": any; else the path, or that of the descriptor, has this in it */
    uint64_t site;        /* 0: any */
    uint32_t first;       /* the number of the first call that fails, from 1 */
    uint32_t times;       /* how many fail; 0: all from then on */
    int32_t error;
    _Atomic uint32_t seen; /* calls that matched */
    _Atomic uint32_t done; /* faults injected */
};

struct place {
    _Atomic uint64_t key; /* 0: free */
    char call[NAME_SIZE];
    uint64_t caller, inner; /* offsets; the high bits name the module */
    uint32_t role, kind;    /* kind: S_IFMT of the descriptor, 0 = none */
    _Atomic uint64_t count;
};

struct shared {
    _Atomic int64_t realtime_ns, boottime_ns;
    _Atomic uint64_t calls;
    struct rule rules[RULES];
    struct place places[PLACES];
};

static struct shared *shared;
static enum role role = ROLE_START;
static __thread bool inside;

enum { MODULE_SHIFT = 56, MODULE_OTHER = 0, MODULE_INFORMERD = 1, MODULE_LIBRARY = 2 };
static uintptr_t own_from, own_to;

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_name[0] == '\0') {
            uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            uintptr_t to = from + info->dlpi_phdr[i].p_memsz;

            if (own_from == 0)
                own_from = info->dlpi_addr;
            if (to > own_to)
                own_to = to;
        }
    return info->dlpi_name[0] == '\0';
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS_FILE");
    void *frames[2];
    int fd = path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    backtrace(frames, 2); /* loads its library now */
    dl_iterate_phdr(look_at_module, NULL);
    void *at = (void *)syscall(SYS_mmap, NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (at != MAP_FAILED)
        shared = at;
}

static uint64_t offset_of(const void *address)
{
    uintptr_t a = (uintptr_t)address;
    Dl_info info;

    if (a >= own_from && a < own_to)
        return (uint64_t)MODULE_INFORMERD << MODULE_SHIFT | (a - own_from);
    if (dladdr(address, &info) == 0)
        return 0;
    uint64_t name = 0;
    for (const char *p = info.dli_fname; *p != '\0'; p++)
        name = name * 31 + (unsigned char)*p;
    return (uint64_t)(MODULE_LIBRARY + name % 200) << MODULE_SHIFT |
           (a - (uintptr_t)info.dli_fbase);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v;
    h *= 0x9e3779b97f4a7c15ULL;
    return h ^ h >> 29;
}

/* Notes the place of this call, and returns its key. */
static uint64_t note(const char *call, int fd, void *caller)
{
    void *frames[DEPTH];
    int n = backtrace(frames, DEPTH);
    const void *inner = NULL;

    for (int i = 0; i < n && inner == NULL; i++)
        if ((uintptr_t)frames[i] >= own_from && (uintptr_t)frames[i] < own_to)
            inner = frames[i];
    uint64_t at[2] = {offset_of(caller), inner != NULL ? offset_of(inner) : 0};
    uint64_t key = mix(mix(mix(role, at[0]), at[1]),
                       (uint64_t)(unsigned char)call[0] << 8 | (unsigned char)call[1]);
    if (key == 0)
        key = 1;
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *p = &shared->places[(key + i) % PLACES];
        uint64_t none = 0;

        if (atomic_load(&p->key) == 0 && atomic_compare_exchange_strong(&p->key, &none, key)) {
            struct stat st;

            snprintf(p->call, sizeof(p->call), "%s", call);
            p->caller = at[0];
            p->inner = at[1];
            p->role = role;
            p->kind = fd >= 0 && syscall(SYS_fstat, fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
        }
        if (atomic_load(&p->key) == key) {
            atomic_fetch_add(&p->count, 1);
            return key;
        }
    }
    return 0;
}

static bool path_fits(const struct rule *r, int fd, const char *path)
{
    char link[32];
    char target[512];

    if (r->path[0] == '\0')
        return true;
    if (path != NULL && strstr(path, r->path) != NULL)
        return true;
    if (fd < 0)
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return strstr(target, r->path) != NULL;
}

static bool fits(const struct rule *r, const char *call, int fd, const char *path, uint64_t key)
{
    return atomic_load(&r->on) != 0 && (r->role == 0 || r->role == role) &&
           (r->call[0] == '\0' || strcmp(r->call, call) == 0) && (r->site == 0 || r->site == key) &&
           path_fits(r, fd, path);
}

static void hang(struct rule *r)
{
    const struct timespec nap = {0, 20000000};

    while (atomic_load(&r->on) != 0)
        syscall(SYS_nanosleep, &nap, NULL);
}

/* Whether the call fails: its errno, SHORT, or 0 for none. */
static int fault(const char *call, int fd, const char *path, void *caller)
{
    int error = 0;

    if (shared == NULL || inside)
        return 0;
    inside = true;
    int before = errno;
    uint64_t key = note(call, fd, caller);
    for (int i = 0; i < RULES && error == 0; i++) {
        struct rule *r = &shared->rules[i];

        if (!fits(r, call, fd, path, key))
            continue;
        uint32_t seen = atomic_fetch_add(&r->seen, 1) + 1;
        if (seen < r->first || (r->times != 0 && seen >= r->first + r->times))
            continue;
        atomic_fetch_add(&r->done, 1);
        if (r->error == HANG)
            hang(r);
        else if (r->error == KILL)
            syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        else
            error = r->error;
    }
    errno = before;
    inside = false;
    return error;
}

#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (real == NULL)              \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define HERE __builtin_return_address(0)

/* A call whose result is -1 after an error. */
#define WRAP(type, name, params, args, fd, path)   \
    type name params                               \
    {                                              \
        REAL(name);                                \
        int error_ = fault(#name, fd, path, HERE); \
        if (error_ > 0) {                          \
            errno = error_;                        \
            return (type)-1;                       \
        }                                          \
        return real args;                          \
    }

/* The same for one that may also do less than asked for. */
#define WRAP_SIZED(type, name, params, args, fewer, fd) \
    type name params                                    \
    {                                                   \
        REAL(name);                                     \
        int error_ = fault(#name, fd, NULL, HERE);      \
        if (error_ > 0) {                               \
            errno = error_;                             \
            return (type)-1;                            \
        }                                               \
        if (error_ == SHORT && n > 1)                   \
            return real fewer;                          \
        return real args;                               \
    }

#include "calls.def"

/* The descriptor is closed all the same, as by the kernel. */
int close(int fd)
{
    REAL(close);
    int error = fault("close", fd, NULL, HERE);
    int result = real(fd);

    if (error <= 0)
        return result;
    errno = error;
    return -1;
}

#define WITH_MODE(last)                         \
    mode_t mode = 0;                            \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
        va_list ap;                             \
        va_start(ap, last);                     \
        mode = va_arg(ap, mode_t);              \
        va_end(ap);                             \
    }

#define WRAP_OPEN(name)                                                                         \
    int name(const char *path, int flags, ...)                                                  \
    {                                                                                           \
        WITH_MODE(flags)                                                                        \
        REAL(name);                                                                             \
        int error = fault((flags & O_ACCMODE) == O_RDONLY ? "open" : "open+w", -1, path, HERE); \
        if (error > 0) {                                                                        \
            errno = error;                                                                      \
            return -1;                                                                          \
        }                                                                                       \
        return real(path, flags, mode);                                                         \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

int openat(int dir, const char *path, int flags, ...)
{
    WITH_MODE(flags)
    REAL(openat);
    int error = fault((flags & O_ACCMODE) == O_RDONLY ? "openat" : "openat+w", dir, path, HERE);

    if (error > 0) {
        errno = error;
        return -1;
    }
    return real(dir, path, flags, mode);
}

#define WRAP_FCNTL(name)                                                                          \
    int name(int fd, int op, ...)                                                                 \
    {                                                                                             \
        va_list ap;                                                                               \
        va_start(ap, op);                                                                         \
        void *arg = va_arg(ap, void *);                                                           \
        va_end(ap);                                                                               \
        REAL(name);                                                                               \
        bool locks = op == F_SETLK || op == F_GETLK;                                              \
        bool copies = op == F_DUPFD_CLOEXEC || op == F_DUPFD;                                     \
        int error = fault(locks ? "fcntl+lock" : copies ? "fcntl+dup" : "fcntl", fd, NULL, HERE); \
        if (error > 0) {                                                                          \
            errno = error;                                                                        \
            return -1;                                                                            \
        }                                                                                         \
        return real(fd, op, arg);                                                                 \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

int ioctl(int fd, unsigned long op, ...)
{
    va_list ap;

    va_start(ap, op);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    REAL(ioctl);
    int error = fault("ioctl", fd, NULL, HERE);
    if (error <= 0)
        return real(fd, op, arg);
    errno = error;
    return -1;
}

int prctl(int op, ...)
{
    unsigned long v[4];
    va_list ap;

    va_start(ap, op);
    for (int i = 0; i < 4; i++)
        v[i] = va_arg(ap, unsigned long);
    va_end(ap);
    REAL(prctl);
    int error = fault("prctl", -1, NULL, HERE);
    if (error <= 0)
        return real(op, v[0], v[1], v[2], v[3]);
    errno = error;
    return -1;
}

static const char *name_of(long number)
{
    switch (number) {
    case SYS_pidfd_open:
        return "pidfd_open";
    case SYS_pidfd_send_signal:
        return "pidfd_send";
    case SYS_memfd_create:
        return "memfd_create";
    case SYS_openat2:
        return "openat2";
    case SYS_clone3:
        return "clone3";
    case SYS_renameat2:
        return "renameat2";
    default:
        return "syscall";
    }
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long v[6];
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        v[i] = va_arg(ap, long);
    va_end(ap);
    if (real == NULL)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    int error = fault(name_of(number), -1, NULL, HERE);
    if (error <= 0)
        return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
    errno = error;
    return -1;
}

int memfd_create(const char *name, unsigned flags)
{
    REAL(memfd_create);
    int error = fault("memfd_create", -1, NULL, HERE);

    if (error <= 0)
        return real(name, flags);
    errno = error;
    return -1;
}

#define WRAP_MAP(name, off)                                               \
    void *name(void *at, size_t n, int prot, int flags, int fd, off from) \
    {                                                                     \
        REAL(name);                                                       \
        int error = fault("mmap", fd, NULL, HERE);                        \
        if (error <= 0)                                                   \
            return real(at, n, prot, flags, fd, from);                    \
        errno = error;                                                    \
        return MAP_FAILED;                                                \
    }
WRAP_MAP(mmap, off_t)
WRAP_MAP(mmap64, off64_t)

/* The first child is the helper, and what it was forked from is main. */
static pid_t forked(pid_t pid)
{
    if (pid == 0)
        role = role == ROLE_START ? ROLE_HELPER : ROLE_CHILD;
    else if (pid > 0 && role == ROLE_START)
        role = ROLE_MAIN;
    return pid;
}

#define WRAP_FORK(name)                            \
    pid_t name(void)                               \
    {                                              \
        REAL(name);                                \
        int error = fault("fork", -1, NULL, HERE); \
        if (error <= 0)                            \
            return forked(real());                 \
        errno = error;                             \
        return -1;                                 \
    }
WRAP_FORK(fork)
WRAP_FORK(_Fork)

/* Calls of the C library that make system calls themselves, which the shim does not see. */
#define WRAP_POINTER(type, name, params, args, fd, path) \
    type *name params                                    \
    {                                                    \
        REAL(name);                                      \
        int error_ = fault(#name, fd, path, HERE);       \
        if (error_ <= 0)                                 \
            return real args;                            \
        errno = error_;                                  \
        return NULL;                                     \
    }
struct dirent;
typedef struct __dirstream DIR;
DIR *opendir(const char *p);
DIR *fdopendir(int fd);
struct dirent *readdir(DIR *d);
WRAP_POINTER(DIR, opendir, (const char *p), (p), -1, p)
WRAP_POINTER(DIR, fdopendir, (int fd), (fd), fd, NULL)
WRAP_POINTER(struct dirent, readdir, (DIR * d), (d), -1, NULL)
WRAP_POINTER(FILE, fopen, (const char *p, const char *m), (p, m), -1, p)

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    REAL(getaddrinfo);
    int error = fault("getaddrinfo", -1, node, HERE);

    if (error <= 0)
        return real(node, service, hints, out);
    errno = error;
    return error == ENOMEM ? EAI_MEMORY : error == EAGAIN ? EAI_AGAIN : EAI_SYSTEM;
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
    REAL(pthread_create);
    int error = fault("pthread_create", -1, NULL, HERE);

    return error > 0 ? error : real(t, a, f, arg);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);

    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result != 0 || shared == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME))
        return result;
    int64_t more =
        atomic_load(clock == CLOCK_REALTIME ? &shared->realtime_ns : &shared->boottime_ns);
    int64_t sum = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + more;
    now->tv_sec = sum / 1000000000;
    now->tv_nsec = sum % 1000000000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
/* NOLINTEND */
