/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/restore_status.h"

#include "admin/admin.h"
#include "admin/call.h"
#include "cache/store.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "proto/json_member.h"

#define NS_PER_MS 1000000U

/* Whether a scope of the watch still shows objects that an earlier process stored. RESUME_OVER: a
 * list or the running watch has replaced them. */
static bool is_restored(const struct watch *w)
{
    for (size_t i = 0; i < watch_scope_count(w); i++) {
        enum resume_kind resume = watch_resume_point(w, i);

        if (resume != RESUME_NONE && resume != RESUME_OVER)
            return true;
    }
    return false;
}

bool restore_status_is(struct source c)
{
    if (c.view == NULL)
        return is_restored(c.watch);
    /* A view is computed from its watches, and as old as the older one. */
    for (size_t i = 0; i < VIEW_WATCHES; i++)
        if (is_restored(view_watch(c.view, i)))
            return true;
    return false;
}

bool restore_status_is_used(struct source c)
{
    return source_synced(c) && restore_status_is(c);
}

/* Whether the objects were selected, or pruned, by other settings of the watch. */
static bool is_edited(enum resume_kind kind)
{
    return kind == RESUME_EDITED || kind == RESUME_RESHAPED;
}

/* Scopes of one watch may begin differently: the one with the least speaks for the watch, and an
 * edited one for all. */
enum resume_kind restore_status_began(const struct watch *w)
{
    enum resume_kind least = RESUME_WHOLE;
    bool any = false;

    for (size_t i = 0; i < watch_scope_count(w); i++) {
        enum resume_kind left = watch_resume_left(w, i);

        any = any || left != RESUME_NONE;
        if (left != RESUME_WHOLE && !is_edited(least))
            least = left;
    }
    if (!any)
        return RESUME_NONE;
    return least == RESUME_NONE ? RESUME_PARTIAL : least;
}

/* With persist = "digest" an object is stored without its body. */
static void look_for_body(void *arg, struct object *o)
{
    bool *whole = arg;

    *whole = *whole && object_parts_of(o).body.n > 0;
}

bool restore_status_may_show(struct call *c, struct source from)
{
    bool whole = true;

    /* A watch that started stale counts as synced, and may be shown. */
    if (restore_status_is(from) && !source_synced(from)) {
        admin_refuse(c->out, 409,
                     "there are only objects saved before the restart, and no server has confirmed "
                     "them yet: informerctl status says why");
        return false;
    }
    store_each(source_store(from), look_for_body, &whole);
    if (!whole)
        admin_refuse(c->out, 409,
                     "only the digests of some objects were saved (persist), and no server has "
                     "sent these objects again yet: informerctl status says why");
    return whole;
}

uint64_t restore_status_wall_ns(const struct admin_model *m, uint64_t then_ms)
{
    /* Counted from the start, not from the wall clock of now, which may be set meanwhile: the same
     * moment gives the same time in each answer. */
    uint64_t ahead_ms = then_ms > m->started_ms ? then_ms - m->started_ms : 0;

    return m->started_ns + ahead_ms * NS_PER_MS;
}

void restore_status_put_state(struct json_out *j, const struct admin_model *m)
{
    const struct admin_state *s = &m->state;

    json_out_key(j, "state");
    json_out_open(j, '{');
    json_member_text(j, "dir", s->dir);
    json_member_flag(j, "kept", s->kept);
    json_member_flag(j, "writable", s->trouble == NULL);
    json_member_text(j, "reason", s->trouble);
    /* null if the state could not be written from the start on */
    json_member_time(j, "since", s->failing_ms > 0 ? restore_status_wall_ns(m, s->failing_ms) : 0);
    json_member_count(j, "waiting", s->waiting);
    json_member_count(j, "commits", s->commits);
    json_out_close(j, '}');
}
