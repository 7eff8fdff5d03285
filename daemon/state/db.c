/* SPDX-License-Identifier: Apache-2.0 */
#include "state/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"

/* How long SQLite waits for a lock that our other connection has, or a person who looked at the file
 * with sqlite3 before informerd opened it. */
enum { BUSY_MS = 5000 };

enum err_kind db_fail(struct sqlite3 *db, int rc, struct err *err)
{
    int last = errno;
    int system = db != NULL ? sqlite3_system_errno(db) : 0;

    /* When COMMIT fails, SQLite does not keep the system's error, but errno still has it. */
    if (system == 0 && (rc & 0xff) == SQLITE_IOERR)
        system = last;
    /* check_writable() has found the file writable, so it is the header of the database that
     * forbids writing: a format version that this SQLite does not write. */
    if (rc == SQLITE_READONLY)
        return err_set(err, ERR_PROTOCOL, rc, "it is damaged: it is marked as not to be written");
    switch (rc & 0xff) {
    case SQLITE_NOTADB:
        return err_set(err, ERR_PROTOCOL, rc, "it is not an SQLite file");
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:    /* a table or column is missing */
    case SQLITE_MISMATCH: /* a value has another type */
    case SQLITE_CONSTRAINT:
        return err_set(err, ERR_PROTOCOL, rc, "it is damaged: %s", sqlite3_errmsg(db));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_BUSY, rc, "another process holds state.db (fuser tells which)");
    case SQLITE_MISUSE:
        panic("SQLite was misused: %s", sqlite3_errmsg(db));
    case SQLITE_NOMEM:
        panic("out of memory in SQLite");
    default:
        if ((rc & 0xff) == SQLITE_FULL)
            system = ENOSPC;
        /* The system's text says more than SQLite's. */
        return err_set(err, ERR_IO, system, "%s%s",
                       system != 0 ? strerrordesc_np(system) : sqlite3_errmsg(db),
                       folder_advice(system));
    }
}

enum err_kind db_exec(struct sqlite3 *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? ERR_OK : db_fail(db, rc, err);
}

enum err_kind db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out,
                         struct err *err)
{
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);

    return rc == SQLITE_OK ? ERR_OK : db_fail(db, rc, err);
}

enum err_kind db_run(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err)
{
    int rc = sqlite3_step(stmt);
    enum err_kind kind = rc == SQLITE_DONE || rc == SQLITE_ROW ? ERR_OK : db_fail(db, rc, err);

    sqlite3_reset(stmt);
    return kind;
}

enum err_kind db_number(struct sqlite3 *db, const char *sql, int64_t *out, struct err *err)
{
    struct sqlite3_stmt *stmt;

    if (db_prepare(db, sql, &stmt, err) != ERR_OK)
        return err->kind;
    int rc = sqlite3_step(stmt);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    enum err_kind kind = rc == SQLITE_ROW || rc == SQLITE_DONE ? ERR_OK : db_fail(db, rc, err);
    sqlite3_finalize(stmt);
    return kind;
}

static enum err_kind system_error(struct err *err, const char *what)
{
    return err_set(err, ERR_IO, errno, "%s: %s%s", what, strerrordesc_np(errno),
                   folder_advice(errno));
}

/* Makes an empty state.db with mode 0600, as SQLite would make it readable for everybody. SQLite
 * gives state.db-wal the same mode. */
static enum err_kind make_file(const struct folder *f, struct err *err)
{
    int fd = open(f->db, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return system_error(err, "state.db cannot be made");
    return ERR_OK;
}

/* A link or a file of another user would have SQLite read or write bytes that somebody else chose.
 * st is of lstat(), so a link is not followed. */
static enum err_kind check_ours(const char *name, const struct stat *st, struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_PROTOCOL, 0, "%s is not a regular file", name);
    if (st->st_uid != geteuid())
        return err_set(err, ERR_PROTOCOL, 0, "%s belongs to uid %u, and informerd runs as uid %u",
                       name, (unsigned)st->st_uid, (unsigned)geteuid());
    return ERR_OK;
}

/* A file beside state.db may be missing; if it is there, it must be informerd's. */
static enum err_kind look_beside(const char *path, const char *name, struct err *err)
{
    struct stat st;

    return lstat(path, &st) != 0 ? ERR_OK : check_ours(name, &st, err);
}

/* Checks state.db and the two files that SQLite keeps beside it before SQLite opens any of them. */
static enum err_kind look_at_file(const struct folder *f, struct err *err)
{
    struct stat st;

    if (look_beside(f->wal, "state.db-wal", err) != ERR_OK ||
        look_beside(f->shm, "state.db-shm", err) != ERR_OK)
        return err->kind;
    if (lstat(f->db, &st) != 0)
        return system_error(err, "state.db");
    if (check_ours("it", &st, err) != ERR_OK)
        return err->kind;
    if ((st.st_mode & 077) != 0 && chmod(f->db, 0600) != 0 && errno != EROFS)
        return system_error(err, "state.db cannot be closed to other users");
    return ERR_OK;
}

/* For all modes. The file may be damaged or made by somebody else, so nothing in its schema is
 * trusted to run, and the cells of its pages are checked. No page is mapped into memory, where an
 * I/O error would be a SIGBUS. Temporary tables stay in memory, so SQLite makes no other files. */
static const char common[] =
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
    "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF;";

/* DB_LOAD: the exclusive mode keeps the index of the log on the heap, so that no -shm file is made.
 * DB_WRITE: pages of 16 KiB make loads faster (docs/decisions.md "Pages have 16 KiB and SQLite's
 * caches are small"); NORMAL does not sync at commits and no checkpoint runs by itself, as the
 * syncer does both; the log is cut to 16 MiB when it has grown beyond that; deleted content, such
 * as a Secret that is not to be kept any more, does not stay in free pages. */
static const char *const set_up[] = {
    [DB_LOAD] = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=16;", /* pages are read once */
    [DB_WRITE] = "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                 "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=16777216;"
                 "PRAGMA secure_delete=ON;", /* zeroes deleted content */
    [DB_SYNC] = "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;",
};

/* SQLite opens a file that it may not write for reading, and does not say why. The errno of
 * access() gives the reason; if access() finds nothing wrong, the file system is read-only. */
static enum err_kind check_writable(const struct folder *f, struct sqlite3 *db, struct err *err)
{
    if (sqlite3_db_readonly(db, "main") == 0)
        return ERR_OK;
    if (access(f->db, W_OK) == 0)
        errno = EROFS;
    return system_error(err, "state.db");
}

enum {
    WRITE_FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
    LOAD_FLAGS = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
};

/* The VFS unix-none takes no locks. If there is no log, SQLite would make an empty one first, which
 * a read-only disk refuses, so the file is opened as immutable: SQLite then reads no log and takes
 * no locks (docs/decisions.md "The loader opens the file read-only and without locks"). '%', '?' and
 * '#' have a meaning in a URI and are escaped. */
static int open_to_load(const struct folder *f, struct sqlite3 **out)
{
    struct buf uri = {0};

    if (access(f->wal, F_OK) == 0 || errno != ENOENT)
        return sqlite3_open_v2(f->db, out, LOAD_FLAGS, "unix-none");
    buf_puts(&uri, "file:");
    for (const char *p = f->db; *p != '\0'; p++)
        if (strchr("%?#", *p) != NULL)
            buf_printf(&uri, "%%%02x", (unsigned)(unsigned char)*p);
        else
            buf_putc(&uri, *p);
    buf_puts(&uri, "?immutable=1");
    int rc = sqlite3_open_v2(buf_cstr(&uri), out, LOAD_FLAGS | SQLITE_OPEN_URI, "unix-none");
    buf_free(&uri);
    return rc;
}

/* The VFS unix-excl locks the file for all connections of this process, and keeps the index of the
 * log on their heap: a -shm file is mapped into memory, where somebody who truncates it ends the
 * process by SIGBUS (docs/decisions.md "The index of the log is on the heap"). */
static int open_to_write(const struct folder *f, struct sqlite3 **out)
{
    return sqlite3_open_v2(f->db, out, WRITE_FLAGS, "unix-excl");
}

enum err_kind db_open(const struct folder *f, enum db_mode mode, struct sqlite3 **out,
                      struct err *err)
{
    *out = NULL;
    /* The order matters: the file must be there before it is checked, and be checked before SQLite
     * opens it. A connection that could be opened but not configured is closed without a
     * checkpoint. */
    if (mode == DB_WRITE && make_file(f, err) != ERR_OK)
        return err->kind;
    if (look_at_file(f, err) != ERR_OK)
        return err->kind;
    int rc = mode == DB_LOAD ? open_to_load(f, out) : open_to_write(f, out);
    enum err_kind kind = rc == SQLITE_OK ? ERR_OK : db_fail(*out, rc, err);
    if (kind == ERR_OK && mode != DB_LOAD)
        kind = check_writable(f, *out, err);
    if (kind == ERR_OK) {
        /* DEFENSIVE forbids statements that could damage the file. A DB_LOAD connection must not
         * make a checkpoint when it closes: it writes nothing. */
        sqlite3_extended_result_codes(*out, 1);
        sqlite3_busy_timeout(*out, BUSY_MS);
        sqlite3_db_config(*out, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, mode == DB_LOAD, NULL);
        kind = db_exec(*out, common, err);
    }
    if (kind == ERR_OK)
        kind = db_exec(*out, set_up[mode], err);
    if (kind != ERR_OK)
        db_drop(out);
    else if (mode == DB_WRITE)
        unlink(f->shm); /* an older release that was killed left it; the lock is ours now */
    return kind;
}

bool db_is_in_place(struct sqlite3 *db)
{
    int has_moved = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved == 0;
}

/* keep: SQLite moves the log into the file if this is the last connection. Statements that are left
 * would keep the connection from closing, so they are released first. */
static void close_as(struct sqlite3 **dbp, bool keep)
{
    struct sqlite3 *db = *dbp;

    if (db == NULL)
        return;
    *dbp = NULL;
    if (!keep)
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(db, NULL)) != NULL;)
        sqlite3_finalize(stmt);
    ensure(sqlite3_close(db) == SQLITE_OK);
}

void db_close(struct sqlite3 **db)
{
    close_as(db, true);
}

void db_drop(struct sqlite3 **db)
{
    close_as(db, false);
}
