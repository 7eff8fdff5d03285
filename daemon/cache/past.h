/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past - what an earlier process has left of the streams of a watch, beside the objects; pure.
 */
#ifndef CACHE_PAST_H
#define CACHE_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/object.h"
#include "kube/resource.h"

enum past_kind {
    PAST_NONE,     /* nothing */
    PAST_PARTIAL,  /* objects, perhaps not all: the first list tells what is new, changed, gone */
    PAST_RESHAPED, /* the same of a watch that kept other parts, or selected fewer namespaces */
    PAST_EDITED,   /* the same of a watch that selected others: what is not listed has LEFT */
    PAST_WHOLE,    /* all objects as of rv: the watch goes on from there */
    PAST_OVER,     /* for feed.c and intake.c: there was a list, or the watch has caught up */
};

/* Of one stream. Borrowed; "" is as good as NULL. */
struct past {
    enum past_kind kind;
    const char *rv;      /* to resume from; NULL = not known (WHOLE is then PARTIAL) */
    const char *mark;    /* of the last list or bookmark; NULL = not known */
    uint64_t contact_ns; /* wall clock, when the server was last heard; 0 = not known */
};

/* The same, with texts of its own, never "". */
struct past_stream {
    enum past_kind kind;
    char *rv;
    char *mark;
    uint64_t contact_ns;
    bool bare; /* of an object no more than its name was left */
};

/* Of all streams of a watch: the inner side of watch, and only its. */
struct pasts {
    struct past_stream *v;
    size_t n;
    char *api_version; /* of what was loaded; NULL = nothing was */
};

/* Nothing was left of n streams. Release with past_fini(). */
void past_init(struct pasts *p, size_t n);

/* Frees it. */
void past_fini(struct pasts *p);

/* What was left of a stream; copied. */
void past_set(struct pasts *p, size_t stream, const struct past *past);

/* An object was left of a stream: WHOLE is PARTIAL if it is bare. */
void past_note(struct pasts *p, size_t stream, const struct object *o);

/* Nothing was left. */
void past_clear(struct pasts *p);

/* What a stream can go on from, as the resource is now. Borrowed until the next change. */
struct past past_of(const struct pasts *p, size_t stream, const struct resource *resource);

/* Were all objects of the stream left, be it of a version that is not known? */
bool past_is_whole(const struct pasts *p, size_t stream);

/* The oldest contact of all; 0 = one is not known. */
uint64_t past_contact_ns(const struct pasts *p);

#endif
