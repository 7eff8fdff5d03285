/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_rules - the facts about a watch that a reader of its objects must know; pure.
 */
#ifndef KUBE_OBJECT_RULES_H
#define KUBE_OBJECT_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct shape;

/* Readers copy the struct and its two texts, not the shape. */
struct object_rules {
    /* Objects must be of this kind and apiVersion; objects that come without them get these. NULL =
     * not known. */
    const char *kind;
    const char *api_version;
    size_t object_size;        /* limit for the bytes of an object as the server sends it */
    const struct shape *shape; /* NULL = everything is kept and selected; must outlive readers */
    /* The server was asked for PartialObjectMetadata, and may send that or whole objects
     * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
    bool partial;
};

#endif
