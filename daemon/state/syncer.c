/* SPDX-License-Identifier: Apache-2.0 */
#include "state/syncer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "state/db.h"

/* A checkpoint waits this long for readers, and the writer waits for the checkpoint. */
enum { HOLD_UP_MS = 100 };

/* Whether the file begins like a log of SQLite. Without this header SQLite would read nothing of
 * it, so a sync would only seem to save the commits. The fourth byte is 0x82 or 0x83, by the order
 * of bytes in the checksums. */
static bool is_log(int fd)
{
    static const unsigned char magic[] = {0x37, 0x7f, 0x06};
    unsigned char head[sizeof(magic)] = {0};

    return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           memcmp(head, magic, sizeof(magic)) == 0;
}

/* Syncs the log. When a process closes a file, the kernel drops all its POSIX locks on that file;
 * SQLite's are on state.db, so opening and closing the log here is safe. */
static enum err_kind sync_log(const struct folder *f, struct err *err)
{
    enum err_kind kind = ERR_OK;
    int fd = open(f->wal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, errno, "somebody deleted state.db-wal");
    if (fd < 0)
        return err_set(err, ERR_IO, errno, "state.db-wal: %s", strerrordesc_np(errno));
    if (!is_log(fd))
        kind = err_set(err, ERR_NOT_FOUND, 0, "somebody emptied state.db-wal");
    else if (fdatasync(fd) != 0)
        kind = err_set(err, ERR_IO, errno, "sync of state.db-wal: %s", strerrordesc_np(errno));
    close(fd);
    return kind;
}

/* Moves the log's pages into state.db in two steps: PASSIVE while the writer goes on, then FULL,
 * which holds the writer up but has only the few pages to move that were added meanwhile. FULL is
 * needed: only a log that was moved completely begins anew, and under a busy writer it would grow
 * for ever. If a reader needs old pages of the log, the writer does not wait for that, and the next
 * checkpoint tries again. */
static enum err_kind move_pages(struct sqlite3 *db, struct err *err)
{
    int in_log;
    int moved;
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);

    if (rc == SQLITE_OK && moved == in_log) {
        sqlite3_busy_timeout(db, HOLD_UP_MS);
        rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
    }
    return rc == SQLITE_OK || rc == SQLITE_BUSY ? ERR_OK : db_fail(db, rc, err);
}

enum err_kind syncer_run(const struct folder *f, bool checkpoint, struct err *err)
{
    struct sqlite3 *db;
    struct stat st;

    if (lstat(f->db, &st) != 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, errno, "somebody deleted state.db");
    /* The log is synced first: a checkpoint that a reader blocks syncs nothing. */
    enum err_kind kind = sync_log(f, err);
    if (kind != ERR_OK || !checkpoint)
        return kind;
    if (db_open(f, DB_SYNC, &db, err) != ERR_OK)
        return err->kind;
    kind = move_pages(db, err);
    db_drop(&db);
    return kind;
}
