/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set - the contents of the files of a configuration, and the names that its patterns match. Each
 * file is read once, so that everything that is made of a configuration comes from the same bytes;
 * pure: a source reads the disk. A set without a source has only the files that were put into it, for
 * example those that another process has read. Kubeconfigs may hold secrets, so all texts are wiped.
 */
#ifndef BASE_FILE_SET_H
#define BASE_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

/* The largest file that is read. An include that matches a log or a device by mistake must not fill
 * the memory. */
enum { FILE_SET_TEXT_MAX = 4 * 1024 * 1024 };

/* A file that is asked for. Whether root reads it depends on whom root may trust; the first one that asks
 * says whether it may be a pipe. */
struct file_set_key {
    const char *path;
    /* As root, read the file only if root may trust its path (docs/design.md "Trusted files"). */
    bool trusted;
    uid_t owners[2]; /* with trusted: users besides root who may own it; 0 = the place is free */
    /* A person has named it on the command line, perhaps as /dev/stdin. Else only a regular file is read
     * (EINVAL): a FIFO that nobody writes to would be read for ever. */
    bool may_be_pipe;
};

/* The file that was read, or why it could not be. */
struct file_set_file {
    struct file_set_key key;
    char *path;      /* that of key */
    char *shown;     /* the path that messages name; mostly key.path */
    bool stands_in;  /* the text is that of another file than key.path: file_set_put() */
    int error;       /* errno; EPERM: root may not trust the path; EFBIG; 0 = it was read */
    char *reason;    /* with an error: "PATH: what is wrong"; else NULL */
    uid_t owner;     /* of the file that was read */
    struct buf text; /* empty after an error */
};

/* The names that a pattern matches. */
struct file_set_names {
    char *pattern;
    int error; /* errno if a folder could not be searched; v has the names of the others then */
    /* Sorted by their bytes: by the locale, the order would differ from machine to machine. */
    char **v;
    size_t n;
};

/* Reads files and names that the set does not have yet. */
struct file_set_source {
    /* Reads a file of at most FILE_SET_TEXT_MAX bytes. An error has its errno as the code. */
    enum err_kind (*read)(const struct file_set_key *key, struct buf *text, uid_t *owner,
                          struct err *err);
    /* Calls add for each name that the pattern matches, in any order. Returns 0 or an errno. A folder
     * that does not exist has no names, and is no error. */
    int (*match)(const char *pattern, void (*add)(void *arg, const char *name), void *arg);
};

/* Zero-initialised it is empty and has no source. */
struct file_set {
    const struct file_set_source *source; /* NULL = other files than those in the set: ENOENT */
    bool as_root; /* the process that read the files is root's: it asks whom root may trust */
    struct file_set_file **files;
    size_t file_count;
    struct file_set_names **names;
    size_t names_count;
};

/* The file, which is read at the first call for this key and is the same at each later one; never
 * NULL. Valid until file_set_fini(). */
const struct file_set_file *file_set_read(struct file_set *s, const struct file_set_key *key);

/* The names that the pattern (glob(7)) matches; never NULL. Valid until file_set_fini(). */
const struct file_set_names *file_set_match(struct file_set *s, const char *pattern);

/* Puts a copy of the text of `other`, which was read, in the place of the file at path. Messages name
 * the file as `shown` then. Does nothing if `other` is that file. */
void file_set_put(struct file_set *s, const char *path, const struct file_set_file *other,
                  const char *shown);

/* Adds a name to those that a pattern matches; the set has the pattern, and not yet the name. */
void file_set_add_name(struct file_set *s, const char *pattern, const char *name);

/* Appends the whole set as bytes, for another process of the same program. Integers are in the byte
 * order of the machine. The bytes may hold secrets. */
void file_set_encode(const struct file_set *s, struct buf *out);

/* Reads the bytes that file_set_encode() has written into *s, which is empty and gets no source.
 * ERR_PROTOCOL: other bytes; *s is empty then. */
enum err_kind file_set_decode(struct str bytes, struct file_set *s, struct err *err) MUST_CHECK;

/* Frees everything, and wipes the texts. */
void file_set_fini(struct file_set *s);

#endif
