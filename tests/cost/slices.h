/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slices - an API server with EndpointSlices of about 1.5 KB: the bodies of its responses, chunked as
 * HTTP/1.1 sends them. The same calls give the same bytes.
 */
#ifndef COST_SLICES_H
#define COST_SLICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/rng.h"

enum { SLICES_MAX = 10000 };

/* Zero-initialised, it has no objects. */
struct slices {
    size_t keys; /* objects have the numbers from 0 to keys - 1; at most SLICES_MAX */
    uint64_t rv;
    struct rng rng;
    struct slice {
        uint64_t uid; /* 0 = there is no such object */
        uint64_t rv;
        unsigned spec;  /* changes with the fields that hooks look at */
        unsigned other; /* changes with the rest */
    } v[SLICES_MAX];
};

/* Creates all objects. */
void slices_fill(struct slices *s, size_t keys);

/* Appends the body of a LIST response: `count` objects from `first` on. Behind the last object, the
 * list is over; else there is a continue token. */
void slices_put_page(const struct slices *s, struct buf *out, size_t first, size_t count);

/* Changes an object at random (created if there is none; 1 of 20 is deleted; of the others 1 of 3
 * changes fields that no hook looks at) and appends its watch event as one chunk. */
void slices_put_event(struct slices *s, struct buf *out);

/* Changes the fields of one object that hooks look at, and appends its watch event. */
void slices_put_change(struct slices *s, struct buf *out, size_t key);

#endif
