/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file - reads the input of `informerd --replay`: the lines of a recording one after the other,
 * or the objects of a folder, as lines without a source. Each error names file and line.
 */
#ifndef APP_REPLAY_FILE_H
#define APP_REPLAY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cache/recording.h"

struct replay_file;

/* Opens a file, or reads all files FOLDER/NAME.json, in the order of their names, with the rights of
 * now. ERR_CONFIG: path cannot be read, or is an empty folder, or an object in it cannot be used;
 * *out is NULL then. */
enum err_kind replay_file_open(const char *path, struct replay_file **out,
                               struct err *err) MUST_CHECK;

/* Frees it, and sets *f to NULL. NULL is fine. */
void replay_file_close(struct replay_file **f);

/* Is it a folder of objects? */
bool replay_file_is_folder(const struct replay_file *f);

/* The path, as it was given. */
const char *replay_file_path(const struct replay_file *f);

/* The next line begins the file again. */
void replay_file_rewind(struct replay_file *f);

/* Reads the next line into *out, which the caller releases with recording_line_fini(). Of a folder
 * it is a CHANGE with type ADDED and no source. *end: there are no more lines, and *out is empty. A
 * last line without its newline was cut short: it is left out, with a warning the first time.
 * ERR_CONFIG: the line cannot be read. */
enum err_kind replay_file_next(struct replay_file *f, struct recording_line *out, bool *end,
                               struct err *err) MUST_CHECK;

/* "FILE:LINE" of the line that was read last, or the FILE of an object. Borrowed until the next
 * call. */
const char *replay_file_place(struct replay_file *f);

#endif
