/* SPDX-License-Identifier: Apache-2.0 */
#include "reload_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf_files.h"
#include "helper/file_source.h"

void reload_rig_load(struct reload_rig *l, const char *text)
{
    struct file_set files = {.source = &file_source_disk};
    struct problems p = {0};
    struct buf told = {0};

    conf_files_write("main.conf", text);
    *l = (struct reload_rig){.conf = conf_files_read("main.conf")};
    cluster_access_load(&l->list, l->conf, &files, &p);
    problems_put(&p, &told);
    assert_string_equal(buf_cstr(&told), "");
    l->node_name = mem_strdup(l->conf->node_name.v[0] != '\0' ? l->conf->node_name.v : "found-out");
    file_set_fini(&files);
    problems_free(&p);
    buf_free(&told);
}

void reload_rig_unload(struct reload_rig *l)
{
    cluster_access_fini(&l->list);
    conf_destroy(&l->conf);
    free(l->node_name);
}

struct reload_plan *reload_rig_plan(const struct reload_rig *was, const struct reload_rig *now)
{
    const struct reload_side a = {was->conf, &was->list, was->node_name};
    const struct reload_side b = {now->conf, &now->list, now->node_name};

    struct reload_plan *p = reload_plan_create(&a, &b);

    reload_plan_add_restarts(p, &a, &b);
    return p;
}

/* ---- The plan as lines, without the entries that stay */

static void put_texts(const struct reload_texts *t, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : " ", t->v[i]);
}

static void put_entry(const char *kind, const struct reload_entries *all,
                      const struct reload_entry *e, struct buf *out)
{
    static const char *const changes[] = {"keep", "add", "change", "replace", "drop"};
    static const char *const effects[] = {"", " -> unhandled", " -> changes", " -> all"};
    bool is_alias = e->now != RELOAD_NONE && e->first != e->now;

    buf_printf(out, "%s %s %s", kind, e->name, changes[e->change]);
    put_texts(&e->settings, out);
    if (is_alias)
        buf_printf(out, " = %s", all->v[e->first].name);
    if (e->because != NULL)
        buf_printf(out, " (%s)", e->because);
    buf_printf(out, "%s\n", effects[e->effect]);
}

static void put_entries(const char *kind, const struct reload_entries *all, struct buf *out)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].change != RELOAD_KEEP)
            put_entry(kind, all, &all->v[i], out);
}

static void put_plan(const struct reload_plan *p, struct buf *out)
{
    put_entries("cluster", &p->clusters, out);
    put_entries("watch", &p->watches, out);
    put_entries("view", &p->views, out);
    put_entries("hook", &p->hooks, out);
    for (size_t i = 0; i < p->settings.n; i++)
        buf_printf(out, "setting %s\n", p->settings.v[i]);
    for (size_t i = 0; i < p->restart_count; i++) {
        const struct reload_restart *r = &p->restarts[i];

        buf_printf(out, "restart %s: %s -> %s at %s\n", r->setting, r->now, r->wanted,
                   r->at != NULL ? r->at : "-");
    }
}

/* Entries of the new configuration come first and in its order, and each of the old one is there
 * once. */
static void expect_all_there(const struct reload_entries *e, size_t n_was, size_t n_now)
{
    bool *seen = mem_array(n_was + 1, sizeof(*seen));
    size_t found = 0;

    assert_true(e->n >= n_now);
    for (size_t i = 0; i < e->n; i++) {
        const struct reload_entry *x = &e->v[i];

        assert_int_equal(x->now, i < n_now ? i : RELOAD_NONE);
        assert_int_equal(x->change == RELOAD_DROP, i >= n_now);
        assert_int_equal(x->change == RELOAD_ADD, x->was == RELOAD_NONE);
        if (x->was == RELOAD_NONE)
            continue;
        assert_true(x->was < n_was && !seen[x->was]);
        seen[x->was] = true;
        found++;
    }
    assert_int_equal(found, n_was);
    free(seen);
}

void reload_rig_expect(const struct reload_rig *was, const struct reload_rig *now,
                       const char *expected)
{
    struct reload_plan *p = reload_rig_plan(was, now);
    struct buf out = {0};

    expect_all_there(&p->clusters, was->conf->n_clusters, now->conf->n_clusters);
    expect_all_there(&p->watches, was->conf->n_watches, now->conf->n_watches);
    expect_all_there(&p->views, was->conf->n_views, now->conf->n_views);
    expect_all_there(&p->hooks, was->conf->n_hooks, now->conf->n_hooks);
    put_plan(p, &out);
    assert_string_equal(buf_cstr(&out), expected);
    buf_free(&out);
    reload_plan_destroy(&p);
    assert_null(p);
}

char *reload_rig_replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);

    assert_non_null(at);
    return mem_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}
