/* SPDX-License-Identifier: Apache-2.0 */
#include "app/generation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/build.h"
#include "app/check.h"
#include "app/exec_plugins.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/problems.h"
#include "helper/file_source.h"

void generation_check(const struct conf *conf, struct file_set *files,
                      struct cluster_access_list *cluster_access, struct problems *p)
{
    check_settings(conf, p);
    cluster_access_load(cluster_access, conf, files, p);
    check_machine(conf, cluster_access, p);
    check_credentials(conf, cluster_access, p);
    exec_plugins_check(conf, cluster_access, p);
}

void generation_find_warnings(const struct conf *conf, struct buf *out)
{
    struct problems p = {0};

    check_surroundings(conf, &p);
    problems_put(&p, out);
    problems_free(&p);
}

static void warn_of_cluster(void *arg, const struct conf_cluster *c, const char *text,
                            struct kv about)
{
    (void)arg;
    log_warn(text, KV_STR("cluster", c->name.v), about);
}

/* Each problem is a line of its own (docs/decisions.md "A missing program is a warning"). */
void generation_warn(const struct conf *conf, const struct cluster_access_list *cluster_access,
                     struct str warnings)
{
    const char *stop = warnings.p + warnings.n;

    for (const char *line = warnings.p, *end; line < stop; line = end + 1) {
        end = memchr(line, '\n', (size_t)(stop - line));
        if (end == NULL)
            end = stop;
        log_warn("a hook cannot run now", KV_VIEW("problem", str_of(line, (size_t)(end - line))));
    }
    cluster_access_warn(cluster_access, conf, warn_of_cluster, NULL);
}

/* ---- The bundle: three texts, each with its NUL, and then the files */

static void put_text(struct buf *out, const char *text)
{
    buf_append(out, text, strlen(text) + 1);
}

/* NULL: the bytes end too early. */
static const char *take_text(struct str *bytes)
{
    const char *text = bytes->p;
    const char *end = bytes->n > 0 ? memchr(text, '\0', bytes->n) : NULL;

    if (end == NULL)
        return NULL;
    *bytes = str_of(end + 1, bytes->n - (size_t)(end + 1 - text));
    return text;
}

static void put_bundle(struct buf *out, const char *path, struct generation *g,
                       const struct file_set *files)
{
    put_text(out, path);
    put_text(out, g->node_name);
    put_text(out, buf_cstr(&g->warnings));
    file_set_encode(files, out);
}

/* ---- The child of the helper */

/* The helper's own complaints do not begin with it. */
static const char invalid[] = "invalid:\n";

bool generation_take_invalid(struct str *text)
{
    size_t n = strlen(invalid);

    if (text->n < n || memcmp(text->p, invalid, n) != 0)
        return false;
    *text = str_of(text->p + n, text->n - n);
    return true;
}

/* Memory is not freed: the child ends, and params borrows from it. */
bool generation_build(void *arg, struct helper_params *params, struct buf *bundle,
                      struct buf *problems)
{
    const struct generation_source *source = arg;
    struct file_set files = {.source = &file_source_disk, .as_root = geteuid() == 0};
    struct generation *g = MEM_NEW(struct generation, .conf = NULL);
    struct problems p = {0};
    struct err err;

    g->conf = conf_read(&files, source->path, &p);
    if (g->conf != NULL) {
        check_kept(g->conf, &p);
        conf_keep(g->conf, source->conf);
        generation_check(g->conf, &files, &g->cluster_access, &p);
    }
    if (problems_count(&p) > 0 || g->conf == NULL) {
        buf_puts(problems, invalid);
        problems_put(&p, problems);
        return false;
    }
    generation_find_warnings(g->conf, &g->warnings);
    g->node_name = cluster_access_node_name(&g->cluster_access, g->conf);
    if (build_helper(g->conf, &g->cluster_access, source->node_name, params, &err) != ERR_OK) {
        buf_printf(problems, "%s%s\n", err.kind == ERR_CONFIG ? invalid : "", err.text);
        return false;
    }
    put_bundle(bundle, source->path, g, &files);
    return true;
}

/* ---- Main */

static enum err_kind decode(struct str bundle, struct generation *g, struct file_set *files,
                            const char **path, struct err *err)
{
    *path = take_text(&bundle);
    const char *node_name = take_text(&bundle);
    const char *warnings = take_text(&bundle);

    if (*path == NULL || node_name == NULL || warnings == NULL)
        return err_set(err, ERR_PROTOCOL, 0, "the bundle of the helper ends too early");
    g->node_name = mem_strdup(node_name);
    buf_puts(&g->warnings, warnings);
    return file_set_decode(bundle, files, err);
}

/* The checks that need the rights of the helper were made by its child. */
static void read_again(struct generation *g, struct file_set *files, const char *path,
                       const struct conf *in_use, struct problems *p)
{
    g->wanted = conf_read(files, path, p);
    g->conf = g->wanted != NULL ? conf_read(files, path, p) : NULL;
    if (g->conf == NULL)
        return;
    conf_keep(g->conf, in_use);
    check_settings(g->conf, p);
    cluster_access_load(&g->cluster_access, g->conf, files, p);
}

enum err_kind generation_create(struct str bundle, const struct conf *in_use,
                                struct generation **out, struct err *err)
{
    struct generation *g = MEM_NEW(struct generation, .conf = NULL);
    struct file_set files = {0};
    struct problems p = {0};
    struct buf text = {0};
    const char *path;
    enum err_kind kind = decode(bundle, g, &files, &path, err);

    if (kind == ERR_OK)
        read_again(g, &files, path, in_use, &p);
    if (problems_count(&p) > 0) {
        problems_put(&p, &text);
        kind = err_set(err, ERR_CONFIG, 0, "main reads another configuration than the helper: %s",
                       buf_cstr(&text));
    }
    *out = g;
    if (kind != ERR_OK)
        generation_destroy(out);
    file_set_fini(&files);
    problems_free(&p);
    buf_free(&text);
    return kind;
}

/* The way to the cluster that has this name in `was`; NULL = it has none. */
static const struct cluster_access *access_before(const struct reload_side *was, const char *name)
{
    const struct conf_cluster *c = conf_find_cluster(was->conf, name);

    return c != NULL ? &was->cluster_access->v[c - was->conf->clusters] : NULL;
}

void generation_find_lost(const struct generation *g, const struct reload_side *was,
                          struct problems *p)
{
    for (size_t i = 0; i < g->conf->n_clusters; i++) {
        const struct conf_cluster *now = &g->conf->clusters[i];
        const struct cluster_access *before = access_before(was, now->name.v);

        if (g->cluster_access.v[i].awaits != NULL && before != NULL && before->awaits == NULL)
            problems_add(p, now->kubeconfig.at,
                         "kubeconfig: %s: there is no such file, and cluster %s is in use",
                         now->kubeconfig.v, now->name.v);
    }
}

bool generation_has_come(const struct generation *g, const struct reload_side *was)
{
    for (size_t i = 0; i < g->conf->n_clusters; i++) {
        const struct cluster_access *before = access_before(was, g->conf->clusters[i].name.v);

        if (g->cluster_access.v[i].awaits == NULL && before != NULL && before->awaits != NULL)
            return true;
    }
    return false;
}

/* The plan compares the settings that will be in use. The settings in the files show which changes need
 * a restart. */
struct reload_plan *generation_plan(const struct generation *g, const struct reload_side *was)
{
    const struct reload_side kept = {g->conf, &g->cluster_access, was->node_name};
    const struct reload_side wanted = {g->wanted, &g->cluster_access, g->node_name};
    struct reload_plan *p = reload_plan_create(was, &kept);

    reload_plan_add_restarts(p, was, &wanted);
    return p;
}

void generation_destroy(struct generation **gp)
{
    struct generation *g = *gp;

    if (g == NULL)
        return;
    *gp = NULL;
    cluster_access_fini(&g->cluster_access);
    conf_destroy(&g->conf);
    conf_destroy(&g->wanted);
    free(g->node_name);
    buf_free(&g->warnings);
    free(g);
}
