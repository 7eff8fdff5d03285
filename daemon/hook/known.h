/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - a state of one life (uid) of a key that a hook was told of; pure. Of a state that an
 * earlier process has left perhaps only the digest is known, as the filter sees it
 * (filter_digest()).
 */
#ifndef HOOK_KNOWN_H
#define HOOK_KNOWN_H

#include <stdbool.h>

#include "base/digest.h"
#include "kube/object.h"

struct known_trace;

/* Zero-initialised is none. */
struct known {
    struct object *object;     /* the state, a reference; else */
    struct known_trace *trace; /* what is left of it */
};

/* Is there one? */
bool known_is(const struct known *k);

/* Its uid; there must be one. */
struct str known_uid(const struct known *k);

/* Is the object a state of the same life? False if there is none. */
bool known_has(const struct known *k, const struct object *o);

/* Takes a reference of the state (NULL: there is none now) and drops what was there. */
void known_set(struct known *k, struct object *state);

/* The same, with what is left of a state. */
void known_trace(struct known *k, struct str uid, struct digest digest);

/* The same, of another one (none is fine). */
void known_copy(struct known *k, const struct known *other);

/* The digest of a trace. */
struct digest known_digest(const struct known *k);

#endif
