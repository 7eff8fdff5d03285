/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/forget_call.h"

#include "admin/admin.h"
#include "admin/call.h"
#include "admin/report.h"
#include "admin/target.h"
#include "hook/gone.h"
#include "hook/hook.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

enum { AT_NAME = 2, AT_FILES = 4 }; /* parts of the path */

static void put(struct call *c, const struct gone_hook *gh)
{
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    json_member_text(&j, "hook", gh->name);
    json_member_count(&j, "removing", gh->files.due);
    json_member_count(&j, "removed", gh->removed);
    json_out_key(&j, "left");
    json_out_open(&j, '[');
    (void)report_put_gone(&j, c->m, gh, 0);
    json_out_close(&j, ']');
    json_out_close(&j, '}');
    call_end(c);
}

/* NULL: the answer is 404 or 409. */
static struct gone_hook *find(struct call *c)
{
    struct str name = c->target->part[AT_NAME];
    struct gone_hook *gh = c->m->gone != NULL ? gone_find(c->m->gone, name) : NULL;

    if (hooks_find(c->m->hooks, name) != NULL)
        admin_refuse(
            c->out, 409,
            "the hook is configured: remove it from the configuration, then informerctl reload");
    else if (gh == NULL)
        admin_refuse(
            c->out, 404,
            "nothing is known of a hook of this name: informerctl status names the files of "
            "hooks that are gone");
    else
        return gh;
    return NULL;
}

void forget_call_show(struct call *c)
{
    const struct gone_hook *gh = find(c);

    if (gh != NULL)
        put(c, gh);
}

/* Removed records are part of the state: without one the hook would be remembered until the end of the
 * process. */
static void refuse(struct call *c)
{
    const struct admin_state *s = &c->m->state;
    struct buf text = {0};

    if (s->dir == NULL)
        buf_puts(&text, "informerd keeps no state (state_dir), so it cannot forget a hook: remove "
                        "its files by hand");
    else if (s->trouble != NULL)
        buf_printf(&text, "the state cannot be written: %s", s->trouble);
    else
        buf_puts(&text, "informerd was started with --dry-run: it writes no state");
    admin_refuse(c->out, 409, buf_cstr(&text));
    buf_free(&text);
}

void forget_call_order(struct call *c)
{
    struct gone_hook *gh = find(c);

    if (gh == NULL)
        return;
    if (gh->state == GONE_FORGOTTEN)
        admin_refuse(c->out, 404, "the hook is forgotten already");
    else if (gh->state != GONE_KEPT)
        admin_refuse(c->out, 409, "the hook is being forgotten already");
    else if (!c->m->actions->forget(c->m->arg, gh, c->target->count > AT_FILES))
        refuse(c);
    else {
        c->out->status = 202;
        put(c, gh);
    }
}
