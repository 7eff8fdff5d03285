/* SPDX-License-Identifier: Apache-2.0 */
#include "app/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* As many as Linux follows. */
#define LINKS_MAX 40

/* A path on its way from the root folder to its end, one name at a time. */
struct walk {
    struct buf done; /* no link in it, no slash at its end: the root folder is "" */
    struct buf rest; /* what is still to be walked, from there */
    unsigned links;
    bool shared; /* others may make files in done, though not touch root's */
};

static const char *shown(const char *path)
{
    return path[0] != '\0' ? path : "/";
}

/* With an access control list the bits of the group stand for everybody who is named in it. */
static bool others_write(const char *path, const struct stat *st)
{
    if ((st->st_mode & S_IWOTH) != 0)
        return true;
    return (st->st_mode & S_IWGRP) != 0 &&
           (st->st_gid != 0 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0);
}

static enum err_kind check_owner(const char *path, const struct stat *st, struct err *err)
{
    if (st->st_uid == 0)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "%s belongs to uid %u: started as root, informerd trusts root's files only "
                   "(chown root)",
                   path, (unsigned)st->st_uid);
}

/* What stands at done: no link. */
static enum err_kind check_one(struct walk *w, const struct stat *st, struct err *err)
{
    const char *path = shown(buf_cstr(&w->done));
    bool others = others_write(path, st);

    w->shared = others && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
    if (check_owner(path, st, err) != ERR_OK)
        return err->kind;
    if (others && !w->shared)
        return err_set(err, ERR_CONFIG, 0,
                       "%s can be written by others than root (mode %04o): chmod go-w", path,
                       (unsigned)(st->st_mode & 07777));
    return ERR_OK;
}

/* Takes the last name off done. */
static void go_up(struct walk *w)
{
    const char *path = buf_cstr(&w->done);
    const char *slash = strrchr(path, '/');

    w->done.len = slash != NULL ? (size_t)(slash - path) : 0;
}

/* done is a link: goes on where it points to. */
static enum err_kind follow(struct walk *w, struct err *err)
{
    char target[PATH_MAX];
    struct buf rest = {0};
    ssize_t n = readlink(buf_cstr(&w->done), target, sizeof(target) - 1);

    if (n < 0 || ++w->links > LINKS_MAX)
        return err_set(err, ERR_CONFIG, 0, "%s: %s", buf_cstr(&w->done),
                       strerror(n < 0 ? errno : ELOOP));
    target[n] = '\0';
    go_up(w);
    if (target[0] == '/') {
        buf_clear(&w->done);
        w->shared = false;
    }
    buf_printf(&rest, "%s/%s", target, buf_cstr(&w->rest));
    buf_free(&w->rest);
    w->rest = rest;
    return ERR_OK;
}

/* What is not there: fine, unless somebody else may put it there. */
static enum err_kind check_missing(struct walk *w, struct err *err)
{
    buf_clear(&w->rest);
    if (!w->shared)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "%s does not exist, and others than root can make it: create it as root, or "
                   "name another folder",
                   buf_cstr(&w->done));
}

static enum err_kind check_name(struct walk *w, struct err *err)
{
    struct stat st;

    if (lstat(shown(buf_cstr(&w->done)), &st) != 0)
        return check_missing(w, err);
    if (!S_ISLNK(st.st_mode))
        return check_one(w, &st, err);
    /* others' links in root's own folder cannot be changed, those in a shared one can */
    if (check_owner(buf_cstr(&w->done), &st, err) != ERR_OK)
        return err->kind;
    return follow(w, err);
}

/* Moves the next name from rest to done. False at the end. */
static bool step(struct walk *w)
{
    const char *rest = buf_cstr(&w->rest);
    size_t skip = strspn(rest, "/");
    size_t n = strcspn(rest + skip, "/");
    struct str name = str_of(rest + skip, n);

    if (n == 0)
        return false;
    if (str_is(name, "..")) {
        go_up(w);
    } else if (!str_is(name, ".")) {
        buf_putc(&w->done, '/');
        buf_append_str(&w->done, name);
    }
    buf_consume(&w->rest, skip + n);
    return true;
}

enum err_kind trust_check(const char *path, struct err *err)
{
    struct walk w = {0};
    char *here = path[0] != '/' ? getcwd(NULL, 0) : NULL;

    if (here != NULL)
        buf_printf(&w.rest, "%s/", here);
    buf_puts(&w.rest, path);
    enum err_kind kind = check_name(&w, err);
    while (kind == ERR_OK && step(&w))
        kind = check_name(&w, err);
    free(here);
    buf_free(&w.done);
    buf_free(&w.rest);
    return kind;
}
