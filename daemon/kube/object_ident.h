/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_ident - what identifies one object and tells its version, from its tokens, and which of
 * its members stay or go whatever the shape; pure. A part of object_scan, and only its.
 */
#ifndef KUBE_OBJECT_IDENT_H
#define KUBE_OBJECT_IDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "kube/object_cut.h"
#include "kube/shape_walk.h"
#include "proto/json_in.h"

/* Members that matter, by the object they stand in. */
enum object_ident_top { IDENT_OTHER, IDENT_KIND, IDENT_API_VERSION, IDENT_METADATA };
enum object_ident_meta {
    IDENT_META_OTHER,
    IDENT_META_NAMESPACE,
    IDENT_META_NAME,
    IDENT_META_UID,
    IDENT_META_RV,
    IDENT_META_GENERATION,
    IDENT_META_MANAGED_FIELDS,
    IDENT_META_ANNOTATIONS,
};

/* What of the identity is not to be relied on. */
enum object_ident_lost {
    IDENT_LOST_KEY = 1,  /* name or namespace are no such thing, but can be read */
    IDENT_LOST_NAME = 2, /* they cannot */
    IDENT_LOST_UID = 4,
    IDENT_LOST_RV = 8,
};

/* Zero-initialised but for partial. Release with object_ident_free(). */
struct object_ident {
    bool partial; /* kind and apiVersion go: it may be a PartialObjectMetadata */
    struct object_ident_seen {
        enum object_ident_top top;
        enum object_ident_meta meta;
        bool in_metadata;
        bool in_annotations;
        bool annotation; /* the next value is that of initial-events-end */
        bool initial_events_end;
        unsigned members; /* a bit for each that matters */
        unsigned lost;    /* bits of enum object_ident_lost */
        const char *wrong;
        size_t rv_at; /* where their values were cut out, SIZE_MAX = nowhere */
        size_t generation_at;
    } seen;
    struct buf kind;
    struct buf api_version;
    struct buf ns;
    struct buf name;
    struct buf uid;
    struct buf rv;
    struct buf generation;
    struct buf key;
};

/* A new object begins. */
void object_ident_begin(struct object_ident *id);

/* Releases the memory. */
void object_ident_free(struct object_ident *id);

/* One token at this depth >= 1, counted from the object's own braces. Cuts the values of RV and
 * generation out of bytes. Returns what the shape must know of a KEY. */
enum shape_walk_say object_ident_token(struct object_ident *id, struct object_cut *bytes,
                                       const struct json_token *t, unsigned depth);

/* How deep tokens matter next, in the same count. */
unsigned object_ident_deepest(const struct object_ident *id);

/* Had the object this member? */
bool object_ident_has(const struct object_ident *id, enum object_ident_top top);

/* "namespace/name" or "name", borrowed until the next object; empty when it has no (usable) name.
 */
struct str object_ident_key(struct object_ident *id);

/* The like of what stands in place of them, cut if it is long; empty when it cannot be read. */
struct str object_ident_name(struct object_ident *id);

/* metadata.uid and metadata.resourceVersion; empty when there is none to rely on. */
struct str object_ident_uid(const struct object_ident *id);
/* See above. */
struct str object_ident_rv(const struct object_ident *id);

#endif
