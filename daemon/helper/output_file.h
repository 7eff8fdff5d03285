/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file - one output file (the target) in its open folder, and the new file beside it, which
 * replaces the target once it is complete; driver. Links are never followed. Functions that return
 * an int return 0 or an errno.
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
    char temp[OUTPUT_FILE_TEMP_SIZE]; /* name of the new file, the same in each run */
    int fd;                           /* the new file; -1 = this process has made none */
};

/* Prepares the file `name` of the hook's output in an open folder. folder and name are borrowed.
 * The caller calls this again whenever it has opened the folder again. */
void output_file_init(struct output_file *f, const struct helper_hook *hook, int folder,
                      const char *name);

/* May the target be replaced or removed? It may if it is a file, a link, or does not exist (*exists
 * is false). Otherwise EISDIR for a folder, EOPNOTSUPP for a device and the like, or the errno. */
int output_file_look(const struct output_file *f, bool *exists) MUST_CHECK;

/* Is the target a file without a second name, with the wanted owner and the bytes of input, which
 * has size bytes? If so, it gets the wanted mode if it has another one, and a new file that a crash
 * left is removed. */
bool output_file_is_same(const struct output_file *f, int input, off_t size) MUST_CHECK;

/* Creates the new file, empty and with mode 0600; a new file that a crash left is removed first.
 * ENOENT: the folder is gone. */
int output_file_create(struct output_file *f) MUST_CHECK;

/* Copies size bytes of input, from its start, to the new file. is_told(arg) is asked again and
 * again whether the run was told to end: then EINTR. */
int output_file_fill(const struct output_file *f, int input, off_t size, bool (*is_told)(void *arg),
                     void *arg) MUST_CHECK;

/* Gives the new file the wanted owner. To be called before output_file_set_mode(), because chown()
 * may clear bits of the mode. */
int output_file_own(const struct output_file *f) MUST_CHECK;

/* Gives the new file the wanted mode. */
int output_file_set_mode(const struct output_file *f) MUST_CHECK;

/* Renames the new file over the target and closes it. ESTALE: another process has replaced the new
 * file. */
int output_file_commit(struct output_file *f) MUST_CHECK;

/* Removes the target, and a new file that a crash left; *existed: there was a target. */
int output_file_remove(const struct output_file *f, bool *existed) MUST_CHECK;

/* Removes the new file, unless it has replaced the target, and closes it. */
void output_file_drop(struct output_file *f);

#endif
