/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skips - marks of the objects of a watch that are skipped, as they cannot be used: the state that is
 * cached of them is an old one, or there is none; pure. What a list has skipped is staged beside the
 * marks, and commit puts it in their place. The inner side of store, and only its, but for what is
 * read.
 */
#ifndef CACHE_SKIPS_H
#define CACHE_SKIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "kube/unusable.h"

/* One mark. Borrowed. */
struct skip {
    size_t scope;
    struct str id;   /* what it is kept under: its key, or what else tells it from others */
    struct str name; /* its key, or what stands in place of a name; empty: that cannot be read */
    struct str why;
    uint64_t times; /* objects that nothing tells from each other; else 1 */
};

/* A mark is there or is another one now, or (gone) is no more. */
typedef void skips_sink(void *arg, const struct skip *s, bool gone);

/* Why what a list did not name has a mark: one of its items has no name that can be read. */
#define SKIPS_MISSING "it was missing in a list that has an item without a name that can be read"

/* Zero-initialised is empty. Release with skips_fini(). */
struct skips {
    struct map marks;
    uint64_t count;   /* objects */
    uint64_t missing; /* those of SKIPS_MISSING */
    skips_sink *sink; /* NULL: nobody listens */
    void *arg;
};

/* Frees it. */
void skips_fini(struct skips *s);

/* An event of a watch shows such an object. */
void skips_add(struct skips *s, size_t scope, const struct unusable *u);

/* A usable state of the key has come, or its end. uid: of the object, which may have a mark without a
 * key; empty = not known. False: there was no mark. */
bool skips_clear(struct skips *s, struct str key, struct str uid);

/* The list under way shows such an object. */
void skips_stage(struct skips *s, size_t scope, const struct unusable *u);

/* It shows the key in a usable state, or its end. */
void skips_unstage(struct skips *s, struct str key);

/* It shows that the key is there, and no more: its mark, if it has one, stays. */
void skips_stage_present(struct skips *s, struct str key);

/* Does it show an object of this uid under a name that is none? */
bool skips_has_odd(const struct skips *s, struct str uid);

/* The list is over: what it has staged is all there is; or, beside a watch that
 * alone tells what objects are like: marks of keys that the list does not show, and the watch has not told of
 * since the list began, are gone. */
void skips_commit(struct skips *s, size_t scope, bool beside);

/* The list has failed, or another one begins. */
void skips_abort(struct skips *s, size_t scope);

/* What an earlier process has left; nobody is told. */
void skips_load(struct skips *s, const struct skip *skip);

/* Forgets all of the part; nobody is told. */
void skips_unload(struct skips *s, size_t scope);

/* Has the key a mark? */
bool skips_has(const struct skips *s, struct str key);

/* How many objects are skipped. */
uint64_t skips_count(const struct skips *s);

/* All marks: cb once each. cb must change nothing. */
void skips_each(const struct skips *s, void (*cb)(void *arg, const struct skip *skip), void *arg);

#endif
