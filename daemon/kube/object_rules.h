/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_rules - what a reader of objects must know of the watch they are for; pure.
 */
#ifndef KUBE_OBJECT_RULES_H
#define KUBE_OBJECT_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct shape;

/* Readers copy it and its two texts. */
struct object_rules {
    const char *kind;          /* what objects must be, and what completes those ... */
    const char *api_version;   /* ... that do not say it themselves; NULL = not known */
    size_t object_size;        /* bytes of an object at most, as the server sends it */
    const struct shape *shape; /* NULL = everything is kept and selected; must outlive readers */
    /* The server was asked for PartialObjectMetadata, and may send that
     * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
    bool partial;
};

#endif
