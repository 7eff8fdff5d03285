/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "conf/cluster_conf.h"
#include "conf/conf_file.h"
#include "conf/hook_after.h"
#include "conf/hook_conf.h"
#include "conf/main_conf.h"
#include "conf/setting_print.h"
#include "conf/view_conf.h"
#include "conf/watch_conf.h"

/* The checks that need all files. Clusters come before watches, and watches before views and hooks,
 * only for the reader: references are looked up by name, so no check relies on another one. */
static void check_all(struct conf *c, struct problems *p)
{
    struct where at = {c->files[0], 0};

    main_conf_check(c, p);
    for (size_t i = 0; i < c->n_clusters; i++)
        cluster_conf_check(&c->clusters[i], p);
    for (size_t i = 0; i < c->n_watches; i++)
        watch_conf_check(c, &c->watches[i], p);
    for (size_t i = 0; i < c->n_views; i++)
        view_conf_check(c, &c->views[i], p);
    for (size_t i = 0; i < c->n_hooks; i++)
        hook_conf_check(c, &c->hooks[i], p);
    hook_after_check(c, p);
    if (c->n_watches > 0 && c->n_clusters == 0)
        problems_add(p, at,
                     "there are watches, but no cluster: add clusters : { NAME : { ... }; };");
}

/* The settings of a watch as text, without its name: equal texts are equal watches. */
struct printed {
    struct map_node node; /* in the map if no watch before it has this text */
    struct buf text;
    size_t first; /* index of the first watch with this text */
};

/* Finds the first watch with the text of p, or enters p as the first one. p->first is its own index
 * before. */
static void find_first(struct map *by_text, struct printed *p)
{
    struct map_node *node = map_get(by_text, buf_str(&p->text));

    if (node != NULL)
        p->first = map_entry(node, struct printed, node)->first;
    else
        map_put(by_text, &p->node, buf_str(&p->text));
}

/* Sets conf_watch.first of all watches, for conf_watch_equal(). Each watch is printed once and
 * found by its text: there may be thousands, and comparing all pairs would take long. Places in
 * files are no part of the text. Comes behind check_all(), which fills in cluster and persist. */
static void find_equal_watches(struct conf *c)
{
    struct map by_text = {0};
    struct printed *v = mem_array(c->n_watches + 1, sizeof(*v));

    for (size_t i = 0; i < c->n_watches; i++) {
        v[i].first = i;
        setting_print(watch_conf_settings, &c->watches[i], 0, &v[i].text);
        find_first(&by_text, &v[i]);
        c->watches[i].first = v[i].first;
    }
    /* The map borrows its keys from the texts, so it is emptied first. */
    for (struct map_node *n; (n = map_first(&by_text)) != NULL;)
        map_remove(&by_text, n);
    for (size_t i = 0; i < c->n_watches; i++)
        buf_free(&v[i].text);
    free(v);
}

struct conf *conf_read(const char *path, struct problems *p)
{
    struct conf *c = mem_zalloc(sizeof(*c));
    size_t before = problems_count(p); /* p may hold problems of the caller */

    /* Without one of the files most references would lead nowhere: only the messages of that file
     * would help the user. */
    if (conf_file_read(c, path, p))
        check_all(c, p);
    if (problems_count(p) > before)
        conf_destroy(&c);
    else
        find_equal_watches(c);
    return c;
}

void conf_destroy(struct conf **cp)
{
    struct conf *c = *cp;

    if (c == NULL)
        return;
    setting_fini(main_conf_settings, c);
    for (size_t i = 0; i < c->n_files; i++)
        free(c->files[i]);
    free(c->files);
    free(c);
    *cp = NULL;
}

const struct conf_cluster *conf_find_cluster(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_clusters; i++)
        if (strcmp(c->clusters[i].name.v, name) == 0)
            return &c->clusters[i];
    return NULL;
}

const struct conf_watch *conf_find_watch(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_watches; i++)
        if (strcmp(c->watches[i].name.v, name) == 0)
            return &c->watches[i];
    return NULL;
}

const struct conf_view *conf_find_view(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_views; i++)
        if (strcmp(c->views[i].name.v, name) == 0)
            return &c->views[i];
    return NULL;
}

const struct conf_hook *conf_find_hook(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_hooks; i++)
        if (strcmp(c->hooks[i].name.v, name) == 0)
            return &c->hooks[i];
    return NULL;
}

/* find_equal_watches() has compared all watches already. */
bool conf_watch_equal(const struct conf_watch *a, const struct conf_watch *b)
{
    return a->first == b->first;
}

const char *conf_state_folder(const struct conf *c)
{
    return strcmp(c->state_dir.v, "none") != 0 ? c->state_dir.v : NULL;
}

char *conf_expand(const char *text, const char *node_name)
{
    static const char variable[] = "${node_name}";
    struct buf out = {0};

    for (const char *at = strstr(text, variable); at != NULL; at = strstr(text, variable)) {
        buf_append(&out, text, (size_t)(at - text));
        buf_puts(&out, node_name);
        text = at + strlen(variable);
    }
    buf_puts(&out, text);
    buf_cstr(&out); /* adds the NUL; the caller owns the memory now */
    return out.data;
}
