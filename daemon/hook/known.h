/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - a state of one incarnation (uid) of a key that a hook got; pure. Of a state that an
 * earlier process has left perhaps only the digest is known, as the filter sees it
 * (filter_known_digest()).
 */
#ifndef HOOK_KNOWN_H
#define HOOK_KNOWN_H

#include <stdbool.h>

#include "base/digest.h"
#include "kube/object.h"

struct known_trace;

/* Zero-initialised is empty: no state. At most one of the two is set. */
struct known {
    struct object *object;     /* the whole state, with a reference */
    struct known_trace *trace; /* its uid and digest */
};

/* Is there a state? */
bool known_is(const struct known *k);

/* The uid of the state, borrowed; there must be one. */
struct str known_uid(const struct known *k);

/* Is o a state of the same incarnation? False if k is empty. */
bool known_has(const struct known *k, const struct object *o);

/* Puts a whole state in, with a reference (NULL: makes k empty), in place of the old one. */
void known_set(struct known *k, struct object *state);

/* Puts a state in of which only uid and digest are known. */
void known_trace(struct known *k, struct str uid, struct digest digest);

/* Copies the state of another one, which may be empty. */
void known_copy(struct known *k, const struct known *other);

/* The digest of a state of which nothing else is known; k->trace must not be NULL. */
struct digest known_digest(const struct known *k);

#endif
