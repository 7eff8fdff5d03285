/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* The uid and digest of a state whose bytes are not known. */
struct known_trace {
    struct digest digest;
    size_t uid_n;
    char uid[];
};

bool known_is(const struct known *k)
{
    return k->object != NULL || k->trace != NULL;
}

struct str known_uid(const struct known *k)
{
    ensure(known_is(k));
    return k->object != NULL ? object_uid(k->object) : str_of(k->trace->uid, k->trace->uid_n);
}

bool known_has(const struct known *k, const struct object *o)
{
    return k->object == o || (known_is(k) && str_eq(known_uid(k), object_uid(o)));
}

void known_set(struct known *k, struct object *state)
{
    /* The new reference is taken first: state may be the object that k holds. */
    struct object *old = k->object;

    k->object = state != NULL ? object_ref(state) : NULL;
    object_unref(&old);
    free(k->trace);
    k->trace = NULL;
}

void known_trace(struct known *k, struct str uid, struct digest digest)
{
    struct known_trace *t = mem_alloc(sizeof(*t) + uid.n + 1);

    t->digest = digest;
    t->uid_n = uid.n;
    if (uid.n > 0)
        memcpy(t->uid, uid.p, uid.n);
    t->uid[uid.n] = '\0';
    known_set(k, NULL);
    k->trace = t;
}

void known_copy(struct known *k, const struct known *other)
{
    if (other->trace != NULL)
        known_trace(k, known_uid(other), other->trace->digest);
    else
        known_set(k, other->object);
}

struct digest known_digest(const struct known *k)
{
    ensure(k->trace != NULL);
    return k->trace->digest;
}
