/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skips - records of the objects of a watch that are skipped because they cannot be used: the cache
 * has an old state of such an object, or no state; pure. The skips of a list are staged beside the
 * records, and a commit puts them in their place. Used by store only, except for the functions that
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

/* One record. Borrowed. */
struct skip {
    size_t scope;
    struct str id;   /* the record's own key: that of the object, or else made of its uid or name */
    struct str name; /* the key, or what stands in place of a name; empty: cannot be read */
    struct str why;
    bool missing; /* a list did not name it, while an item of the list had no readable name */
    /* How many objects share this record, as they have no key, uid or name; else 1. */
    uint64_t times;
};

/* A record was added or has changed, or (gone) was removed. */
typedef void skips_sink(void *arg, const struct skip *s, bool gone);

/* The reason of a missing record; a state file has no other mark of it. */
#define SKIPS_MISSING "it was missing in a list that has an item without a name that can be read"

/* Zero-initialised is empty. Release with skips_fini(). */
struct skips {
    struct map skipped;
    uint64_t count;   /* of objects */
    uint64_t missing; /* of objects that are missing */
    skips_sink *sink; /* NULL = nobody listens */
    void *arg;
};

/* Frees it. */
void skips_fini(struct skips *s);

/* An event of a watch shows an object that cannot be used. */
void skips_add(struct skips *s, size_t scope, const struct unusable *u);

/* A usable state of the key has come, or its end. uid: that of the object, which may have a record
 * without a key; empty = not known. False: there was no record. */
bool skips_clear(struct skips *s, struct str key, struct str uid);

/* The list under way has an item that cannot be used. */
void skips_stage(struct skips *s, size_t scope, const struct unusable *u);

/* The complete list does not name the key, but has an item without a name that can be read: so the
 * object stays, and is missing. */
void skips_stage_missing(struct skips *s, size_t scope, struct str key);

/* The list shows the key in a usable state, or its end. */
void skips_unstage(struct skips *s, struct str key);

/* The list shows that the key is there, and nothing else: a record of it stays. */
void skips_stage_present(struct skips *s, struct str key);

/* Has the list shown an object with this uid whose name is not valid? */
bool skips_has_odd(const struct skips *s, struct str uid);

/* The list is complete: its staged skips take the place of the scope's records. beside: it is a LIST
 * beside a watch, and only the watch gives the contents of objects; then a record goes only if its key
 * is usable by now, or neither the list nor the watch has shown the key since the list began. */
void skips_commit(struct skips *s, size_t scope, bool beside);

/* The list has failed, or another list begins: drops what is staged. */
void skips_abort(struct skips *s, size_t scope);

/* Takes a record that an earlier process has left; the sink does not run. */
void skips_load(struct skips *s, const struct skip *skip);

/* Forgets all records of the scope; the sink does not run. */
void skips_unload(struct skips *s, size_t scope);

/* Does the key have a record? */
bool skips_has(const struct skips *s, struct str key);

/* How many objects are skipped. */
uint64_t skips_count(const struct skips *s);

/* Calls cb once for each record. cb must change nothing. */
void skips_each(const struct skips *s, void (*cb)(void *arg, const struct skip *skip), void *arg);

#endif
