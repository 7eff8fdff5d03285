/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_removed.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

enum { LOGGED_MAX = 20 }; /* files of one hook that the log names; the status names all */

static void add(struct persist_removed *g, struct str hook, struct str path)
{
    if ((g->n & (g->n - 1)) == 0) /* full exactly when n is a power of two: arrays double */
        g->v = mem_realloc(g->v, (g->n == 0 ? 1 : 2 * g->n) * sizeof(*g->v));
    g->v[g->n++] = (struct admin_left_file){.hook = mem_strndup(hook.p, hook.n),
                                            .file = mem_strndup(path.p, path.n),
                                            .because = "the hook is not configured any more"};
}

static void add_files(struct persist_removed *g, const struct restore *r, uint64_t item,
                      struct str hook)
{
    size_t n;
    size_t files = 0;
    const struct restore_fact *facts = restore_facts(r, item, &n);

    for (size_t i = 0; i < n; i++) {
        if (facts[i].what != ROW_OUTPUT)
            continue;
        add(g, hook, facts[i].key);
        if (files++ < LOGGED_MAX)
            log_warn("obsolete output file left in place, its hook is not configured: remove it if "
                     "not needed",
                     KV_VIEW("hook", hook), KV_VIEW("file", facts[i].key));
    }
    if (files > LOGGED_MAX)
        log_warn("more obsolete output files left in place: informerctl status names them",
                 KV_VIEW("hook", hook), KV_U64("files", files - LOGGED_MAX));
}

/* A hook of the state that hooks_find() does not know was removed from the configuration, or
 * renamed. The state forgets it after seven days. */
void persist_removed_load(struct persist_removed *g, const struct restore *r, const struct ids *ids,
                          const struct hooks *hooks)
{
    for (size_t i = 0; i < r->item_count; i++) {
        struct str name = {0};

        if (r->items[i].kind == ROW_KIND_HOOK)
            name = ids_name(ids, r->items[i].id);
        if (name.n > 0 && hooks_find(hooks, name) == NULL)
            add_files(g, r, r->items[i].id, name);
    }
}

void persist_removed_fini(struct persist_removed *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->v[i].hook);
        free(g->v[i].file);
    }
    free(g->v);
    *g = (struct persist_removed){0};
}
