/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reload_plan.h"

#include "proto/json_member.h"

/* In the order of enum reload_change. */
static const char *const changes[] = {"keep", "add", "change", "replace", "drop"};

/* In the order of enum reload_effect. */
static const char *const effects[] = {"no run", "runs for objects that it has not handled yet",
                                      "runs for objects that come or go",
                                      "runs again for all objects"};

static void put_texts(struct json_out *j, const char *key, const struct reload_texts *t)
{
    json_out_key(j, key);
    json_out_open(j, '[');
    for (size_t i = 0; i < t->n; i++)
        json_out_cstr(j, t->v[i]);
    json_out_close(j, ']');
}

/* Writes the members that only watches or only hooks have; NULL = there are none. */
typedef void put_more(struct json_out *j, const struct reload_entries *all,
                      const struct reload_entry *e);

/* A watch that is dropped may have shared the connections of one that is not: this is of no use to
 * anybody, and all[] has no index for it. */
static void put_watch(struct json_out *j, const struct reload_entries *all,
                      const struct reload_entry *e)
{
    bool is_alias = e->now != RELOAD_NONE && e->first != e->now;

    json_member_text(j, "same_as", is_alias ? all->v[e->first].name : NULL);
}

static void put_hook(struct json_out *j, const struct reload_entries *all,
                     const struct reload_entry *e)
{
    (void)all;
    json_member_text(j, "effect", effects[e->effect]);
}

static void put_entries(struct json_out *j, const char *key, const struct reload_entries *all,
                        put_more *more)
{
    json_out_key(j, key);
    json_out_open(j, '[');
    for (size_t i = 0; i < all->n; i++) {
        const struct reload_entry *e = &all->v[i];

        json_out_open(j, '{');
        json_member_text(j, "name", e->name);
        json_member_text(j, "change", changes[e->change]);
        put_texts(j, "settings", &e->settings);
        json_member_text(j, "because", e->because);
        if (more != NULL)
            more(j, all, e);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

static void put_restart(struct json_out *j, const struct reload_restart *r)
{
    json_out_open(j, '{');
    json_member_text(j, "setting", r->setting);
    json_member_text(j, "now", r->now);
    json_member_text(j, "wanted", r->wanted);
    json_member_text(j, "at", r->at);
    json_out_close(j, '}');
}

void reload_plan_put(const struct reload_plan *p, struct json_out *j)
{
    json_out_open(j, '{');
    put_entries(j, "clusters", &p->clusters, NULL);
    put_entries(j, "watches", &p->watches, put_watch);
    put_entries(j, "views", &p->views, NULL);
    put_entries(j, "hooks", &p->hooks, put_hook);
    put_texts(j, "settings", &p->settings);
    json_out_key(j, "needs_restart");
    json_out_open(j, '[');
    for (size_t i = 0; i < p->restart_count; i++)
        put_restart(j, &p->restarts[i]);
    json_out_close(j, ']');
    json_member_flag(j, "compares_programs", p->compares_programs);
    json_out_close(j, '}');
}
