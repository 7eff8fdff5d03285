/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_folder - the folder of an output file: its fixed part is opened as output_base does, what
 * comes from an object's names one by one and never through a link, and is made and removed as
 * needed; driver.
 */
#ifndef HELPER_OUTPUT_FOLDER_H
#define HELPER_OUTPUT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Open folders: the fixed one, then each that is inside the one before. Zeroed is empty. */
struct output_folder {
    int *fds;
    char **names; /* of the others in the one before; the fixed one has none */
    size_t count;
    size_t made; /* the first that was made; 0 = none was */
};

/* Opens all folders of path, a file's, of which the first fixed bytes are the fixed folder. With
 * make, others that do not exist are made. Returns 0 or an errno: ELOOP is a link where none is
 * followed; ENOENT when the fixed one is open means that somebody removes what is made. Closed with
 * output_folder_close() in any case. */
int output_folder_open(struct output_folder *f, const char *path, size_t fixed,
                       bool make) MUST_CHECK;

/* The file's own folder, borrowed. */
int output_folder_fd(const struct output_folder *f) MUST_CHECK;

/* Removes those that are empty, but the fixed one, from the end; only_made leaves those that were
 * there when it was opened. */
void output_folder_prune(const struct output_folder *f, bool only_made);

/* Makes what happened in the file's folder last, and that there is one. Returns 0 or an errno. */
int output_folder_sync(const struct output_folder *f) MUST_CHECK;

/* Closes all and empties it. */
void output_folder_close(struct output_folder *f);

#endif
