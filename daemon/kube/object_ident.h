/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_ident - the identity and the versions of one object, from its tokens, and which of its
 * members stay or go whatever the shape says; pure. A part of object_scan, and used by it only.
 */
#ifndef KUBE_OBJECT_IDENT_H
#define KUBE_OBJECT_IDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "kube/object_cut.h"
#include "kube/shape_walk.h"
#include "proto/json_in.h"

/* Members that count, by the object that they stand in. */
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

/* Parts of the identity that cannot be relied on. */
enum object_ident_lost {
    IDENT_LOST_KEY = 1,  /* name or namespace can be read, but is not a valid one */
    IDENT_LOST_NAME = 2, /* name or namespace cannot be read */
    IDENT_LOST_UID = 4,
    IDENT_LOST_RV = 8,
};

/* Zero-initialised except for partial. Release with object_ident_free(). */
struct object_ident {
    bool partial; /* PartialObjectMetadata may come: kind and apiVersion are cut */
    struct object_ident_seen {
        enum object_ident_top top;
        enum object_ident_meta meta;
        bool in_metadata;
        bool in_annotations;
        bool annotation; /* the next value is that of initial-events-end */
        bool initial_events_end;
        unsigned members;     /* a bit for each member that counts and has come */
        unsigned lost;        /* bits of enum object_ident_lost */
        const char *wrong;    /* why the object cannot be used, a constant text; NULL = it can */
        size_t rv_at;         /* where in the bytes the value was cut out, SIZE_MAX = nowhere */
        size_t generation_at; /* the same for generation */
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

/* Begins a new object. */
void object_ident_begin(struct object_ident *id);

/* Releases the memory. */
void object_ident_free(struct object_ident *id);

/* Takes one token at this depth >= 1, counted from the object's own braces. Cuts the values of
 * resourceVersion and generation out of bytes. Returns what the shape must know about a KEY. */
enum shape_walk_say object_ident_token(struct object_ident *id, struct object_cut *bytes,
                                       const struct json_token *t, unsigned depth);

/* How deep tokens matter next, in the same count; deeper ones need not be handed over. */
unsigned object_ident_deepest(const struct object_ident *id);

/* Has the object this member, as far as it was read? */
bool object_ident_has(const struct object_ident *id, enum object_ident_top top);

/* "namespace/name" or "name", borrowed until the next object; empty if the object has no valid
 * name. */
struct str object_ident_key(struct object_ident *id);

/* The same of a name that can be read but need not be valid, cut if it is long; empty if it
 * cannot be read. */
struct str object_ident_name(struct object_ident *id);

/* metadata.uid; empty if the object has none that can be relied on. */
struct str object_ident_uid(const struct object_ident *id);
/* metadata.resourceVersion; empty if the object has none that can be relied on. */
struct str object_ident_rv(const struct object_ident *id);

#endif
