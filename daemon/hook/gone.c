/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/gone.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/hook.h"

static const char not_configured[] = "the hook is not configured any more: "
                                     "informerctl forget HOOK --files removes the file";
static const char not_shown[] =
    "nothing shows that informerd wrote it: it has no mark, another name, or "
    "its folder is reached by a link that root does not follow";

static void free_hook(struct gone_hook *gh)
{
    strays_fini(&gh->files);
    free(gh->name);
    free(gh);
}

void gone_fini(struct gone *g)
{
    for (size_t i = 0; i < g->n; i++)
        free_hook(g->v[i]);
    free(g->v);
    *g = (struct gone){0};
}

struct gone_hook *gone_add(struct gone *g, struct str name, uint64_t item)
{
    struct gone_hook *gh =
        MEM_NEW(struct gone_hook, .name = mem_strndup(name.p, name.n), .item = item);

    strays_init(&gh->files);
    g->v = mem_grow(g->v, g->n, sizeof(struct gone_hook *));
    g->v[g->n++] = gh;
    return gh;
}

void gone_remove(struct gone *g, struct str name)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->n; i++) {
        if (!str_is(name, g->v[i]->name)) {
            g->v[kept++] = g->v[i];
            continue;
        }
        ensure(g->v[i]->state == GONE_KEPT || g->v[i]->state == GONE_FORGOTTEN);
        free_hook(g->v[i]);
    }
    g->n = kept;
}

void gone_add_file(struct gone_hook *gh, const struct files_seen *seen)
{
    strays_add_left(&gh->files, seen, not_configured);
}

struct gone_hook *gone_find(const struct gone *g, struct str name)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_is(name, g->v[i]->name))
            return g->v[i];
    return NULL;
}

/* The present templates count, too: the other hook may not have written the file yet. */
bool gone_is_left(const struct hooks *hs, const struct stray *x)
{
    for (size_t i = 0; i < hs->n; i++)
        if (files_has(&hs->v[i]->files, str_c(x->path)) ||
            strays_is_named(hs->v[i], str_c(x->key), str_c(x->path)))
            return false;
    return true;
}

void gone_forget(struct gone_hook *gh, const struct hooks *hs, bool with_files)
{
    gh->removed = 0;
    gh->state = with_files ? GONE_REMOVING : GONE_FORGETTING;
    if (!with_files)
        return;
    list_each (pos, tmp, &gh->files.all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (gone_is_left(hs, x))
            strays_order(&gh->files, x);
        else
            strays_drop(&gh->files, x);
    }
}

void gone_ended(struct gone_hook *gh, struct stray *x, enum stray_end end)
{
    gh->removed += end == STRAY_END_REMOVED;
    strays_swept(&gh->files, x, end);
    if (end == STRAY_END_FOREIGN)
        x->why = not_shown;
}

bool gone_is_done(const struct gone_hook *gh)
{
    return gh->state == GONE_FORGETTING || (gh->state == GONE_REMOVING && gh->files.due == 0);
}

bool gone_dropped(struct gone_hook *gh)
{
    bool keeps = gh->state == GONE_REMOVING && gh->files.left > 0;

    if (gh->state == GONE_FORGETTING) {
        strays_fini(&gh->files);
        strays_init(&gh->files);
    }
    gh->item = 0;
    gh->state = keeps ? GONE_KEPT : GONE_FORGOTTEN;
    if (keeps)
        strays_touch_all(&gh->files);
    return keeps;
}
