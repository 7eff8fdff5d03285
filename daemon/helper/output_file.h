/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file - one output file in its open folder, and the file beside it that takes its place
 * once it is complete; driver. Links are never followed. What returns
 * an int returns 0 or an errno.
 */
#ifndef HELPER_OUTPUT_FILE_H
#define HELPER_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "helper/helper.h"

enum { OUTPUT_FILE_TEMP_SIZE = 48 };

struct output_file {
    const struct helper_output *output;
    int folder;
    const char *name;
    char temp[OUTPUT_FILE_TEMP_SIZE]; /* name of the new one, the same for each run */
    int fd;                           /* the new one; -1 = there is none of ours */
};

/* folder and name are borrowed, and change when the folder is opened again. */
void output_file_init(struct output_file *f, const struct helper_hook *hook, int folder,
                      const char *name);

/* Is the target something that may be replaced or removed: a file, a link, or nothing (*exists)?
 * EISDIR, EOPNOTSUPP for devices and the like. */
int output_file_look(const struct output_file *f, bool *exists) MUST_CHECK;

/* Is the target a file of its own with the owner that is wanted and the bytes of input, which has
 * size of them? Then it has the mode that is wanted: was given it if it had another. What a crash
 * left is gone, too. */
bool output_file_is_same(const struct output_file *f, int input, off_t size) MUST_CHECK;

/* Makes the new one, empty and nobody else's; one that a crash left is removed. ENOENT: the folder
 * is gone. */
int output_file_create(struct output_file *f) MUST_CHECK;

/* Fills it with what input has, until told to stop (EINTR). */
int output_file_fill(const struct output_file *f, int input, off_t size, bool (*is_told)(void *arg),
                     void *arg) MUST_CHECK;

/* Gives it the owner. Before the mode: a change of it may take bits of that away. */
int output_file_own(const struct output_file *f) MUST_CHECK;

/* Gives it the mode. */
int output_file_set_mode(const struct output_file *f) MUST_CHECK;

/* Puts it in the target's place. ESTALE: it is not ours any more. */
int output_file_commit(struct output_file *f) MUST_CHECK;

/* Removes the target; *existed tells if there was one. What a crash left goes, too. */
int output_file_remove(const struct output_file *f, bool *existed) MUST_CHECK;

/* Removes the new one unless it is in place, and closes it. */
void output_file_drop(struct output_file *f);

#endif
