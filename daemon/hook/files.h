/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files - which output file belongs to which key of a hook, and what was last seen in it (DESIGN
 * 1.5); pure. What is kept here is forgotten when the process ends. Used by the files of hook and
 * by io/runner alone.
 */
#ifndef HOOK_FILES_H
#define HOOK_FILES_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/map.h"

struct run;
struct run_result;

/* A file that a key has; in modes batch and snapshot the hook's one file, with an empty key. */
struct file {
    struct map_node node; /* by path */
    size_t source;
    char *key;
    bool contested; /* another key was refused, as its file would have been this one */
    bool seen;      /* what the file holds was written or found by a run */
    struct digest digest;
    char path[];
};

/* Embedded in its hook. */
struct files {
    char *template; /* NULL = the hook has no output */
    struct map by_path;
};

/* template (base/path_template, ${node_name} replaced) is copied; may be NULL. */
void files_init(struct files *f, const char *template);

/* Frees all of it. */
void files_fini(struct files *f);

/* Says which file the run is about (run->file; NULL = none) before it starts. The first key with a
 * path has it until its file is removed. ERR_CONFIG, ERR_TOO_BIG: there can be no such file, or
 * another key has it; a run that is to remove it then has nothing to do, which is no error. */
enum err_kind files_claim(struct run *run, struct err *err) MUST_CHECK;

/* Takes note of what the run, which ends, has done with its file. True if that is to be applied. */
bool files_ended(const struct run *run, const struct run_result *result);

/* Is it known what the run's file holds? */
bool files_seen(const struct run *run);

/* The run's file is gone, or was never there: takes it from its key. True if another key was
 * refused for its sake. */
bool files_forget(const struct run *run);

#endif
