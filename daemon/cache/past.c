/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/past.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

void past_init(struct pasts *p, size_t n)
{
    *p = (struct pasts){.v = mem_array(n, sizeof(*p->v)), .n = n};
}

static void forget(struct past_stream *s)
{
    free(s->rv);
    free(s->mark);
    *s = (struct past_stream){0};
}

void past_clear(struct pasts *p)
{
    for (size_t i = 0; i < p->n; i++)
        forget(&p->v[i]);
    free(p->api_version);
    p->api_version = NULL;
}

void past_fini(struct pasts *p)
{
    past_clear(p);
    free(p->v);
    p->v = NULL;
}

static char *copy_unless_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? mem_strdup(text) : NULL;
}

void past_set(struct pasts *p, size_t stream, const struct past *past)
{
    ensure(stream < p->n && past->kind != PAST_OVER);
    bool bare = p->v[stream].bare;

    forget(&p->v[stream]);
    p->v[stream] = (struct past_stream){
        .kind = past->kind,
        .rv = copy_unless_empty(past->rv),
        .mark = copy_unless_empty(past->mark),
        .contact_ns = past->contact_ns,
        .bare = bare,
    };
}

void past_note(struct pasts *p, size_t stream, const struct object *o)
{
    ensure(stream < p->n);
    if (object_is_bare(o))
        p->v[stream].bare = true;
    else if (p->api_version == NULL)
        p->api_version = mem_strndup(object_api_version(o).p, object_api_version(o).n);
}

/* Was what is left read under the version that the resource has now? Objects of another one differ
 * from what is there under the same resourceVersion. */
static bool has_version(const struct pasts *p, const struct resource *resource)
{
    struct buf version = {0};

    resource_put_api_version(&version, resource);
    bool has = p->api_version == NULL || str_is(buf_str(&version), p->api_version);
    buf_free(&version);
    return has;
}

struct past past_of(const struct pasts *p, size_t stream, const struct resource *resource)
{
    const struct past_stream *s = &p->v[stream];
    bool same = has_version(p, resource);
    struct past past = {
        .kind = s->kind,
        .rv = same ? s->rv : NULL,
        .mark = s->mark,
        .contact_ns = s->contact_ns,
    };

    if (past.kind == PAST_WHOLE && (past.rv == NULL || s->bare))
        past.kind = PAST_PARTIAL;
    return past;
}

bool past_is_whole(const struct pasts *p, size_t stream)
{
    return p->v[stream].kind == PAST_WHOLE && !p->v[stream].bare;
}

uint64_t past_contact_ns(const struct pasts *p)
{
    uint64_t oldest = UINT64_MAX;

    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].contact_ns < oldest)
            oldest = p->v[i].contact_ns;
    return oldest;
}
