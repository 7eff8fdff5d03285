/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_print.h"

#include <inttypes.h>
#include <string.h>

#include "conf/main_conf.h"
#include "conf/setting_print.h"

/* The first watch that w is equal to, which may be w itself. */
static const struct conf_watch *first_equal(const struct conf *c, const struct conf_watch *w)
{
    return &c->watches[w->first];
}

/* A watch without namespaces, or without names, makes one request for all of them. */
static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

/* The number of scopes of a watch: namespaces x names ("*" stands alone, so it counts as one); 0 =
 * w shares those of an equal watch. */
static size_t scopes_of(const struct conf *c, const struct conf_watch *w)
{
    if (first_equal(c, w) != w)
        return 0;
    return at_least_one(w->namespaces.n) * at_least_one(w->names.n);
}

/* The number of connections to that cluster that stay open: one for each scope of each watch. Watches
 * that are equal except for their names share theirs (conf_watch_equal()). */
static size_t scopes_in(const struct conf *c, const char *cluster)
{
    size_t sum = 0;

    for (size_t i = 0; i < c->n_watches; i++)
        if (strcmp(c->watches[i].cluster.v, cluster) == 0)
            sum += scopes_of(c, &c->watches[i]);
    return sum;
}

static void put_watch(const struct conf *c, const struct conf_watch *w, struct buf *out)
{
    size_t n = scopes_of(c, w);

    buf_printf(out, "#     watches.%s: ", w->name.v);
    if (n > 0)
        buf_printf(out, "%zu\n", n);
    else
        buf_printf(out, "shares those of watches.%s\n", first_equal(c, w)->name.v);
}

static void put_cluster(const struct conf *c, const struct conf_cluster *cluster, struct buf *out)
{
    buf_printf(out,
               "#   clusters.%s: %zu, and for lists up to %" PRId64
               " more at a time (list_concurrency)\n",
               cluster->name.v, scopes_in(c, cluster->name.v), cluster->tuning.list_concurrency.v);
    for (size_t i = 0; i < c->n_watches; i++)
        if (strcmp(c->watches[i].cluster.v, cluster->name.v) == 0)
            put_watch(c, &c->watches[i], out);
}

void conf_print(const struct conf *c, struct buf *out)
{
    struct conf united = *c;
    size_t sum = 0;

    /* The text has the settings of all files, so reading it must not include these again. The
     * values of the copy belong to c. */
    united.include = (struct conf_list){.at = c->include.at};
    setting_print(main_conf_settings, &united, 0, out);
    for (size_t i = 0; i < c->n_clusters; i++)
        sum += scopes_in(c, c->clusters[i].name.v);
    buf_printf(out, "\n# Connections that stay open, one per scope: %zu\n", sum);
    for (size_t i = 0; i < c->n_clusters; i++)
        put_cluster(c, &c->clusters[i], out);
}
