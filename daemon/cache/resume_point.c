/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/resume_point.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

void resume_points_init(struct resume_points *p, size_t n)
{
    *p = (struct resume_points){.v = mem_array(n, sizeof(*p->v)), .n = n};
}

static void forget(struct resume_scope *s)
{
    free(s->rv);
    free(s->collection_rv);
    *s = (struct resume_scope){0};
}

void resume_points_clear(struct resume_points *p)
{
    for (size_t i = 0; i < p->n; i++)
        forget(&p->v[i]);
    free(p->api_version);
    p->api_version = NULL;
}

void resume_points_fini(struct resume_points *p)
{
    resume_points_clear(p);
    free(p->v);
    p->v = NULL;
}

static char *copy_unless_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? mem_strdup(text) : NULL;
}

void resume_points_set(struct resume_points *p, size_t scope, const struct resume_point *resume)
{
    ensure(scope < p->n && resume->kind != RESUME_OVER);
    /* The objects were loaded before, so the result of resume_points_note() stays. */
    bool bare = p->v[scope].bare;

    forget(&p->v[scope]);
    p->v[scope] = (struct resume_scope){
        .kind = resume->kind,
        .rv = copy_unless_empty(resume->rv),
        .collection_rv = copy_unless_empty(resume->collection_rv),
        .contact_ns = resume->contact_ns,
        .bare = bare,
    };
}

void resume_points_note(struct resume_points *p, size_t scope, const struct object *o)
{
    ensure(scope < p->n);
    if (object_is_bare(o))
        p->v[scope].bare = true;
    else if (p->api_version == NULL)
        p->api_version = mem_strndup(object_api_version(o).p, object_api_version(o).n);
}

/* Were the objects read under the API version that the resource has now? Objects of another one
 * have other bytes under the same resourceVersion. */
static bool has_version(const struct resume_points *p, const struct resource *resource)
{
    struct buf version = {0};

    resource_put_api_version(&version, resource);
    bool has = p->api_version == NULL || str_is(buf_str(&version), p->api_version);
    buf_free(&version);
    return has;
}

struct resume_point resume_points_get(const struct resume_points *p, size_t scope,
                                      const struct resource *resource)
{
    const struct resume_scope *s = &p->v[scope];
    bool same = has_version(p, resource);
    struct resume_point resume = {
        .kind = s->kind,
        .rv = same ? s->rv : NULL,
        .collection_rv = s->collection_rv,
        .contact_ns = s->contact_ns,
    };

    /* A watch goes on only from a known version and whole objects; else a list must come first. */
    if (resume.kind == RESUME_WHOLE && (resume.rv == NULL || s->bare))
        resume.kind = RESUME_PARTIAL;
    return resume;
}

/* For a stale start, which needs the objects but no version. */
bool resume_points_is_whole(const struct resume_points *p, size_t scope)
{
    return p->v[scope].kind == RESUME_WHOLE && !p->v[scope].bare;
}

uint64_t resume_points_contact_ns(const struct resume_points *p)
{
    uint64_t oldest = UINT64_MAX;

    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].contact_ns < oldest)
            oldest = p->v[i].contact_ns;
    return oldest;
}
