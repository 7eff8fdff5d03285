/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/path_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    LINKS_MAX = 40, /* Linux follows as many */
    TRIES = 3,      /* for links that are set anew while they are followed */
    ROOT_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
    STEP_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC,
    READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
};

static const struct path_trust roots_alone;

/* A path on its way from the root folder to its end, one name at a time. */
struct walk {
    const struct path_trust *path_trust;
    struct buf done; /* the path so far: no link in it, no slash at its end; "" = the root folder */
    struct buf rest; /* the rest of the path, from done on */
    int at;          /* O_PATH descriptor of the file or folder at done */
    struct stat st;  /* of the file or folder at done */
    int folder;      /* the folder that holds it; -1 = done is "/", or was reached by ".." */
    int missing;     /* the errno if done does not exist; 0 = it exists */
    unsigned links;  /* links followed so far */
    bool opens;      /* the caller opens the end of the path, but never a device */
    bool shared;  /* done is a sticky folder: others may create files there, but not touch ours */
    bool secret;  /* a folder on the way may not be entered by everybody */
    uid_t holder; /* owner of a folder on the way, who could swap the file; 0 = only root */
    uid_t guide;  /* owner of a link on the way, or named_by; 0 = only root's links */
};

/* The path so far, for messages. */
static const char *shown(struct walk *w)
{
    return w->done.len > 0 ? buf_cstr(&w->done) : "/";
}

/* With an access control list the bits of the group stand for everybody whom the list names.
 * Without one, write permission for root's group gives nobody else anything. */
static bool others_write(const char *path, const struct stat *st)
{
    if ((st->st_mode & S_IWOTH) != 0)
        return true;
    return (st->st_mode & S_IWGRP) != 0 &&
           (st->st_gid != 0 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0);
}

/* May this user own a file, folder or link on the way? */
static enum err_kind check_owner(const struct walk *w, const char *path, uid_t uid, struct err *err)
{
    const uid_t *owners = w->path_trust->owners;

    if (uid == 0 || uid == owners[0] || uid == owners[1])
        return ERR_OK;
    if (owners[0] == 0 && owners[1] == 0)
        return err_set(err, ERR_CONFIG, EPERM,
                       "%s belongs to uid %u: started as root, informerd trusts root's files only "
                       "(chown root)",
                       path, (unsigned)uid);
    return err_set(err, ERR_CONFIG, EPERM,
                   "%s belongs to uid %u: started as root, informerd trusts files here that belong "
                   "to root or to uid %u (chown root, or name the owner of a credential by "
                   "credential_owner)",
                   path, (unsigned)uid, (unsigned)(owners[1] != 0 ? owners[1] : owners[0]));
}

/* Checks the file or folder at done, which is no link, and notes the facts that check_end() needs. A
 * folder that not everybody may enter is secret, but not from its owner: if the guide owns it, he can
 * read its files. */
static enum err_kind check_one(struct walk *w, struct err *err)
{
    const struct stat *st = &w->st;
    const char *path = shown(w);
    bool others = others_write(path, st);

    w->shared = others && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
    if (S_ISDIR(st->st_mode) && st->st_uid != 0)
        w->holder = st->st_uid;
    if (S_ISDIR(st->st_mode) && (st->st_mode & S_IXOTH) == 0 &&
        (st->st_uid == 0 || (w->guide != 0 && st->st_uid != w->guide)))
        w->secret = true;
    /* Not a question of trust: open_seen() refuses it, and the errno says more. */
    if (w->opens && !S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return ERR_OK;
    if (check_owner(w, path, st->st_uid, err) != ERR_OK)
        return err->kind;
    if (others && !w->shared)
        return err_set(err, ERR_CONFIG, EPERM,
                       "%s can be written by others than root (mode %04o): chmod go-w", path,
                       (unsigned)(st->st_mode & 07777));
    return ERR_OK;
}

/* Moves on to the file or folder that fd stands for, and checks it; takes over fd. done names it
 * already. -1: the open has failed, errno says why. */
static enum err_kind arrive(struct walk *w, int fd, struct err *err)
{
    if (w->at >= 0)
        close(w->at);
    w->at = fd;
    if (fd < 0 || fstat(fd, &w->st) != 0)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", shown(w), strerror(errno));
    return check_one(w, err);
}

/* "/" and a folder that ".." leads to are not opened by a name, so open_end() cannot need this. */
static void forget_folder(struct walk *w)
{
    if (w->folder >= 0)
        close(w->folder);
    w->folder = -1;
}

static enum err_kind go_to_root(struct walk *w, struct err *err)
{
    buf_clear(&w->done);
    forget_folder(w);
    return arrive(w, open("/", ROOT_FLAGS), err);
}

static enum err_kind go_up(struct walk *w, struct err *err)
{
    const char *path = buf_cstr(&w->done);
    const char *slash = strrchr(path, '/');

    w->done.len = slash != NULL ? (size_t)(slash - path) : 0;
    forget_folder(w);
    return arrive(w, openat(w->at, "..", ROOT_FLAGS), err);
}

/* From here on another user than root decides where the path leads. A second such user is refused: the
 * file at the end could be readable for one of them only. */
static enum err_kind be_guided(struct walk *w, uid_t uid, struct err *err)
{
    if (uid == 0 || uid == w->guide)
        return ERR_OK;
    if (w->guide != 0)
        return err_set(err, ERR_CONFIG, EPERM,
                       "%s: a symbolic link of uid %u leads to one of uid %u: informerd does not "
                       "follow links of two users",
                       shown(w), (unsigned)w->guide, (unsigned)uid);
    w->guide = uid;
    return ERR_OK;
}

/* Goes on where a link in the folder at done points to. The owner of the link, and whoever could
 * have swapped it, decide where it leads: both are guides. */
static enum err_kind follow(struct walk *w, int link, const struct stat *st, struct err *err)
{
    char target[PATH_MAX];
    struct buf rest = {0};
    ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

    if (n < 0 || ++w->links > LINKS_MAX)
        return err_set(err, ERR_CONFIG, n < 0 ? errno : ELOOP, "%s: %s", shown(w),
                       strerror(n < 0 ? errno : ELOOP));
    if (be_guided(w, st->st_uid, err) != ERR_OK || be_guided(w, w->holder, err) != ERR_OK)
        return err->kind;
    target[n] = '\0';
    buf_printf(&rest, "%s/%s", target, buf_cstr(&w->rest));
    buf_free(&w->rest);
    w->rest = rest;
    return target[0] == '/' ? go_to_root(w, err) : ERR_OK;
}

/* Ends the walk at a name that does not exist: which is fine, unless others may create it later, in
 * a sticky folder. With opens there is no later: open_end() fails with the errno. */
static enum err_kind stop_missing(struct walk *w, const char *name, int error, struct err *err)
{
    buf_printf(&w->done, "/%s", name);
    w->missing = error;
    buf_clear(&w->rest);
    if (!w->shared || w->opens)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, EPERM,
                   "%s does not exist, and others than root can make it: create it as root, or "
                   "name another folder",
                   shown(w));
}

/* Goes on to a file or folder in the folder at done; takes over fd. */
static enum err_kind go_down(struct walk *w, const char *name, int fd, struct err *err)
{
    forget_folder(w);
    w->folder = w->at;
    w->at = -1;
    buf_printf(&w->done, "/%s", name);
    return arrive(w, fd, err);
}

/* Asks for a folder first, because O_PATH triggers an automount only with O_DIRECTORY. -1 with
 * errno set. */
static int open_name(int folder, const char *name)
{
    int fd = openat(folder, name, STEP_FLAGS | O_DIRECTORY);

    return fd < 0 && errno == ENOTDIR ? openat(folder, name, STEP_FLAGS) : fd;
}

/* Goes into the folder, file or link `name` in the folder at done. */
static enum err_kind enter(struct walk *w, const char *name, struct err *err)
{
    int fd = open_name(w->at, name);
    struct stat st;

    if (fd < 0)
        return stop_missing(w, name, errno, err);
    if (fstat(fd, &st) != 0 || !S_ISLNK(st.st_mode))
        return go_down(w, name, fd, err);
    /* Only in a shared folder could others change a link of theirs later. The owner is checked in
     * every folder, so that the rule is the same everywhere. */
    char *path = mem_printf("%s/%s", buf_cstr(&w->done), name);
    enum err_kind kind = check_owner(w, path, st.st_uid, err);
    free(path);
    if (kind == ERR_OK)
        kind = follow(w, fd, &st, err);
    close(fd);
    return kind;
}

/* Takes the next name off rest; the caller frees it. NULL: the path is at its end. */
static char *take_name(struct walk *w)
{
    const char *rest = buf_cstr(&w->rest);
    size_t skip = strspn(rest, "/");
    size_t n = strcspn(rest + skip, "/");
    char *name = n > 0 ? mem_strndup(rest + skip, n) : NULL;

    buf_consume(&w->rest, skip + n);
    return name;
}

static enum err_kind step(struct walk *w, const char *name, struct err *err)
{
    if (strcmp(name, ".") == 0)
        return ERR_OK;
    return strcmp(name, "..") == 0 ? go_up(w, err) : enter(w, name, err);
}

/* Root reads no file for a user who could not read it without informerd. Two tricks are possible: a
 * link (or a kubeconfig) that leads to a file of somebody else, and, in a folder of one's own, a
 * second name (hard link) for a file of somebody else. A file that everybody may read is no
 * secret. */
static enum err_kind check_end(struct walk *w, const char *path, struct err *err)
{
    bool is_open = !w->secret && (w->st.st_mode & S_IROTH) != 0;
    bool has_two_names = S_ISREG(w->st.st_mode) && w->st.st_nlink > 1;
    unsigned uid = w->st.st_uid;

    if (w->guide != 0 && uid != w->guide && !is_open)
        return err_set(err, ERR_CONFIG, EPERM,
                       "%s leads to %s, which belongs to uid %u: root follows a link or a "
                       "kubeconfig of uid %u only to files of uid %u",
                       path, shown(w), uid, (unsigned)w->guide, (unsigned)w->guide);
    if (w->holder != 0 && uid != w->holder && has_two_names && !is_open)
        return err_set(
            err, ERR_CONFIG, EPERM,
            "%s has another hard link, and uid %u could have made this one: copy the file instead",
            shown(w), (unsigned)w->holder);
    return ERR_OK;
}

static enum err_kind walk_to_end(struct walk *w, const char *path, struct err *err)
{
    /* The folders above the working folder count as well: a user who may rename one can swap all. */
    char *here = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    char *name;

    if (here != NULL)
        buf_printf(&w->rest, "%s/", here);
    buf_puts(&w->rest, path);
    free(here);
    enum err_kind kind = go_to_root(w, err);
    while (kind == ERR_OK && (name = take_name(w)) != NULL) {
        kind = step(w, name, err);
        free(name);
    }
    return kind == ERR_OK && w->missing == 0 ? check_end(w, path, err) : kind;
}

static struct walk begin(const struct path_trust *path_trust)
{
    const struct path_trust *t = path_trust != NULL ? path_trust : &roots_alone;

    return (struct walk){.path_trust = t, .at = -1, .folder = -1, .guide = t->named_by};
}

static void end(struct walk *w)
{
    forget_folder(w);
    if (w->at >= 0)
        close(w->at);
    buf_free(&w->done);
    buf_free(&w->rest);
}

enum err_kind path_trust_check(const char *path, const struct path_trust *path_trust,
                               struct err *err)
{
    struct walk w = begin(path_trust);
    enum err_kind kind = walk_to_end(&w, path, err);

    end(&w);
    return kind;
}

/* Returns 0 or an errno. */
static int check_is_file(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return 0;
    return S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
}

/* Opens the file that stat() has described as `seen`, and no other one. A device is not even
 * opened, because its open may have effects. Returns 0 or an errno. */
static int open_seen(int folder, const char *name, const struct stat *seen, int flags, int *fd)
{
    struct stat st;
    int error = check_is_file(seen);

    if (error != 0)
        return error;
    *fd = openat(folder, name, READ_FLAGS | flags);
    if (*fd < 0 || fstat(*fd, &st) != 0)
        error = errno;
    else if (st.st_dev != seen->st_dev || st.st_ino != seen->st_ino)
        error = ESTALE; /* the file was replaced just now: the next try finds the new one */
    if (error != 0 && *fd >= 0)
        close(*fd);
    return error;
}

/* Without root: the kernel checks which files the user may read, and there is nobody to protect from the
 * user's own links. */
static int open_plain(const char *path, int *fd)
{
    struct stat st;

    return stat(path, &st) == 0 ? open_seen(AT_FDCWD, path, &st, 0, fd) : errno;
}

/* Opens the end of the walk by its name in the folder that was checked. O_PATH descriptors cannot
 * be read, so this is a second open, and O_NOFOLLOW keeps a link from taking its place. */
static int open_end(struct walk *w, int *fd)
{
    if (w->missing != 0)
        return w->missing;
    return open_seen(w->folder, strrchr(shown(w), '/') + 1, &w->st, O_NOFOLLOW, fd);
}

/* Checks and opens. Returns 0 or an errno; err is set only if the check has failed. */
static int open_checked(const char *path, const struct path_trust *path_trust, int *fd,
                        struct err *err)
{
    struct walk w = begin(path_trust);
    int error = 0;

    w.opens = true;
    err->kind = walk_to_end(&w, path, err);
    error = err->kind == ERR_OK ? open_end(&w, fd) : err->code;
    end(&w);
    return error;
}

enum err_kind path_trust_open(const char *path, const struct path_trust *path_trust, int *fd,
                              struct err *err)
{
    int error = ENOENT;

    err->kind = ERR_OK;
    if (geteuid() != 0)
        error = open_plain(path, fd);
    /* Kubelet sets the link "..data" of a mounted Secret anew and then removes the old folder: a
     * walk that is under way meets a path that is gone. */
    for (int i = 0; geteuid() == 0 && i < TRIES && (error == ENOENT || error == ESTALE); i++)
        error = open_checked(path, path_trust, fd, err);
    if (error == 0)
        return ERR_OK;
    *fd = -1;
    if (err->kind != ERR_OK)
        return err->kind;
    return err_set(err, ERR_CONFIG, error, "%s: %s", path,
                   error == EINVAL ? "is no regular file" : strerror(error));
}

bool path_trust_equal(const struct path_trust *a, const struct path_trust *b)
{
    return a->owners[0] == b->owners[0] && a->owners[1] == b->owners[1] &&
           a->named_by == b->named_by;
}
