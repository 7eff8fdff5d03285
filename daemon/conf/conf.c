/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf/cluster_conf.h"
#include "conf/conf_file.h"
#include "conf/hook_conf.h"
#include "conf/main_conf.h"
#include "conf/watch_conf.h"

static void check_all(struct conf *c, struct problems *p)
{
    struct where at = {c->files[0], 0};

    for (size_t i = 0; i < c->n_clusters; i++)
        cluster_conf_check(&c->clusters[i], p);
    for (size_t i = 0; i < c->n_watches; i++)
        watch_conf_check(c, &c->watches[i], p);
    for (size_t i = 0; i < c->n_hooks; i++)
        hook_conf_check(c, &c->hooks[i], p);
    if (c->n_watches > 0 && c->n_clusters == 0)
        problems_add(p, at,
                     "there are watches, but no cluster: add clusters : { NAME : { ... }; };");
}

struct conf *conf_read(const char *path, struct problems *p)
{
    struct conf *c = mem_zalloc(sizeof(*c));
    size_t before = problems_count(p);

    if (conf_file_read(c, path, p))
        check_all(c, p);
    if (problems_count(p) > before)
        conf_destroy(&c);
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
    buf_cstr(&out);
    return out.data;
}
