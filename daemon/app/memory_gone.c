/* SPDX-License-Identifier: Apache-2.0 */
#include "app/memory_gone.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

enum { LOGGED_MAX = 20 }; /* files of one hook */

static void add(struct memory_gone *g, struct str hook, struct str path)
{
    if ((g->n & (g->n - 1)) == 0) /* arrays double */
        g->v = mem_realloc(g->v, (g->n == 0 ? 1 : 2 * g->n) * sizeof(*g->v));
    g->v[g->n++] = (struct admin_left_file){.hook = mem_strndup(hook.p, hook.n),
                                            .file = mem_strndup(path.p, path.n),
                                            .because = "the hook is not configured any more"};
}

static void add_files(struct memory_gone *g, const struct recall *r, uint64_t item, struct str hook)
{
    size_t n;
    size_t files = 0;
    const struct recall_fact *facts = recall_facts(r, item, &n);

    for (size_t i = 0; i < n; i++) {
        if (facts[i].what != ROW_OUTPUT)
            continue;
        add(g, hook, facts[i].key);
        if (files++ < LOGGED_MAX)
            log_warn("a file stays, though its hook is not configured any more: remove it if it is "
                     "not needed",
                     KV_VIEW("hook", hook), KV_VIEW("file", facts[i].key));
    }
    if (files > LOGGED_MAX)
        log_warn("more files stay of a hook that is not configured any more: informerctl status "
                 "names them",
                 KV_VIEW("hook", hook), KV_U64("files", files - LOGGED_MAX));
}

void memory_gone_load(struct memory_gone *g, const struct recall *r, const struct roster *roster,
                      const struct hooks *hooks)
{
    for (size_t i = 0; i < r->item_count; i++) {
        struct str name = {0};

        if (r->items[i].kind == ROW_KIND_HOOK)
            name = roster_name(roster, r->items[i].id);
        if (name.n > 0 && hooks_find(hooks, name) == NULL)
            add_files(g, r, r->items[i].id, name);
    }
}

void memory_gone_fini(struct memory_gone *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->v[i].hook);
        free(g->v[i].file);
    }
    free(g->v);
    *g = (struct memory_gone){0};
}
