/* SPDX-License-Identifier: Apache-2.0 */
#include "state/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, SET_ASIDE_MAX = 9 };

static enum err_kind fail(struct err *err, const char *path, const char *what)
{
    return err_set(err, ERR_IO, errno, "state_dir %s: %s: %s", path, what, strerrordesc_np(errno));
}

static enum err_kind make(const char *path, struct err *err)
{
    if (mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST)
        return ERR_OK;
    if (errno == ENOENT)
        return err_set(err, ERR_CONFIG, errno,
                       "state_dir %s cannot be made: the folder that it lies in does not exist",
                       path);
    return fail(err, path, "cannot be made");
}

static enum err_kind open_dir(const char *path, int *fd, struct stat *st, struct err *err)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOTDIR)
        return err_set(err, ERR_CONFIG, errno, "state_dir %s is not a folder", path);
    if (*fd < 0)
        return fail(err, path, "cannot be opened");
    if (fstat(*fd, st) == 0)
        return ERR_OK;
    fail(err, path, "cannot be looked at");
    close(*fd);
    return err->kind;
}

enum err_kind folder_prepare(const char *path, uid_t uid, gid_t gid, struct err *err)
{
    enum err_kind kind = ERR_OK;
    struct stat st = {0};
    int fd = -1;

    if (make(path, err) != ERR_OK || open_dir(path, &fd, &st, err) != ERR_OK)
        return err->kind;
    if (st.st_uid == geteuid() && st.st_uid != uid && fchown(fd, uid, gid) != 0)
        kind = fail(err, path, "cannot be given to the user of informerd");
    close(fd);
    return kind;
}

/* What others can read or write would be neither secret nor to be trusted. */
static enum err_kind make_ours(const char *path, int fd, const struct stat *st, struct err *err)
{
    if (st->st_uid != geteuid())
        return err_set(err, ERR_CONFIG, 0,
                       "state_dir %s belongs to uid %u, and informerd runs as uid %u: give it to "
                       "that user (chown)",
                       path, (unsigned)st->st_uid, (unsigned)geteuid());
    if ((st->st_mode & 077) != 0 && fchmod(fd, FOLDER_MODE) != 0 && errno != EROFS)
        return fail(err, path, "cannot be closed to other users");
    return ERR_OK;
}

/* For people only: that a full disk does not take it is no reason not to start. Always of the same
 * length, so that nothing is left of the number before. */
static void say_pid(int fd)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%-12ld\n", (long)getpid());
    ssize_t written = pwrite(fd, text, (size_t)n, 0);

    (void)written;
}

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

/* A folder that cannot be written is locked by what is there, in the end by itself. */
static int open_lock(int dir)
{
    int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

    if (fd < 0)
        fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : fcntl(dir, F_DUPFD_CLOEXEC, 0);
}

static enum err_kind lock(int dir, const char *path, int *out, struct err *err)
{
    int fd = open_lock(dir);

    if (fd < 0)
        return fail(err, path, "cannot be locked");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        say_pid(fd);
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

enum err_kind folder_open(const char *path, struct folder **out, struct err *err)
{
    struct stat st = {0};
    int dir = -1;
    int fd = -1;

    *out = NULL;
    if (make(path, err) != ERR_OK || open_dir(path, &dir, &st, err) != ERR_OK)
        return err->kind;
    enum err_kind kind = make_ours(path, dir, &st, err);
    if (kind == ERR_OK)
        kind = lock(dir, path, &fd, err);
    close(dir);
    if (kind != ERR_OK)
        return kind;
    *out = MEM_NEW(struct folder, .path = mem_strdup(path), .db = mem_printf("%s/state.db", path),
                   .wal = mem_printf("%s/state.db-wal", path),
                   .shm = mem_printf("%s/state.db-shm", path),
                   .aside = mem_printf("%s/state.db.aside", path),
                   .aside_wal = mem_printf("%s/state.db.aside-wal", path), .lock = fd);
    return ERR_OK;
}

void folder_close(struct folder **fp)
{
    struct folder *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    close(f->lock);
    free(f->path);
    free(f->db);
    free(f->wal);
    free(f->shm);
    free(f->aside);
    free(f->aside_wal);
    free(f);
}

/* A folder in the place of the file cannot take the place of a file: it gets a name with a
 * number. */
static int rename_away(const struct folder *f)
{
    if (rename(f->db, f->aside) == 0)
        return 0;
    for (int i = 2; i <= SET_ASIDE_MAX &&
                    (errno == ENOTDIR || errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST);
         i++) {
        char *name = mem_printf("%s-%d", f->aside, i);
        int result = rename(f->db, name);

        free(name);
        if (result == 0)
            return 0;
    }
    return -1;
}

enum err_kind folder_set_aside(const struct folder *f, struct err *err)
{
    if (rename_away(f) != 0 && errno != ENOENT)
        return fail(err, f->path, "state.db cannot be renamed");
    /* Beside another file their bytes would be taken for its own. */
    if (rename(f->wal, f->aside_wal) != 0 && unlink(f->wal) != 0 && errno != ENOENT)
        return fail(err, f->path, "state.db-wal cannot be renamed");
    if (unlink(f->shm) != 0 && errno != ENOENT)
        return fail(err, f->path, "state.db-shm cannot be deleted");
    return ERR_OK;
}
