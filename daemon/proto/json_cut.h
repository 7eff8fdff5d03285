/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_cut - copies the bytes of one JSON object out of the chunks in which it arrives, without some
 * of its members, so that the rest is valid JSON; pure. Its user reads the tokens and says which
 * members go. Positions count bytes since the stream began, as json_token.end does.
 */
#ifndef PROTO_JSON_CUT_H
#define PROTO_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* For one object after the other. Zero-initialised except for limit; release with json_cut_fini().
 * Its users read limit, too_big, cutting and kept. */
struct json_cut {
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
    bool too_big;    /* over limit, or without memory: kept is of no use */
    bool no_memory;  /* too_big, because there was none */
    bool cutting;    /* inside a member that is cut */
    /* Of the innermost opened object only. An object around it keeps the member that the inner
     * one is in, so its own two values are known. */
    bool any_member; /* it has kept a member */
    bool open_comma; /* it has kept none, and the comma behind a cut member must go, too */
    struct buf kept;
};

/* Lends the chunk whose tokens come next: n bytes at data, the first of them at position start.
 * Borrowed until json_cut_save(). */
void json_cut_lend(struct json_cut *c, uint64_t start, const char *data, size_t n);

/* The lent chunk goes away. is_inside: an object has begun and not ended, so its bytes are copied. */
void json_cut_save(struct json_cut *c, bool is_inside);

/* There is no memory for the object: it counts as too big. */
void json_cut_give_up(struct json_cut *c);

/* Begins a new object, whose '{' ends at position end, in the lent chunk. */
void json_cut_begin(struct json_cut *c, uint64_t end);

/* Takes the bytes up to position end, which must be in the lent chunk: keeps them, or passes them
 * over inside of a member that is cut. To be called with the end of the object. */
void json_cut_take(struct json_cut *c, uint64_t end);

/* The '{' ends here of an object whose members may be cut: the object itself, an object that is the
 * value of a kept member, or one in arrays in such a value. For each of its members two of the next
 * functions must then be called, at the end of its key and at the end of its value. */
static inline void json_cut_open(struct json_cut *c, uint64_t end)
{
    c->marked = end;
    c->any_member = false;
    c->open_comma = false;
}

/* For json_cut_keep_key(): drops the comma behind a cut member. */
void json_cut_comma(struct json_cut *c, uint64_t key_end);

/* The key of a member that stays ends at position end. Like the next one this is called for each
 * member of an object: so it is inline, and usually nothing but a question. */
static inline void json_cut_keep_key(struct json_cut *c, uint64_t end)
{
    if (c->open_comma)
        json_cut_comma(c, end);
}

/* The value of that member ends at position end, and everything that was opened in it. */
static inline void json_cut_keep_value(struct json_cut *c, uint64_t end)
{
    c->any_member = true;
    c->open_comma = false; /* cut members inside of this value do not count here */
    c->marked = end;
}

/* The key of a member that is cut has ended. The comma between the member and its neighbour is cut,
 * too. */
void json_cut_drop_key(struct json_cut *c);

/* The value of that member ends at position end. */
void json_cut_drop_value(struct json_cut *c, uint64_t end);

/* A scalar ends at position end: cuts its text out of kept and leaves its quotes, if quoted. Returns
 * the place in kept, or SIZE_MAX if the text does not stand there as it is (written with escapes, or
 * cut). */
size_t json_cut_text(struct json_cut *c, uint64_t end, struct str text, bool quoted);

/* Inserts members, each with a comma behind it, at the front of the kept object, which must have a
 * member. */
void json_cut_put_front(struct json_cut *c, struct str members);

/* The bytes in kept are not needed any more: releases the memory if it is large. */
void json_cut_done(struct json_cut *c);

/* Frees the memory. */
void json_cut_fini(struct json_cut *c);

#endif
