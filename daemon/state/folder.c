/* SPDX-License-Identifier: Apache-2.0 */
#include "state/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* SET_ASIDE_MAX: the last number that rename_away() puts behind a name. */
enum { FOLDER_MODE = 0700, FILE_MODE = 0600, SET_ASIDE_MAX = 9 };

const char *folder_advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return ": free some space";
    case EACCES:
    case EPERM:
        return ": folder and files must belong to the user of informerd (chown), who may read and"
               " write them (chmod)";
    case EROFS:
        return ": mount it for writing";
    default:
        return "";
    }
}

static enum err_kind fail(struct err *err, const char *path, const char *what)
{
    return err_set(err, ERR_IO, errno, "state_dir %s: %s: %s%s", path, what, strerrordesc_np(errno),
                   folder_advice(errno));
}

/* A folder around state_dir that is missing or is a file is a mistake in the configuration (exit
 * status 78); any other error may pass. */
static enum err_kind not_made(const char *path, struct err *err)
{
    if (errno == ENOENT)
        return err_set(err, ERR_CONFIG, errno,
                       "state_dir %s: its parent folder does not exist: make that one first", path);
    if (errno == ENOTDIR)
        return err_set(err, ERR_CONFIG, errno,
                       "state_dir %s: its parent is not a folder: name another place", path);
    return fail(err, path, "cannot be made");
}

static enum err_kind make(const char *path, struct err *err)
{
    return mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST ? ERR_OK : not_made(path, err);
}

static enum err_kind not_opened(const char *path, struct err *err)
{
    if (errno == ENOTDIR)
        return err_set(err, ERR_CONFIG, errno, "state_dir %s is not a folder: name one", path);
    if (errno == ENOENT) /* mkdir() found something of that name */
        return err_set(err, ERR_CONFIG, errno, "state_dir %s is a link to nothing", path);
    return fail(err, path, "cannot be opened");
}

static enum err_kind open_dir(const char *path, int *fd, struct stat *st, struct err *err)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return not_opened(path, err);
    if (fstat(*fd, st) == 0)
        return ERR_OK;
    fail(err, path, "cannot be looked at");
    close(*fd);
    return err->kind;
}

static bool is_one_of(const char *name, const char *const *all)
{
    while (*all != NULL && strcmp(*all, name) != 0)
        all++;
    return *all != NULL;
}

/* Whether the folder is empty or holds a file of informerd's. The folder lost+found does not count:
 * a file system of its own begins with it. */
static bool could_be_ours(int fd)
{
    static const char *const nothing[] = {".", "..", "lost+found", NULL};
    static const char *const ours[] = {"lock", "state.db", "state.db.aside", NULL};
    /* closedir() closes its descriptor, so readdir() gets a copy of the caller's. */
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    bool is_empty = true;
    bool is_ours = false;

    if (dir == NULL)
        return false;
    for (const struct dirent *e; !is_ours && (e = readdir(dir)) != NULL;) {
        is_ours = is_one_of(e->d_name, ours);
        is_empty = is_empty && is_one_of(e->d_name, nothing);
    }
    closedir(dir);
    return is_empty || is_ours;
}

/* Guards against state_dir = "/var/lib" by mistake: informerd must not close that folder to
 * everybody else (docs/decisions.md "Only a folder of informerd's own is closed to others"). */
static enum err_kind check_content(const char *path, int fd, struct err *err)
{
    if (could_be_ours(fd))
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "state_dir %s holds files that are not informerd's: name a folder of its own",
                   path);
}

/* Gives the folder and the files of an earlier start, which ran as another user, to uid. The caller
 * may be root, so only files that nobody else could have put there are given away: regular files
 * with one link, of the folder's owner, in a folder that nobody else could write. The files go
 * first: once the folder belongs to uid, that user could swap them. */
static enum err_kind give(const char *path, int fd, const struct stat *st, uid_t uid, gid_t gid,
                          struct err *err)
{
    static const char *const names[] = {"lock",         "state.db",       "state.db-wal",
                                        "state.db-shm", "state.db.aside", "state.db.aside-wal"};
    struct stat file;

    if (check_content(path, fd, err) != ERR_OK)
        return err->kind;
    for (size_t i = 0; (st->st_mode & 022) == 0 && i < sizeof(names) / sizeof(names[0]); i++)
        if (fstatat(fd, names[i], &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
            file.st_nlink == 1 && file.st_uid == st->st_uid &&
            fchownat(fd, names[i], uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
            break; /* the process that opens the file reports the error */
    if (fchown(fd, uid, gid) != 0)
        return fail(err, path, "cannot be given to the user of informerd");
    return ERR_OK;
}

enum err_kind folder_prepare(const char *path, uid_t uid, gid_t gid, struct err *err)
{
    enum err_kind kind = ERR_OK;
    struct stat st = {0};
    int fd = -1;

    if (make(path, err) != ERR_OK || open_dir(path, &fd, &st, err) != ERR_OK)
        return err->kind;
    /* A folder of a third user is left alone here: folder_open() refuses it. */
    if (st.st_uid == geteuid() && st.st_uid != uid)
        kind = give(path, fd, &st, uid, gid, err);
    close(fd);
    return kind;
}

static bool is_closed(const struct stat *st)
{
    return (st->st_mode & 077) == 0;
}

/* A folder that others can read or write keeps no secrets and cannot be trusted. If uid owns it,
 * and it is empty or holds informerd's files, it is accepted here and folder_open() closes it. */
static enum err_kind check_owner(const char *path, int fd, const struct stat *st, uid_t uid,
                                 struct err *err)
{
    if (st->st_uid == uid && is_closed(st))
        return ERR_OK;
    if (check_content(path, fd, err) != ERR_OK)
        return err->kind;
    if (st->st_uid != uid)
        return err_set(err, ERR_CONFIG, 0,
                       "state_dir %s belongs to uid %u, and informerd runs as uid %u: give it "
                       "and its files to the latter (chown -R), or name another folder",
                       path, (unsigned)st->st_uid, (unsigned)uid);
    return ERR_OK;
}

enum err_kind folder_check(const char *path, uid_t uid, struct err *err)
{
    struct stat st;

    /* A missing folder could be made if there is a folder around it. EACCES decides nothing: the
     * caller may not look there, but the process that will run as uid may. */
    if (lstat(path, &st) != 0 && errno == ENOENT) {
        char *copy = mem_strdup(path);
        bool is_there = stat(dirname(copy), &st) == 0;

        free(copy);
        return is_there || errno == EACCES ? ERR_OK : not_made(path, err);
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? ERR_OK : not_opened(path, err);
    enum err_kind kind = ERR_OK;
    if (fstat(fd, &st) == 0)
        kind = st.st_uid == geteuid() && st.st_uid != uid
                   ? check_content(path, fd, err) /* folder_prepare() would give it away */
                   : check_owner(path, fd, &st, uid, err);
    close(fd);
    return kind;
}

/* Writes the process number into the lock file, for people and for say_in_use(). A full disk is no
 * reason not to start, so an error is ignored. The line always has 13 bytes, so nothing of the
 * number before is left, and the commit counter's line behind it keeps its place. */
static void say_pid(int fd)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%-12ld\n", (long)getpid());
    ssize_t written = pwrite(fd, text, (size_t)n, 0);

    (void)written;
}

/* The other process wrote its number at its start; on a full or read-only disk there may be
 * none. */
static enum err_kind say_in_use(int fd, const char *path, struct err *err)
{
    char text[16] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;

    if (pid > 0)
        return err_set(err, ERR_BUSY, 0,
                       "state_dir %s is in use by process %ld: stop that one, or give this one a "
                       "state_dir of its own",
                       path, pid);
    return err_set(err, ERR_BUSY, 0,
                   "state_dir %s is in use by another process: stop that one, or give this one a "
                   "state_dir of its own",
                   path);
}

/* Locks the folder and the lock file. The lock on the file works everywhere, but somebody may
 * delete the file; so the folder is locked as well where that can be done (not over NFS). If the
 * folder cannot be written, a lock file that is there is opened for reading, and without one the
 * folder itself is used, so that a read-only state can be locked, too. */
static enum err_kind lock(int dir, const char *path, int *out, struct err *err)
{
    enum { FLAGS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    int fd = openat(dir, "lock", O_RDWR | O_CREAT | FLAGS, FILE_MODE);

    if (fd < 0)
        fd = openat(dir, "lock", O_RDONLY | FLAGS);
    if (fd < 0)
        fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return fail(err, path, "cannot be locked");
    bool is_taken = flock(dir, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *out = fd;
        return ERR_OK;
    }
    if (errno == EWOULDBLOCK)
        say_in_use(fd, path, err);
    else
        fail(err, path, "cannot be locked");
    close(fd);
    return err->kind;
}

/* Opens the folder, closes it to other users, and locks it. On a read-only file system the mode cannot
 * be changed, and the state is still worth reading. */
static enum err_kind take(const char *path, struct folder_lock *out, struct err *err)
{
    struct stat st = {0};

    if (open_dir(path, &out->dir, &st, err) != ERR_OK)
        return err->kind;
    enum err_kind kind = check_owner(path, out->dir, &st, geteuid(), err);
    if (kind == ERR_OK && !is_closed(&st) && fchmod(out->dir, FOLDER_MODE) != 0 && errno != EROFS)
        kind = fail(err, path, "cannot be closed to other users");
    if (kind == ERR_OK)
        kind = lock(out->dir, path, &out->file, err);
    if (kind != ERR_OK)
        close(out->dir);
    return kind;
}

static void let_go(struct folder_lock *l)
{
    close(l->file);
    close(l->dir);
}

enum err_kind folder_open(const char *path, struct folder **out, struct err *err)
{
    struct folder_lock taken = {-1, -1};

    *out = NULL;
    if (make(path, err) != ERR_OK || take(path, &taken, err) != ERR_OK)
        return err->kind;
    /* Only now does this process own the lock file, and may read the number of commits and write
     * its own process number. */
    struct commit_counter *commit_counter = commit_counter_create(taken.dir, taken.file);
    say_pid(taken.file);
    *out = MEM_NEW(struct folder, .path = mem_strdup(path), .db = mem_printf("%s/state.db", path),
                   .wal = mem_printf("%s/state.db-wal", path),
                   .shm = mem_printf("%s/state.db-shm", path),
                   .aside = mem_printf("%s/state.db.aside", path),
                   .aside_wal = mem_printf("%s/state.db.aside-wal", path),
                   .lock = MEM_NEW(struct folder_lock, taken.file, taken.dir),
                   .commit_counter = commit_counter);
    return ERR_OK;
}

void folder_close(struct folder **fp)
{
    struct folder *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    commit_counter_destroy(&f->commit_counter);
    let_go(f->lock);
    free(f->lock);
    free(f->path);
    free(f->db);
    free(f->wal);
    free(f->shm);
    free(f->aside);
    free(f->aside_wal);
    free(f);
}

/* Renames path to aside. rename() replaces a file, but a folder that somebody put in the place of a
 * file cannot replace one: it gets the name with a number behind it. */
static int rename_away(const char *path, const char *aside)
{
    if (rename(path, aside) == 0)
        return 0;
    for (int i = 2; i <= SET_ASIDE_MAX &&
                    (errno == ENOTDIR || errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST);
         i++) {
        char *name = mem_printf("%s-%d", aside, i);
        int result = rename(path, name);

        free(name);
        if (result == 0)
            return 0;
    }
    return -1;
}

/* Locks the folder that somebody put in the place of the one that is locked: otherwise a second informerd
 * could use it as well, and the number of commits in its lock file would be another state's. */
static enum err_kind follow(const struct folder *f, struct err *err)
{
    struct folder_lock taken = {-1, -1};
    struct stat here;
    struct stat ours;

    if (stat(f->path, &here) != 0 || fstat(f->lock->dir, &ours) != 0 ||
        (here.st_ino == ours.st_ino && here.st_dev == ours.st_dev))
        return ERR_OK;
    if (take(f->path, &taken, err) != ERR_OK)
        return err->kind;
    let_go(f->lock);
    *f->lock = taken;
    commit_counter_move(f->commit_counter, taken.dir, taken.file);
    say_pid(taken.file);
    return ERR_OK;
}

enum err_kind folder_set_aside(const struct folder *f, struct err *err)
{
    if (follow(f, err) != ERR_OK)
        return err->kind;
    if (rename_away(f->db, f->aside) != 0 && errno != ENOENT)
        return fail(err, f->path, "state.db cannot be renamed");
    /* A log beside another database file would be read as that file's, so the log is renamed
     * together with its file, and the log of the file that was set aside before is deleted
     * first. */
    unlink(f->aside_wal);
    if (rename_away(f->wal, f->aside_wal) != 0 && errno != ENOENT)
        return fail(err, f->path, "state.db-wal cannot be renamed");
    /* The -shm file is an index of the log, which an older release left. It is renamed only if it cannot
     * be deleted: then it is a folder. */
    if (unlink(f->shm) != 0 && errno != ENOENT && rename_away(f->shm, f->aside_wal) != 0)
        return fail(err, f->path, "state.db-shm cannot be deleted");
    /* The next file begins with its first commit. */
    commit_counter_set(f->commit_counter, 0);
    return ERR_OK;
}
