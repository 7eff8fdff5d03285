/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/output_base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/* STEP_FLAGS has O_DIRECTORY, because with it even O_PATH triggers an automount. */
enum {
    LINKS_MAX = 40, /* Linux follows as many */
    FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
    STEP_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    LINK_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC
};

/* A walk from the root folder to the end of a path. */
struct walk {
    int at;          /* the folder that was reached */
    struct buf rest; /* the rest of the path, from there on */
    unsigned links;  /* links followed so far */
};

/* Moves the next name from rest to out; false at the end. */
static bool take_name(struct buf *rest, char out[NAME_MAX + 2])
{
    const char *p = buf_cstr(rest);
    size_t skip = strspn(p, "/");
    size_t n = strcspn(p + skip, "/");
    size_t kept = n <= NAME_MAX ? n : NAME_MAX + 1; /* openat() refuses it: ENAMETOOLONG */

    if (n == 0)
        return false;
    memcpy(out, p + skip, kept);
    out[kept] = '\0';
    buf_consume(rest, skip + n);
    return true;
}

/* Moves on to a folder and takes over fd; -1: the folder could not be opened, errno says why. */
static int move(struct walk *w, int fd)
{
    if (fd < 0)
        return errno;
    if (w->at >= 0)
        close(w->at);
    w->at = fd;
    return 0;
}

/* Is root the only one who could have put a link of root's into that folder? Another user who may write
 * to the folder could move a link of root's there from another place. In a sticky folder others cannot
 * rename files of root. */
static bool is_roots_alone(const struct stat *folder)
{
    bool is_shared = (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0;

    return folder->st_uid == 0 && (!is_shared || (folder->st_mode & S_ISVTX) != 0);
}

/* Puts the target of a link before the rest of the path; an absolute target begins at the root
 * folder again. Each folder on the way there is checked like the others. */
static int go_by(struct walk *w, int link)
{
    char target[PATH_MAX];
    struct buf rest = {0};
    ssize_t n = readlinkat(link, "", target, sizeof(target));

    if (n < 0)
        return errno;
    buf_append(&rest, target, (size_t)n);
    buf_putc(&rest, '/');
    buf_append(&rest, w->rest.data, w->rest.len);
    buf_free(&w->rest);
    w->rest = rest;
    return target[0] == '/' ? move(w, open("/", STEP_FLAGS)) : 0;
}

/* Goes on where a link leads, if root may follow it. A name that is not a folder may be a link: the
 * open with O_NOFOLLOW and O_DIRECTORY fails with ENOTDIR for both. */
static int follow(struct walk *w, const char *name)
{
    struct stat folder;
    struct stat st;
    int link = openat(w->at, name, LINK_FLAGS);
    int error = 0;

    if (link < 0)
        return errno;
    if (fstat(link, &st) < 0 || fstat(w->at, &folder) < 0)
        error = errno;
    else if (!S_ISLNK(st.st_mode))
        error = ENOTDIR;
    else if (st.st_uid != 0 || !is_roots_alone(&folder) || ++w->links > LINKS_MAX)
        error = ELOOP;
    if (error == 0)
        error = go_by(w, link);
    close(link);
    return error;
}

static int step(struct walk *w, const char *name)
{
    int error = move(w, openat(w->at, name, STEP_FLAGS));

    return error == ENOTDIR ? follow(w, name) : error;
}

static int open_folder(int at, const char *path, int *fd)
{
    *fd = openat(at, path, FOLDER_FLAGS);
    return *fd < 0 ? errno : 0;
}

int output_base_open(const char *path, int *fd)
{
    struct walk w = {.at = -1};
    char name[NAME_MAX + 2];
    int error;

    *fd = -1;
    /* Without root's rights a link gives nobody more than the user of informerd may do anyway. */
    if (geteuid() != 0)
        return open_folder(AT_FDCWD, path, fd);
    buf_puts(&w.rest, path);
    error = move(&w, open("/", STEP_FLAGS));
    while (error == 0 && take_name(&w.rest, name))
        error = step(&w, name);
    /* An O_PATH descriptor can neither be synced nor list its files: open the folder itself. */
    if (error == 0)
        error = open_folder(w.at, ".", fd);
    if (w.at >= 0)
        close(w.at);
    buf_free(&w.rest);
    return error;
}
