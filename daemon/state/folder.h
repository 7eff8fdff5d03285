/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder - the folder of the state: ours alone (0700), locked as long as this process has it, with
 * the names of what is in it; driver of the file system.
 */
#ifndef STATE_FOLDER_H
#define STATE_FOLDER_H

#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"
#include "state/commit_counter.h"

/* Never changes once it is open, but for the witness: other threads may read it. */
struct folder {
    char *path;
    char *db;    /* the file of the state */
    char *wal;   /* SQLite's, beside it */
    char *shm;   /* the same */
    char *aside; /* what a file that cannot be used is renamed to */
    char *aside_wal;
    int lock;
    int dir; /* the folder itself, locked as well: files are deleted more easily */
    struct commit_counter *commit_counter; /* of the loader and the writer, one after the other */
};

/* What a person can do about an error of the system: text to append, perhaps empty. */
const char *folder_advice(int error);

/* For a process that will become another user: makes the folder if it is missing, and gives it, with
 * the files of ours in it, to the user if it is the caller's. Its parent must be there. ERR_CONFIG:
 * it is not a folder, or holds other things. */
enum err_kind folder_prepare(const char *path, uid_t uid, gid_t gid, struct err *err) MUST_CHECK;

/* Makes nothing: would the folder be refused to a process that runs as uid, as far as the caller can
 * see? ERR_CONFIG as of folder_open(). */
enum err_kind folder_check(const char *path, uid_t uid, struct err *err) MUST_CHECK;

/* Makes the folder if it is missing (its parent must be there), and locks it. ERR_BUSY: another
 * process has it, which the text names. ERR_CONFIG: it is not a folder, or not ours, or holds other
 * things and is open to other users. ERR_IO: it cannot be used now. On an error *out is NULL. */
enum err_kind folder_open(const char *path, struct folder **out, struct err *err) MUST_CHECK;

/* Unlocks it and sets *f to NULL. NULL is fine. */
void folder_close(struct folder **f);

/* Renames the file of the state, with what SQLite keeps beside it, over the one that was set aside
 * before. No connection may be open. No file is no error. */
enum err_kind folder_set_aside(const struct folder *f, struct err *err) MUST_CHECK;

#endif
