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

/* The string behind the name of a member, or an empty one. */
static struct str value_behind(const char *at, const char *end)
{
    at = skip_space(at, end);
    if (at == end || *at != ':')
        return str_of(at, 0);
    at = skip_space(at + 1, end);
    if (at == end || *at != '"')
        return str_of(at, 0);
    const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));

    return quote != NULL ? str_of(at + 1, (size_t)(quote - at - 1)) : str_of(at, 0);
}

/* Behind the first place where the name stands, or NULL. It is found by its slash, as an EndpointSlice
 * has many quotes and few slashes. */
static const char *find_name(struct str body)
{
    const char *end = body.p + body.n;
    const size_t before = strlen(domain);
    const size_t behind = strlen(rest);

    for (const char *at = body.p; (at = memchr(at, '/', (size_t)(end - at))) != NULL; at++)
        if ((size_t)(at - body.p) >= before && (size_t)(end - at) >= behind &&
            memcmp(at - before, domain, before) == 0 && memcmp(at, rest, behind) == 0)
            return at + behind;
    return NULL;
}

/* Servers send metadata first, and annotations in the order of their names: this one stands before
 * kubectl's, which may be large. Behind so many bytes come the endpoints, of which there may be many. */
enum { LOOKED_AT = 4096 };

/* A scan of the bytes, as a parser would cost more than the run of a small hook. Inside of a string the
 * quotes of the name would be escaped, and so the text is never found there. */
struct str trigger_time_of(const struct object *o)
{
    struct str body = object_parts_of(o).body;

    if (!str_is(object_kind(o), "EndpointSlice") && !str_is(object_kind(o), "Endpoints"))
        return str_of("", 0);
    if (body.n > LOOKED_AT)
        body.n = LOOKED_AT;
    const char *at = body.n > 0 ? find_name(body) : NULL;

    return at != NULL ? value_behind(at, body.p + body.n) : str_of("", 0);
}
