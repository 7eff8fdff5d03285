/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files - which output file belongs to which key of a hook, and the digest of its bytes when a run
 * last wrote or found it (docs/design.md "Output files"); pure. These records go out through a sink
 * as they change, and a later process restores them.
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

/* The files of one object of a hook with files_from. */
struct files_owner {
    struct map_node node; /* in files.by_owner */
    struct list files;
    char id[]; /* source and key of the object: owner_id() in files.c */
};

/* A file that belongs to a key; in modes batch and snapshot the hook's one file, with an empty
 * key. */
struct file {
    struct map_node node; /* in files.by_path */
    size_t source;
    /* With files_from "KEY/MEMBER": the name of the member stands behind the key of its object. */
    char *key;
    struct files_owner *owner; /* with files_from; else NULL */
    struct list sibling;       /* in owner->files */
    bool wanted;               /* used by files_claim(): the object has the member now */
    bool contested;            /* another key was refused because it has the same path */
    bool seen;         /* a run wrote the file or found it equal, and digest is of these bytes */
    bool kept;         /* the sink has a record of it */
    struct list dirty; /* in files.dirty, or files.gone */
    struct digest digest;
    char path[];
};

/* Embedded in its hook. */
struct files {
    char *template;    /* NULL = the hook has no output */
    bool from_members; /* files_from: an object has a file for each member */
    struct map by_path;
    struct map by_owner; /* with files_from */
    struct list dirty;   /* files that changed since they were put */
    struct list gone;    /* files with a record that belong to no key any more */
};

/* The record of a file. Borrowed. */
struct files_seen {
    struct str path;
    size_t source;          /* SIZE_MAX: the hook has no source with that name */
    struct str source_name; /* used if source is SIZE_MAX */
    struct str key;         /* as in struct file */
    /* All zero: no run is known that wrote the file or found it equal. Only with files_from: the
     * record is put before the first run, as nothing else names the file after a crash. */
    struct digest digest;
};

/* Where the records go. */
struct files_sink {
    void (*put)(void *arg, const struct files_seen *seen);
    void (*drop)(void *arg, struct str path);
};

/* Makes it empty. template (base/path_template, with ${node_name} replaced) is copied; NULL = no
 * output. */
void files_init(struct files *f, const char *template, bool from_members);

/* Frees the template and all records. */
void files_fini(struct files *f);

/* Sets run->file to the path of the run's file before the run starts; NULL = the run has none. With
 * files_from it makes run->members: those that the object has, and those that go. The run gets all of
 * their files, or none of them. The first key with a path has the file until it is removed, or until
 * the delivery queue does not know that key any more. ERR_CONFIG, ERR_TOO_BIG: there can be no such
 * file, or another key has it. A run that is to remove such a file has nothing to do, which is no
 * error. */
enum err_kind files_claim(struct run *run, struct err *err) MUST_CHECK;

/* Takes note of the write or removal of its file by the run, which ends. True if the file is to be
 * applied. */
bool files_ended(const struct run *run, const struct run_result *result);

/* How many files the run is about; 0 = there is nothing to do for a run that only has files. */
size_t files_count(const struct run *run);

/* The run has ended, with success or not, or could not be started. wrote: it may have written its
 * files. Its file leaves the key when it was removed, and when the run that claimed it cannot have
 * written it and no earlier run did. True if another key was refused because of it, so that keys that
 * are parked can be tried again. */
bool files_let_go(const struct run *run, bool wrote, bool ok);

/* Puts the records that changed since they were put last, and drops those of files that belong to
 * no key any more. */
void files_put(struct files *f, const struct files_sink *sink, void *arg);

/* The sink has lost everything: the next files_put() puts all records. */
void files_touch_all(struct files *f);

/* Takes over a record of an earlier process; before the first run. Ignored if a key has this path
 * already. */
void files_restore(struct files *f, const struct files_seen *seen);

/* The key of the object in the key of a file or of its record. */
struct str files_object(const struct files *f, struct str key);

/* Appends the path of a file by the present template; key as in struct file, empty in modes batch and
 * snapshot. False: there can be no such file. */
bool files_path(const struct hook *h, size_t source, struct str key, struct buf *path) MUST_CHECK;

/* Does a key have the file with this path? */
bool files_has(const struct files *f, struct str path);

/* Does a key have this file, and is the digest of its bytes known from a run of this process or
 * from a record? */
bool files_is_written(const struct files *f, struct str path);

/* The next files_put() puts its record again. A key must have the file with this path. */
void files_touch(struct files *f, struct str path);

/* Forgets the digests: each file is applied again when a run writes it or finds it equal. */
void files_renew(struct files *f);

#endif
