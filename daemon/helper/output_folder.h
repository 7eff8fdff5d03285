/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_folder - the folder of an output file; driver. helper/output_base opens the fixed folder.
 * The folders below have names that come from an object: they are opened one by one, never through
 * a link, and are made and removed as needed (docs/design.md "File paths").
 */
#ifndef HELPER_OUTPUT_FOLDER_H
#define HELPER_OUTPUT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Open folders: the fixed folder, then each folder inside of the one before. Zeroed is empty. */
struct output_folder {
    int *fds;
    char **names; /* the name of each folder in the one before it; NULL for the fixed folder */
    size_t count;
    size_t made; /* index of the first folder that was made; 0 = no folder was made */
};

/* Opens all folders of path, the path of a file, whose first `fixed` bytes are the fixed folder.
 * With make, the folders below the fixed one are made if they do not exist. Returns 0 or an errno:
 * ELOOP or ENOTDIR for a link where no link is followed; ENOENT with make and count > 0 means that
 * another process has just removed a folder that was made. output_folder_close() releases f after
 * success and error. */
int output_folder_open(struct output_folder *f, const char *path, size_t fixed,
                       bool make) MUST_CHECK;

/* The folder that holds the file: the last one, borrowed. At least one folder is open. */
int output_folder_fd(const struct output_folder *f) MUST_CHECK;

/* Removes empty folders, from the last one upwards, but never the fixed folder. only_made: only
 * folders that output_folder_open() made. */
void output_folder_prune(const struct output_folder *f, bool only_made);

/* Syncs all folders, so that changes in the folder of the file, and that folder itself, last over a
 * power cut. Returns 0 or an errno. */
int output_folder_sync(const struct output_folder *f) MUST_CHECK;

/* Closes all folders; f is empty then. */
void output_folder_close(struct output_folder *f);

#endif
