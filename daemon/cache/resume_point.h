/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_point - the versions and rows that an earlier process has left of the scopes of a watch, beside
 * the objects; pure.
 */
#ifndef CACHE_RESUME_POINT_H
#define CACHE_RESUME_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/object.h"
#include "kube/resource.h"

enum resume_kind {
    RESUME_NONE,    /* nothing */
    RESUME_PARTIAL, /* objects, perhaps not all: the first list shows the differences */
    /* The same, but the watch kept other parts of objects, or selected fewer namespaces. */
    RESUME_RESHAPED,
    /* The same, but the watch selected other objects: objects that are not listed have LEFT. */
    RESUME_EDITED,
    RESUME_WHOLE, /* all objects as of rv: the watch goes on from there */
    /* Set by list_watch.c and ingest.c: a list was committed, or the watch has caught up. */
    RESUME_OVER,
};

/* The resume point of one scope. Borrowed; "" is as good as NULL. */
struct resume_point {
    enum resume_kind kind;
    /* The version to resume from; NULL = not known (WHOLE is PARTIAL then). */
    const char *rv;
    const char *collection_rv; /* of the last list or bookmark; NULL = not known */
    uint64_t contact_ns;       /* wall clock, when the server was last heard; 0 = not known */
};

/* The same with texts of its own, which are NULL and never "". */
struct resume_scope {
    enum resume_kind kind;
    char *rv;
    char *collection_rv;
    uint64_t contact_ns;
    bool bare; /* of an object only its key and uid were left */
};

/* The resume points of all scopes of a watch. Used by watch only. */
struct resume_points {
    struct resume_scope *v;
    size_t n;
    char *api_version; /* of the objects that were loaded; NULL = no object was */
};

/* Nothing was left of n scopes. Release with resume_points_fini(). */
void resume_points_init(struct resume_points *p, size_t n);

/* Frees its memory. */
void resume_points_fini(struct resume_points *p);

/* Sets the resume point of a scope; copied. */
void resume_points_set(struct resume_points *p, size_t scope, const struct resume_point *resume);

/* An object was left of this scope: WHOLE is PARTIAL if the object is bare. */
void resume_points_note(struct resume_points *p, size_t scope, const struct object *o);

/* Nothing was left of any scope. */
void resume_points_clear(struct resume_points *p);

/* The resume point of a scope if the resource is this one now. Borrowed until the next change. */
struct resume_point resume_points_get(const struct resume_points *p, size_t scope,
                                      const struct resource *resource);

/* Were all objects of the scope left, even if their version is not known? */
bool resume_points_is_whole(const struct resume_points *p, size_t scope);

/* The oldest contact of all scopes, wall clock; 0 = that of a scope is not known. */
uint64_t resume_points_contact_ns(const struct resume_points *p);

#endif
