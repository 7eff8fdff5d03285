/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_pick.h"

/* The first child stands right behind its container. If `next` is right behind it, there is no
 * child. */
unsigned json_pick_first(const struct json_tree *t, unsigned in)
{
    if (in == JSON_PICK_NONE || t->v[in].next == in + 1)
        return JSON_PICK_NONE;
    return in + 1;
}

unsigned json_pick_next(const struct json_tree *t, unsigned in, unsigned at)
{
    unsigned next = t->v[at].next;

    return next < t->v[in].next ? next : JSON_PICK_NONE;
}

unsigned json_pick(const struct json_tree *t, unsigned in, const char *name)
{
    struct str want = str_c(name);

    if (in == JSON_PICK_NONE || t->v[in].type != JSON_OBJECT)
        return JSON_PICK_NONE;
    for (unsigned at = json_pick_first(t, in); at != JSON_PICK_NONE; at = json_pick_next(t, in, at))
        if (str_eq(t->v[at].name, want))
            return at;
    return JSON_PICK_NONE;
}

struct str json_pick_text(const struct json_tree *t, unsigned at)
{
    if (at == JSON_PICK_NONE || t->v[at].type != JSON_STRING)
        return (struct str){0};
    return t->v[at].bytes;
}

struct str json_pick_str(const struct json_tree *t, unsigned in, const char *name)
{
    return json_pick_text(t, json_pick(t, in, name));
}

bool json_pick_bool(const struct json_tree *t, unsigned in, const char *name, bool none)
{
    unsigned at = json_pick(t, in, name);

    if (at == JSON_PICK_NONE || (t->v[at].type != JSON_TRUE && t->v[at].type != JSON_FALSE))
        return none;
    return t->v[at].type == JSON_TRUE;
}

unsigned json_pick_number(const struct json_tree *t, unsigned in, const char *name, unsigned max)
{
    unsigned at = json_pick(t, in, name);
    uint64_t value;

    if (at == JSON_PICK_NONE || t->v[at].type != JSON_NUMBER)
        return 0;
    struct str text = t->v[at].bytes;
    /* A number with a sign, a fraction or an exponent is no port or count. */
    if (!str_take_u64(&text, &value) || text.n > 0 || value > max)
        return 0;
    return (unsigned)value;
}
