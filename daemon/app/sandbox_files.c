/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"

/* Newer than the headers of Debian 12 (linux/landlock.h). */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL               (1ULL << 1)
#endif

/* Those of the first version: the bits up to MAKE_SYM. */
#define FIRST_RIGHTS ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

#define FILE_READ LANDLOCK_ACCESS_FS_READ_FILE
#define READ      (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Main only makes ordinary files: seccomp lets it make nothing else. But anything may lie where a file of the
 * state belongs, and to rename it, Landlock wants the right to make one of its kind. */
#define RENAME                                                                                   \
    (LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                            \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_FIFO |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | RENAME)

/* The argument of landlock_create_ruleset(). A kernel takes one that is longer than it knows if the rest
 * is 0. */
struct attributes {
    uint64_t rights;
    uint64_t net_rights;
    uint64_t scopes;
};

struct ruleset {
    int fd;
    uint64_t rights; /* those that this kernel knows; all others are not asked for */
};

/* glibc has no wrappers. */
static int create_ruleset(const struct attributes *a, size_t size, uint32_t flags)
{
    return (int)syscall(SYS_landlock_create_ruleset, a, size, flags);
}

/* Others replace the files in these folders while informerd runs, by rename, so that rules for single files would
 * end: resolv.conf (with links into /run), nsswitch.conf, hosts; the modules of the name
 * service and the files of these modules; unit files and programs, for informerctl doctor; of /proc also its
 * own numbers. */
static const char *const readable[] = {"/etc", "/usr", "/lib", "/lib64", "/run", "/proc"};

/* Lookups of names read these, which may be links to anywhere. */
static const char *const links[] = {"/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts",
                                    "/etc/host.conf", "/etc/gai.conf"};

/* A name that nobody has is no error: it could not be opened anyway. */
static void allow(const struct ruleset *r, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & r->rights,
        .parent_fd = open(path, O_PATH | O_CLOEXEC),
    };

    if (rule.parent_fd < 0)
        return;
    if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        log_warn("the sandbox has no rule for a path: it cannot be used", KV_STR("path", path),
                 KV_STR("err", strerrordesc_np(errno)));
    close(rule.parent_fd);
}

/* A file may be replaced while informerd runs, so its folder counts; but / would be everything. */
static void allow_around(const struct ruleset *r, const char *path, uint64_t rights)
{
    char *copy = mem_strdup(path);
    const char *folder = dirname(copy);

    allow(r, strcmp(folder, "/") == 0 ? path : folder, rights);
    free(copy);
}

static void allow_links(const struct ruleset *r)
{
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        char *file = realpath(links[i], NULL);

        if (file != NULL)
            allow_around(r, file, FILE_READ);
        free(file);
    }
}

/* Somebody may remove the folder of the state and make it anew, or put another one in its place: a rule for
 * the folder itself would not hold for the new one. The path may also be a link to the folder. */
static void allow_state(const struct ruleset *r, const char *path)
{
    char *folder = realpath(path, NULL);

    allow_around(r, path, READ | WRITE);
    if (folder != NULL)
        allow_around(r, folder, READ | WRITE);
    free(folder);
}

static void allow_all(const struct ruleset *r, const struct sandbox_files *files)
{
    for (size_t i = 0; i < ARRAY_LEN(readable); i++)
        allow(r, readable[i], READ);
    allow_links(r);
    allow(r, "/dev/urandom", FILE_READ);
    allow(r, "/dev/null", FILE_READ | LANDLOCK_ACCESS_FS_WRITE_FILE);
    if (files->state_dir != NULL)
        allow_state(r, files->state_dir);
    if (files->socket != NULL)
        allow_around(r, files->socket, LANDLOCK_ACCESS_FS_REMOVE_FILE);
    for (size_t i = 0; i < files->program_count; i++)
        allow_around(r, files->programs[i], FILE_READ);
}

/* Which rights a version of Landlock knows (landlock(7)). */
static struct attributes attributes_of(int version)
{
    struct attributes a = {.rights = FIRST_RIGHTS};
    const char *socket = getenv("NOTIFY_SOCKET");

    if (version >= 2)
        a.rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        a.rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version >= 5)
        a.rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    if (version >= 6)
        a.scopes = LANDLOCK_SCOPE_SIGNAL | LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET;
    /* A service manager may listen at such a socket. */
    if (socket != NULL && socket[0] == '@')
        a.scopes &= ~LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET;
    return a;
}

static bool restrict_files(const struct sandbox_files *files)
{
    int version = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (version < 1)
        return false;
    struct attributes a = attributes_of(version);
    struct ruleset r = {create_ruleset(&a, sizeof(a), 0), a.rights};
    if (r.fd < 0)
        return false;
    allow_all(&r, files);
    bool done = syscall(SYS_landlock_restrict_self, r.fd, 0) == 0;
    int failure = errno;
    close(r.fd);
    errno = failure;
    return done;
}

void sandbox_limit_files(const struct sandbox_files *files)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_files(files))
        return;
    log_info("this kernel does not limit which files main may open (Landlock)",
             KV_STR("err", strerrordesc_np(errno)));
}
