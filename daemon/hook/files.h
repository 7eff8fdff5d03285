/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files - which output file belongs to which key of a hook, and what was last seen in it
 * (docs/design.md "Output files"); pure. What was seen goes out as it changes, to be recalled by a
 * later process.
 */
#ifndef HOOK_FILES_H
#define HOOK_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"

struct hook;
struct run;
struct run_result;

/* A file that a key has; in modes batch and snapshot the hook's one file, with an empty key. */
struct file {
    struct map_node node; /* by path */
    size_t source;
    char *key;
    bool contested; /* another key was refused, as its file would have been this one */
    bool seen;      /* what the file holds was written or found by a run */
    bool kept;      /* the sink has been told of it */
    struct list dirty;
    struct digest digest;
    char path[];
};

/* Embedded in its hook. */
struct files {
    char *template; /* NULL = the hook has no output */
    struct map by_path;
    struct list dirty; /* changed since they were put */
    struct list gone;  /* kept, and taken from their keys since */
};

/* What is known of a file. Borrowed. */
struct files_seen {
    struct str path;
    size_t source;          /* SIZE_MAX: the hook has none with that name */
    struct str source_name; /* then it counts */
    struct str key;
    struct digest digest;
};

/* Where that goes. */
struct files_sink {
    void (*put)(void *arg, const struct files_seen *seen);
    void (*drop)(void *arg, struct str path);
};

/* template (base/path_template, ${node_name} replaced) is copied; may be NULL. */
void files_init(struct files *f, const char *template);

/* Frees all of it. */
void files_fini(struct files *f);

/* Says which file the run is about (run->file; NULL = none) before it starts. The first key with a
 * path has it until its file is removed, or the queue knows no such key any more. ERR_CONFIG,
 * ERR_TOO_BIG: there can be no such file, or another key has it; a run that is to remove it then has
 * nothing to do, which is no error. */
enum err_kind files_claim(struct run *run, struct err *err) MUST_CHECK;

/* Takes note of what the run, which ends, has done with its file. True if that is to be applied. */
bool files_ended(const struct run *run, const struct run_result *result);

/* Is it known what the run's file holds? */
bool files_is_seen(const struct run *run);

/* The run's file is gone, or was never there: takes it from its key. True if another key was
 * refused for its sake. */
bool files_forget(const struct run *run);

/* Puts what has changed since it was put last. */
void files_put(struct files *f, const struct files_sink *sink, void *arg);

/* All that was put is lost: the next time everything is. */
void files_touch_all(struct files *f);

/* What an earlier process has seen, before the first run. Ignored if the path has a key. */
void files_restore(struct files *f, const struct files_seen *seen);

/* Appends the path that a key of a source has now; key empty in modes batch and snapshot. False: there
 * can be no such file. */
bool files_path(const struct hook *h, size_t source, struct str key, struct buf *path) MUST_CHECK;

/* Is it the path of a key? */
bool files_has(const struct files *f, struct str path);

/* And has this process seen what it holds, or recalled that? */
bool files_is_written(const struct files *f, struct str path);

/* It is put once more. It must be the path of a key. */
void files_touch(struct files *f, struct str path);

/* What the files hold is to be applied again when it is seen. */
void files_renew(struct files *f);

#endif
