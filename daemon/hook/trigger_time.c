/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/trigger_time.h"

#include <string.h>

#include "kube/object.h"

/* The name of the annotation, with its quotes, before and behind the slash. */
static const char domain[] = "\"endpoints.kubernetes.io";
static const char rest[] = "/last-change-trigger-time\"";

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* The string that is the value of the member with this name (NULL: an empty string). */
static struct str value_in(struct str body, const char *name)
{
    const char *end = body.p + body.n;

    if (name == NULL)
        return str_of("", 0);
    const char *at = name + strlen(domain) + strlen(rest);

    at = skip_space(at, end);
    if (at == end || *at != ':')
        return str_of(at, 0);
    at = skip_space(at + 1, end);
    if (at == end || *at != '"')
        return str_of(at, 0);
    const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));

    return quote != NULL ? str_of(at + 1, (size_t)(quote - at - 1)) : str_of(at, 0);
}

/* The first place where the name stands, or NULL. It is found by its slash, as an EndpointSlice
 * has many quotes and few slashes. */
static const char *find_name(struct str body)
{
    const char *end = body.p + body.n;
    const size_t before = strlen(domain);
    const size_t behind = strlen(rest);

    for (const char *at = body.p; (at = memchr(at, '/', (size_t)(end - at))) != NULL; at++)
        if ((size_t)(at - body.p) >= before && (size_t)(end - at) >= behind &&
            memcmp(at - before, domain, before) == 0 && memcmp(at, rest, behind) == 0)
            return at - before;
    return NULL;
}

/* Servers send metadata first, and annotations in the order of their names: this one stands before
 * kubectl's, which may be large. Behind so many bytes come the endpoints, of which there may be many. */
enum { LOOKED_AT = 4096 };

static bool may_have(const struct object *o)
{
    struct str kind = object_kind(o);

    return str_is(kind, "EndpointSlice") || str_is(kind, "Endpoints");
}

static struct str looked_at(const struct object *o)
{
    struct str body = object_body(o);

    return str_of(body.p, body.n < LOOKED_AT ? body.n : LOOKED_AT);
}

/* Does the state before say the same? Mostly it has the annotation in the same place, and then it need
 * not be scanned. */
static bool says_same(struct str before, struct str body, const char *name, struct str time)
{
    size_t at = (size_t)(name - body.p);
    size_t n = (size_t)(time.p + time.n + 1 - name); /* with the quote behind the time */

    return (at + n <= before.n && memcmp(before.p + at, name, n) == 0) ||
           str_eq(value_in(before, find_name(before)), time);
}

/* A scan of the bytes, as a parser would cost more than the run of a small hook. Inside of a string the
 * quotes of the name would be escaped, and so the text is never found there. */
struct str trigger_time_new(const struct object *o, const struct object *old)
{
    struct str body = may_have(o) ? looked_at(o) : str_of("", 0);
    const char *name = find_name(body);
    struct str time = value_in(body, name);

    if (time.n > 0 && old != NULL && says_same(looked_at(old), body, name, time))
        return str_of("", 0);
    return time;
}
