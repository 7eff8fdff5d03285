/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_cut - copies the bytes of one object out of the chunks in which it arrives, and leaves
 * some ranges out so that the rest is valid JSON; pure. The byte side of object_scan, and used by
 * it only.
 */
#ifndef KUBE_OBJECT_CUT_H
#define KUBE_OBJECT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Zero-initialised except for limit. Release with buf_free(&c->kept). Positions count bytes since
 * the stream began, as json_token.end does. */
struct object_cut {
    size_t limit; /* of the object's bytes before cutting */
    /* The lent chunk: n bytes at data, the first at position start. */
    const char *data;
    uint64_t start;
    size_t n;
    /* The object. */
    uint64_t begun;  /* position of its '{' */
    uint64_t pos;    /* bytes before this position are in kept, or cut */
    uint64_t marked; /* end of the last member, kept or cut, or of the '{' before the first */
    size_t cut_at;   /* in kept: where the last member was cut */
    bool too_big;    /* over limit: kept is of no use */
    bool cutting;    /* inside a member that is cut */
    /* Of the innermost opened object only. An object around it keeps the member that the inner
     * one is in, so its own two values are known. */
    bool any_member; /* it has kept a member */
    bool open_comma; /* it has kept none, and the comma behind a cut member must go, too */
    struct buf kept;
};

/* Begins a new object, whose '{' ends at position end. */
void object_cut_begin(struct object_cut *c, uint64_t end);

/* Lends n bytes at data, the first at position start, until object_cut_save(). */
void object_cut_lend(struct object_cut *c, uint64_t start, const char *data, size_t n);

/* The lent bytes go away. inside: the chunk ends within the object, so all bytes up to its end
 * are taken. */
void object_cut_save(struct object_cut *c, bool inside);

/* The bytes in kept are not needed any more: releases the memory if it is large. */
void object_cut_done(struct object_cut *c);

/* Takes the bytes up to position end, which must be in the lent chunk: keeps them, or passes them
 * over inside of a member that is cut. */
void object_cut_take(struct object_cut *c, uint64_t end);

/* The '{' ends here of an object whose members may be cut: the object itself, an object that is
 * the value of a kept member, or one in arrays in such a value. object_cut_key() and
 * object_cut_value() must then be called for each of its members. */
void object_cut_open(struct object_cut *c, uint64_t end);

/* The key of a member ends at position end. drop: this member is cut, with one comma. */
void object_cut_key(struct object_cut *c, uint64_t end, bool drop);

/* The value of that member ends at position end, and everything that was opened in it. drop is
 * the same as for its key. */
void object_cut_value(struct object_cut *c, uint64_t end, bool drop);

/* A scalar ends at position end: cuts its text out of kept and leaves its quotes, if quoted.
 * Returns the place in kept, or SIZE_MAX if the text does not stand there as it is (written with
 * escapes, or cut). */
size_t object_cut_text(struct object_cut *c, uint64_t end, struct str text, bool quoted);

#endif
