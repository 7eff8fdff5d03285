/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder - the folder of the state (state_dir): it belongs to informerd alone (mode 0700), is
 * locked as long as this process uses it, and gives the names of the files in it; driver of the
 * file system.
 */
#ifndef STATE_FOLDER_H
#define STATE_FOLDER_H

#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"
#include "state/commit_counter.h"

/* The descriptors that are locked. */
struct folder_lock {
    int file;
    int dir; /* the folder itself; locked as well, as somebody may delete the lock file */
};

/* Does not change while it is open, except for the commit counter, so other threads may read it.
 * folder_set_aside() changes the lock. */
struct folder {
    char *path;
    char *db;    /* the database file */
    char *wal;   /* SQLite's write-ahead log */
    char *shm;   /* SQLite's index of the log, as older releases kept it */
    char *aside; /* the name that a database file gets that cannot be used */
    char *aside_wal;
    struct folder_lock *lock;
    struct commit_counter *commit_counter; /* used by the loader, then by the writer */
};

/* The remedy for an errno: a static text to append to a message, "" if there is no
 * advice. */
const char *folder_advice(int error);

/* For a process that will become the user uid: makes the folder if it is missing, and gives it,
 * with informerd's files in it, to that user if it belongs to the caller. The folder around it must
 * exist. ERR_CONFIG: path is not a folder, or holds other files. */
enum err_kind folder_prepare(const char *path, uid_t uid, gid_t gid, struct err *err) MUST_CHECK;

/* For --check: whether folder_open() would refuse the folder to a process that runs as uid, as far
 * as the caller can see. Makes and changes nothing. ERR_CONFIG as folder_open(). */
enum err_kind folder_check(const char *path, uid_t uid, struct err *err) MUST_CHECK;

/* Makes the folder if it is missing (the folder around it must exist), closes it to other users,
 * and locks it. ERR_BUSY: another process has it, and the text names that process. ERR_CONFIG:
 * path is not a folder, or belongs to somebody else, or holds other files and is open to other
 * users. ERR_IO: the folder cannot be used now. *out is NULL after an error; release with
 * folder_close(). */
enum err_kind folder_open(const char *path, struct folder **out, struct err *err) MUST_CHECK;

/* Unlocks the folder, frees f and sets it to NULL. NULL is fine. */
void folder_close(struct folder **f);

/* Renames the database file and its log to state.db.aside and state.db.aside-wal, over the files
 * that were set aside before, and sets the commit counter to 0. No connection may be open. If there
 * is no file, that is no error. If somebody put another folder in the place of this one, locks that one
 * first; errors then as of folder_open(). */
enum err_kind folder_set_aside(const struct folder *f, struct err *err) MUST_CHECK;

#endif
