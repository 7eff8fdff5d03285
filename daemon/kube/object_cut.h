/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_cut - copies the bytes of one object out of the chunks it comes in and leaves some ranges
 * out, so that what stays is valid JSON; pure. The byte side of object_scan, and only its.
 */
#ifndef KUBE_OBJECT_CUT_H
#define KUBE_OBJECT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Zero-initialised but for limit. Release with buf_free(&c->kept). */
struct object_cut {
    size_t limit; /* of the object's bytes before cutting */
    /* The lent chunk. */
    const char *data;
    uint64_t start;
    size_t n;
    /* The object. */
    uint64_t begun;  /* position of its '{' */
    uint64_t pos;    /* bytes before this position are in kept, or cut */
    uint64_t marked; /* end of the last member that stays, or of the last one cut */
    size_t cut_at;   /* in kept: where the last member was cut */
    bool too_big;    /* over limit: kept is of no use */
    bool cutting;    /* inside a member that is cut */
    /* Of the innermost opened object; those around it have a member that stays: this one. */
    bool any_member; /* a member stays */
    bool open_comma; /* none stays so far: the comma behind the one cut must go too */
    struct buf kept;
};

/* A new object: its '{' ends at position end. */
void object_cut_begin(struct object_cut *c, uint64_t end);

/* Lends n bytes at data, the first at position start, until object_cut_save(). */
void object_cut_lend(struct object_cut *c, uint64_t start, const char *data, size_t n);

/* The lent bytes go away; inside = all of them to the last belong to the object, which goes on. */
void object_cut_save(struct object_cut *c, bool inside);

/* kept is not needed any more: a large one is released. */
void object_cut_done(struct object_cut *c);

/* Takes the bytes up to position end. */
void object_cut_take(struct object_cut *c, uint64_t end);

/* Here ends the '{' of an object whose members may be cut: the object itself, or one that is the
 * value of a member that stays, or stands in arrays in such a value. What is done with each of its
 * members must then be told. */
void object_cut_open(struct object_cut *c, uint64_t end);

/* The key of a member ends at position end; drop = cut this member and one comma. */
void object_cut_key(struct object_cut *c, uint64_t end, bool drop);

/* The value of that member ends at position end, and all that was opened in it; same drop. */
void object_cut_value(struct object_cut *c, uint64_t end, bool drop);

/* A scalar ends at position end: cuts its text out and leaves its quotes, if it has any. Returns
 * the place in kept, or SIZE_MAX when the text does not stand there as it is (escapes, cut). */
size_t object_cut_text(struct object_cut *c, uint64_t end, struct str text, bool quoted);

#endif
