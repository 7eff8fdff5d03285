/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/cgroup_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "helper/cgroup_file.h"

char *cgroup_tree_parse(const char *text)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "0::/", 4) == 0)
            return mem_strndup(line + 3, strcspn(line + 3, "\n"));
    }
    return NULL;
}

/* The two places where systemd mounts the hierarchy: alone, and beside cgroups of version 1. */
static const char *find_mount(void)
{
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    struct statfs fs;

    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
            return places[i];
    return NULL;
}

/* The folder of the cgroup of this process; NULL and err if it cannot be found. The caller frees
 * it. */
static char *find_own(struct err *err)
{
    const char *mount = find_mount();
    struct buf text = {0};
    char *folder = NULL;

    if (mount == NULL) {
        err_set(err, ERR_IO, ENOENT, "no cgroup2 file system is mounted at /sys/fs/cgroup");
        return NULL;
    }
    int error = cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", &text);
    char *path = error == 0 ? cgroup_tree_parse(buf_cstr(&text)) : NULL;
    if (path != NULL)
        folder = mem_printf("%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
    else
        err_set(err, ERR_IO, error, "/proc/self/cgroup names no cgroup of version 2");
    free(path);
    buf_free(&text);
    return folder;
}

static char *parent_of(const char *folder)
{
    return mem_strndup(folder, (size_t)(strrchr(folder, '/') - folder));
}

static bool is_owned(const char *folder)
{
    struct stat st;

    return stat(folder, &st) == 0 && st.st_uid == geteuid();
}

/* With User= the cgroup that systemd has delegated belongs to that user, and the slice around it to root.
 * (Below the systemd of a user everything belongs to the user.) */
static bool is_given_to_user(const char *folder)
{
    char *parent = parent_of(folder);
    bool is = geteuid() != 0 && is_owned(folder) && !is_owned(parent);

    free(parent);
    return is;
}

/* systemd marks a cgroup that it has delegated: by the first attribute, which only root can read, and in
 * newer versions by the second one as well. */
static bool is_delegated(const char *folder)
{
    static const char *const marks[] = {"trusted.delegate", "user.delegate"};
    char value[2];

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (getxattr(folder, marks[i], value, sizeof(value)) == 1 && value[0] == '1')
            return true;
    return is_given_to_user(folder);
}

/* The root of the hierarchy has processes and gives controllers to others all the same, and lacks this
 * file. */
static bool is_root(const char *folder)
{
    char *file = mem_printf("%s/cgroup.type", folder);
    bool exists = access(file, F_OK) == 0;

    free(file);
    return !exists;
}

int cgroup_tree_open(int parent, const char *path)
{
    int fd = cgroup_file_folder(parent, path);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Is this a cgroup that DelegateSubgroup= names? A hook may run another informerd, and so may a command
 * of the unit (ExecReload=), which systemd starts in .control: they must not take the cgroups of the
 * service's runs for the remains of a dead informerd. */
static bool is_of_service(const char *own)
{
    const char *name = strrchr(own, '/') + 1;

    return strncmp(name, CGROUP_TREE_RUN, strlen(CGROUP_TREE_RUN)) != 0 &&
           strcmp(name, ".control") != 0;
}

/* Where the tree is: the path, which the caller frees, or NULL and err. systemd wants cgroups below its
 * own only where it has delegated one; with DelegateSubgroup= that is the parent. */
static char *choose(const char *own, bool *is_ours, struct err *err)
{
    char *parent = parent_of(own);

    *is_ours = false;
    if (is_delegated(own)) {
        free(parent);
        return mem_strdup(own);
    }
    if (is_of_service(own) && is_delegated(parent))
        return parent;
    free(parent);
    if (access("/run/systemd/system", F_OK) == 0) {
        err_set(err, ERR_IO, EPERM, "systemd has not delegated %s to informerd (Delegate=yes)",
                own);
        return NULL;
    }
    *is_ours = true;
    return mem_printf("%s/" CGROUP_TREE_PREFIX "%d", own, (int)getpid());
}

void cgroup_tree_enable(int tree)
{
    static const char *const wanted[] = {"+memory", "+pids", "+cpu"};

    /* Each by itself: the others must not fail with one that is not there. */
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        cgroup_file_write(tree, "cgroup.subtree_control", wanted[i]);
}

/* Moves this process into the DAEMON cgroup of the tree. */
static int move(int tree)
{
    if (mkdirat(tree, CGROUP_TREE_DAEMON, 0755) < 0 && errno != EEXIST)
        return errno;
    return cgroup_file_write(tree, CGROUP_TREE_DAEMON "/cgroup.procs", "0");
}

/* Makes the tree ready. The controllers come down to it from the own cgroup, if that is empty by then.
 * Those of the root of the hierarchy are left as they are: they matter to the whole machine. */
static int furnish(const struct cgroup_tree *t, const char *own)
{
    bool moves = (t->is_ours || strcmp(t->path, own) == 0) && !is_root(own);
    int error = moves ? move(t->fd) : 0;

    if (error != 0)
        return error;
    if (t->is_ours && moves) {
        int dir = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        cgroup_tree_enable(dir);
        close(dir);
    }
    cgroup_tree_enable(t->fd);
    return 0;
}

/* Is the folder that is open still the one of this path? */
static bool is_there(int fd, const char *path)
{
    struct stat opened;
    struct stat named;

    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino;
}

/* Makes and locks a tree of our own. Another informerd may take it for that of a dead one and remove it,
 * until it is locked: then it is made again. One in another pid namespace may have the same number: then
 * the name gets one more digit. Returns 0 or an errno. */
static int make(struct cgroup_tree *t)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES; i++) {
        if (mkdir(t->path, 0755) < 0 && errno != EEXIST)
            return errno;
        t->fd = cgroup_tree_open(AT_FDCWD, t->path);
        if (t->fd >= 0 && is_there(t->fd, t->path))
            return 0;
        if (t->fd >= 0) {
            close(t->fd);
        } else if (errno == EWOULDBLOCK) {
            char *next = mem_printf("%s0", t->path);
            free(t->path);
            t->path = next;
        } else if (errno != ENOENT) {
            return errno;
        }
    }
    return EWOULDBLOCK;
}

/* Opens the tree, whose path is set. Returns 0 or an errno. */
static int enter(struct cgroup_tree *t, const char *own)
{
    int made = 0;

    /* A delegated cgroup needs no lock: it is the service's, whose last helper may still be ending runs after
     * a crash of main. */
    if (t->is_ours)
        made = make(t);
    else
        t->fd = cgroup_file_folder(AT_FDCWD, t->path);
    if (t->fd < 0 || made != 0)
        return made != 0 ? made : errno;
    /* Since Linux 5.14. */
    int error = faccessat(t->fd, "cgroup.kill", F_OK, 0) < 0 ? errno : furnish(t, own);
    if (error != 0) {
        unlinkat(t->fd, CGROUP_TREE_DAEMON, AT_REMOVEDIR);
        close(t->fd);
        if (t->is_ours)
            rmdir(t->path);
    }
    return error;
}

enum err_kind cgroup_tree_prepare(struct cgroup_tree *out, struct err *err)
{
    char *own = find_own(err);
    enum err_kind kind = ERR_OK;

    *out = (struct cgroup_tree){.fd = -1};
    if (own == NULL)
        return ERR_IO;
    out->path = choose(own, &out->is_ours, err);
    if (out->path == NULL) {
        kind = ERR_IO;
    } else {
        int error = enter(out, own);

        if (error != 0)
            kind = err_set(err, ERR_IO, error, "%s: %s%s", out->path, strerror(error),
                           error == ENOENT ? " (cgroup.kill needs Linux 5.14)" : "");
    }
    if (kind != ERR_OK) {
        free(out->path);
        *out = (struct cgroup_tree){.fd = -1};
    }
    free(own);
    return kind;
}

void cgroup_tree_close(struct cgroup_tree *t)
{
    if (t->path == NULL)
        return;
    close(t->fd);
    free(t->path);
    *t = (struct cgroup_tree){.fd = -1};
}
