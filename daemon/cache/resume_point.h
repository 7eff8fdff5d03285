/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_point - what an earlier process has left of the streams of a watch, beside the objects; pure.
 */
#ifndef CACHE_RESUME_POINT_H
#define CACHE_RESUME_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/object.h"
#include "kube/resource.h"

enum resume_kind {
    RESUME_NONE,     /* nothing */
    RESUME_PARTIAL,  /* objects, perhaps not all: the first list tells what is new, changed, gone */
    RESUME_RESHAPED, /* the same of a watch that kept other parts, or selected fewer namespaces */
    RESUME_EDITED,   /* the same of a watch that selected others: what is not listed has LEFT */
    RESUME_WHOLE,    /* all objects as of rv: the watch goes on from there */
    RESUME_OVER, /* for list_watch.c and ingest.c: there was a list, or the watch has caught up */
};

/* Of one stream. Borrowed; "" is as good as NULL. */
struct resume_point {
    enum resume_kind kind;
    const char *rv;            /* to resume from; NULL = not known (WHOLE is then PARTIAL) */
    const char *collection_rv; /* of the last list or bookmark; NULL = not known */
    uint64_t contact_ns;       /* wall clock, when the server was last heard; 0 = not known */
};

/* The same, with texts of its own, never "". */
struct resume_scope {
    enum resume_kind kind;
    char *rv;
    char *collection_rv;
    uint64_t contact_ns;
    bool bare; /* of an object no more than its name was left */
};

/* Of all streams of a watch: the inner side of watch, and only its. */
struct resume_points {
    struct resume_scope *v;
    size_t n;
    char *api_version; /* of what was loaded; NULL = nothing was */
};

/* Nothing was left of n streams. Release with resume_points_fini(). */
void resume_points_init(struct resume_points *p, size_t n);

/* Frees it. */
void resume_points_fini(struct resume_points *p);

/* What was left of a stream; copied. */
void resume_points_set(struct resume_points *p, size_t scope, const struct resume_point *resume);

/* An object was left of a stream: WHOLE is PARTIAL if it is bare. */
void resume_points_note(struct resume_points *p, size_t scope, const struct object *o);

/* Nothing was left. */
void resume_points_clear(struct resume_points *p);

/* What a stream can go on from, as the resource is now. Borrowed until the next change. */
struct resume_point resume_points_get(const struct resume_points *p, size_t scope,
                                      const struct resource *resource);

/* Were all objects of the stream left, be it of a version that is not known? */
bool resume_points_is_whole(const struct resume_points *p, size_t scope);

/* The oldest contact of all; 0 = one is not known. */
uint64_t resume_points_contact_ns(const struct resume_points *p);

#endif
