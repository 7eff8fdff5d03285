/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/life.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

struct life_trace {
    struct digest digest;
    size_t uid_n;
    char uid[];
};

bool life_is(const struct life *l)
{
    return l->object != NULL || l->trace != NULL;
}

struct str life_uid(const struct life *l)
{
    ensure(life_is(l));
    return l->object != NULL ? object_uid(l->object) : str_of(l->trace->uid, l->trace->uid_n);
}

bool life_has(const struct life *l, const struct object *o)
{
    return life_is(l) && str_eq(life_uid(l), object_uid(o));
}

void life_set(struct life *l, struct object *state)
{
    struct object *old = l->object;

    l->object = state != NULL ? object_ref(state) : NULL;
    object_unref(&old);
    free(l->trace);
    l->trace = NULL;
}

void life_trace(struct life *l, struct str uid, struct digest digest)
{
    struct life_trace *t = mem_alloc(sizeof(*t) + uid.n + 1);

    t->digest = digest;
    t->uid_n = uid.n;
    if (uid.n > 0)
        memcpy(t->uid, uid.p, uid.n);
    t->uid[uid.n] = '\0';
    life_set(l, NULL);
    l->trace = t;
}

void life_copy(struct life *l, const struct life *other)
{
    if (other->trace != NULL)
        life_trace(l, life_uid(other), other->trace->digest);
    else
        life_set(l, other->object);
}

struct digest life_digest(const struct life *l)
{
    ensure(l->trace != NULL);
    return l->trace->digest;
}
