/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life - one uid of a key in a state that a hook was told of; pure. Of a state that an earlier
 * process has left perhaps only the digest is known, as the filter sees it (filter_digest()).
 */
#ifndef HOOK_LIFE_H
#define HOOK_LIFE_H

#include <stdbool.h>

#include "base/digest.h"
#include "kube/object.h"

struct life_trace;

/* Zero-initialised is none. */
struct life {
    struct object *object;    /* the state, a reference; else */
    struct life_trace *trace; /* what is left of it */
};

/* Is there one? */
bool life_is(const struct life *l);

/* Its uid; there must be one. */
struct str life_uid(const struct life *l);

/* Is the object a state of the same life? False if there is none. */
bool life_has(const struct life *l, const struct object *o);

/* Takes a reference of the state (NULL: there is none now) and drops what was there. */
void life_set(struct life *l, struct object *state);

/* The same, with what is left of a state. */
void life_trace(struct life *l, struct str uid, struct digest digest);

/* The same, of another one (none is fine). */
void life_copy(struct life *l, const struct life *other);

/* The digest of a trace. */
struct digest life_digest(const struct life *l);

#endif
